"""SPK115: What a query reads is dropped as late: its watermark has passed it, often because of one event time in the future."""

from typing import Any

from analyzers.vocabulary import CRITICAL, DataFrame, F, Window, first_of, found, number_of, rule

_DROPS = (
    "Query {query_shown} has dropped what it read as late in {batches} batches, from batch {first_batch} to {last_batch}: {dropped} rows"
    "[[ and {nothing} was written]]. Its watermark is {watermark} UTC"
)


@rule(
    "SPK115", title="What a query reads is dropped as late", cause="no-progress", stage="lag", severity=CRITICAL,
    says={
        "future": f"{_DROPS}, {{ahead_shown}} ahead of the clock: batch {{jump_batch}} read an event time of {{event_max}} UTC",
        "late": f"{_DROPS}; the event times that it reads are older",
    },
    missing={
        "future": "which record it was: the offsets of batch {jump_batch} bound where it lies",
        "late": "why the event times are older",
    },
    next_command="diag triage CHECKPOINT_DIRECTORY # the offsets of the batches whose rows were dropped",
)  # fmt: skip
def rows_dropped_late(
    query_batches: DataFrame,
    *,
    enough: int = 3,  # batches one after another, the newest among them: one may be a late file or a partition that was behind
    ahead: int = 600,  # seconds: event times of senders whose clocks are right lie less ahead
) -> DataFrame:
    """Per query, its newest batches that read rows and dropped some of them as late, where none of them wrote anything, or, for sinks that
    do not count, where the mean of the event times lies behind the watermark."""
    query = Window.partitionBy("scope", "query")
    passed = F.coalesce(F.col("event_avg") < F.col("watermark"), F.lit(False))
    nothing = F.coalesce(F.col("out_rows") == 0, passed)
    lost = (F.col("rows") > 0) & (F.col("dropped_rows") > 0) & nothing
    idle = F.coalesce(F.col("rows"), F.lit(0)) == 0
    kept_at = F.coalesce(F.max(F.when(~lost & ~idle, F.col("batch"))).over(query), F.lit(-1))
    skew = F.col("event_max").cast("long") - F.col("at").cast("long")
    jumped = F.when(skew >= ahead, F.struct("batch", "event_max"))
    batches = query_batches.withColumns({"_kept": kept_at, "_lost": lost, "_jump": F.min(jumped).over(query)})
    rows = batches.where(F.col("_lost") & (F.col("batch") > F.col("_kept")))
    mark = F.max("watermark")
    facts: dict[str, Any] = {
        "job": F.max("job"), "query_shown": F.coalesce(F.max("name"), F.max("query")), "batches": number_of("batch"),
        "nothing": F.when(F.max("out_rows") == 0, F.lit("nothing")),
        "first_batch": F.min("batch"), "last_batch": F.max("batch"), "dropped": F.sum("dropped_rows"),
        "watermark": F.date_format(mark, "yyyy-MM-dd HH:mm:ss"), "_ahead": mark.cast("long") - F.max("at").cast("long"),
        "jump_batch": F.max("_jump.batch"), "event_max": F.date_format(F.max("_jump.event_max"), "yyyy-MM-dd HH:mm:ss"),
    }  # fmt: skip
    shown = F.concat_ws(", ", F.concat(F.lit("batch "), "batch"), F.concat(F.lit("rows "), "rows"),
                        F.concat(F.lit("dropped as late "), "dropped_rows"))  # fmt: skip
    made = found(rows, "query", table="query_batches", shown=shown, file=F.col("file"), **facts)
    future = (F.col("_ahead") > 0) & F.col("jump_batch").isNotNull()
    return made.where(F.col("batches") >= enough).withColumns(
        {
            "reason": first_of(("future", future), otherwise="late"),
            "ahead_shown": F.when(F.col("_ahead") >= 172_800, F.format_string("%d days", F.floor(F.col("_ahead") / 86_400))).otherwise(
                F.format_string("%d h %d min", F.floor(F.col("_ahead") / 3600), F.floor(F.col("_ahead") % 3600 / 60))
            ),
            "confidence": F.lit(0.9),
        }
    )
