"""LAG501: the batches of a Spark query take longer than their trigger, again and again."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.tables.processes import SPARK_DRIVER
from analyzers.vocabulary.aggregates import seconds
from analyzers.vocabulary.findings import exemplars
from analyzers.vocabulary.rule import has, rule

_BEHIND_LATEST = r'"maxOffsetsBehindLatest" : "(\d+)"'  # per source: records between the end of the batch and the end of the topic (3.1+)


@rule(
    "LAG501",
    title="Batches take longer than the trigger interval",
    cause="no-progress",
    stage="lag",
    severity=Severity.CRITICAL,
    logs_of=SPARK_DRIVER,
    signatures=("batch-behind", "query-progress"),
    says={
        "keeps-up": "Batches of the query take longer than their trigger: {behind} time(s)[[ between {since} and {until} UTC]], up to "
        "{worst_ms} ms for an interval of {interval_ms} ms. The query keeps up all the same: each batch reads to the end of its topics "
        "(maxOffsetsBehindLatest 0), and the next one starts at once",
        "": "Batches of the query take longer than their trigger: {behind} time(s)[[ between {since} and {until} UTC]], up to {worst_ms} "
        "ms for an interval of {interval_ms} ms; nothing fails, results come later and later",
    },
    missing={"keeps-up": "", "": "which stage is slow: the progress lines (durationMs) and the Spark UI have it"},
    needs=has(signature=("batch-behind",)),
)
def batches_behind(
    log_events: DataFrame,
    log_files: DataFrame,
    log_counts: DataFrame | None,
    *,
    enough: int = 5,  # the first batches after a stop work off a backlog
    fragment: int = 3,  # lines: in so short an excerpt one batch is all there will be
    clearly: float = 1.3,  # times the interval; a batch that just misses it catches up with the next one
    newest: int = 20,  # batches; a query that fell behind an hour ago is ill, however seldom a batch was slow before
    grows: float = 0.2,  # from the first to the last: a query that reads to the end each time has ever more to read
    share: float = 0.5,  # of the time: one batch in ten that compacts a log, or an hourly peak, is caught up with
) -> DataFrame:
    """Per query, batches that exceeded the trigger (ProcessingTimeExecutor), where they, or the newest of them, fill the time they span."""
    interval, spent = F.col("detail")["interval_ms"].cast("long"), F.col("duration_ms")
    told = log_events.where(F.col("signature") == "batch-behind")
    by_time = F.row_number().over(Window.partitionBy("scope", "job").orderBy(F.desc("at"), F.desc("file"), F.desc("line")))
    slow = told.where(spent >= interval * clearly).withColumn("_rank", by_time)
    recent = F.col("_rank") <= newest
    per_job = slow.groupBy("scope", "job").agg(
        F.count("*").alias("kept"),
        F.avg(spent).alias("_mean_ms"),
        (F.regr_slope(spent, F.unix_seconds("at")) * seconds(F.min("at"), F.max("at")) / F.avg(spent)).alias("_growth"),
        F.max(spent).alias("worst_ms"),
        F.max(interval).alias("interval_ms"),
        F.min("at").alias("since"),
        F.min_by(spent, "at").alias("_first_ms"),
        F.max("at").alias("until"),
        F.sum(F.when(recent, spent)).alias("_recent_ms"),
        F.min(F.when(recent, F.col("at"))).alias("_recent_since"),
        F.min_by(spent, F.when(recent, F.col("at"))).alias("_recent_first_ms"),
        exemplars(),
    )
    size = log_files.groupBy("scope").agg(F.sum("lines").alias("lines"))
    counted = _counted(per_job, told, log_counts).join(size, "scope", "left")
    of_all = F.col("_mean_ms") * F.col("behind") / (seconds("since", "until") * 1000 + F.col("_first_ms"))
    of_newest = F.col("_recent_ms") / (seconds("_recent_since", "until") * 1000 + F.col("_recent_first_ms"))
    fills = F.coalesce(F.greatest(of_all, of_newest) >= share, F.lit(True))  # lines without a time tell no share
    found = counted.where(((F.col("behind") >= enough) & fills) | (F.col("lines") <= fragment))
    keeps_up = F.coalesce((F.col("_records_behind") == 0) & (F.col("_growth") < grows), F.lit(False))
    return (
        found.join(_lag(log_events, per_job, newest), ["scope", "job"], "left")
        .withColumns(
            {
                "reason": F.when(keeps_up, "keeps-up").otherwise("overload"),
                "severity": F.when(keeps_up, "info").otherwise("critical"),
            }
        )
        .drop("lines", "kept", "_mean_ms", "_growth", "_first_ms", "_recent_ms", "_recent_since", "_recent_first_ms", "_records_behind")
    )


def _counted(per_job: DataFrame, told: DataFrame, log_counts: DataFrame | None) -> DataFrame:
    """`per_job` with ``behind``: all such lines, where few of very many were kept and they are those of one query."""
    if log_counts is None:
        return per_job.withColumn("behind", F.col("kept"))
    kept = told.groupBy("scope").agg(F.count("*").alias("_told"), F.countDistinct("job").alias("_jobs"))
    whole = log_counts.where(F.col("signature") == "batch-behind").groupBy("scope").agg(F.sum("events").alias("_all"))
    both = per_job.join(kept, "scope").join(whole, "scope", "left")
    all_slow = (F.col("_told") == F.col("kept")) & (F.col("_jobs") <= 1)
    return both.withColumn("behind", F.when(all_slow, F.greatest("_all", "kept")).otherwise(F.col("kept"))).drop("_told", "_jobs", "_all")


def _lag(log_events: DataFrame, per_job: DataFrame, newest: int) -> DataFrame:
    """Per query the most records that the newest of its batches in that time left in a topic; none where a source does not tell."""
    every = F.regexp_extract_all("text", F.lit(_BEHIND_LATEST), F.lit(1))
    spans = per_job.select("scope", "job", "since", "until")
    progress = log_events.where(F.col("signature") == "query-progress").join(spans, ["scope", "job"])
    progress = progress.where(F.col("at").between(F.col("since"), F.col("until"))).withColumns(
        {
            "left": F.when(F.size(every) > 0, F.array_max(F.transform(every, lambda n: n.cast("long")))),
            "rank": F.row_number().over(Window.partitionBy("scope", "job").orderBy(F.desc("at"), F.desc("file"), F.desc("line"))),
        }
    )
    lag = F.when(F.count("left") == F.count("*"), F.max("left")).alias("_records_behind")
    return progress.where(F.col("rank") <= newest).groupBy("scope", "job").agg(lag)
