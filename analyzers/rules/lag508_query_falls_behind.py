"""LAG508: A Spark query, or a DStream, falls ever further behind its input, and no line warns of it."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from analyzers.tables import Row
from analyzers.vocabulary import CRITICAL, SPARK_DRIVER, DataFrame, F, Window, count, detail, event, first_of, found, rule, seconds
from analyzers.vocabulary.quick_looks import captured

_BEHIND = r'"maxOffsetsBehindLatest" ?: ?"(\d+)"'  # per source: records between the end of the batch and the end of the topic (3.1+)
_FILES = r'"numFilesOutstanding" ?: ?"(\d+)"'  # of Delta's source and of Auto Loader
_READ, _TOOK = r'"numInputRows" ?: ?(\d+)', r'"triggerExecution" ?: ?(\d+)'
_TOPIC = r"Kafka\w*\[Subscribe\[([\w.-]+)\]\]"
SHOWN_BY = ("query-progress", "dstream-delay")


def _some_behind(rows: Sequence[Row], thresholds: Mapping[str, Any]) -> bool:
    """Whether enough batches say how far they are behind, and one of them is far."""
    shown = [row for row in rows if row["signature"] in SHOWN_BY]
    left = (number for row in shown for number in re.findall(f"{_BEHIND}|{_FILES}", row["text"] or ""))
    far = any(float(of_topic or of_files) >= thresholds["records"] for of_topic, of_files in left)
    return len(shown) >= min(thresholds["enough"], thresholds["fewer"]) and (far or any(captured(row, "delay") for row in shown))


@rule(
    "LAG508", title="A query falls behind its input", cause="no-progress", stage="lag", severity=CRITICAL, logs_of=SPARK_DRIVER,
    signatures=(*SHOWN_BY, "batch-behind"), needs=_some_behind,
    says={
        "delay": "Batches of the DStream wait ever longer: {last_shown} s in all for the newest of {batches} batches, {first_shown} s for "
        "the first[[ at {since} UTC]]; a batch itself takes {spent} s",
        "capped": "The query falls ever further behind[[ topic {topic}]]: {last_shown} {unit} at the newest of {batches} batches, "
        "{first_shown} at the first[[ at {since} UTC]]. Each of its newest batches reads {per_batch} rows and takes {took_seconds} s, "
        "though the next begins {between_seconds} s after it began",
        "": "The query falls ever further behind[[ topic {topic}]]: {last_shown} {unit} at the newest of {batches} batches, {first_shown} "
        "at the first[[ at {since} UTC]]",
    },
)  # fmt: skip
def query_falls_behind(
    log_events: DataFrame,
    *,
    enough: int = 10,  # batches; fewer show no trend
    fewer: int = 6,  # batches, where each one leaves more behind than the one before it
    lasting: float = 300,  # seconds from the first to the last of so few; a peak is over by then
    steady: float = 0.9,  # correlation of the backlog with time: a saw-tooth, or a peak that is worked off, has less
    records: int = 1000,  # behind at the newest batch; what one batch reads
    alike: int = 5,  # newest batches that read as many rows each: a limit, not the load
    free: float = 0.6,  # share of the time between two batches that a batch takes at most: it waits for its trigger
    waits: float = 60,  # seconds of delay at the newest batch
    times: int = 3,  # the first backlog, or the batch's own duration
) -> DataFrame:
    """Per query by the offsets in its progress, per DStream by the delay of its batches; LAG501 has those that a line warns of."""
    delay = detail("delay").try_cast("double")
    records_left, files_left = (F.regexp_extract_all("text", F.lit(pattern), F.lit(1)) for pattern in (_BEHIND, _FILES))
    of_files = F.size(records_left) == 0
    left = F.array_max(F.transform(F.when(of_files, files_left).otherwise(records_left), lambda n: n.try_cast("double")))
    rows = log_events.where(event(*SHOWN_BY) & F.col("at").isNotNull()).withColumns(
        {
            "_behind": F.coalesce(delay, left),
            "_unit": first_of(("files", of_files), otherwise="records"),
            "_spent": detail("spent").try_cast("double"),
            "_topic": F.nullif(F.regexp_extract("text", _TOPIC, 1), F.lit("")),
            "_order": F.struct("at", "seq"),
            "_rows": F.regexp_extract("text", _READ, 1).try_cast("long"),
            "_took": F.regexp_extract("text", _TOOK, 1).try_cast("double"),
        }
    )
    warned = log_events.where(event("batch-behind")).select(F.col("scope").alias("_there"), F.col("job").alias("_whose")).distinct()
    same_query = (F.col("scope") == F.col("_there")) & (F.col("_whose").isNull() | F.col("job").eqNullSafe(F.col("_whose")))
    in_order = Window.partitionBy("scope", "job", "signature").orderBy("_order")
    known = rows.where(F.col("_behind").isNotNull())
    per_query = found(
        known.withColumn("_grew", F.col("_behind") > F.lag("_behind").over(in_order)),
        "job",
        "signature",
        batches=count(),
        _first=F.min_by("_behind", "_order"),
        _last=F.max_by("_behind", "_order"),
        _steady=F.corr(F.unix_seconds("at").cast("double"), "_behind"),
        _shrank=F.count_if(~F.col("_grew")),
        spent=F.max_by("_spent", "_order"),
        _newest=F.slice(F.reverse(F.sort_array(F.collect_list(F.struct("_order", "_rows", "_took")))), 1, alike),
        _each=(F.max("at").cast("double") - F.min("at").cast("double")) / (F.max("checkpoint") - F.min("checkpoint")),
        unit=F.max_by("_unit", "_order"),
        topic=F.when(F.min("_topic") == F.max("_topic"), F.max("_topic")),
    ).join(warned, same_query, "left_anti")
    read, took = F.transform("_newest", lambda one: one["_rows"]), F.transform("_newest", lambda one: one["_took"])
    least, longest = F.array_min(read), F.array_max(took) / 1000
    capped = (F.size("_newest") == alike) & (least == F.array_max(read)) & (least > 0) & (longest < F.col("_each") * free)
    of_delay = F.col("signature") == "dstream-delay"
    long = F.when(of_delay, (F.col("_last") >= waits) & (F.col("_last") >= F.col("spent") * 2)).otherwise(F.col("_last") >= records)
    grows = (F.col("_steady") >= steady) & (F.col("_last") >= F.col("_first") * times)
    always = (F.col("batches") >= fewer) & (F.col("_shrank") == 0) & (seconds("since", "until") >= lasting)
    return (
        per_query.where(((F.col("batches") >= enough) | always) & long & grows)
        .select(
            "*",
            first_of(("delay", of_delay), ("capped", F.coalesce(capped, F.lit(False))), otherwise="offsets").alias("reason"),
            F.format_string("%,d", least).alias("per_batch"),
            F.round(longest).cast("int").alias("took_seconds"),
            F.round("_each").cast("int").alias("between_seconds"),
            F.format_string("%,.0f", "_first").alias("first_shown"),
            F.format_string("%,.0f", "_last").alias("last_shown"),
        )
        .drop("signature")
    )
