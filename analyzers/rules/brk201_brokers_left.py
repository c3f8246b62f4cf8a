"""BRK201: brokers left the cluster and did not return. This is a symptom: the logs show which brokers, not why."""

from analyzers.vocabulary import BROKER, WARNING, DataFrame, F, distinct, found, rule
from analyzers.vocabulary.brokers import BROKER_LIFE, departed, which_brokers


@rule("BRK201", title="Brokers left the cluster and did not return", stage="access", severity=WARNING, reason="left",
    logs_of=BROKER, signatures=BROKER_LIFE,
    says="{who}[[ ({address})]] left the cluster[[ at {since} UTC]] and did not return before the end of these broker logs",
    inferred="The logs show that they left, not why.",
    next_command="diag broker-health --bootstrap-server HOST:PORT,…",
)  # fmt: skip
def brokers_left(
    log_events: DataFrame,
    *,
    gone_for: int = 60,  # seconds; a broker of a rolling restart is back by then
) -> DataFrame:
    """Per scope, the brokers that left by their own log or the controller's, with no line of a return."""
    return found(
        departed(log_events, gone_for=gone_for),
        broker=distinct("broker", "broker"),
        which=which_brokers(distinct("broker", "broker")),
        address=distinct("broker_address", "address"),
        since=F.min("left_at"),
    ).withColumn("who", F.initcap("which"))
