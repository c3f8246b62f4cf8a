"""LAG501: The batches of a Spark query take longer than their trigger interval, again and again."""

from collections.abc import Mapping, Sequence
from typing import Any

from analyzers.tables import Row
from analyzers.vocabulary import (
    CRITICAL,
    SPARK_DRIVER,
    DataFrame,
    F,
    IfGiven,
    Window,
    count,
    detail,
    event,
    first_of,
    found,
    joined,
    number_of,
    rule,
    seconds,
)
from analyzers.vocabulary.quick_looks import STAY, captured, grouped

BEHIND_LATEST = r'"maxOffsetsBehindLatest" : "(\d+)"'  # per source: records between the end of the batch and the end of the topic (3.1+)
SLOW = (
    "Batches of the query took longer than their trigger interval {behind} time(s)[[ between {since} and {until} UTC]], up to {worst_ms} "
    "ms for an interval of {interval_ms} ms"
)


def _some_slow(rows: Sequence[Row], thresholds: Mapping[str, Any]) -> bool:
    """Whether enough batches were clearly too slow, or some in what may be an excerpt, or lines that are only counted."""
    for lines in grouped(row for row in rows if row["signature"] == "batch-behind").values():
        slow = [row for row in lines if (row["duration_ms"] or 0) >= int(captured(row, "interval_ms") or 0) * thresholds["clearly"]]
        few = all((row["line"] or 0) <= thresholds["fragment"] for row in lines) or any(row["left_out"] for row in lines)
        if slow and (few or any(len(same) >= min(thresholds["enough"], STAY) for same in grouped(slow, "job").values())):
            return True
    return False


@rule(
    "LAG501", title="Batches take longer than the trigger interval", cause="no-progress", stage="lag", severity=CRITICAL,
    logs_of=SPARK_DRIVER, signatures=("batch-behind", "query-progress", "batch-planned"), needs=_some_slow,
    says={
        "keeps-up": f"{SLOW}. The query keeps up all the same: each batch reads to the end of its topics (maxOffsetsBehindLatest 0), and "
        "the next one starts at once",
        "caught-up": f"{SLOW}. It is over: {{after}} batches have kept the interval since",
        "": f"{SLOW}; nothing fails, results come later and later",
    },
    missing={"overload": "which stage is slow: see durationMs in the progress lines, or the Spark UI"},
)  # fmt: skip
def batches_behind(
    log_events: DataFrame,
    log_files: DataFrame,
    log_counts: IfGiven,
    *,
    enough: int = 5,  # the first batches after a stop work off a backlog
    fragment: int = 3,  # lines: in so short an excerpt one batch is all there will be
    clearly: float = 1.3,  # times the interval; a batch that just misses it catches up with the next one
    newest: int = 20,  # batches; a query that fell behind an hour ago is ill, however seldom a batch was slow before
    grows: float = 0.2,  # from the first to the last: a query that reads to the end each time has ever more to read
    share: float = 0.5,  # of the time: one batch in ten that compacts a log, or an hourly peak, is caught up with
) -> DataFrame:
    """Per query, batches that exceeded the trigger (ProcessingTimeExecutor), where they, or the newest of them, fill the time they span."""
    interval, spent, recent = detail("interval_ms").cast("long"), F.col("duration_ms"), F.col("_rank") <= newest
    lines = log_events.where(event("batch-behind"))
    per_job = found(
        _ranked(lines.where(spent >= interval * clearly)),
        "job",
        worst_ms=F.max(spent),
        interval_ms=F.max(interval),
        _slow=count(),
        _growth=F.regr_slope(spent, F.unix_seconds("at")) * seconds(F.min("at"), F.max("at")) / F.avg(spent),
        _mean_ms=F.avg(spent),
        _first_ms=F.min_by(spent, "at"),
        _recent_ms=F.sum(F.when(recent, spent)),
        _recent_since=F.min(F.when(recent, F.col("at"))),
        _recent_first_ms=F.min_by(spent, F.when(recent, F.col("at"))),
    )
    counts = log_counts.where(event("batch-behind")).groupBy("scope").agg(F.sum("events").alias("_all"))
    sampled = lines.groupBy("scope").agg(F.count("*").alias("_sampled"), number_of("job").alias("_jobs"))
    size = log_files.groupBy("scope").agg(F.sum("lines").alias("_lines"))
    # counts know no query: they are of this one where it is the only one, and each of its sampled batches was slow
    whole = (F.col("_sampled") == F.col("_slow")) & (F.col("_jobs") <= 1)
    behind = F.when(whole, F.greatest("_all", "_slow")).otherwise(F.col("_slow"))
    known = joined(per_job, sampled, "scope").join(counts, "scope", "left").join(size, "scope", "left").withColumn("behind", behind)
    of_all = F.col("_mean_ms") * F.col("behind") / (seconds("since", "until") * 1000 + F.col("_first_ms"))
    of_newest = F.col("_recent_ms") / (seconds("_recent_since", "until") * 1000 + F.col("_recent_first_ms"))
    fills = F.coalesce(F.greatest(of_all, of_newest) >= share, F.lit(True))  # lines without a time have no share
    ill = known.where(((F.col("behind") >= enough) & fills) | (F.col("_lines") <= fragment))
    keeps_up = F.coalesce((F.col("_left") == 0) & (F.col("_growth") < grows), F.lit(False))
    over = F.coalesce(F.col("after") >= enough, F.lit(False))
    ill = ill.join(_after(log_events, per_job), ["scope", "job"], "left")
    return ill.join(_left(log_events, per_job, newest), ["scope", "job"], "left").withColumns(
        {
            "reason": first_of(("caught-up", over), ("keeps-up", keeps_up), otherwise="overload"),
            "severity": first_of(("info", keeps_up | over), otherwise="critical"),
        }
    )


def _after(log_events: DataFrame, per_job: DataFrame) -> DataFrame:
    """Per query the batches that began or ended after its last slow one, by what more lines show."""
    shown = joined(log_events.where(event("query-progress", "batch-planned")), per_job.select("scope", "job", "until"), ["scope", "job"])
    later = shown.where(F.col("at") > F.col("until") + F.expr("INTERVAL 2 SECONDS")).groupBy("scope", "job")
    return later.agg(F.greatest(*(count(event(name)) for name in ("query-progress", "batch-planned"))).alias("after"))


def _ranked(rows: DataFrame) -> DataFrame:
    """`rows` with `_rank`: 1 for the newest of its query."""
    newest_first = Window.partitionBy("scope", "job").orderBy(F.desc("at"), F.desc("file"), F.desc("line"))
    return rows.withColumn("_rank", F.row_number().over(newest_first))


def _left(log_events: DataFrame, per_job: DataFrame, newest: int) -> DataFrame:
    """Per query the most records that the newest of its batches in that time left in a topic; null where a source does not report it."""
    every = F.regexp_extract_all("text", F.lit(BEHIND_LATEST), F.lit(1))
    left = F.when(F.size(every) > 0, F.array_max(F.transform(every, lambda n: n.cast("long"))))
    progress = joined(log_events.where(event("query-progress")), per_job.select("scope", "job", "since", "until"), ["scope", "job"])
    in_time = progress.where(F.col("at").between(F.col("since"), F.col("until"))).withColumn("_left", left)
    last = _ranked(in_time).where(F.col("_rank") <= newest).groupBy("scope", "job")
    return last.agg(F.when(F.count("_left") == F.count("*"), F.max("_left")).alias("_left"))
