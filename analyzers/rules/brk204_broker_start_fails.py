"""BRK204: a broker cannot start, or a fault ended it."""

from collections.abc import Mapping, Sequence
from typing import Any

from analyzers.tables import Row
from analyzers.vocabulary import (
    BROKER,
    CRITICAL,
    DataFrame,
    F,
    Window,
    agreed,
    count,
    detail,
    event,
    first_of,
    found,
    in_short,
    place,
    rule,
    said,
    seconds,
)
from analyzers.vocabulary.brokers import DISK_FULL, broker_in_text, broker_named, is_up_again
from analyzers.vocabulary.quick_looks import grouped, lasted

_WHY = {
    "id-taken": r"NodeExists|(?i:DUPLICATE_?BROKER_?REGISTRATION)|Another broker (?:is|has) registered with"
    r"|A broker is already registered on the path",
    "other-cluster": r"InconsistentClusterId|INCONSISTENT_CLUSTER_ID|doesn't match stored clusterId|Invalid cluster\.id in",
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
_FAULTS = {"fatal-fault": "Encountered fatal fault: ", "metadata-fault": "Encountered metadata "}
"""What Kafka's ProcessTerminatingFaultHandler and LoggingFaultHandler print: the process ends, or its metadata stays behind."""
_SIGNS = ("broker-start-failed", "broker-registration-refused", "node-fault")


def _one_stays_down(rows: Sequence[Row], thresholds: Mapping[str, Any]) -> bool:
    """Whether a log has such a line, and none behind it of a broker that is up; refused registrations alone, for more than a session."""
    for own in grouped(rows, "file").values():
        up = max((row["line"] for row in own if row["signature"] == "broker-started" and row["line"]), default=0)
        signs = [row for row in own if row["signature"] in _SIGNS]
        refused = all(row["signature"] == "broker-registration-refused" for row in signs)
        if any(row["line"] is None or row["line"] >= up for row in signs) and (not refused or lasted(signs) > thresholds["session"]):
            return True
    return False


@rule("BRK204", title="A broker cannot start, or ends itself", cause="broker-unreachable", stage="access", severity=CRITICAL,
    logs_of=BROKER, signatures=(*_SIGNS, "broker-started", "broker-shutting-down"), needs=_one_stays_down,
    says={
        "fatal-fault": "{who} ended its process[[ at {since} UTC]] on a fatal fault: {fault}[[; {what}]]",
        "metadata-fault": "{who} does not apply the cluster's metadata[[ since {since} UTC]] and goes on with "
        "what it had: {fault}[[; {what}]]",
        "": "{who} cannot start[[: {what}]][[, listener {address}]] ({starts} failed start(s)[[ since {since} UTC]])",
    },
    next_command="diag broker-health --bootstrap-server HOST:PORT,…",
)  # fmt: skip
def broker_start_fails(
    log_events: DataFrame,
    *,
    session: int = 9,  # seconds; broker.session.timeout.ms: so long the process before, killed, holds the id
) -> DataFrame:
    """Per broker log: starts that failed and after which the broker did not come up, and faults at work; BRK203 reports a full disk."""
    one_log = Window.partitionBy("scope", "file")
    # what a broker that stops can no longer publish is no loss
    stops = F.min(F.when(event("broker-shutting-down"), F.col("line"))).over(one_log)
    rows = log_events.withColumn("_stopped", F.coalesce(F.col("line") > stops, F.lit(False)))
    fault = event("node-fault") & ~(F.contains("text", F.lit(_FAULTS["metadata-fault"])) & F.col("_stopped"))
    refused = event("broker-registration-refused")
    failed = (event("broker-start-failed") | refused | fault) & ~F.rlike("text", F.lit(f"{DISK_FULL}|KafkaStorageException"))
    # one start that fails prints up to three lines: what it waited for, the server's own, and the program's
    printed = [count(F.contains("text", F.lit(words))) for words in ("Received a fatal error", "Fatal error during", "Exiting Kafka")]
    per_log = found(
        rows.withColumn("_up", is_up_again(failed)).where(failed & ~F.col("_up")),
        "file",
        broker=F.coalesce(agreed(broker_in_text()), agreed(detail("registers").cast("long"))),
        address=agreed(F.nullif(F.regexp_extract("text", r"failed to bind to (\S+:\d+)", 1), F.lit(""))),
        what=F.min_by(said(), F.when(F.col("root_exception").isNotNull(), place())),
        fault=F.min_by(detail("because"), F.when(event("node-fault"), place())),
        starts=F.greatest(F.lit(1), *printed),  # a trace that was pasted without its line: one
        _texts=F.array_join(F.collect_list("text"), "\n"),
        _only_refused=F.bool_and(refused),
        _only_faults=F.bool_and(event("node-fault")),
    ).where(~F.col("_only_refused") | F.coalesce(seconds("since", "until") > session, F.lit(False)))
    printed_why = F.concat_ws("\n", "what", "_texts")
    at_work = ((name, F.col("_only_faults") & F.contains("_texts", F.lit(words))) for name, words in _FAULTS.items())
    reason = first_of(*((name, F.rlike(printed_why, F.lit(words))) for name, words in _WHY.items()), *at_work, otherwise="start-failed")
    return per_log.withColumns(
        {"reason": reason, "who": broker_named(F.col("broker")), "short": F.coalesce(in_short("what"), in_short("fault"))}
    )
