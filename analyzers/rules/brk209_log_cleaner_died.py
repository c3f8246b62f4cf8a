"""BRK209: a thread of a broker's log cleaner died, or the cleaner leaves partitions out: compacted topics grow."""

from analyzers.vocabulary import (
    BROKER,
    WARNING,
    Column,
    DataFrame,
    F,
    Window,
    agreed,
    event,
    first_of,
    found,
    has,
    in_short,
    numbered,
    place,
    rule,
    said,
)
from analyzers.vocabulary.brokers import broker_named

_SIGNS = ("log-cleaner-died", "partition-uncleanable")
_ROTATED = r"(\.log)\.\d[\d.T_-]*(?:\.(?:gz|bz2|xz|zst))?$"  # server.log.2024-09-03-02: as shipped, Kafka begins a file each hour
_MAP_FULL = r"but offset map can fit only|Unable to build the offset map for segment|to a full offset map"


@rule("BRK209", title="A broker's log cleaner died", stage="access", severity=WARNING, logs_of=BROKER,
    signatures=(*_SIGNS, "log-cleaner-started", "broker-started"), needs=has(signature=_SIGNS),
    says={
        "": "{who} no longer cleans its logs: a thread of its log cleaner died[[ at {since} UTC]][[: {what}]]. Its compacted topics grow "
        "without bound, __consumer_offsets among them, until the cleaner is started again",
        "uncleanable": "{who} leaves {partitions} out when it cleans its logs[[, since {since} UTC]][[: {what}]]. Until it is "
        "started again, what is left out grows without bound",
    },
    missing="[[{unsaid}]]",
)  # fmt: skip
def log_cleaner_died(log_events: DataFrame) -> DataFrame:
    """Per broker log, rotated files as one: threads that died and partitions that are left out, unless a start came after it.

    A broker that shuts down stops its cleaner without an error. Since 1.1 a changed setting starts the threads anew, but what is left out
    is forgotten by a restart alone. Source: Kafka's LogCleaner, LogCleanerManager and ShutdownableThread.
    """
    died, left_out = event("log-cleaner-died"), event("partition-uncleanable")

    def after_last(*starts: str) -> Column:
        last = F.max(F.when(event(*starts), F.col("seq"))).over(Window.partitionBy("scope", "_log"))
        return F.coalesce(F.col("seq") > last, F.lit(True))

    still = (died & after_last("log-cleaner-started", "broker-started")) | (left_out & after_last("broker-started"))
    own = log_events.where(F.coalesce("role", F.lit("kafka-broker")) == "kafka-broker")
    rows = own.withColumn("_log", F.regexp_replace("file", _ROTATED, "$1")).withColumn("_still", still)
    shown = F.col("_still")
    name = F.when(shown, F.concat_ws("-", "topic", "partition"))
    per_log = found(
        rows,
        "_log",
        of=shown,
        broker=agreed("broker"),
        topic=agreed(F.when(shown, F.col("topic"))),
        partition=agreed(F.when(shown, F.col("partition"))),
        what=F.min_by(said(), F.when(shown & F.col("root_exception").isNotNull(), place())),
        reason=first_of(
            ("map-full", F.max(shown & died & F.rlike("text", F.lit(_MAP_FULL)))),
            ("died", F.max(shown & died)),
            otherwise="uncleanable",
        ),
        unsaid=first_of(
            ("the exception itself: the lines after these in the broker's log", ~F.max(shown & F.col("root_exception").isNotNull())),
        ),
        _names=numbered(F.nullif(name, F.lit("")), "_names"),
    )
    more = F.format_string(" and %d more", F.size("_names") - 5)
    listed = F.concat(F.array_join(F.slice("_names", 1, 5), ", "), F.when(F.size("_names") > 5, more).otherwise(""))
    return per_log.withColumns({"who": broker_named(F.col("broker")), "partitions": listed, "short": in_short("what")})
