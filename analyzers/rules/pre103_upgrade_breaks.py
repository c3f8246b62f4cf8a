"""PRE103: a job does not go on with the Flink that it is to be upgraded to."""

from analyzers.vocabulary import CRITICAL, DataFrame, F, first_of, rule
from analyzers.vocabulary.planned import of_answer

_CAUSES = {"state": "checkpoint-storage", "release": "checkpoint-storage", "kafka-brokers": "broker-unreachable"}
"""What must be repaired, per question; the others are about the job and its settings."""


@rule(
    "PRE103", title="A job does not go on with the Flink that is planned", cause="other", stage="failure", severity=CRITICAL,
    says="If Flink is upgraded to {release}: {what}",
    next_command="diag preflight upgrade --to {release} --conf FILE --logs PATH --checkpoint SAVEPOINT",
)  # fmt: skip
def upgrade_breaks(preflight: DataFrame) -> DataFrame:
    """One finding per question about a planned upgrade (`analyzers/derived/planned/upgrade/`) that is answered by "breaks"."""
    causes = [(cause, F.col("reason") == question) for question, cause in _CAUSES.items()]
    return of_answer(preflight, "upgrade", "breaks").withColumn("cause", first_of(*causes, otherwise="other"))
