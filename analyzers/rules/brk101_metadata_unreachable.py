"""BRK101: attempts fail because the Kafka client cannot reach its brokers."""

from analyzers.derived.failures.failure_signs import BROKER_LIFE, FAILED_TO_CONNECT, OTHERS_FAILED
from analyzers.vocabulary import CRITICAL, FAILING, DataFrame, F, IfGiven, Window, agreed, detail, distinct, event, failures, first_of, rule
from analyzers.vocabulary.brokers import does_not_resolve, of_client, of_clients, with_addresses, with_advice

COMMITS = (
    "Failed to commit consumer offsets|failed async Kafka commit|Committing offsets to Kafka failed|[Cc]ommit of offsets|Offset commit"
)
SAID = r"(?:dial tcp |ECONNREFUSED |ETIMEDOUT |ipv[46]#)((?:\[[0-9a-f:]+\]|[\w.-]+):\d+)"
"""An address within what a client in another language than Java raises."""
BOOTSTRAP = r"Unable to bootstrap from \[\('([\w.-]+)', (\d+)"
"""The same of kafka-python and aiokafka, host and port apart."""
TRANSACTIONS = "InitProducerId|initialize Producer ID|transactional state"


@rule("BRK101", title="Kafka cannot be reached: metadata or requests time out", cause="broker-unreachable", stage="access",
    severity=CRITICAL, signatures=("kafka-client-config", "kafka-clients-version", *FAILED_TO_CONNECT, *OTHERS_FAILED, *BROKER_LIFE),
    needs=FAILING,
    faults=(
        "metadata-timeout", "admin-timeout", "bootstrap-unresolvable", "producer-timeout", "kafka-timeout", "kafka-reader-timeout",
        "kafka-connection", "leader-missing",
    ),
    says="The Kafka client[[ of {task}]] cannot reach its brokers: {what}; {failures} failure(s)[[ in {attempts} attempt(s)]][[, the "
    "first at {since} UTC]][[. Addresses that fail: {address}]][[. The advertised name does not resolve where the job runs: "
    "{unresolved}]][[. Bootstrap list: {bootstrap}]]",
    inferred="[[Brokers {broker_ids} left the cluster at {gone_since} UTC and did not return, and the bootstrap list still names them.]]",
    missing="[[{unnamed}]]",
    next_command="diag broker-health --bootstrap-server {bootstrap_or_placeholder}",
)  # fmt: skip
def metadata_unreachable(
    faults: DataFrame,
    log_events: IfGiven,
    *,
    enough: int = 1,  # one is enough: the fault stopped an attempt
    gone_for: int = 60,  # seconds; a broker of a rolling restart is back by then
) -> DataFrame:
    """Fatal Kafka access faults per job, with what logs show of the addresses. Connections have a set-up timeout since 2.7 (KIP-601)."""
    reading = faults.where(~F.col("text").rlike(COMMITS))  # a failed commit stops nothing: BRK105, LAG401
    in_python = F.nullif(F.concat_ws(":", *(F.nullif(F.regexp_extract("text", BOOTSTRAP, n), F.lit("")) for n in (1, 2))), F.lit(""))
    said = distinct(F.coalesce(F.nullif(F.regexp_extract("text", SAID, 1), F.lit("")), in_python), "_said")
    failed = failures(reading, agreed("topic"), agreed("partition"), said).where(F.col("failures") >= enough)
    known = with_addresses(failed, log_events, gone_for=gone_for, clients=_with_proofs(log_events))
    said_or_tried = F.coalesce("address", F.when(F.size("_said") > 0, F.sort_array("_said")))
    facts = with_advice(known.withColumn("address", said_or_tried))
    unresolved = F.array_intersect("_nameless", "_tried")
    # a client that was built without its version file prints "unknown"
    major, minor = (F.try_element_at(F.split("_version", r"\."), F.lit(part)).try_cast("int") for part in (1, 2))
    before_2_7 = major * 100 + minor < 207
    one_broker = F.col("reason").isin("request-timeout", "producer-timeout") & (F.size(unresolved) > 0)
    transactions = (F.col("reason") == "producer-timeout") & F.col("what").rlike(TRANSACTIONS)
    named = F.concat(F.lit("kafka-clients "), "_version")
    return facts.withColumns(
        {
            "evidence": F.concat("evidence", F.coalesce("_proofs", F.slice("evidence", 1, 0))),  # none: an empty array of the same type
            "topic": F.when(F.col("partition").isNotNull(), F.col("topic")),
            "unresolved": F.when(F.size(unresolved) > 0, unresolved),
            "unnamed": F.when(~F.array_contains("fault_ids", "bootstrap-unresolvable"), F.col("unnamed")),
            "old_client": first_of(("kafka-clients before 2.7", before_2_7.isNull()), (named, before_2_7)),
            "new_client": F.when(~before_2_7, named),
            "reason": first_of(("unresolvable", one_broker), ("transaction-coordinator", transactions), otherwise=F.col("reason")),
        }
    )


def _with_proofs(log_events: DataFrame) -> DataFrame:
    """`of_clients` with _version (where all agree), _proofs (first lines with list and addresses), _nameless (advertised, not resolved)."""
    lists = F.concat(F.lit("bootstrap.servers = ["), detail("bootstrap"), F.lit("]"))
    text = F.when(of_client(), first_of((lists, event("kafka-client-config")), (F.col("text"), event(*FAILED_TO_CONNECT))))
    shown = F.struct("at", "file", "line", F.lit("log_events").alias("table"), text.alias("text"))
    first = Window.partitionBy("scope", text).orderBy(F.col("at").asc_nulls_last(), "file", "line")
    nameless = of_client() & event("node-connect-error") & does_not_resolve() & (F.col("broker") >= 0)
    return of_clients(
        log_events.withColumn("_nth", F.row_number().over(first)),
        distinct(F.when(nameless, F.col("address")), "_nameless"),
        agreed(F.when(of_client() & event("kafka-clients-version"), detail("version")), "_version"),
        F.slice(F.sort_array(F.collect_set(F.when(text.isNotNull() & (F.col("_nth") == 1), shown))), 1, 4).alias("_proofs"),
    )
