"""BRK201: brokers left the cluster and did not return (a symptom that names who)."""

from analyzers.vocabulary import BROKER, WARNING, DataFrame, F, distinct, found, rule
from analyzers.vocabulary.brokers import BROKER_LIFE, departed


@rule("BRK201", title="Brokers left the cluster and did not return", stage="access", severity=WARNING, reason="left",
    logs_of=BROKER, signatures=BROKER_LIFE,
    says="Broker {broker}[[ ({address})]] left the cluster[[ at {since} UTC]] and had not returned by the end of these broker logs",
    inferred="These lines say that they stopped, not why.",
    next_command="diag broker-health --bootstrap-server HOST:PORT,…",
)  # fmt: skip
def brokers_left(
    log_events: DataFrame,
    *,
    gone_for: int = 60,  # seconds; a broker of a rolling restart is back by then
) -> DataFrame:
    """Per scope, the brokers whose last word or last mention by the controller is that they left."""
    return found(
        departed(log_events, gone_for=gone_for),
        broker=distinct("broker", "broker"),
        address=distinct("broker_address", "address"),
        since=F.min("left_at"),
    )
