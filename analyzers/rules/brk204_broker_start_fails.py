"""BRK204: a broker cannot start."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.tables.processes import BROKER
from analyzers.vocabulary.aggregates import agreed, place, said
from analyzers.vocabulary.brokers import DISK_FULL, broker_in_text, is_up_again
from analyzers.vocabulary.findings import exemplars
from analyzers.vocabulary.rule import has, rule

_WHY = {
    "id-taken": r"NodeExists|DuplicateBrokerRegistration",
    "other-cluster": r"InconsistentClusterId|doesn't match stored clusterId|Invalid cluster\.id in",
    "other-node": r"Inconsistent(?:Node|Broker)Id|doesn't match stored (?:node|broker)\.id",
    "directory-locked": r"Failed to acquire lock on file \.lock",
    "stray-file": r"NumberFormatException: For input string",
    "memory": r"OutOfMemoryError",
    "tls": r"A client SSLEngine created with the provided settings can't connect|KeyStoreException|UnrecoverableKeyException",
    "not-formatted": r"[Nn]o readable meta\.properties|No `meta\.properties` found",
    "zookeeper": r"(?:ZooKeeperClient|Zk)Timeout|Timed out waiting for connection (?:to ZooKeeper|while in state)|ConnectionLossException",
    "no-controller": r"waiting for (?:the controller|controller quorum voters|the broker to be unfenced|the initial broker metadata)",
    "address-in-use": r"BindException|Address already in use|Socket server failed to bind",
}
"""Reasons by what the trace says. Source: Kafka's KafkaServer, KafkaZkClient, BrokerMetadataCheckpoint, SocketServer."""


@rule(
    "BRK204",
    title="A broker cannot start",
    cause="broker-unreachable",
    stage="access",
    severity=Severity.CRITICAL,
    logs_of=BROKER,
    signatures=("broker-start-failed", "broker-started"),
    says="[[Broker {broker}]][[{some_broker}]] cannot start[[: {what}]][[; {starts} time(s)]][[ since {since} UTC]]",
    needs=has(signature=("broker-start-failed",)),
    next_command="diag broker-health --bootstrap-server HOST:PORT,…",
)
def broker_start_fails(log_events: DataFrame) -> DataFrame:
    """Per broker log: starts that failed and after which the broker did not come up; a full disk is told by BRK203."""
    failed = (F.col("signature") == "broker-start-failed") & ~F.rlike("text", F.lit(f"{DISK_FULL}|KafkaStorageException"))
    # one start that fails prints up to three lines: what it waited for, the server's own, and the program's
    said_by = [F.contains("text", F.lit(words)) for words in ("Received a fatal error", "Fatal error during", "Exiting Kafka")]
    found = (
        log_events.withColumn("up", is_up_again(failed))
        .where(failed & ~F.col("up"))
        .withColumn("named", broker_in_text())
        .groupBy("scope", "file")
        .agg(
            agreed("named", "broker"),
            F.min_by(said(), F.when(F.col("root_exception").isNotNull(), place())).alias("what"),
            F.array_join(F.collect_list("text"), "\n").alias("texts"),
            F.greatest(F.lit(1), *(F.count_if(line) for line in said_by)).alias("starts"),  # a trace that was copied alone: one
            F.min("at").alias("since"),
            F.max("at").alias("until"),
            exemplars(),
        )
    )
    reason = F.coalesce(
        *(F.when(F.rlike(F.concat_ws("\n", "what", "texts"), F.lit(words)), F.lit(name)) for name, words in _WHY.items()),
        F.lit("start-failed"),
    )
    return found.withColumns(
        {
            "job": F.lit(None).cast("string"),
            "some_broker": F.when(F.col("broker").isNull(), F.lit("A broker")),
            "reason": reason,
        }
    ).drop("file", "texts")
