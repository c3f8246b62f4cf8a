"""RST407: a worker's local disk is full."""

from analyzers.vocabulary import CRITICAL, DataFrame, agreed, failures, has, rule
from analyzers.vocabulary.workers import lost_workers


@rule(
    "RST407", title="A worker's local disk is full", cause="taskmanager-lost", stage="access", severity=CRITICAL, shows="disk-full",
    faults=("worker-disk-full",),
    says="A local disk of the worker[[ {resource}]][[ on {host}]] is full[[ (seen in {task})]][[ {subtask_shown}]]: {what}; {failures} "
    "failure(s)[[ in {attempts} attempt(s)]][[ since {since} UTC]]",
    missing="which directory it is: the message names none; df on that worker shows it",
    next_command="df -h   # on the worker[[ {resource}]]; then df -i",
    needs=has(fatal=(True,)),
)  # fmt: skip
def disk_full(faults: DataFrame) -> DataFrame:
    """Fatal "No space left on device" per job, of a disk that is neither the checkpoint storage's (CKP301) nor a called service's."""
    return failures(lost_workers(faults), agreed("worker_host", "host"), agreed("resource"))
