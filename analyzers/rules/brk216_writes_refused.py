"""BRK216: writes are refused for minutes, as fewer replicas are in sync than min.insync.replicas wants."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.tables.processes import BROKER, CLIENTS
from analyzers.vocabulary.aggregates import agreed, distinct, goes_on, seconds
from analyzers.vocabulary.findings import exemplars
from analyzers.vocabulary.rule import rule

REFUSED = "NOT_ENOUGH_REPLICAS"


@rule(
    "BRK216",
    title="Writes are refused: fewer replicas are in sync than min.insync.replicas wants",
    cause="broker-unreachable",
    stage="access",
    severity=Severity.CRITICAL,
    logs_of=(*CLIENTS, *BROKER),
    signatures=("not-enough-replicas", "produce-error"),
    says="Writes to {topics_or_some} have been refused for {minutes} minute(s)[[ (from {since} to {until} UTC)]]: fewer "
    "replicas are in sync than min.insync.replicas wants[[ ({wanted})]][[; in sync is only broker {in_sync}]]. Writers with acks=all wait, "
    "and fail when their time-out is over; reading goes on",
    next_command="diag broker-health --bootstrap-server HOST:PORT,…",
)
def writes_refused(
    log_events: DataFrame,
    *,
    enough: int = 3,  # refusals; an idle topic sees one in minutes
    lasting: int = 60,  # seconds: the restart of a broker that stopped in order takes less
    fresh: int = 60,  # seconds before the end of the log: what stopped earlier has healed
) -> DataFrame:
    """Per scope, refusals of brokers and what their clients were told, up to the end of the log."""
    refused = (F.col("signature") == "not-enough-replicas") | F.col("detail")["error"].rlike(REFUSED)
    found = (
        log_events.where(refused)
        .groupBy("scope")
        .agg(
            agreed("job"),
            F.countDistinct("file", "line").alias("errors"),
            distinct("topic", "topics"),
            agreed("topic"),
            agreed("partition"),
            F.max(F.col("detail")["wanted"].cast("int")).alias("wanted"),
            _only_one(F.coalesce(F.col("detail")["live"], F.col("detail")["isr"])).alias("in_sync"),
            F.min("at").alias("since"),
            F.max("at").alias("until"),
            F.max("as_of").alias("end"),
            exemplars(),
        )
    )
    lasts = goes_on("errors", enough=enough, lasting=lasting, fresh=fresh)
    return (
        found.where(lasts)
        .withColumns(
            {
                "minutes": F.round(seconds("since", "until") / 60).cast("long"),
                "topics_or_some": F.coalesce(F.array_join("topics", ", "), F.lit("a topic")),
                "reason": F.lit("under-min-isr"),
            }
        )
        .drop("end")
    )


def _only_one(brokers: Column) -> Column:
    """The one broker that all refusals name as in sync, else null."""
    named = F.collect_set(brokers)
    return F.when((F.size(named) == 1) & named[0].rlike("^[0-9]+$"), named[0])
