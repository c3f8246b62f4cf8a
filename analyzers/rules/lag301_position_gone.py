"""LAG301: the wanted offset no longer exists, and the client reset its position and went on."""

from collections.abc import Mapping, Sequence
from typing import Any

from analyzers.tables import Row
from analyzers.vocabulary import CRITICAL, DataFrame, F, Window, agreed, count, detail, distinct, event, first_of, found, rule, seconds
from analyzers.vocabulary.lag import the_partition
from analyzers.vocabulary.quick_looks import captured

_GONE = ("offset-out-of-range", "rdkafka-offset-reset", "kafkajs-offset-reset")


def _some_gone(rows: Sequence[Row], _thresholds: Mapping[str, Any]) -> bool:
    """Whether a position was reset in a topic that brokers know."""
    unknown = {(row["scope"], row["topic"]) for row in rows if row["signature"] == "unknown-topic-or-partition"}
    gone = (row for row in rows if row["signature"] in _GONE and captured(row, "then") in (None, "resetting offset"))
    return any(row["topic"] is not None and (row["scope"], row["topic"]) not in unknown for row in gone)


@rule(
    "LAG301", title="The position of a partition was reset under the job: records skipped or read again", cause="offset-reset", stage="lag",
    severity=CRITICAL, signatures=(*_GONE, "offset-reset", "unknown-topic-or-partition"), needs=_some_gone,
    says={
        "retention": "The offsets that the job wanted are gone ({moves}): it went on at the first ones that exist, {records} record(s) "
        "were never read[[, first at {since} UTC]]",
        "rewound": "The partitions end before the offsets that the job wanted ({moves}): it went back, and what is there is read again "
        "or was never read[[, first at {since} UTC]]",
        "": "The offsets that the job wanted do not exist ({moves}): the client reset its position, records were skipped or are read "
        "again[[, first at {since} UTC]]",
    },
    inferred={"retention": "That retention deleted them is inferred: the first offset that exists is above the wanted one."},
    next_command="diag lag-report --bootstrap-server HOST:PORT,…[[ --group {group}]]",
)  # fmt: skip
def position_gone(
    log_events: DataFrame,
    *,
    prompt: int = 60,  # seconds: a client resets with its next poll; a later reset has another reason
) -> DataFrame:
    """Per job, the partitions with a fetch position that was out of range and reset; first starts of a group log no such line."""
    reader = Window.partitionBy("scope", "job", "client", "topic", "partition").orderBy("at", "line")
    after = reader.rowsBetween(1, Window.unboundedFollowing)
    reset = F.first(F.when(event("offset-reset"), F.struct("at", "offset")), ignorenulls=True).over(after)
    late = F.coalesce(seconds("at", F.col("_reset")["at"]) > prompt, F.lit(False))
    wanted, reached = F.col("_wanted"), F.col("_reached")
    rows = log_events.where(F.col("topic").isNotNull()).withColumn("_reset", reset)
    rows = rows.withColumn("_wanted", F.coalesce("offset", detail("position").cast("long")))
    rows = rows.withColumn("_reached", F.when(~late, F.col("_reset")["offset"]))
    gone = event(*_GONE) & (F.coalesce(detail("then"), F.lit("resetting offset")) == "resetting offset")
    recreated = log_events.where(event("unknown-topic-or-partition")).select("scope", "topic").distinct()
    before = F.coalesce(wanted.cast("string"), F.lit("?"))
    now = F.coalesce(reached.cast("string"), detail("reset_to"), F.lit("?"))  # librdkafka names only the end that it went to
    skipped, again = count(reached > wanted) > 0, count(reached <= wanted) > 0
    return found(
        rows.where(gone).join(recreated, ["scope", "topic"], "left_anti"),
        "job",
        moves=distinct(F.format_string("%s-%s: %s → %s", "topic", F.col("partition").cast("string"), before, now), "moves"),
        topics=distinct("topic", "topics"),
        records=F.sum(F.greatest(reached - wanted, F.lit(0))),
        group=agreed("group"),
        reason=first_of(("retention", skipped & ~again), ("rewound", again & ~skipped), otherwise="out-of-range"),
        **the_partition(offset="_wanted"),
    )
