"""BRK208: ZooKeeper waits for its disk (a symptom: what it brings down is told by those who lose their sessions)."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.tables.processes import ZOOKEEPER
from analyzers.vocabulary.findings import exemplars
from analyzers.vocabulary.rule import has, rule


@rule(
    "BRK208",
    title="ZooKeeper waits for its disk",
    stage="access",
    severity=Severity.WARNING,
    logs_of=ZOOKEEPER,
    signatures=("zookeeper-sync-slow", "zookeeper-session-ended"),
    says="ZooKeeper waited for its disk at least {times} time(s), up to {worst} s[[, first at {since} UTC]][[ and last at {until} UTC]]: "
    "nothing is answered meanwhile[[, and {ended} session(s) of its clients ended beside it]]",
    needs=has(signature=("zookeeper-sync-slow",), at_least="enough"),
)
def zookeeper_disk(
    log_events: DataFrame,
    *,
    enough: int = 3,  # a single one happens at a snapshot or a backup
) -> DataFrame:
    """Per ZooKeeper log how often and how long it waited. Source: ZooKeeper's FileTxnLog."""
    slow = F.col("signature") == "zookeeper-sync-slow"
    per_log = log_events.groupBy("scope", "file").agg(
        F.count_if(slow).alias("times"),
        F.format_number(F.max(F.when(slow, F.col("duration_ms"))) / 1000, 1).alias("worst"),
        F.nullif(F.countDistinct(F.when(~slow, F.col("detail")["session"])), F.lit(0)).alias("ended"),
        F.min(F.when(slow, F.col("at"))).alias("since"),
        F.max(F.when(slow, F.col("at"))).alias("until"),
        exemplars(),
    )
    return per_log.where(F.col("times") >= enough).withColumns({"job": F.lit(None).cast("string"), "reason": F.lit("zookeeper-disk")})
