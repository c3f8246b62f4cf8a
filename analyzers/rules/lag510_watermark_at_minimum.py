"""LAG510: Saved metrics show a watermark that never left its lowest number while records are read: no window fires."""

from typing import Any

from analyzers.vocabulary import CRITICAL, DataFrame, F, first_of, found, rule

_NONE = (
    "The watermark of all {of_subtasks} subtask(s)[[ of {operator}]] is at its lowest number (Flink: -9223372036854775808, Beam: "
    "-9223372036854775)[[ for {minutes} min]] while the job[[ {job_name}]] reads records ({records_shown})[[; it wrote {written_shown}]]"
)


_OF_BEAM = "a timestamp policy that moves on for idle partitions (withLogAppendTime, withProcessingTime, or one of your own)"


@rule(
    "LAG510", title="A watermark never leaves its lowest number", cause="no-progress", stage="lag", severity=CRITICAL,
    needs=lambda rows, _: bool(rows),
    says={
        "empty-partitions": f"{_NONE}. {{named}} hold no record, or get none: a reader of an empty partition gives no watermark, and the "
        "lowest one counts",
        "idle-subtasks": f"{_NONE}. Source subtask(s) {{silent_shown}} give no watermark, and the lowest one counts",
        "alignment": "Watermark alignment pauses {operator}[[ of job {job_name}]]: {silent_shown} gives no watermark[[ for {minutes} "
        "min]], and the group waits for it; {records_shown} records wait there",
        "stands": f"{_NONE}: windows, joins over time and timers behind it never fire",
    },
    missing={"stands": "which reader gives no watermark: currentOutputWatermark of each source subtask, the ends of the partitions"},
    next_command="kafka-get-offsets.sh --bootstrap-server HOST:PORT --topic TOPIC --time latest   # which partitions are empty?",
)  # fmt: skip
def watermark_at_minimum(
    marks_at_minimum: DataFrame,
    *,
    young: int = 60,  # seconds: a job that has just started has no watermark yet
    settled: int = 120,
    many: int = 100_000,  # records: whoever has read as many has had one of each partition that has some
) -> DataFrame:
    """Per job. Without event time a watermark stands so for ever: only an operator that surely waits for it makes it a verdict."""
    age = F.col("age_seconds")
    old = F.coalesce(age >= settled, F.col("records") >= many)
    rows = marks_at_minimum.where(F.coalesce(age >= young, F.lit(True))).withColumns(
        {
            "named": F.nullif(F.array_join(F.slice(F.coalesce("partitions", F.array()), 1, 8), ", "), F.lit("")),
            "silent_shown": F.nullif(F.array_join(F.coalesce("silent", F.array()), ", "), F.lit("")),
            "severity": first_of(("critical", F.col("sure") & old), otherwise="warning"),
            "partition": F.when(F.size("partitions") == 1, F.regexp_extract(F.element_at("partitions", 1), r"-(\d+)$", 1).cast("int")),
        }
    )
    names = (
        "reason", "job_name", "operator", "of_subtasks", "named", "silent_shown", "severity", "topic", "partition", "api", "records",
        "written",
    )  # fmt: skip
    facts: dict[str, Any] = {name: F.max(name) for name in names}
    facts |= {"since": F.lit(None).cast("timestamp"), "_age": F.max("age_seconds"), "_sure": F.max("sure")}
    made = found(rows, "job", table="marks_at_minimum", **facts)
    return made.withColumns(
        {
            "minutes": F.when(F.col("_age") >= settled, F.round(F.col("_age") / 60, 0).cast("int")),
            "records_shown": F.format_number("records", 0),
            "written_shown": F.when(F.col("written") == 0, F.lit("none")),
            "idle_setting": first_of(
                (_OF_BEAM, F.col("api") == "beam"),
                ("SET 'table.exec.source.idle-timeout' = '30 s'", F.col("api") == "sql"),
                otherwise="WatermarkStrategy.withIdleness(Duration.ofSeconds(30))",
            ),
            "waiter": F.coalesce("operator", F.lit("what waits for event time")),
            "topic_shown": F.coalesce("topic", F.lit("its topic")),
            "confidence": first_of((0.9, F.col("_sure") & (F.col("reason") != "stands")), (0.7, F.col("_sure")), otherwise=0.5),
        }
    )
