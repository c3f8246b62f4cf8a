"""RST209: Kafka Streams drops records as late, because a record from the future moved its stream time."""

from analyzers.vocabulary import CRITICAL, Column, DataFrame, F, detail, event, found, has, numbered, rule

EXPIRED = "streams-window-expired"
_DAY = 86_400_000


@rule(
    "RST209", title="Kafka Streams drops records as late", cause="other", stage="access", severity=CRITICAL,
    signatures=(EXPIRED,), needs=has("enough", signature=(EXPIRED,)),
    says={
        "ahead": "Stream time of {partitions_named} is {stream_shown} UTC, {ahead} days ahead of the records that come ({newest_shown} "
        "UTC): a record with a time in the future moved it. Every window is over when its records come, and they are dropped "
        "({shown_lines} lines[[, since {since} UTC]])",
        "": "Records of {partitions_named} come after their windows and grace period are over, and are dropped ({shown_lines} lines[[, "
        "since {since} UTC]])",
    },
    missing={"ahead": "which record it was: one with a time stamp near {stream_shown} in the topic that feeds it"},
    next_command="kafka-console-consumer.sh --bootstrap-server HOST:PORT --topic {topic} --property print.timestamp=true "
    "--property print.offset=true --property print.key=true",
)  # fmt: skip
def stream_time_ahead(
    log_events: DataFrame,
    *,
    enough: int = 3,  # lines: one record that comes late is one record
    days: float = 1.0,  # between stream time and the newest dropped record: late data of hours is late, not wrong
) -> DataFrame:
    """Per application and topic. Source: KStreamWindowAggregate: stream time of a task is the largest time stamp that it has seen."""
    stream, stamp = (detail(name).try_cast("long") for name in ("stream_time", "timestamp"))
    rows = log_events.where(event(EXPIRED)).withColumns({"_stream": stream, "_stamp": stamp})
    part = F.concat_ws("-", "topic", F.col("partition").cast("string"))
    own = found(
        rows, "job", "file", "topic",
        shown_lines=F.count("*"), _stream=F.max("_stream"), _newest=F.max("_stamp"), _parts=numbered(part, "_parts"),
    )  # fmt: skip
    ahead = (F.col("_stream") - F.col("_newest")) / _DAY

    def shown(name: str) -> Column:
        return F.date_format(F.timestamp_millis(name), "yyyy-MM-dd HH:mm")

    is_ahead = F.coalesce(ahead >= days, F.lit(False))
    return own.where(F.col("shown_lines") >= enough).withColumns(
        {
            "reason": F.when(is_ahead, F.lit("ahead")).otherwise(F.lit("late")),
            "severity": F.when(is_ahead, F.lit("critical")).otherwise(F.lit("warning")),
            "ahead": F.round(ahead, 0).cast("long"),
            "stream_shown": shown("_stream"),
            "newest_shown": shown("_newest"),
            "partitions_named": F.array_join(F.slice("_parts", 1, 5), ", "),
        }
    )
