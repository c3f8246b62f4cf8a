"""BRK101: attempts fail because the Kafka client cannot get at its brokers."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from analyzers.derived.failures.failure_signs import FAILED_TO_CONNECT
from analyzers.report.finding import Severity
from analyzers.vocabulary.aggregates import agreed, distinct, failures
from analyzers.vocabulary.brokers import (
    BROKER_LIFE,
    bootstrap_lists,
    departed_brokers,
    does_not_resolve,
    entries_mended,
    with_tried_addresses,
)
from analyzers.vocabulary.rule import FAILING, rule

COMMITS = (
    "Failed to commit consumer offsets|failed async Kafka commit|Committing offsets to Kafka failed|[Cc]ommit of offsets|Offset commit"
)
OLD_CLIENT = (
    "no connection set-up time-out and stay with a host that does not answer until the operating system gives up (about 130 s): "
    "there neither a lower request.timeout.ms nor a restart strategy helps, and a default.api.timeout.ms above 180000 only gives each "
    "client one more try. Where the entries must stay: net.ipv4.tcp_syn_retries=2 on the job's hosts, or kafka-clients 2.7 or newer."
)
NEW_CLIENT = (
    "gives up a host that does not answer after socket.connection.setup.timeout.ms (10 s, growing to 30 s) and tries the next entry; "
    "request.timeout.ms does not bound that."
)


@rule(
    "BRK101",
    title="Kafka cannot be reached: metadata or requests time out",
    cause="broker-unreachable",
    stage="access",
    severity=Severity.CRITICAL,
    faults=(
        "metadata-timeout",
        "admin-timeout",
        "bootstrap-unresolvable",
        "producer-timeout",
        "kafka-timeout",
        "kafka-reader-timeout",
        "kafka-connection",
        "leader-missing",
    ),
    signatures=("kafka-client-config", "kafka-clients-version", *FAILED_TO_CONNECT, *BROKER_LIFE),
    says="The Kafka client[[ of {task}]] cannot reach its brokers: {what}; {failures} failure(s)[[ in {attempts} attempt(s)]][[, the "
    "first at {since} UTC]]"
    "[[. Addresses that fail: {address}]][[. The advertised name does not resolve where the job runs: {unresolved}]]"
    "[[. Bootstrap list: {bootstrap}]]",
    inferred="[[Brokers {broker_ids} left the cluster at {gone_since} UTC and did not return, and the bootstrap list still names them.]]",
    missing="[[{unnamed}]]",
    next_command="diag broker-health --bootstrap-server {bootstrap_or_placeholder}",
    needs=FAILING,
)
def metadata_unreachable(
    faults: DataFrame,
    log_events: DataFrame | None,
    *,
    enough: int = 1,  # one is enough: the fault stopped an attempt
    gone_for: int = 60,  # seconds; a broker of a rolling restart is back by then
) -> DataFrame:
    """Fatal Kafka access faults per job, with what the logs tell about the addresses."""
    reading = faults.where(~F.col("text").rlike(COMMITS))  # a failed commit stops nothing: BRK105, LAG401
    found = failures(reading, distinct(F.concat_ws("-", "topic", "partition"), "tps"), agreed("topic"), agreed("partition"))
    found = found.where(F.col("failures") >= enough).withColumn("topic", F.when(F.col("partition").isNotNull(), F.col("topic")))
    if log_events is None:
        nothing = dict.fromkeys(("bootstrap", "gone_since", "broker", "broker_ids", "version"), F.lit(None).cast("string"))
        return _worded(found.withColumns(nothing | {name: F.lit(None).cast("array<string>") for name in ("address", "unresolved")}))
    facts = (
        with_tried_addresses(found, log_events)
        .join(bootstrap_lists(log_events), "scope", "left")
        .join(_proofs(log_events), "scope", "left")
        .join(departed_brokers(log_events, gone_for=gone_for), "scope", "left")
    )
    listed = F.array_intersect("gone_addresses", F.split("bootstrap", ","))
    on_list = F.when(F.size(listed) > 0, listed)
    broker = F.when(F.size(on_list) == F.size("gone"), F.col("gone"))
    facts = facts.withColumns(
        {
            "evidence": F.concat("evidence", F.coalesce("proofs", F.slice("evidence", 1, 0))),  # none: an empty array of the same type
            "broker": broker,
            "address": F.coalesce(on_list, "tried"),
            "unresolved": F.when(F.size(F.array_intersect("nameless", "tried")) > 0, F.array_intersect("nameless", "tried")),
            "broker_ids": F.array_join(broker, ", "),
        }
    )
    return _worded(facts.drop("proofs", "gone", "gone_addresses", "tried", "nameless"))


def _worded(found: DataFrame) -> DataFrame:
    unnamed = F.when(
        F.col("address").isNull() & ~F.array_contains("fault_ids", "bootstrap-unresolvable"),
        F.lit("which broker does not answer: these lines do not name it; a probe of every bootstrap entry does"),
    )
    coordinator = (F.col("reason") == "producer-timeout") & F.col("what").rlike("InitProducerId|initialize Producer ID|transactional state")
    number = F.split("version", r"\.")
    old = (number[0].cast("int") < 2) | ((number[0].cast("int") == 2) & (number[1].cast("int") < 7))  # set-up time-out: KIP-601, 2.7
    advice = (
        F.when(F.col("version").isNull(), F.lit(f"kafka-clients before 2.7 have {OLD_CLIENT}"))
        .when(old, F.concat(F.lit("The kafka-clients here ("), "version", F.lit(f") have {OLD_CLIENT}")))
        .otherwise(F.concat(F.lit("kafka-clients "), "version", F.lit(f" {NEW_CLIENT}")))
    )
    of_one_broker = F.col("reason").isin("request-timeout", "producer-timeout") & F.col("unresolved").isNotNull()
    worded = {
        "reason": F.when(of_one_broker, F.lit("unresolvable"))
        .when(coordinator, F.lit("transaction-coordinator"))
        .otherwise(F.col("reason")),
        "unnamed": unnamed,
        "entries_mended": entries_mended(),
        "client_advice": advice,
        "bootstrap_or_placeholder": F.coalesce("bootstrap", F.lit("HOST:PORT,…")),
    }
    return found.withColumns(worded).drop("tps", "version")


def _proofs(log_events: DataFrame) -> DataFrame:
    """Per scope the clients' version (where they agree), the lines that prove list and addresses, advertised names that do not resolve.

    Columns: scope, version, proofs, nameless.
    """
    client = F.coalesce("role", F.lit("")) != "kafka-broker"
    signature = F.col("signature")
    lists = F.concat(F.lit("bootstrap.servers = ["), F.col("detail")["bootstrap"], F.lit("]"))
    text = F.when(signature == "kafka-client-config", lists).when(signature.isin(*FAILED_TO_CONNECT), F.col("text"))
    shown = F.struct("at", "file", "line", F.lit("log_events").alias("table"), text.alias("text"))
    version = F.when(signature == "kafka-clients-version", F.col("detail")["version"])
    first = Window.partitionBy("scope", text).orderBy(F.col("at").asc_nulls_last(), "file", "line")
    rows = log_events.where(client).withColumn("_nth", F.row_number().over(first))
    unknown = does_not_resolve() & (F.col("broker") >= 0)
    return rows.groupBy("scope").agg(
        distinct(F.when((signature == "node-connect-error") & unknown, F.col("address")), "nameless"),
        agreed(version, "version"),
        F.slice(F.array_sort(F.collect_set(F.when(text.isNotNull() & (F.col("_nth") == 1), shown))), 1, 4).alias("proofs"),
    )
