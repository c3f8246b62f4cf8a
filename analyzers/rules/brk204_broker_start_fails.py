"""BRK204: a broker cannot start."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.diagnosis.coverage import BROKER
from analyzers.report.finding import Severity
from analyzers.vocabulary.aggregates import agreed, place, said
from analyzers.vocabulary.brokers import DISK_FULL, broker_in_text, is_up_again
from analyzers.vocabulary.rule import exemplars, has, rule

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
    fix={
        "id-taken": "See whether another broker runs with the same id and give one of them its own. If none does, the registration is "
        "that of the process before: it goes with its session, so let the start be tried again after zookeeper.session.timeout.ms (18 s "
        "by default). No need to touch ZooKeeper's data.",
        "other-cluster": "The log directory belongs to another cluster than the one that answers: give the broker the volume that is its "
        "own, or the right zookeeper.connect / controller.quorum.voters. If ZooKeeper or the controllers came back empty, bring their "
        "data back first: deleting meta.properties gives the broker to a cluster that does not know its topics.",
        "other-node": "The log directory was written by a broker of another id: start it with the id that is stored there (node.id or "
        "broker.id in meta.properties), or give it the volume that is its own. Do not empty the directory, as the exception proposes for a "
        "new broker, before it is sure that other brokers have all of its partitions; and do not edit meta.properties: replicas are placed "
        "by id.",
        "directory-locked": "Another Kafka process has that log directory open, most often the broker's own one of before, which has "
        "not ended: find it (fuser -v on the file .lock, or ps) and let it end. Two pods on one volume are two brokers: one must go. "
        "Delete neither .lock nor the directory.",
        "stray-file": "Most likely a file whose name is no offset lies in the directory of a partition (a crash report, an editor's copy). "
        "Find the name that the message quotes below log.dirs and move that file elsewhere; let crash reports go to another "
        "directory (-XX:ErrorFile). Delete nothing that Kafka has named.",
        "memory": "'Java heap space': a larger heap (KAFKA_HEAP_OPTS). 'Map failed': vm.max_map_count of the host is too low for the "
        "number of segments, a larger heap makes it worse. 'unable to create native thread': the limit of processes.",
        "tls": "The broker tests its key store with its own trust store before it listens: the certificate must be trusted by that trust "
        "store, be valid now, have its key in the store under the given password, and the host's name if names are verified.",
        "not-formatted": "If the directory should hold data, the volume is not mounted or log.dirs names another one: mend that. Only a "
        "new and empty broker is formatted (kafka-storage.sh format with the cluster's id).",
        "zookeeper": "Bring ZooKeeper back, or correct zookeeper.connect; check its own log and the way to it from the broker's host.",
        "no-controller": "See to the controllers first: they run, have a leader (kafka-metadata-quorum.sh describe --status) and are "
        "reached from this host at controller.quorum.voters / controller.quorum.bootstrap.servers. The broker needs no more than another "
        "start.",
        "address-in-use": "Find who listens on that port (ss -ltnp): often the broker's own process of before, which has not ended yet; "
        "else give one of the two another listener.",
        "": "Repair what the exception says, then start the broker; until then it is missing from its partitions. The job needs no change.",
    },
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
