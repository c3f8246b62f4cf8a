"""BRK103: a Kafka client tries an address again and again and never gets through."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from analyzers.derived.failures.failure_signs import ANSWERED, FAILED_TO_CONNECT
from analyzers.report.finding import Severity
from analyzers.tables import Row
from analyzers.tables.processes import CLIENTS
from analyzers.vocabulary.aggregates import agreed, distinct, goes_on, seconds
from analyzers.vocabulary.brokers import does_not_resolve, tried_address
from analyzers.vocabulary.findings import exemplars
from analyzers.vocabulary.rule import rule

FAILED = (*FAILED_TO_CONNECT, "rdkafka-connect-failed")


def _tries_again(rows: Sequence[Row], thresholds: Mapping[str, Any]) -> bool:
    """A client, and no broker's own, that failed to connect often enough."""
    failed = [row for row in rows if row["signature"] in FAILED and row["client"] is not None and row["role"] != "kafka-broker"]
    per_client = Counter((row["scope"], row["job"], row["client"]) for row in failed)
    return any(tries >= thresholds["enough"] for tries in per_client.values())


@rule(
    "BRK103",
    title="A Kafka address cannot be connected",
    cause="broker-unreachable",
    stage="access",
    severity=Severity.CRITICAL,
    logs_of=CLIENTS,
    signatures=(*FAILED, "rdkafka-brokers-down", *ANSWERED, "node-name-changed"),
    says={
        "never-connected": "{clients} Kafka client(s)[[ ({client})]] got no answer from any broker in {minutes} minutes[[, since "
        "{since} UTC]]: {tries} failed connection(s)[[ to {address}]]",
        "unresolvable": "The name under which the cluster advertises broker {broker}, {named}, does not resolve where the job runs[[; "
        "until {changed_at} UTC it was {former}]]: at least {tries} attempt(s) of {clients} Kafka client(s) from {since} to {until} UTC. "
        "What it leads is neither read nor written, whatever other brokers answer, and the lag of that grows",
        "": "{tries} connection(s) of Kafka clients failed[[ to {address}]][[ between {since} and {until} UTC]]; the clients get "
        "answers from other brokers",
    },
    inferred="[[{black_hole}]]",
    next_command={
        "unresolvable": "getent hosts {host_named}   # on a TaskManager: no answer = the name does not resolve there",
        "": "diag broker-health --bootstrap-server {first_address}",
    },
    needs=_tries_again,
)
def address_never_reached(
    log_events: DataFrame,
    *,
    lasting: int = 180,  # seconds; a broker of a rolling restart is back sooner
    enough: int = 3,  # a single refused connection is retried within a second
    nameless: int = 45,  # seconds; a name comes back with the pod that bears it
) -> DataFrame:
    """Clients that never got an answer, advertised names that do not resolve (critical); addresses that failed for minutes while others
    answer (warning).
    """
    renamed = log_events.where(F.col("signature") == "node-name-changed")
    log_events = log_events.where(F.col("signature") != "node-name-changed")
    of_client = log_events.where(F.col("client").isNotNull() & (F.coalesce("role", F.lit("")) != "kafka-broker"))
    failed = F.col("signature").isin(*FAILED)
    reached = (
        of_client.where(F.col("signature").isin(*ANSWERED))
        .select(F.col("scope").alias("_scope"), F.col("client").alias("answered"))
        .distinct()
    )
    client = Window.partitionBy("scope", "job", "client")
    known = F.max(F.col("detail")["known"].cast("int")).over(client)
    tried = of_client.withColumn("known", known).where(failed).withColumn("at_address", tried_address())
    spans = tried.withColumns(
        {
            "tries_of_client": F.count("*").over(client),
            "span_of_client": seconds(F.min("at").over(client), F.max("at").over(client)),
            "span_of_address": seconds(
                F.min("at").over(client.partitionBy("scope", "job", "client", "at_address")),
                F.max("at").over(client.partitionBy("scope", "job", "client", "at_address")),
            ),
        }
    )
    long_enough = spans.where((F.col("tries_of_client") >= enough) & (F.col("span_of_client") >= lasting))
    # one broker after the other for a moment each is a rolling restart, however long it takes in all
    same_for_long = long_enough.withColumn("longest", F.max("span_of_address").over(client)).where(F.col("longest") >= lasting)
    # librdkafka prints no answer: only where each broker that it counts as down stays so is it known to have none
    dead = F.size(F.collect_set(F.when(F.col("span_of_address") >= lasting, F.col("at_address"))).over(client))
    whole = (F.col("signature") != "rdkafka-connect-failed") | F.coalesce(F.col("dead") >= F.col("known"), F.lit(False))
    cut_off = (
        same_for_long.withColumn("dead", dead)
        .where(whole)
        .drop("longest", "dead")
        .join(reached, (F.col("scope") == F.col("_scope")) & (F.col("client") == F.col("answered")), "left_anti")
    )
    alone = cut_off.groupBy("scope", "job").agg(*_told(), F.lit("never-connected").alias("reason"), F.lit("critical").alias("severity"))
    address_lasts = F.col("at_address").isNotNull() & (F.col("span_of_address") >= lasting)
    other = long_enough.where(address_lasts).join(
        reached, (F.col("scope") == F.col("_scope")) & (F.col("client") == F.col("answered")), "left_semi"
    )
    some = other.groupBy("scope", "job").agg(*_told(), F.lit("some-addresses").alias("reason"), F.lit("warning").alias("severity"))
    unresolved = _unresolved(tried, renamed, enough=enough, nameless=nameless)
    found = alone.unionByName(some).join(unresolved.select("scope", "job").distinct(), ["scope", "job"], "left_anti")
    return (
        found.unionByName(unresolved, allowMissingColumns=True)
        .withColumns(
            {
                "minutes": F.round(seconds("since", "until") / 60).cast("long"),
                "address_or_entries": F.coalesce(F.array_join("address", ", "), F.lit("the bootstrap entries")),
                "first_address": F.coalesce(F.array_join("address", ","), F.lit("HOST:PORT,…")),
                "black_hole": F.when(
                    F.col("setup_timeouts") > 0,
                    F.lit("The hosts do not even refuse (set-up time-outs): they are off or a firewall drops the packets."),
                ),
            }
        )
        .drop("setup_timeouts")
    )


def _unresolved(tried: DataFrame, renamed: DataFrame, *, enough: int, nameless: int) -> DataFrame:
    """Per job and broker: attempts at a node whose advertised name does not resolve, to the end of the log."""
    unknown = does_not_resolve() & (F.col("broker") >= 0)
    nodes = tried.where((F.col("signature") == "node-connect-error") & unknown)
    lost = nodes.groupBy("scope", "job", "broker").agg(
        *_told(), F.max("address").alias("named"), F.max("as_of").alias("end"), F.lit("unresolvable").alias("reason")
    )
    still = lost.where(goes_on("tries", enough=enough, lasting=nameless, fresh=nameless))
    changes = renamed.groupBy(F.col("scope").alias("_scope"), F.col("detail")["to_host"].alias("to_host")).agg(
        F.min("at").alias("changed_at"), F.min_by(F.col("detail")["from_host"], "at").alias("former")
    )
    host = F.regexp_replace("named", r":\d+$", "")
    same = (F.col("scope") == F.col("_scope")) & (host == F.col("to_host"))
    told = still.withColumn("host_named", host).join(changes, same, "left").drop("_scope", "to_host", "end")
    return told.withColumn("severity", F.lit("critical"))


def _told() -> list[Column]:
    return [
        F.count_if(F.col("signature") != "node-setup-timeout").alias("tries"),
        F.countDistinct("client").alias("clients"),
        agreed("client"),
        agreed("group"),
        distinct("at_address", "address"),
        F.min("at").alias("since"),
        F.max("at").alias("until"),
        F.count_if(F.col("signature") == "node-setup-timeout").alias("setup_timeouts"),
        exemplars(),
    ]
