"""PRE902: whether a job survives the restore that is planned is not known in full."""

from analyzers.vocabulary import UNDECIDED, DataFrame, rule
from analyzers.vocabulary.planned import of_answer


@rule(
    "PRE902", title="Whether a job survives the restore that is planned is not known in full", stage="failure", severity=UNDECIDED,
    says="whether {path} can be restored: {what}",
    next_command="diag preflight restore {path} --against CHECKPOINT --bootstrap-server HOST:PORT,…",
)  # fmt: skip
def restore_unknown(preflight: DataFrame) -> DataFrame:
    """One finding per question about a planned restore that the evidence does not answer."""
    return of_answer(preflight, "restore", "unknown")
