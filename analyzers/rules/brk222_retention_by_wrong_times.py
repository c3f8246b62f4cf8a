"""BRK222: retention deletes what was written a moment ago, because the time stamps of its records are old."""

from collections.abc import Mapping, Sequence
from typing import Any

from analyzers.tables import Row
from analyzers.vocabulary import BROKER, CRITICAL, DataFrame, F, detail, event, first_of, found, numbered, rule
from analyzers.vocabulary.quick_looks import captured

EXPIRED = "segment-expired"
_SEGMENTS = "{segments} segment(s) of {partitions_named}[[, first at {since} UTC]]"
_SECONDS = 1000
"""So many times smaller than a time in milliseconds is one in seconds."""


def _one_is_young(rows: Sequence[Row], thresholds: Mapping[str, Any]) -> bool:
    """Whether a segment was written to long after the time that its newest record claims."""
    expired = (row for row in rows if row["signature"] == EXPIRED)
    return any(
        int(captured(row, "modified") or 0) - int(captured(row, "largest") or 0) > thresholds["days"] * 86_400_000 for row in expired
    )


@rule(
    "BRK222", title="Retention deletes records because of their time stamps", cause="offset-reset", stage="access", severity=CRITICAL,
    logs_of=BROKER, signatures=(EXPIRED,), needs=_one_is_young,
    says={
        "seconds": "The records of {topic} carry time stamps in seconds, not in milliseconds ({largest}: {claimed} for Kafka), so that "
        f"retention.ms ({{retention}} ms) deletes them at once, the newest segment too: {_SEGMENTS}",
        "": "The records of {topic} carry time stamps ({claimed}) that are older than its retention ({retention} ms) when they are "
        f"written, so that they are deleted at once: {_SEGMENTS}",
    },
    next_command="kafka-console-consumer.sh --bootstrap-server HOST:PORT --topic {topic} --property print.timestamp=true --max-messages 5",
)  # fmt: skip
def retention_by_wrong_times(
    log_events: DataFrame,
    *,
    days: float = 3,  # between the last write to a segment and its newest record's time: late data of a weekend is no mistake
) -> DataFrame:
    """Per topic. A backfill with its original times is deleted likewise. Source: Kafka's UnifiedLog.deleteRetentionMsBreachedSegments."""
    modified, largest, retention = (detail(name).try_cast("long") for name in ("modified", "largest", "retention"))
    rows = log_events.where(event(EXPIRED)).withColumns({"_modified": modified, "_largest": largest, "_retention": retention})
    apart = F.col("_modified") - F.col("_largest")
    # a replica that was copied is written to when its records are old already: they were kept for less than the retention
    young = rows.where((apart > days * 86_400_000) & (apart > F.col("_retention")) & (F.col("_largest") > 0))
    own = found(
        young, "topic",
        segments=F.count_distinct("partition", "offset"),
        largest=F.max_by("_largest", "seq"),
        _modified=F.max_by("_modified", "seq"),
        retention=F.max_by("_retention", "seq"),
        _parts=numbered(F.concat_ws("-", "topic", F.col("partition").cast("string")), "_parts"),
    )  # fmt: skip
    ratio = F.col("_modified") / F.col("largest")
    return own.withColumns(
        {
            "reason": first_of(("seconds", ratio.between(_SECONDS * 0.8, _SECONDS * 1.25)), otherwise="old"),
            "severity": first_of(("critical", ratio.between(_SECONDS * 0.8, _SECONDS * 1.25)), otherwise="warning"),
            "claimed": F.date_format(F.timestamp_millis("largest"), "yyyy-MM-dd"),
            "partitions_named": F.array_join(F.slice("_parts", 1, 5), ", "),
        }
    )
