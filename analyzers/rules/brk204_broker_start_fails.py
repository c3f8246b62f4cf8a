"""BRK204: a broker cannot start."""

from analyzers.vocabulary import BROKER, CRITICAL, DataFrame, F, agreed, count, event, first_of, found, has, in_short, place, rule, said
from analyzers.vocabulary.brokers import DISK_FULL, broker_in_text, broker_named, is_up_again

_WHY = {
    "id-taken": r"NodeExists|DuplicateBrokerRegistration|A broker is already registered on the path",
    "other-cluster": r"InconsistentClusterId|doesn't match stored clusterId|Invalid cluster\.id in",
    "other-node": r"Inconsistent(?:Node|Broker)Id|doesn't match stored (?:node|broker)\.id|Stored (?:node|broker) id \S+ doesn't match",
    "directory-id": r"Duplicate directory ID",
    "directory-locked": r"Failed to acquire lock on file \.lock|Disk error while locking directory",
    "stray-file": r"NumberFormatException: For input string",
    "memory": r"OutOfMemoryError",
    "tls": r"A client SSLEngine created with the provided settings can't connect|KeyStoreException|UnrecoverableKeyException",
    "not-formatted": r"[Nn]o readable meta\.properties|No `meta\.properties` found",
    "zookeeper": r"(?:ZooKeeperClient|Zk)Timeout|Timed out waiting for connection (?:to ZooKeeper|while in state)|ConnectionLossException",
    "no-controller": r"unable to register with the controller quorum"
    r"|waiting for (?:the controller|controller quorum voters|the broker to be unfenced|the initial broker metadata)",
    "address-in-use": r"BindException|Address already in use|Socket server failed to bind",
}
"""Reasons by the words of the trace. Source: Kafka's KafkaServer, KafkaZkClient, BrokerMetadataCheckpoint, SocketServer."""


@rule("BRK204", title="A broker cannot start", cause="broker-unreachable", stage="access", severity=CRITICAL, logs_of=BROKER,
    signatures=("broker-start-failed", "broker-started"), needs=has(signature=("broker-start-failed",)),
    says="{who} cannot start[[: {what}]][[, listener {address}]] ({starts} failed start(s)[[ since {since} UTC]])",
    next_command="diag broker-health --bootstrap-server HOST:PORT,…",
)  # fmt: skip
def broker_start_fails(log_events: DataFrame) -> DataFrame:
    """Per broker log: starts that failed and after which the broker did not come up; BRK203 reports a full disk."""
    failed = event("broker-start-failed") & ~F.rlike("text", F.lit(f"{DISK_FULL}|KafkaStorageException"))
    # one start that fails prints up to three lines: what it waited for, the server's own, and the program's
    printed = [count(F.contains("text", F.lit(words))) for words in ("Received a fatal error", "Fatal error during", "Exiting Kafka")]
    per_log = found(
        log_events.withColumn("_up", is_up_again(failed)).where(failed & ~F.col("_up")),
        "file",
        broker=agreed(broker_in_text()),
        address=agreed(F.nullif(F.regexp_extract("text", r"failed to bind to (\S+:\d+)", 1), F.lit(""))),
        what=F.min_by(said(), F.when(F.col("root_exception").isNotNull(), place())),
        starts=F.greatest(F.lit(1), *printed),  # a trace that was pasted without its line: one
        _texts=F.array_join(F.collect_list("text"), "\n"),
    )
    printed_why = F.concat_ws("\n", "what", "_texts")
    reason = first_of(*((name, F.rlike(printed_why, F.lit(words))) for name, words in _WHY.items()), otherwise="start-failed")
    return per_log.withColumns({"reason": reason, "who": broker_named(F.col("broker")), "short": in_short("what")})
