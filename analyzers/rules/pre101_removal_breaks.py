"""PRE101: brokers that are to be removed cannot go yet: something would break."""

from analyzers.vocabulary import CRITICAL, DataFrame, rule
from analyzers.vocabulary.planned import of_answer


@rule(
    "PRE101", title="Brokers that are to be removed cannot go yet", cause="broker-unreachable", stage="access", severity=CRITICAL,
    says="If broker {leaving} is stopped as it is now: {what}",
    next_command="diag preflight broker-removal --brokers {leaving_ids} --bootstrap-server HOST:PORT,…",
)  # fmt: skip
def removal_breaks(preflight: DataFrame) -> DataFrame:
    """One finding per question about a planned removal (`analyzers/derived/planned/broker_removal.py`) that is answered by "breaks"."""
    return of_answer(preflight, "broker-removal", "breaks")
