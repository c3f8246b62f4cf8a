"""LAG504: a JVM spends its time on garbage collection: nothing fails, nothing gets on."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.aggregates import agreed, seconds
from analyzers.finding import Severity
from analyzers.rule import exemplars, rule


@rule(
    "LAG504",
    title="A JVM spends its time on garbage collection",
    cause="no-progress",
    stage="lag",
    severity=Severity.WARNING,
    signatures=("gc-pause", "gc-pause-jdk8"),
    says="{share_percent} % of the time[[ between {since} and {until} UTC]] the JVM of {file_named} stood still for garbage collection "
    "({pauses} pauses, the longest {worst_ms} ms): it has no time left for records",
    fix="Give the process more heap, or keep less on it (state on RocksDB, smaller windows and buffers, fewer slots per TaskManager); a "
    "heap dump of that process names what fills it.",
)
def collecting_garbage(
    log_events: DataFrame,
    *,
    share: float = 0.3,  # of the time; below it a JVM is merely busy
    stalled: float = 0.6,  # above it the JVM does little else
    lasting: int = 120,  # seconds; a start-up collects more
    enough: int = 10,  # pauses
) -> DataFrame:
    """Per process with a GC log: the share of time in pauses."""
    paused = (
        log_events.where(F.col("duration_ms").isNotNull() & F.col("at").isNotNull())
        .groupBy("scope", "job", "file")
        .agg(
            F.count("*").alias("pauses"),
            F.sum("duration_ms").alias("total_ms"),
            F.max("duration_ms").alias("worst_ms"),
            F.min("at").alias("since"),
            F.max("at").alias("until"),
            agreed("host"),
            exemplars(),
        )
    )
    of_time = F.col("total_ms") / 1000 / seconds("since", "until")
    found = paused.where((F.col("pauses") >= enough) & (seconds("since", "until") >= lasting) & (of_time >= share))
    worst = found.withColumns(
        {"share_percent": F.round(of_time * 100).cast("long"), "file_named": F.coalesce("host", F.regexp_extract("file", r"([^/]+)$", 1))}
    )
    grave = F.when(of_time >= stalled, "critical").otherwise("warning")
    return worst.withColumns({"reason": F.lit("garbage-collection"), "severity": grave}).drop("total_ms", "file")
