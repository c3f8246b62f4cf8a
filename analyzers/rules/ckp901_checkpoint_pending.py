"""CKP901: a checkpoint had been pending for clearly longer than those that completed when the logs ended."""

from analyzers.vocabulary import FLINK, UNDECIDED, DataFrame, has, rule
from analyzers.vocabulary.open_ends import still_open

KINDS = ("checkpoint-pending",)


@rule(
    "CKP901",
    title="The logs end while a checkpoint is pending",
    stage="checkpoint",
    severity=UNDECIDED,
    logs_of=FLINK,
    needs=has(kind=KINDS),
    says={
        "": "whether checkpoint {checkpoint} completes: it was triggered at {at} UTC and was pending when the logs end {lasted_shown} later"
        "[[; the {number} before it took at most {usual_shown}]]; a subtask that holds the barrier logs nothing until the checkpoint "
        "expires",
    },
    next_command={
        "": "diag triage --flink-rest http://JOBMANAGER:8081 --job {job}",
    },
)
def checkpoint_pending(open_ends: DataFrame) -> DataFrame:
    """A checkpoint had been pending for clearly longer than those that completed when the logs ended."""
    return still_open(open_ends, *KINDS)
