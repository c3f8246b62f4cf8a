"""BRK103: a Kafka client tries an address again and again and never gets through."""

from collections.abc import Mapping, Sequence
from typing import Any

from analyzers.derived.failures.failure_signs import ANSWERED, FAILED_TO_CONNECT, OTHERS_FAILED
from analyzers.tables import Row

from analyzers.vocabulary import (  # isort: skip
    CLIENTS, CRITICAL, DataFrame, F, Window, agreed, beside, count, detail, distinct, event, first_of, found, goes_on, number_of,
    oldest, rule, seconds,
)  # fmt: skip
from analyzers.vocabulary.brokers import does_not_resolve, of_client, tried, tried_address, which_brokers
from analyzers.vocabulary.quick_looks import grouped, lasted

NAMELESS = (*OTHERS_FAILED, "rdkafka-brokers-down", "binding-brokers-down", "binding-answered")
"""Lines that may name no client: then all of one log are one client's."""
FAILED = (*FAILED_TO_CONNECT, *OTHERS_FAILED)


def _one_keeps_failing(rows: Sequence[Row], thresholds: Mapping[str, Any]) -> bool:
    """Whether a client failed often enough and for long at one address, or a name did not resolve."""
    failed = [row for row in rows if row["signature"] in FAILED]
    if len(failed) < thresholds["enough"]:
        return False
    unknown = any("UnknownHostException" in f"{row['root_exception']} {row['text']}" for row in failed)
    return unknown or any(lasted(same) >= thresholds["lasting"] for same in grouped(failed, "job", "client", tried).values())


@rule("BRK103", title="A Kafka address cannot be connected to", cause="broker-unreachable", stage="access", severity=CRITICAL,
    logs_of=CLIENTS,
    signatures=(*FAILED, "rdkafka-brokers-down", "binding-brokers-down", *ANSWERED, "node-name-changed"), needs=_one_keeps_failing,
    says={
        "never-connected": "{clients} Kafka client(s)[[ ({client})]] got no answer from any broker in {minutes} minutes[[, since {since} "
        "UTC]]: {tries} failed connection(s)[[ to {address}]]",
        "unresolvable": "The name that the cluster advertises for broker {broker}, {named}, does not resolve where the job runs[[; until "
        "{changed_at} UTC it was {former}]]: at least {tries} attempt(s) of {clients} Kafka client(s) from {since} to {until} UTC. The "
        "partitions that it leads are neither read nor written, whatever other brokers answer, and their lag grows",
        "one-broker": "{tries} connection(s) of a Kafka client to {which}[[ at {address}]] failed[[ between {since} and {until} "
        "UTC]], and no answer of it is logged: {stops}",
        "hung-up": "{tries} connection(s) of a Kafka client were ended by the other side at the first request[[ ({address})]][[ between "
        "{since} and {until} UTC]]: the listener there expects TLS or a login that the client does not use, or a load balancer has no "
        "broker behind it",
        "some-addresses": "{tries} connection(s) of Kafka clients failed[[ to {address}]][[ between {since} and {until} UTC]]; the "
        "clients get answers from other brokers",
    },
    inferred="[[The hosts do not even refuse ({setup_timeouts} set-up timeout(s)): they are off or a firewall drops the packets.]]",
    next_command={
        "unresolvable": "getent hosts {host_named}   # on a TaskManager: no answer = the name does not resolve there",
        "": "diag broker-health --bootstrap-server {first_address}",
    },
)  # fmt: skip
def address_never_reached(
    log_events: DataFrame,
    *,
    lasting: int = 180,  # seconds; a broker of a rolling restart is back sooner
    enough: int = 3,  # a single refused connection is retried within a second
    nameless: int = 45,  # seconds; a name comes back with the pod that bears it
    fresh: int = 120,  # seconds before the end of the log: who prints no answer has got one by then (librdkafka repeats itself after 30 s)
) -> DataFrame:
    """Clients that never got an answer or reach no coordinator, and advertised names that do not resolve (critical); addresses that failed
    for minutes while other brokers answer (warning)."""
    named = log_events.withColumn("client", F.when(event(*NAMELESS), F.coalesce("client", "file")).otherwise(F.col("client")))
    own = named.where(F.col("client").isNotNull() & of_client())
    client, address = Window.partitionBy("scope", "job", "client"), Window.partitionBy("scope", "job", "client", "_at")
    answers = own.where(event(*ANSWERED)).select("scope", "client", F.lit(True).alias("_answers")).distinct()
    tried = (
        own.withColumns(
            {
                "_known": F.max(detail("known").cast("int")).over(client),
                "_none_at": F.max(F.when(event("binding-brokers-down"), F.col("at"))).over(client),
                "_at": tried_address(),
            }
        )
        .where(event(*FAILED))
        .join(answers, ["scope", "client"], "left")
        .withColumn("_for", seconds(F.min("at").over(address), F.max("at").over(address)))
    )
    pause = F.col("_for") / F.greatest(F.count("*").over(address) - 1, F.lit(1))
    goes = seconds(F.max("at").over(address), F.col("as_of")) <= F.greatest(F.lit(float(fresh)), 3 * pause)
    tried = tried.withColumn("_lasts", (F.col("_for") >= lasting) & (~event(*OTHERS_FAILED) | goes))
    answered = F.coalesce("_answers", F.lit(False))
    # librdkafka prints no answer: only where each broker that it counts as down stays so is it known to have none
    dead = F.size(F.collect_set(F.when(F.col("_lasts"), F.col("_at"))).over(client))
    whole = ~event("rdkafka-connect-failed", "rdkafka-hung-up") | F.coalesce(dead >= F.col("_known"), F.lit(False))
    # rskafka tries the brokers in turn and prints when it got through to none
    in_turn = F.contains("text", F.lit("error connecting to broker "))
    whole &= ~in_turn | F.coalesce(F.col("_none_at") >= F.max("at").over(address) - F.make_dt_interval(secs=F.lit(lasting)), F.lit(False))
    # one broker after the other for a moment each is a rolling restart, however long it takes in all
    cut_off = ~answered & F.bool_or("_lasts").over(client) & whole
    # no line of other brokers: one with an id, and a coordinator, is known from what some of them answered
    known = F.coalesce(F.col("broker") >= 0, F.lit(False)) | detail("coordinator").isNotNull()
    one = event(*OTHERS_FAILED) & ~answered & F.col("_lasts") & known
    # of servers of the bootstrap list others may answer, unless each that is tried hangs up
    each = F.size(F.collect_set("_at").over(client)) == F.size(F.collect_set(F.when(F.col("_lasts"), F.col("_at"))).over(client))
    hung_up = event("rdkafka-hung-up") & F.col("_lasts") & (known | each)
    left_over = answered & F.col("_lasts") & F.col("_at").isNotNull()
    all_down = cut_off & event("rdkafka-connect-failed", "rdkafka-hung-up")
    reason = first_of(
        ("hung-up", hung_up),
        ("never-connected", all_down),
        ("one-broker", one),
        ("never-connected", cut_off),
        ("some-addresses", left_over),
    )
    weighed = tried.withColumns({"reason": reason, "_tries": F.count("*").over(client)})
    failing = found(
        weighed.where((F.col("_tries") >= enough) & F.col("reason").isNotNull()),
        "job",
        "reason",
        broker=agreed(F.when(F.col("reason") == "one-broker", F.col("broker")), "broker"),
        _brokers=F.sort_array(F.collect_set(F.when(F.col("broker") >= 0, F.col("broker")))),
        **_facts(),
    )
    unknown = event("node-connect-error") & does_not_resolve() & (F.col("broker") >= 0)
    lost = found(tried.where(unknown), "job", "broker", named=F.max("address"), end=F.max("as_of"), **_facts())
    still = lost.where(goes_on("tries", enough=enough, lasting=nameless, fresh=nameless))
    renamed = log_events.where(event("node-name-changed")).withColumns({"host_named": detail("to_host"), "_former": detail("from_host")})
    changes = renamed.groupBy("scope", "host_named").agg(F.min("at").alias("changed_at"), oldest("_former").alias("former"))
    host = {"host_named": F.regexp_replace("named", r":\d+$", ""), "reason": F.lit("unresolvable")}
    unresolved = still.withColumns(host).join(changes, ["scope", "host_named"], "left")
    others = beside(failing, unresolved.select("scope", "job"), "job", how="left_anti")
    return others.unionByName(unresolved, allowMissingColumns=True).withColumns(
        {
            # whoever cannot reach one broker of several goes on where others lead its partitions; a coordinator is needed
            "severity": F.when(
                (F.col("reason") == "some-addresses") | ((F.col("reason") == "one-broker") & (F.size("_brokers") > 0)), "warning"
            ),
            "which": F.coalesce(which_brokers(F.col("_brokers")), F.lit("the coordinator of its group")),
            "stops": first_of(
                ("the client cannot join its group, nor commit", F.size("_brokers") == 0),
                otherwise="partitions are neither read nor written for as long as it leads them",
            ),
            "minutes": F.round(seconds("since", "until") / 60).cast("long"),
            "first_address": F.coalesce(F.array_join("address", ","), F.lit("HOST:PORT,…")),
        }
    )


def _facts() -> dict[str, Any]:
    return {
        "tries": count(~event("node-setup-timeout")),
        "clients": number_of("client"),
        "client": agreed(F.when(F.col("client") != F.col("file"), F.col("client")), "client"),
        "group": agreed("group"),
        "address": distinct("_at", "address"),
        "setup_timeouts": F.nullif(count(event("node-setup-timeout")), F.lit(0)),
    }
