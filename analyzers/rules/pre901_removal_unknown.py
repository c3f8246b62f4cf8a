"""PRE901: whether brokers can be removed is not known in full."""

from analyzers.vocabulary import UNDECIDED, DataFrame, rule
from analyzers.vocabulary.planned import of_answer


@rule(
    "PRE901", title="Whether brokers can be removed is not known in full", stage="access", severity=UNDECIDED,
    says="whether broker {leaving} can go: {what}",
    next_command="diag preflight broker-removal --brokers {leaving_ids} --bootstrap-server HOST:PORT,…",
)  # fmt: skip
def removal_unknown(preflight: DataFrame) -> DataFrame:
    """One finding per question about a planned removal that the evidence does not answer."""
    return of_answer(preflight, "broker-removal", "unknown")
