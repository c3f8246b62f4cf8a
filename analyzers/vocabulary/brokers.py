"""Which brokers left the cluster for good, and which addresses a client tried in vain: what rules about reachability share."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from analyzers.derived.failures.failure_signs import FAILED_TO_CONNECT
from analyzers.vocabulary.aggregates import agreed, distinct, seconds
from analyzers.vocabulary.findings import beside

LEFT = (
    "broker-shutdown-granted",
    "broker-left-at-once",
    "broker-fenced",
    "broker-failure-callback",
    "broker-transition",
    "broker-shutting-down",
)
BACK = ("broker-unfenced", "broker-unfence-granted", "broker-started", "broker-startup-callback")
BROKER_LIFE = (*LEFT, *BACK, "broker-address")

DISK_FULL = "No space left on device|Disk quota exceeded|There is not enough space on the disk"
"""An expression of what operating systems answer where there is no room."""


def departed(log_events: DataFrame, *, gone_for: int) -> DataFrame:
    """Brokers that left and did not come back within the log: scope, broker, broker_address, left_at, and the rows at which they left.

    One row per leaving line since the broker's last return. `gone_for`: seconds of log that must follow; a broker of a rolling restart is
    back sooner. A broker that never served is none (KRaft registers every broker fenced). Source: Kafka's QuorumController,
    BrokerLifecycleManager, KafkaController.
    """
    leaving = F.col("signature").isin(*LEFT) & ~(
        (F.col("signature") == "broker-transition") & (F.coalesce("to_state", F.lit("")) != "SHUTTING_DOWN")
    )
    coming = F.col("signature").isin(*BACK)
    listens = F.coalesce(_detail("listener"), F.concat_ws(":", _detail("named_host"), _detail("port")))
    each = Window.partitionBy("scope", "broker")
    rows = (
        log_events.where(F.col("signature").isin(*BROKER_LIFE))
        .withColumn("broker", F.coalesce("broker", *(_detail(name).cast("long") for name in ("granted", "named", "registered"))))
        .where(F.col("broker").isNotNull())
        .withColumns(
            {
                "broker_address": F.max(F.when(F.col("signature") == "broker-address", listens)).over(each),
                "_back": F.max(F.when(coming, F.col("at"))).over(each),
                "_end": F.max("as_of").over(Window.partitionBy("scope")),
            }
        )
    )
    gone = rows.where(leaving & (F.col("_back").isNull() | (F.col("at") > F.col("_back"))))
    return gone.withColumn("left_at", F.min("at").over(each)).where(seconds("left_at", "_end") >= gone_for)


def departed_brokers(log_events: DataFrame, *, gone_for: int) -> DataFrame:
    """`departed` per scope: gone (node ids), gone_addresses (those known), gone_since."""
    return (
        departed(log_events, gone_for=gone_for)
        .groupBy("scope")
        .agg(distinct("broker", "gone"), distinct("broker_address", "gone_addresses"), F.min("left_at").alias("gone_since"))
    )


def bootstrap_lists(log_events: DataFrame) -> DataFrame:
    """Per scope the bootstrap list that clients printed (null where they disagree): scope, bootstrap."""
    lists = F.regexp_replace(F.col("detail")["bootstrap"], r"\s", "")
    return log_events.where(F.col("signature") == "kafka-client-config").groupBy("scope").agg(agreed(lists, "bootstrap"))


def entries_mended() -> Column:
    """What to do with the entries, from the columns ``address`` (that fail), ``bootstrap`` and ``broker`` (seen to leave).

    Where all fail, none is to be kept. Where no log shows the broker leave, it may only have been down for a while.
    """
    living = F.array_except(F.split("bootstrap", ","), "address")
    failing = F.coalesce(F.concat(F.lit(" ("), F.array_join("address", ", "), F.lit(")")), F.lit(""))
    kept = F.when(F.size(living) == 1, F.concat(F.lit("add a second living broker to "), living[0])).otherwise(
        F.lit("keep at least two living brokers in it")
    )
    return F.when(
        F.size(living) == 0,
        F.concat(
            F.lit("Bring the brokers back, or put the addresses of living ones into bootstrap.servers and restart the job: every entry"),
            F.lit(" fails in these logs"),
            failing,
        ),
    ).otherwise(
        F.concat(
            F.when(F.col("broker").isNotNull(), F.lit("Remove the dead entries")).otherwise(
                F.lit(
                    "Look first whether the brokers that do not answer are meant to be gone: bring back what is only down. "
                    "If they are gone, remove the dead entries"
                )
            ),
            failing,
            F.lit(" from bootstrap.servers, "),
            kept,
            F.lit(", and restart the job"),
        )
    )


def does_not_resolve() -> Column:
    """Whether a line of a client tells that the name of the address does not resolve."""
    return F.concat_ws(" ", "root_exception", "text").contains("UnknownHostException")


def with_tried_addresses(found: DataFrame, log_events: DataFrame) -> DataFrame:
    """`found` (scope, job, since, until) with `tried`, the addresses that clients could not reach then.

    One that last failed long before the fault, or early in a fault that goes on for hours, was restarted or moved: others are dead.
    """
    failed = log_events.where(F.col("signature").isin(*FAILED_TO_CONNECT) & (F.coalesce("role", F.lit("")) != "kafka-broker"))
    per_address = failed.groupBy("scope", tried_address().alias("at_address")).agg(F.max("at").alias("last_at"))
    begins = F.greatest(F.col("since") - F.make_dt_interval(mins=F.lit(10)), F.col("until") - F.make_dt_interval(hours=F.lit(1)))
    then = found.select("scope", "job", begins.alias("begins")).join(per_address, "scope")
    lately = then.where(F.coalesce(F.col("last_at") >= F.col("begins"), F.lit(True)))
    return beside(found, lately.groupBy("scope", "job").agg(distinct("at_address", "tried")), "job")


def tried_address() -> Column:
    """``host:port`` of a connection line: the name as configured where the line has it, else the address as printed."""
    name, port = _detail("named_host"), F.regexp_extract("address", r":(\d+)$", 1)
    named = (F.coalesce(name, F.lit("")) != "") & (port != "") & ~F.contains(F.col("address"), F.coalesce(name, F.lit("-")))
    return F.when(named, F.concat_ws(":", name, port)).otherwise(F.col("address"))


def _detail(name: str) -> Column:
    return F.col("detail")[name]


def broker_in_text() -> Column:
    """The node id in a line of a broker's own, whichever of its parts printed it; null where it prints none."""
    own = r"\[(?:Kafka ?Server|BrokerServer|ControllerServer|KafkaRaftServer|ReplicaManager|LogManager|SocketServer)[^\]\n]*?[= ](\d+)\]"
    return F.nullif(F.regexp_extract(F.regexp_extract("text", r"^[^\n]*", 0), own, 1), F.lit("")).cast("long")


def is_up_again(failed: Column) -> Column:
    """Whether the broker said that it is up after the last line of `failed`: in the same log, or by its id in the next one."""
    up = F.col("signature") == "broker-started"
    one_log, one_broker = Window.partitionBy("scope", "file"), Window.partitionBy("scope", broker_in_text())
    here = F.max(F.when(up, F.col("line"))).over(one_log) > F.max(F.when(failed, F.col("line"))).over(one_log)
    later = F.max(F.when(up, F.col("at"))).over(one_broker) > F.max(F.when(failed, F.col("at"))).over(one_broker)
    return F.coalesce(here, F.lit(False)) | F.coalesce(later & broker_in_text().isNotNull(), F.lit(False))


def which_brokers(ids: Column) -> Column:
    """``broker 5``, ``brokers 5, 6``: the node ids in an array within a sentence; null where there are none."""
    more = F.format_string(" and %d more", F.size(ids) - 8)
    names = F.concat(F.array_join(F.slice(ids, 1, 8), ", "), F.when(F.size(ids) > 8, more).otherwise(""))
    return F.when(F.size(ids) > 0, F.concat(F.when(F.size(ids) == 1, "broker ").otherwise("brokers "), names))


def broker_named(broker: Column) -> Column:
    """``Broker 3``, or ``A broker`` where no line has its id: the subject of a sentence."""
    return F.coalesce(F.concat(F.lit("Broker "), broker), F.lit("A broker"))
