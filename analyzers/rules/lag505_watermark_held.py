"""LAG505: The watermark does not move, or is ahead of the clock, in a job that otherwise works."""

from analyzers.vocabulary import CRITICAL, Column, DataFrame, F, agreed, distinct, first_of, observed, rule
from analyzers.vocabulary.subtasks import subtask_name

HELD = "The watermark of {task} is held by {holders}[[ at {mark_shown} UTC]]"
STOPPED = "Checkpoints complete and records flow[[; windows and timers of {stopped} do not fire]]"
UNUSED = (
    "[[. This matters only to windows, joins over time, patterns or timers in event time, and no name or metric of a task behind "
    "{unused} shows any: without them nothing is wrong]]"
)

_OF_SQL = r"\w\[\d+\]|KafkaSource-|TableSourceScan"
"""How Flink's SQL planner names operators."""


@rule(
    "LAG505", title="One reader holds the watermark, or pushes it ahead of the clock", cause="no-progress", stage="lag", severity=CRITICAL,
    says={
        "idle-split": f"{HELD}[[ for {{held_shown}}]]: it gets no records[[ ({{silent}} gives none)]]. "
        f"{STOPPED}{UNUSED}",
        "reader-without-split": f"{HELD}, which has no split to read: there are fewer partitions than readers. {STOPPED}{UNUSED}",
        "silent-source": "{task} gives no watermark at all, and what joins it with another source gets none: windows, joins over time and "
        "timers behind it do not fire",
        "empty-source": "{task} has read no record[[ for {held_shown}]][[ from topic {topic}]] and gives no watermark: none gets "
        "past what joins it with another source[[: {stopped} write nothing, though records reach them]]",
        "behind": f"{HELD}, which is {{held_shown}} behind the other readers and still reads[[; windows and timers of {{stopped}} "
        f"wait for it]]{UNUSED}",
        "future-timestamp": "The watermark of {holders} is {held_shown} ahead of the clock[[, at {mark_shown} UTC]]: a record has a wrong "
        f"time, and records after it count as late[[; {{late_records}} records were dropped as late]]{UNUSED}",
    },
    next_command="curl -s http://JOBMANAGER:8081/jobs/{job_or}/vertices/{vertex_or}/watermarks",
)  # fmt: skip
def watermark_held(
    watermark_holders: DataFrame,
    *,
    hour: int = 3600,  # a reader that still reads and is an hour apart is a state that grows, below that a catching-up
) -> DataFrame:
    """Per job, source and reason. Only of jobs whose checkpoints complete: otherwise the barrier is the trouble.

    Watermarks are often assigned by habit: where nothing behind is seen to need them, it is a warning and makes no verdict.
    """
    name = subtask_name(F.col("task"), F.col("subtask"), F.col("parallelism"))
    mark = F.coalesce(F.timestamp_millis("watermark").cast("string"), F.lit("none"))
    silent = F.coalesce(F.concat(F.lit(", silent: "), F.nullif(F.concat_ws(", ", "partitions"), F.lit(""))), F.lit(""))
    furthest = F.timestamp_millis("others").cast("string")
    per_source = observed(
        watermark_holders.where(F.col("completed_at").isNotNull()),
        *("job", "vertex", "task", "reason"),
        at="captured_at",
        table="watermark_holders",
        shown=F.concat(name, F.lit(": watermark "), mark, F.lit(", furthest "), furthest, silent),
        holders=distinct(name, "holders"),
        subtask=F.when(F.count("*") == 1, F.max("subtask")),
        parallelism=F.max("parallelism"),
        topic=agreed("topic"),
        partition=F.when(F.min("topic") == F.max("topic"), agreed("partition")),
        host=agreed("host"),
        resource=agreed("resource"),
        held_seconds=F.max("held_seconds"),
        mark_shown=F.date_format(F.timestamp_millis(_mark()), "yyyy-MM-dd HH:mm:ss"),
        late_records=F.max(F.when(F.col("late_records") > 0, F.col("late_records"))).cast("long"),
        silent=_all("partitions"),
        _nothing=F.bool_or(F.col("downstream").isNull()),
        _waiting=_all("event_time"),
    )
    matters = (F.size("_waiting") > 0) | F.col("late_records").isNotNull()
    surely = F.col("reason").isin("idle-split", "reader-without-split", "empty-source") | (F.col("held_seconds") >= hour)
    waiting = F.nullif(F.concat_ws(", ", F.slice("_waiting", 1, 3)), F.lit(""))
    sql = F.exists(F.concat("_waiting", F.array("task")), lambda name: name.rlike(_OF_SQL))
    return per_source.withColumns(
        {
            "idle_setting": first_of(
                ("SET 'table.exec.source.idle-timeout' = '10 s'", sql), otherwise="WatermarkStrategy.withIdleness(Duration.ofSeconds(10))"
            ),
            "job_or": F.coalesce("job", F.lit("JOB")),
            "vertex_or": first_of((F.col("vertex"), F.col("vertex").rlike("^[0-9a-f]{32}$")), otherwise="VERTEX"),
            "silent_or_topic": F.coalesce(F.concat(F.lit("topic "), "topic"), F.lit("its topic")),
            "first_stopped": F.when(matters, F.regexp_extract(F.element_at(F.col("_waiting"), 1), r"^(.*?)(?: -> .*)?$", 1)),
            "severity": first_of(("critical", surely & matters), otherwise="warning"),
            "stopped": F.when(matters, F.coalesce(waiting, F.lit("tasks behind it"))),
            "unused": F.when(~matters, F.col("task")),
            # wanted: that nothing arrives behind it, and which split it is
            "confidence": (F.lit(1) + F.col("_nothing").cast("int") + (F.size("silent") > 0).cast("int")) / 3,
        }
    )


def _mark() -> Column:
    """Aggregate: of several readers that are behind the least watermark is held, of those that are ahead the greatest is reached."""
    return F.when(F.max("reason") == "future-timestamp", F.max("watermark")).otherwise(F.min("watermark"))


def _all(name: str) -> Column:
    """Aggregate: the values of all lists `name` in order."""
    return F.sort_array(F.array_distinct(F.flatten(F.collect_list(name))))
