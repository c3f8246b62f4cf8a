"""RST407: a worker's local disk is full."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.vocabulary.aggregates import agreed, failures
from analyzers.vocabulary.rule import has, rule
from analyzers.vocabulary.workers import lost_workers


@rule(
    "RST407",
    title="A worker's local disk is full",
    cause="taskmanager-lost",
    stage="access",
    severity=Severity.CRITICAL,
    faults=("worker-disk-full",),
    says="A local disk of the worker[[ {resource}]][[ on {host}]] is full[[ (seen in {task})]][[ {subtask_shown}]]: {what}; {failures} "
    "failure(s)[[ in {attempts} attempt(s)]][[ since {since} UTC]]",
    missing="which directory it is: the message names none; df on that worker does",
    next_command="df -h   # on the worker[[ {resource}]]; then df -i",
    needs=has(fatal=(True,)),
)
def disk_full(faults: DataFrame) -> DataFrame:
    """Fatal "No space left on device" that is neither the checkpoint storage's (CKP301) nor a called service's, per job."""
    found = failures(lost_workers(faults, None), agreed("worker_host", "host"), agreed("resource"))
    return found.withColumn("reason", F.lit("disk"))
