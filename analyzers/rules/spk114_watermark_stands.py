"""SPK114: The progress of a query shows a watermark that stands while rows come in: what waits for it is never given out."""

from typing import Any

from analyzers.vocabulary import SPARK_DRIVER, WARNING, DataFrame, F, count, first_of, found, number_of, rule

_STANDS = (
    "The watermark of query {query_shown} has stood at {watermark} UTC for {batches} batches[[ ({minutes} min)]] that read {rows_read} rows"
    "[[; its state grew from {state_before} to {state_now} rows, none removed]]"
)


@rule(
    "SPK114", title="The watermark of a query stands while rows come in", cause="no-progress", stage="lag", severity=WARNING,
    logs_of=SPARK_DRIVER,
    says={
        "quiet-source": f"{_STANDS}. {{quiet}} gave no row in all of them: the watermark of several inputs is the lowest one",
        "stands": f"{_STANDS}",
    },
    missing={"stands": "the event times of the newest rows: eventTime.max of the progress shows whether they are old, or from the future"},
    next_command="kafka-get-offsets.sh --bootstrap-server HOST:PORT --topic TOPIC --time latest # twice: does the quiet topic get records?",
)  # fmt: skip
def watermark_stands(
    query_batches: DataFrame,
    *,
    enough: int = 5,  # batches: the watermark of a batch is that of the events of the one before
    lasting: int = 300,  # seconds: event times of a minute's batches may lie close together
) -> DataFrame:
    """Per query, the batches since its watermark moved last. Critical where the state of the query grows by all that comes in."""
    mark, at = F.col("watermark"), F.col("at")
    newest = query_batches.groupBy("scope", "query").agg(F.max(mark).alias("_mark"), F.max_by("watermark", "batch").alias("_last"))
    newest = newest.where(F.col("_mark") == F.col("_last"))
    rows = query_batches.join(newest, ["scope", "query"]).where(mark == F.col("_mark"))
    all_sources, busy = F.array_distinct(F.flatten(F.collect_list("sources"))), F.array_distinct(F.flatten(F.collect_list("busy")))
    quiet = F.array_except(all_sources, busy)
    facts: dict[str, Any] = {
        "job": F.max("job"), "query_shown": F.coalesce(F.max("name"), F.max("query")), "batches": number_of("batch"),
        "rows_read": F.sum("rows"),
        "watermark": F.date_format(F.max(mark), "yyyy-MM-dd HH:mm:ss"), "_span": F.max(at).cast("long") - F.min(at).cast("long"),
        "_quiet": F.array_join(quiet, ", "), "_busy": F.size(busy), "_with_rows": count(F.col("rows") > 0),
        "_before": F.min_by("state_rows", "batch"), "_now": F.max_by("state_rows", "batch"), "_removed": F.sum("removed_rows"),
    }  # fmt: skip
    shown = F.concat_ws(", ", F.concat(F.lit("batch "), "batch"), F.concat(F.lit("watermark "), F.date_format(mark, "yyyy-MM-dd HH:mm:ss")),
                        F.concat(F.lit("rows "), "rows"))  # fmt: skip
    made = found(rows, "query", table="query_batches", shown=shown, file=F.col("file"), **facts)
    stands = (F.col("batches") >= enough) & (F.col("_with_rows") >= enough) & (F.col("_span") >= lasting)
    grows = F.coalesce((F.col("_now") > F.col("_before")) & (F.col("_removed") == 0), F.lit(False))
    has_quiet = (F.col("_quiet") != "") & (F.col("_busy") > 0)
    return made.where(stands).withColumns(
        {
            "reason": first_of(("quiet-source", has_quiet), otherwise="stands"),
            "severity": first_of(("critical", grows), otherwise="warning"),
            "quiet": F.nullif("_quiet", F.lit("")),
            "topic": F.when(has_quiet & ~F.col("_quiet").contains(", "), F.col("_quiet")),
            "minutes": F.round(F.col("_span") / 60, 1),
            "state_before": F.when(grows, F.col("_before")),
            "state_now": F.when(grows, F.col("_now")),
            "confidence": F.lit(0.9),
        }
    )
