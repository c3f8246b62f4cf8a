"""SPL901: checkpoints of Beam's KafkaIO do not show whether a split has two readers in one subtask."""

from analyzers.vocabulary import UNDECIDED, DataFrame, has, rule
from analyzers.vocabulary.open_ends import still_open

KINDS = ("beam-checkpoint",)


@rule(
    "SPL901",
    title="Checkpoints of Beam cannot show two readers of a split",
    stage="risk",
    severity=UNDECIDED,
    needs=has(kind=KINDS),
    says={
        "": "whether a split has two readers in one subtask: checkpoints of Beam hide it (job {name}), the logs of the restore show it",
    },
    next_command={
        "": "diag triage LOG_DIRECTORY   # the logs of the restore",
    },
)
def readers_hidden(open_ends: DataFrame) -> DataFrame:
    """Checkpoints of Beam's KafkaIO do not show whether a split has two readers in one subtask."""
    return still_open(open_ends, *KINDS)
