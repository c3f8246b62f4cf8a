"""BRK201: brokers left the cluster and did not return (a symptom that names who)."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.tables.processes import BROKER
from analyzers.vocabulary.aggregates import distinct
from analyzers.vocabulary.brokers import BROKER_LIFE, departed
from analyzers.vocabulary.findings import exemplars
from analyzers.vocabulary.rule import rule


@rule(
    "BRK201",
    title="Brokers left the cluster and did not return",
    stage="access",
    severity=Severity.WARNING,
    logs_of=BROKER,
    signatures=BROKER_LIFE,
    says="Broker {broker}[[ ({address})]] left the cluster[[ at {since} UTC]] and had not returned by the end of these broker logs",
    inferred="These lines say that they stopped, not why.",
    next_command="diag broker-health --bootstrap-server HOST:PORT,…",
)
def brokers_left(
    log_events: DataFrame,
    *,
    gone_for: int = 60,  # seconds; a broker of a rolling restart is back by then
) -> DataFrame:
    """Per scope, the brokers whose last word or last mention by the controller is that they left."""
    return (
        departed(log_events, gone_for=gone_for)
        .groupBy("scope")
        .agg(
            distinct("broker", "broker"),
            distinct("broker_address", "address"),
            F.min("left_at").alias("since"),
            F.max("at").alias("until"),
            exemplars(),
        )
        .withColumns({"job": F.lit(None).cast("string"), "reason": F.lit("left")})
    )
