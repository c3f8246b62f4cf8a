"""Which brokers left the cluster for good, and which addresses clients could not connect to: rules about reachability share it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from analyzers.derived.failures.failure_signs import BROKER_BACK, BROKER_LEFT, BROKER_LIFE, FAILED_TO_CONNECT, OTHERS_FAILED
from analyzers.tables import Row
from analyzers.vocabulary.aggregates import agreed, distinct, seconds
from analyzers.vocabulary.columns import detail, event
from analyzers.vocabulary.quick_looks import captured, grouped

DISK_FULL = "No space left on device|Disk quota exceeded|There is not enough space on the disk"
"""An expression of what operating systems answer where there is no room."""

_NAMED = ("granted", "named", "registered")
"""Under which names lines of a broker's life have its id."""

UNNAMED = "which broker does not answer: these log lines do not name it; a probe of every bootstrap server does"


def departed(log_events: DataFrame, *, gone_for: int) -> DataFrame:
    """Brokers that left and did not come back within the log: scope, broker, broker_address, left_at, and the rows at which they left.

    One row per leaving line since the broker's last return. `gone_for`: seconds of log that must follow; a broker of a rolling restart is
    back sooner. A broker that never served is none (KRaft registers every broker fenced). Source: Kafka's QuorumController,
    BrokerLifecycleManager, KafkaController.
    """
    leaving = event(*BROKER_LEFT) & ~(event("broker-transition") & (F.coalesce("to_state", F.lit("")) != "SHUTTING_DOWN"))
    coming = event(*BROKER_BACK)
    listens = F.coalesce(detail("listener"), F.concat_ws(":", detail("named_host"), detail("port")))
    each = Window.partitionBy("scope", "broker")
    first = F.coalesce("broker", *(detail(name).cast("long") for name in _NAMED))
    named = F.split(F.concat(first, F.coalesce(detail("more"), F.lit(""))), ", ?").cast("array<bigint>")
    rows = (
        log_events.where(event(*BROKER_LIFE))
        .withColumn("broker", F.explode(named))  # of no row that names none
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


def some_left(rows: Sequence[Row], *, gone_for: float) -> bool:
    """Whether `departed` could find a broker: one left so many seconds before the end of the logs, and did not come back."""
    for own in grouped(row for row in rows if row["signature"] in BROKER_LIFE).values():
        end = max((row["as_of"] for row in own if row["as_of"] is not None), default=None)
        dated = [row for row in own if row["at"] is not None]
        up = (row for row in dated if row["signature"] in BROKER_BACK)
        back = dict(sorted((broker, row["at"]) for row in up for broker in _named(row)))  # of each the last time
        left = (row for row in dated if end is not None and _leaves(row) and (end - row["at"]).total_seconds() >= gone_for)
        if any(broker not in back or row["at"] > back[broker] for row in left for broker in _named(row)):
            return True
    return False


def _named(row: Row) -> list[str]:
    """The brokers that a line of their life names."""
    first = next((of for of in (row["broker"], *(captured(row, name) for name in _NAMED)) if of is not None), None)
    return [] if first is None else re.split(", ?", f"{first}{captured(row, 'more') or ''}")


def _leaves(row: Row) -> bool:
    return row["signature"] in BROKER_LEFT and (row["signature"] != "broker-transition" or row["to_state"] == "SHUTTING_DOWN")


def of_client() -> Column:
    """Whether a line is of a client: brokers connect to each other, too, and log it with the same words."""
    return F.coalesce("role", F.lit("")) != "kafka-broker"


def does_not_resolve() -> Column:
    """Whether a line of a client reports that the name of the address does not resolve."""
    return F.concat_ws(" ", "root_exception", "text").contains("UnknownHostException")


def tried_address() -> Column:
    """``host:port`` of a connection line: the name as configured where the line has it, else the address as printed."""
    name, port = detail("named_host"), F.regexp_extract("address", r":(\d+)$", 1)
    named = (F.coalesce(name, F.lit("")) != "") & (port != "") & ~F.contains(F.col("address"), F.coalesce(name, F.lit("-")))
    return F.when(named, F.concat_ws(":", name, port)).otherwise(F.col("address"))


def tried(row: Row) -> str | None:
    """`tried_address` of one row."""
    address: str | None = row["address"]
    name, port = captured(row, "named_host"), re.search(r":(\d+)$", address or "")
    return f"{name}:{port[1]}" if name and port and name not in (address or "") else address


def with_addresses(failing: DataFrame, log_events: DataFrame, *, gone_for: int, clients: DataFrame | None = None) -> DataFrame:
    """`failing` (scope, job, since, until) with the brokers that its clients could not reach, as far as logs name them.

    bootstrap: the list that clients printed (null where they disagree). address: servers on it that left the cluster for good
    (`departed`), else those that clients could not reach then. broker, broker_ids: all that left, where the list names them all;
    gone_since. For the advice one of all_failing (every server of the list), departed and unsure, and alone (the only one that did not
    fail). unnamed: what is missing. bootstrap_or_placeholder. Scratch: _tried, _gone, _gone_addresses. `clients`: `of_clients` with more.
    """
    gone = departed(log_events, gone_for=gone_for).groupBy("scope")
    left = gone.agg(distinct("broker", "_gone"), distinct("broker_address", "_gone_addresses"), F.min("left_at").alias("gone_since"))
    both = failing.join(of_clients(log_events) if clients is None else clients, "scope", "left").join(left, "scope", "left")
    listed = F.array_intersect("_gone_addresses", F.split("bootstrap", ","))
    known = both.withColumns({"_tried": _lately("_failed"), "_listed": F.when(F.size(listed) > 0, listed)})
    return with_advice(
        known.withColumns(
            {
                "address": F.coalesce("_listed", "_tried"),
                "broker": F.when(F.size("_listed") == F.size("_gone"), F.col("_gone")),
                "bootstrap_or_placeholder": F.coalesce("bootstrap", F.lit("HOST:PORT,…")),
            }
        )
    )


def with_advice(known: DataFrame) -> DataFrame:
    """`known` (bootstrap, address, broker) with broker_ids, all_failing, departed, unsure, alone and unnamed, as `with_addresses` has them.

    Where every server fails, none can stay on the list; where no log shows the broker leave, it may only have been down for a while.
    """
    reachable = F.array_except(F.split("bootstrap", ","), "address")
    failing = F.coalesce(F.array_join("address", ", "), F.lit("the servers that do not answer"))
    none_left, left = F.coalesce(F.size(reachable) == 0, F.lit(False)), F.col("broker").isNotNull()
    return known.withColumns(
        {
            "broker_ids": F.array_join("broker", ", "),
            "all_failing": F.when(none_left, failing),
            "departed": F.when(~none_left & left, failing),
            "unsure": F.when(~none_left & ~left, failing),
            "alone": F.when(F.size(reachable) == 1, reachable[0]),
            "unnamed": F.when(F.col("address").isNull(), F.lit(UNNAMED)),
        }
    )


def of_clients(log_events: DataFrame, *more: Column) -> DataFrame:
    """Per scope the bootstrap list that clients printed (null where they disagree), and `_failed`: addresses that they could not reach;
    and `more`, aggregates."""
    printed = F.when(event("kafka-client-config"), F.regexp_replace(detail("bootstrap"), r"\s", ""))
    failed = F.when(event(*FAILED_TO_CONNECT, *OTHERS_FAILED) & of_client(), F.struct(tried_address().alias("address"), "at"))
    return log_events.groupBy("scope").agg(agreed(printed, "bootstrap"), F.collect_set(failed).alias("_failed"), *more)


def _lately(failed: str) -> Column:
    """The addresses that clients could not reach when it failed (``since``, ``until``), sorted.

    One that last failed long before the fault, or early in a fault that goes on for hours, was restarted or moved.
    """
    begins = F.greatest(F.col("since") - F.make_dt_interval(mins=F.lit(10)), F.col("until") - F.make_dt_interval(hours=F.lit(1)))
    lately = F.filter(failed, lambda one: F.coalesce(one["at"] >= begins, F.lit(True)))
    addresses = F.sort_array(F.array_distinct(F.array_compact(F.transform(lately, lambda one: one["address"]))))
    return F.when(F.size(addresses) > 0, addresses)


def broker_in_text() -> Column:
    """The node id in a line of a broker's own, whichever of its parts printed it; null where it prints none."""
    parts = "Kafka ?Server|Broker(?:Server|LifecycleManager)|ControllerServer|KafkaRaftServer|ReplicaManager|LogManager|SocketServer"
    own = rf"\[(?:{parts})[^\]\n]*?[= ](\d+)\]"
    return F.nullif(F.regexp_extract(F.regexp_extract("text", r"^[^\n]*", 0), own, 1), F.lit("")).cast("long")


def is_up_again(failed: Column) -> Column:
    """Whether the broker logged that it is up after the last line of `failed`: in the same log, or by its id in the next one."""
    up = event("broker-started")
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
