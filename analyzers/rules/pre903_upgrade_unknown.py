"""PRE903: whether a job goes on with the Flink that it is to be upgraded to is not known in full."""

from analyzers.vocabulary import UNDECIDED, DataFrame, rule
from analyzers.vocabulary.planned import of_answer


@rule(
    "PRE903", title="Whether a job goes on with the Flink that is planned is not known in full", stage="failure", severity=UNDECIDED,
    says="whether it goes on with Flink {release}: {what}",
    next_command="diag preflight upgrade --to {release} --conf FILE --logs PATH --checkpoint SAVEPOINT",
)  # fmt: skip
def upgrade_unknown(preflight: DataFrame) -> DataFrame:
    """One finding per question about a planned upgrade that neither the evidence nor the documentation answers."""
    return of_answer(preflight, "upgrade", "unknown")
