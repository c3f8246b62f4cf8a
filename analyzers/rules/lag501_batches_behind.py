"""LAG501: the batches of a Spark query take longer than their trigger, again and again."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.finding import Severity
from analyzers.log_roles import SPARK_DRIVER
from analyzers.rule import exemplars, rule


@rule(
    "LAG501",
    title="Batches take longer than the trigger interval",
    cause="no-progress",
    stage="lag",
    severity=Severity.CRITICAL,
    logs_of=SPARK_DRIVER,
    signatures=("batch-behind",),
    says="Batches of the query take longer than their trigger: {behind} time(s)[[ between {since} and {until} UTC]], up to {worst_ms} "
    "ms for an interval of {interval_ms} ms; nothing fails, results come later and later",
    fix="Find what takes the time in the query's progress (durationMs: addBatch = the job itself, getBatch/latestOffset = the source, "
    "walCommit/commitOffsets = the checkpoint directory). "
    "Then give it more cores or partitions, limit a batch (maxOffsetsPerTrigger), or make the slow stage faster. A longer trigger "
    "interval only hides it.",
    missing="which stage is slow: the progress lines (durationMs) and the Spark UI have it",
)
def batches_behind(
    log_events: DataFrame,
    log_files: DataFrame,
    *,
    enough: int = 5,  # the first batches after a stop work off a backlog
    fragment: int = 3,  # lines: in so short an excerpt one batch is all there will be
    clearly: float = 1.3,  # times the interval; a batch that just misses it catches up with the next one
) -> DataFrame:
    """Per query, batches that exceeded the trigger (ProcessingTimeExecutor); one slow batch in a whole log is none."""
    interval, spent = F.col("detail")["interval_ms"].cast("long"), F.col("duration_ms")
    slow = log_events.where(spent >= interval * clearly)
    per_job = slow.groupBy("scope", "job").agg(
        F.count("*").alias("behind"),
        F.max(spent).alias("worst_ms"),
        F.max_by(interval, "at").alias("last_interval_ms"),
        F.max(interval).alias("interval_ms"),
        F.min("at").alias("since"),
        F.max("at").alias("until"),
        exemplars(),
    )
    size = log_files.groupBy("scope").agg(F.sum("lines").alias("lines"))
    found = per_job.join(size, "scope", "left").where((F.col("behind") >= enough) | (F.col("lines") <= fragment))
    return found.withColumn("reason", F.lit("overload")).drop("lines", "last_interval_ms")
