"""Kafka connectors of Flink: KafkaSource, the older FlinkKafkaConsumer, KafkaSink (catalogue B11–B14, B21, B23, D01, D02, E04–F13)."""

from __future__ import annotations

from analyzers.logs.signatures.identifiers import TP
from analyzers.logs.signatures.origin import failed_task, flink
from analyzers.logs.signatures.signature import Signature

_LEGACY = "streaming.connectors.kafka.FlinkKafkaConsumerBase"
_FETCHER = "streaming.connectors.kafka.internals.KafkaFetcher"
_ENUMERATOR = "connector.kafka.source.enumerator.KafkaSourceEnumerator"
_SUBTASK = r"Consumer subtask (?P<subtask>\d+) "
_RECORD = (
    "ConsumerRecord(topic = orders, partition = 1, leaderEpoch = 0, offset = 390, CreateTime = 1733192286000, serialized key size = 6,"
    " serialized value size = 84, headers = RecordHeaders(headers = [], isReadOnly = false), key = [B@1b2c3d4e, value = [B@5f6a7b8c)"
)


def _enumerator_failed(cause: str) -> str:
    """A source whose coordinator fails on the JobManager, with the cause."""
    return flink(
        "runtime.source.coordinator.SourceCoordinatorContext",
        "Exception while handling result from async call in SourceCoordinator-Source: orders. Triggering job failover.\n"
        f"org.apache.flink.util.FlinkRuntimeException: {cause}",
        "ERROR",
    )


SIGNATURES = (
    Signature(
        id="handover-closed",
        ref="B11",
        says="The handover between Kafka thread and task was closed: an ordinary cancel, or a masked failure of partition discovery"
        " (see discovery-loop-frame).",
        versions="legacy source, <=1.17",
        literals=("Handover$ClosedException",),
        where="line",
        sample=failed_task("org.apache.flink.streaming.connectors.kafka.internals.Handover$ClosedException: null"),
        keep=(20, 5),
    ),
    Signature(
        id="discovery-loop-frame",
        ref="B11",
        says="The handover was closed by the partition-discovery thread: its own exception (usually a metadata timeout) is masked.",
        versions="legacy source, <=1.17",
        literals=("lambda$createAndStartDiscoveryLoop$",),
        where="line",
        sample=failed_task(
            "org.apache.flink.streaming.connectors.kafka.internals.Handover$ClosedException: null",
            "\tat org.apache.flink.streaming.connectors.kafka.internals.Handover.close(Handover.java:177)",
            "\tat org.apache.flink.streaming.connectors.kafka.FlinkKafkaConsumerBase.cancel(FlinkKafkaConsumerBase.java:828)",
            "\tat org.apache.flink.streaming.connectors.kafka.FlinkKafkaConsumerBase.lambda$createAndStartDiscoveryLoop$2"
            "(FlinkKafkaConsumerBase.java:876)",
        ),
        keep=(20, 5),
    ),
    Signature(
        id="no-partitions-retrieved",
        ref="B12",
        says="The legacy source found no partition of its topics.",
        versions="legacy source, <=1.17",
        literals=("Unable to retrieve any partitions with KafkaTopicsDescriptor", "Could not fetch partitions for "),
        pattern=r"KafkaTopicsDescriptor: (?P<topics>[^\n]*)|Could not fetch partitions for (?P<topic>[^\s.]+)",
        where="line",
        sample=failed_task("java.lang.RuntimeException: Could not fetch partitions for orders. Make sure that the topic exists."),
    ),
    Signature(
        id="partition-listing-failed",
        ref="B13",
        says="KafkaSource could not list partitions (on the JobManager): brokers unreachable, or the topic missing; see the deeper cause.",
        versions="1.12+",
        literals=(
            "Failed to list subscribed topic partitions due to",
            "Failed to get metadata for topics",
            "Failed to get metadata for all topics",
            "Failed to get topic metadata.",
            "Failed to handle partition splits change due to",
        ),
        pattern=r"Failed to (?:list subscribed|get metadata for topics \[(?P<topics>[^\]]*)\]|get metadata for all|get topic metadata|"
        r"handle partition)",
        where="line",
        sample=_enumerator_failed(
            "Failed to list subscribed topic partitions due to \nCaused by: java.lang.RuntimeException: Failed to get metadata for topics"
            " [orders]."
        ),
        keep=(20, 5),
    ),
    Signature(
        id="split-offsets-failed",
        ref="B14",
        says="KafkaSource could not find start offsets of new partitions (on the JobManager).",
        versions="1.14+",
        literals=(
            "Failed to initialize partition splits due to",
            "Failed to list offsets for topic partitions:",
            "Failed to fetch committed offsets for consumer group",
            "does not exist on Kafka brokers",
        ),
        pattern=r"Failed to initialize partition splits|Failed to list offsets for topic partitions|"
        r"consumer group (?P<group>\S+) due to|Partition '(?P<tp>[\w.-]+-\d+)' does not exist",
        where="line",
        sample=_enumerator_failed("Failed to fetch committed offsets for consumer group orders-totals due to "),
        keep=(20, 5),
    ),
    Signature(
        id="partitions-removed",
        ref="B21",
        says="Partitions that were read are gone from the cluster or from the topic list.",
        literals=(
            "partitions have been removed from the Kafka cluster",
            "Discovered removed partitions:",
            "is removed from subscribed partitions since",
        ),
        pattern=r"partitions have been removed from the Kafka cluster\.? *(?P<removed>\[[^\n]*\])?|removed partitions:"
        r" (?P<partitions>\[[^\n]*\])|"
        r"KafkaTopicPartition\{topic='(?P<topic>[^']+)', partition=(?P<partition>\d+)\} is removed",
        sample=flink(_ENUMERATOR, "Discovered removed partitions: [orders-3]"),
        keep=(20, 5),
    ),
    Signature(
        id="dynamic-metadata",
        ref="B23",
        says="The dynamic Kafka source saw its cluster list change, or could not ask for it.",
        versions="connector 3.1+",
        literals=("Detected changed cluster topics after metadata refresh", "Swallowing metadata service error"),
        sample=flink("connector.kafka.dynamic.source.enumerator.DynamicKafkaSourceEnumerator", "Swallowing metadata service error", "WARN"),
        keep=(20, 5),
    ),
    Signature(
        id="deserialize-failed",
        ref="D01",
        says="A record could not be deserialized; this text alone names neither partition nor offset.",
        versions="1.12+; patched builds add topic, partition, offset",
        literals=("Failed to deserialize consumer record due to", "Failed to deserialize consumer record from topic="),
        pattern=r"consumer record (?:from topic=(?P<topic>[^,\s]+), partition=(?P<partition>\d+), offset=(?P<offset>\d+) )?due to",
        where="line",
        sample=failed_task("java.io.IOException: Failed to deserialize consumer record due to"),
        keep=(20, 5),
    ),
    Signature(
        id="record-named",
        ref="D02",
        says="The record that could not be deserialized, with topic, partition and offset.",
        versions="1.13–1.17, connector 3.0–3.4",
        literals=("ConsumerRecord(topic = ",),
        pattern=r"ConsumerRecord\(topic = (?P<topic>[\w.-]+), partition = (?P<partition>\d+),(?: leaderEpoch = [^,]*,)? offset ="
        r" (?P<offset>\d+),",
        where="line",
        sample=failed_task(f"Caused by: java.io.IOException: Failed to deserialize consumer record {_RECORD}."),
        keep=(20, 5),
    ),
    Signature(
        id="kafka-enumerator-started",
        ref="E04",
        says="KafkaSource starts: its group and how often it looks for partitions.",
        versions="1.12+",
        literals=("Starting the KafkaSourceEnumerator for consumer group",),
        pattern=r"consumer group (?P<group>\S+) with(?:out periodic partition discovery| partition discovery interval of"
        r" (?P<interval_ms>\d+) ms)",
        sample=flink(
            _ENUMERATOR,
            "Starting the KafkaSourceEnumerator for consumer group orders-totals with partition discovery interval of 300000 ms.",
        ),
        keep=(200, 50),
    ),
    Signature(
        id="partitions-discovered",
        ref="E05",
        says="Partitions that KafkaSource found: all of them up to connector 4.0, the new ones from 5.0.",
        versions="1.14+",
        literals=("Discovered new partitions:", "Partition split changes:"),
        pattern=r"(?:new partitions|split changes): (?P<partitions>[^\n]*)",
        sample=flink(_ENUMERATOR, "Discovered new partitions: [orders-0, orders-1, orders-2, orders-3]"),
        keep=(200, 50),
    ),
    Signature(
        id="legacy-fetcher-started",
        says="FlinkKafkaConsumer reads from here: the offsets are the last processed ones, reading goes on at + 1.",
        versions="legacy source, <=1.17",
        literals=("creating fetcher with offsets", " restored state: {", "partitions with offsets in restored state"),
        pattern=rf"{_SUBTASK}(?:creating fetcher with offsets |restored state: |will start reading (?P<partitions>\d+) partitions with"
        rf" offsets in"
        r" restored state: )(?P<offsets>\{[^\n]*\})",
        sample=flink(_LEGACY, "Consumer subtask 1 creating fetcher with offsets {KafkaTopicPartition{topic='orders', partition=1}=389}."),
        keep=(200, 50),
    ),
    Signature(
        id="legacy-start-mode",
        says="FlinkKafkaConsumer starts without restored offsets: where from, and which partitions.",
        versions="legacy source, <=1.17",
        literals=("will start reading the following", "initially has no partitions to read from", " has no restore state."),
        pattern=rf"{_SUBTASK}(?:will start reading the following (?P<partitions>\d+) partitions from the (?P<start>[^:\n]+):"
        rf" (?P<topics>\[[^\n]*\])|"
        r"initially has no partitions|has no restore state)",
        sample=flink(
            _LEGACY,
            "Consumer subtask 1 will start reading the following 1 partitions from the committed group offsets in Kafka:"
            " [KafkaTopicPartition{topic='orders', partition=1}]",
        ),
        keep=(200, 50),
    ),
    Signature(
        id="commit-skipped",
        ref="F01",
        says="Committing offsets takes longer than a checkpoint interval: only progress reporting suffers.",
        versions="legacy source, <=1.17",
        literals=("Committing offsets to Kafka takes longer than the checkpoint interval",),
        sample=flink(
            _FETCHER,
            "Committing offsets to Kafka takes longer than the checkpoint interval. Skipping commit of previous offsets because newer"
            " complete"
            " checkpoint offsets are available. This does not compromise Flink's checkpoint integrity.",
            "WARN",
        ),
        keep=(20, 5),
    ),
    Signature(
        id="commit-failed-legacy",
        ref="F02 F03",
        says="FlinkKafkaConsumer could not commit offsets; reading goes on from Flink's state.",
        versions="legacy source, <=1.17",
        literals=("Committing offsets to Kafka failed.", "failed async Kafka commit"),
        pattern=r"Consumer subtask (?P<subtask>\d+) failed async Kafka commit|Committing offsets to Kafka failed",
        sample=flink(
            _LEGACY,
            "Consumer subtask 1 failed async Kafka commit.\n"
            "org.apache.kafka.clients.consumer.RetriableCommitFailedException: Offset commit failed with a retriable exception."
            " You should retry committing the latest consumed offsets.",
            "WARN",
        ),
        keep=(200, 50),
        family="coordinator",
    ),
    Signature(
        id="commit-of-unknown-checkpoint",
        ref="F04",
        says="A checkpoint was confirmed that this subtask does not know (after a restore or a skipped commit).",
        versions="legacy source, <=1.17",
        literals=("received confirmation for unknown checkpoint id",),
        pattern=rf"{_SUBTASK}received confirmation for unknown checkpoint id (?P<checkpoint>\d+)",
        sample=flink(_LEGACY, "Consumer subtask 1 received confirmation for unknown checkpoint id 42", "WARN"),
        keep=(20, 5),
    ),
    Signature(
        id="commit-failed",
        ref="F05",
        says="KafkaSource could not commit the offsets of a checkpoint; reading goes on from Flink's state.",
        versions="1.12+",
        literals=("Failed to commit consumer offsets for checkpoint",),
        pattern=r"for checkpoint (?P<checkpoint>\d+)",
        sample=flink(
            "connector.kafka.source.reader.KafkaSourceReader",
            "Failed to commit consumer offsets for checkpoint 42\n"
            "org.apache.kafka.clients.consumer.RetriableCommitFailedException: Offset commit failed with a retriable exception."
            " You should retry committing the latest consumed offsets.",
            "WARN",
        ),
        keep=(200, 50),
        family="coordinator",
    ),
    Signature(
        id="commit-disabled",
        ref="F06",
        says="This source never commits offsets: lag monitors see nothing, the job is fine.",
        versions="1.15+",
        literals=("Offset commit on checkpoint is disabled",),
        pattern=r"is disabled(?: because (?P<because>[^.\n]+))?",
        sample=flink(
            "connector.kafka.source.reader.KafkaSourceReader",
            "Offset commit on checkpoint is disabled. Consuming offset will not be reported back to Kafka cluster.",
            "WARN",
        ),
        keep=(20, 5),
    ),
    Signature(
        id="sink-commit-failed",
        ref="F13",
        says="KafkaSink could not commit a transaction: fenced, expired or lost; records of it may be missing.",
        versions="1.15+",
        literals=(
            "Unable to commit transaction (",
            "encountered error and data has been potentially lost",
            "Unable to commit recovered transaction",
        ),
        pattern=r"(?:commit transaction|Transaction) \((?P<transaction>[^\n]*?)\) (?:because (?P<because>its producer is already"
        r" fenced|it's in an invalid"
        r" state)|encountered error)|Unable to commit recovered transaction (?P<recovered>[^\n]*)",
        sample=flink(
            "connector.kafka.sink.KafkaCommitter",
            "Unable to commit transaction (org.apache.flink.streaming.runtime.operators.sink.committables.CommitRequestImpl@1b2c3d4e)"
            " because"
            " its producer is already fenced. This means that you either have a different producer with the same 'transactional.id'.",
            "ERROR",
        ),
        keep=(20, 5),
    ),
    Signature(
        id="sink-transaction-resumed",
        says="KafkaSink takes up a transaction of the restored checkpoint again, to commit it.",
        versions="1.14+",
        literals=("Attempting to resume transaction ",),
        pattern=r"resume transaction (?P<transactional_id>\S+) with producerId (?P<producer_id>\d+)",
        sample=flink(
            "connector.kafka.sink.FlinkKafkaInternalProducer",
            "Attempting to resume transaction orders-enrichment-1-42 with producerId 71007 and epoch 9",
        ),
        keep=(100, 0),
    ),
    Signature(
        id="sink-write-failed",
        ref="D11",
        says="A Kafka sink failed to write; the deeper cause says why.",
        literals=(
            "Failed to send data to Kafka",
            "One or more Kafka Producer send requests have encountered exception",
            "Pending record count must be zero",
        ),
        pattern=r"Failed to send data to Kafka(?: (?P<tp>[\w.-]+-\d+)@)?|One or more Kafka Producer|Pending record count must be zero",
        where="line",
        sample=failed_task(
            "org.apache.flink.streaming.connectors.kafka.FlinkKafkaException: Failed to send data to Kafka: Expiring 3 record(s)"
            " for totals-0:120000 ms has passed since batch creation"
        ),
        keep=(20, 5),
    ),
    Signature(
        id="partition-fetch-position",
        says="KafkaSource could not learn the position of a partition in time: its leader is missing or unreachable.",
        literals=("expired before the position for partition",),
        pattern=rf"Timeout of (?P<timeout_ms>\d+)ms expired before the position for partition {TP} could be determined",
        where="line",
        sample=failed_task(
            "Caused by: org.apache.kafka.common.errors.TimeoutException: Timeout of 60000ms expired before the position for partition"
            " orders-1 could be determined"
        ),
        keep=(20, 5),
    ),
)
