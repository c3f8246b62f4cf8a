"""BRK221: a group or transaction coordinator took long to read its partition: until it had, its groups got no answer."""

from collections.abc import Mapping, Sequence
from typing import Any

from analyzers.tables import Row
from analyzers.vocabulary import BROKER, CRITICAL, DataFrame, F, agreed, detail, event, first_of, found, rule
from analyzers.vocabulary.brokers import broker_named
from analyzers.vocabulary.quick_looks import captured

_TOOK = "{who} became coordinator and needed {minutes} min to read {partition_named}[[, until {until} UTC]]"
_MEANWHILE = "Until it was read its groups got no answer (COORDINATOR_LOAD_IN_PROGRESS)[[; {others} other partition(s) waited behind it]]"
LOADED, LEFT_OUT = "coordinator-loaded", "partition-uncleanable"


def _one_is_long(rows: Sequence[Row], thresholds: Mapping[str, Any]) -> bool:
    """Whether one partition took so long."""
    loaded = (row for row in rows if row["signature"] == LOADED)
    return any(int(captured(row, "milliseconds") or 0) >= thresholds["seconds"] * 1000 for row in loaded)


@rule(
    "BRK221", title="A coordinator took long to load its partition", cause="broker-unreachable", stage="access", severity=CRITICAL,
    logs_of=BROKER, signatures=(LOADED, LEFT_OUT), needs=_one_is_long,
    says={
        "uncleaned": f"{_TOOK}: its log cleaner leaves that partition out[[ since {{uncleaned_at}} UTC]], so that it holds every commit "
        f"since. {_MEANWHILE}",
        "": f"{_TOOK}. {_MEANWHILE}",
    },
    missing={"": "how large the partition is on each broker: kafka-log-dirs.sh shows it", "uncleaned": ""},
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
    long = rows.where(event(LOADED) & (F.col("_took") >= seconds))
    marked = rows.where(event(LEFT_OUT)).groupBy("scope", F.col("_named").alias("partition_named"))
    left_out = marked.agg(F.min("at").alias("uncleaned_at"))
    own = F.col("_took") - F.coalesce(F.regexp_extract("text", r"of which (\d+) millisecond", 1).try_cast("long"), F.lit(0)) / 1000
    per = found(
        long.withColumn("_own", own), "file",
        broker=agreed("broker"),
        partition_named=F.max_by("_named", "_own"),
        _seconds=F.max("_took"),
        _loaded=F.count_distinct("_named"),
    )  # fmt: skip
    per = per.join(left_out, ["scope", "partition_named"], "left")
    return per.withColumns(
        {
            "reason": first_of(("uncleaned", F.col("uncleaned_at").isNotNull()), otherwise="slow"),
            "severity": first_of(("critical", F.col("_seconds") >= grave), otherwise="warning"),
            "minutes": F.round(F.col("_seconds") / 60, 0).cast("long"),
            "others": F.when(F.col("_loaded") > 1, F.col("_loaded") - 1),
            "who": broker_named(F.col("broker")),
        }
    )
