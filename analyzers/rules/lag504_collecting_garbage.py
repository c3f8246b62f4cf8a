"""LAG504: a JVM spends its time on garbage collection: nothing fails, nothing gets on."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.vocabulary.aggregates import agreed, seconds
from analyzers.vocabulary.findings import exemplars
from analyzers.vocabulary.rule import rule


@rule(
    "LAG504",
    title="A JVM spends its time on garbage collection",
    cause="no-progress",
    stage="lag",
    severity=Severity.WARNING,
    signatures=("gc-pause", "gc-pause-jdk8"),
    says="{share_percent} % of the time[[ between {since} and {until} UTC]] the JVM of {file_named} stood still for garbage collection "
    "({pauses} pauses, the longest {worst_ms} ms): it has no time left for records",
)
def collecting_garbage(
    log_events: DataFrame,
    log_counts: DataFrame,
    *,
    share: float = 0.3,  # of the time; below it a JVM is merely busy
    stalled: float = 0.6,  # above it the JVM does little else
    lasting: int = 120,  # seconds; a start-up collects more
    enough: int = 10,  # pauses
) -> DataFrame:
    """Per process with a GC log: the share of time in pauses, from the mean of the pauses kept and the complete count."""
    milliseconds = F.coalesce(F.col("detail")["pause_ms"].cast("double"), F.col("detail")["pause_seconds"].cast("double") * 1000)
    kept = (
        log_events.withColumn("ms", milliseconds)
        .where(F.col("ms").isNotNull())
        .groupBy("scope", "job", "file")
        .agg(F.avg("ms").alias("mean_ms"), F.round(F.max("ms")).cast("long").alias("worst_ms"), agreed("host"), exemplars())
    )
    counted = (
        log_counts.where(F.col("signature").isin("gc-pause", "gc-pause-jdk8"))
        .groupBy("scope", "file")
        .agg(F.sum("events").alias("pauses"), F.min("first_at").alias("since"), F.max("last_at").alias("until"))
    )
    of_time = F.col("mean_ms") * F.col("pauses") / 1000 / seconds("since", "until")
    found = kept.join(counted, ["scope", "file"]).where((seconds("since", "until") >= lasting) & (F.col("pauses") >= enough))
    return (
        found.where(of_time >= share)
        .withColumns(
            {
                "share_percent": F.round(of_time * 100).cast("long"),
                "severity": F.when(of_time >= stalled, "critical").otherwise("warning"),
                "file_named": F.coalesce("host", F.regexp_extract("file", r"([^/]+)$", 1)),
                "reason": F.lit("garbage-collection"),
            }
        )
        .drop("mean_ms", "file")
    )
