"""PRE102: a job would not survive the restore that is planned, or would lose records by it."""

from analyzers.vocabulary import CRITICAL, DataFrame, F, first_of, rule
from analyzers.vocabulary.planned import of_answer

_CAUSES = {"offsets": "offset-reset", "double-reading": "duplicate-split", "transactions": "offset-commit"}
"""What must be repaired, per question; the others are about the state itself."""


@rule(
    "PRE102", title="A job does not survive the restore that is planned", cause="checkpoint-storage", stage="failure", severity=CRITICAL,
    says="If {path} is restored: {what}",
    next_command="diag preflight restore {path} --against CHECKPOINT --bootstrap-server HOST:PORT,…",
)  # fmt: skip
def restore_breaks(preflight: DataFrame) -> DataFrame:
    """One finding per question about a planned restore (`analyzers/derived/planned/restore/`) that is answered by "breaks"."""
    causes = [(cause, F.col("reason") == question) for question, cause in _CAUSES.items()]
    return of_answer(preflight, "restore", "breaks").withColumn("cause", first_of(*causes, otherwise="checkpoint-storage"))
