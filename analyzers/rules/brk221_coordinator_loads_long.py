"""BRK221: a group or transaction coordinator took long to read its partition: until it had, its groups got no answer."""

from collections.abc import Mapping, Sequence
from typing import Any

from analyzers.tables import Row
from analyzers.vocabulary import BROKER, CRITICAL, DataFrame, F, agreed, detail, event, first_of, found, rule
from analyzers.vocabulary.brokers import broker_named
from analyzers.vocabulary.quick_looks import captured

_NO_BROKER = r"(?i)\bw-[0-9a-f]{8}\b|log-?cleaner|kafkaserver|server|kafka|\.log.*$|[-_.]"
"""What of the name of a log names no broker (tokens of a redacted bundle, too): `log-cleaner-kafka-3.log` and `server-kafka-3.log` are of
one."""
_TOOK = "{who} became coordinator and needed {minutes} min to read {partition_named}[[, until {until} UTC]]"
_MEANWHILE = "Until it was read its groups got no answer (COORDINATOR_LOAD_IN_PROGRESS)[[; {others} other partition(s) waited behind it]]"
LOADING, LOADED, LEFT_OUT, DIED = "coordinator-loading", "coordinator-loaded", "partition-uncleanable", "log-cleaner-died"


def _one_is_long(rows: Sequence[Row], thresholds: Mapping[str, Any]) -> bool:
    """Whether one partition took so long, or its loading was not seen to end."""
    loaded = [row for row in rows if row["signature"] == LOADED]
    if any(int(captured(row, "milliseconds") or 0) >= thresholds["seconds"] * 1000 for row in loaded):
        return True
    ended = {(row["scope"], row["file"], row["topic"], row["partition"]): row["line"] for row in loaded}
    begun = (row for row in rows if row["signature"] == LOADING)
    return any(row["line"] > ended.get((row["scope"], row["file"], row["topic"], row["partition"]), -1) for row in begun)


@rule(
    "BRK221", title="A coordinator took long to load its partition", cause="broker-unreachable", stage="access", severity=CRITICAL,
    logs_of=BROKER, signatures=(LOADING, LOADED, LEFT_OUT, DIED), needs=_one_is_long,
    says={
        "loading": f"{{who}} became coordinator at {{since}} UTC and is still reading {{partition_named}} {{minutes}} min later[[; "
        f"{{why}}]]. {_MEANWHILE}",
        "uncleaned": f"{_TOOK}: its log cleaner leaves that partition out[[ since {{uncleaned_at}} UTC]], so that it holds every commit "
        f"since. {_MEANWHILE}",
        "cleaner-dead": f"{_TOOK}: {{why}}, so that it holds every commit since. {_MEANWHILE}",
        "": f"{_TOOK}. {_MEANWHILE}",
    },
    missing={
        "": "how large the partition is on each broker: kafka-log-dirs.sh shows it",
        **dict.fromkeys(("uncleaned", "cleaner-dead", "loading"), ""),
    },
    next_command="kafka-log-dirs.sh --bootstrap-server HOST:PORT --describe --topic-list __consumer_offsets",
)  # fmt: skip
def coordinator_loads_long(
    log_events: DataFrame,
    *,
    seconds: int = 60,  # a compacted partition of 100 MB is read in a few seconds
    grave: int = 300,  # seconds: longer than a consumer's session and a poll together
) -> DataFrame:
    """Per broker log the partition that took longest. Partitions are read one after the other: others wait behind it.

    Source: Kafka's GroupMetadataManager, CoordinatorRuntime and LogCleaner. A cleaner that failed on a partition leaves it out until the
    broker is started again, on that broker only: it is felt when that broker leads.
    """
    took = detail("milliseconds").cast("long") / 1000
    rows = log_events.withColumns({"_took": took, "_named": F.concat_ws("-", "topic", "partition")})
    rows = rows.withColumn("_broker", F.regexp_replace(F.regexp_extract("file", r"([^/]*)$", 1), _NO_BROKER, ""))
    marked = rows.where(event(LEFT_OUT)).groupBy("scope", "_broker", F.col("_named").alias("partition_named"))
    left_out = marked.agg(F.min("at").alias("uncleaned_at"))
    dead = rows.where(event(DIED)).groupBy("scope", "_broker").agg(F.min("at").alias("died_at"))
    ended = rows.where(event(LOADED)).groupBy("scope", "file", "_named").agg(F.max("line").alias("_ended"))
    begun = rows.where(event(LOADING)).groupBy("scope", "file", "_named").agg(F.max_by(F.struct("at", "line"), "line").alias("_last"))
    open_ = begun.join(ended, ["scope", "file", "_named"], "left").where(F.col("_last.line") > F.coalesce("_ended", F.lit(-1)))
    open_ = open_.select("scope", "file", "_named", F.col("_last.line").alias("line"))
    still = rows.where(event(LOADING)).join(open_, ["scope", "file", "_named", "line"])
    waits = (F.col("as_of").cast("double") - F.col("at").cast("double")).cast("long")
    still = still.withColumns({"_took": waits, "_own": waits.cast("double"), "_open": F.lit(True)})
    own = F.col("_took") - F.coalesce(F.regexp_extract("text", r"of which (\d+) millisecond", 1).try_cast("long"), F.lit(0)) / 1000
    done = rows.where(event(LOADED)).withColumns({"_own": own.cast("double"), "_open": F.lit(False)})
    long = done.unionByName(still.select(*done.columns)).where(F.col("_own") >= seconds)
    per = found(
        long, "file",
        broker=agreed("broker"),
        partition_named=F.max_by("_named", F.struct("_open", F.when(F.col("_open"), -F.col("line")).otherwise(F.col("_own")))),
        _seconds=F.max("_own"),
        _broker=F.max("_broker"),
        _until=F.max("at"),
        _loaded=F.count_distinct("_named"),
        _open=F.max("_open"),
    )  # fmt: skip
    per = per.join(dead, ["scope", "_broker"], "left")
    per = per.join(left_out, ["scope", "_broker", "partition_named"], "left")
    before = {name: F.when(F.col(name) < F.col("_until"), F.col(name)) for name in ("uncleaned_at", "died_at")}
    per = per.withColumns(before)
    uncleaned, died = (F.date_format(name, "yyyy-MM-dd HH:mm 'UTC'") for name in ("uncleaned_at", "died_at"))
    return per.withColumns(
        {
            "reason": first_of(
                ("loading", F.col("_open")),
                ("uncleaned", F.col("uncleaned_at").isNotNull()),
                ("cleaner-dead", F.col("died_at").isNotNull()),
                otherwise="slow",
            ),
            "why": first_of(
                (F.concat(F.lit("its log cleaner has left that partition out since "), uncleaned), F.col("uncleaned_at").isNotNull()),
                (F.concat(F.lit("a log cleaner died at "), died), F.col("died_at").isNotNull()),
            ),
            "severity": first_of(("critical", F.col("_seconds") >= grave), otherwise="warning"),
            "minutes": F.round(F.col("_seconds") / 60, 0).cast("long"),
            "others": F.when(F.col("_loaded") > 1, F.col("_loaded") - 1),
            "who": broker_named(F.col("broker")),
        }
    )
