"""LAG505: the watermark does not move, or runs ahead of the clock, in a job that otherwise works."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.vocabulary.aggregates import agreed, distinct
from analyzers.vocabulary.findings import evidence
from analyzers.vocabulary.rule import rule
from analyzers.vocabulary.subtasks import subtask_name

UNSEEN = (
    "this matters only where windows, joins over time, patterns or timers in event time stand behind it, and no task's name or metric "
    "shows any: if the job has none, nothing is wrong"
)


@rule(
    "LAG505",
    title="One reader holds the watermark, or pushes it ahead of the clock",
    cause="no-progress",
    stage="lag",
    severity=Severity.CRITICAL,
    says={
        "idle-split": "The watermark of {task} is held by {holders}[[ for {held_seconds} s]]: {silent}. Checkpoints complete and records "
        "flow; {effect}",
        "reader-without-split": "The watermark of {task} is held by {holders}, which has no split to read: there are fewer partitions "
        "than readers. Checkpoints complete and records flow; {effect}",
        "silent-source": "{task} gives no watermark at all, and what joins it with another source gets none: windows, joins over time and "
        "timers behind it do not fire",
        "behind": "The watermark of {task} is held by {holders}, which is {held_seconds} s behind the other readers and still reads; "
        "{effect}",
        "future-timestamp": "The watermark of {holders} is {held_seconds} s ahead of the clock: a record carries a time that is not its "
        "own, and what comes after it counts as late[[; {late_records} records were dropped as late]][[; {effect}]]",
    },
    next_command="curl -s http://JOBMANAGER:8081/jobs/{job}/vertices/{vertex}/watermarks",
)
def watermark_held(
    watermark_holders: DataFrame,
    *,
    hour: int = 3600,  # a reader that still reads and is an hour apart is a state that grows, below that a catching-up
) -> DataFrame:
    """Per job, source and reason. Only of jobs whose checkpoints complete: otherwise the barrier is the trouble.

    Watermarks are often assigned by habit: where nothing behind is seen to need them, it is a warning and makes no verdict.
    """
    name = subtask_name(F.col("task"), F.col("subtask"), F.col("parallelism"))
    alive = watermark_holders.where(F.col("completed_at").isNotNull())
    mark = F.coalesce(F.timestamp_millis("watermark").cast("string"), F.lit("none"))
    text = F.concat(
        name, F.lit(": watermark "), mark, F.lit(", furthest "), F.timestamp_millis("others").cast("string"),
        F.coalesce(F.concat(F.lit(", silent: "), F.nullif(F.concat_ws(", ", "partitions"), F.lit(""))), F.lit("")),
    )  # fmt: skip
    found = alive.groupBy("scope", "job", "vertex", "task", "reason").agg(
        distinct(name, "holders"),
        F.when(F.count("*") == 1, F.max("subtask")).alias("subtask"),
        F.max("parallelism").alias("parallelism"),
        agreed("topic"),
        F.when(F.min("topic") == F.max("topic"), agreed("partition")).alias("partition"),
        agreed("host"),
        agreed("resource"),
        F.max("held_seconds").alias("held_seconds"),
        F.max(F.when(F.col("late_records") > 0, F.col("late_records"))).alias("late_records"),
        F.array_sort(F.array_distinct(F.flatten(F.collect_list("partitions")))).alias("_silent"),
        F.max("captured_at").alias("until"),
        F.bool_or(F.col("downstream").isNull()).alias("_nothing"),
        F.array_sort(F.array_distinct(F.flatten(F.collect_list("event_time")))).alias("_waiting"),
        evidence("watermark_holders", text, at="captured_at"),
    )
    named = F.concat_ws(", ", F.slice("_silent", 1, 8))
    no_record = F.concat(named, F.lit(" never gave a record since the job started"))
    matters = (F.size("_waiting") > 0) | F.col("late_records").isNotNull()
    ahead = F.col("reason") == "future-timestamp"
    surely = F.col("reason").isin("idle-split", "reader-without-split") | (F.col("held_seconds") >= hour)
    waiting = F.nullif(F.concat_ws(", ", F.slice("_waiting", 1, 3)), F.lit(""))
    stops = F.concat(F.lit("windows and timers in event time behind it do not fire"), F.coalesce(F.concat(F.lit(": "), waiting), F.lit("")))
    effect = F.when(~matters, F.lit(UNSEEN)).when(~ahead, stops)
    return found.withColumns(
        {
            "severity": F.when(surely & matters, F.lit("critical")).otherwise(F.lit("warning")),
            "effect": effect,
            "silent": F.when(F.size("_silent") > 0, no_record).otherwise(F.lit("it gets no records")),
            # wanted: that nothing arrives behind it, and which split it is
            "confidence": (F.lit(1) + F.col("_nothing").cast("int") + (F.size("_silent") > 0).cast("int")) / 3,
        }
    ).drop("_silent", "_nothing", "_waiting")
