"""Kafka producers and transactions (catalogue D11, F13 and the transaction errors behind them)."""

from __future__ import annotations

from analyzers.logs.signatures.identifiers import CLIENT, NODE, TP
from analyzers.logs.signatures.origin import failed_task, kafka_broker, kafka_client
from analyzers.logs.signatures.signature import Signature

_P = "[Producer clientId=producer-totals-1, transactionalId=totals-0-1] "
_MANAGER = "producer.internals.TransactionManager"

SIGNATURES = (
    Signature(
        id="record-too-large",
        ref="D11",
        says="A record is larger than the producer or the topic takes: it fails on every attempt.",
        literals=("when serialized which is larger than", "MESSAGE_TOO_LARGE", "larger than the max message size the server will accept"),
        pattern=r"The message is (?P<size_bytes>\d+) bytes when serialized which is larger than (?P<limit_bytes>\d+)?|MESSAGE_TOO_LARGE|"
        r"larger than the max message size",
        where="line",
        sample=failed_task(
            "Caused by: org.apache.kafka.common.errors.RecordTooLargeException: The message is 1572933 bytes when serialized which is"
            " larger than 1048576, which is the value of the max.request.size configuration."
        ),
        keep=(20, 5),
    ),
    Signature(
        id="producer-fenced",
        says="Another producer with the same transactional id is alive (a second copy of the job), or the transaction timed out.",
        literals=(
            "ProducerFencedException",
            "InvalidProducerEpochException",
            "newer producer with the same transactionalId",
            "newer producer using the same transactional_id",  # aiokafka
            "kafka server: Producer attempted an operation with an old epoch",
        ),
        pattern=r"(?P<error>ProducerFenced|InvalidProducerEpoch)Exception|transactionalId (?P<transactional_id>\S+)?|same transactional"
        r"|an old epoch",
        where="line",
        sample=failed_task(
            "Caused by: org.apache.kafka.common.errors.ProducerFencedException: There is a newer producer with the same"
            " transactionalId which fences the current one."
        ),
        keep=(20, 5),
    ),
    Signature(
        id="transaction-timeout-too-long",
        says="The producer's transaction.timeout.ms exceeds what the broker allows: the sink cannot start.",
        literals=("The transaction timeout is larger than the maximum value allowed by the broker",),
        where="line",
        sample=failed_task(
            "Caused by: org.apache.kafka.common.errors.InvalidTxnTimeoutException: The transaction timeout is larger than the maximum"
            " value allowed by the broker (as configured by transaction.max.timeout.ms)."
        ),
        keep=(20, 5),
    ),
    Signature(
        id="transaction-state-invalid",
        says="A transaction is no longer what the producer takes it for: expired, or its id forgotten by the broker.",
        literals=(
            "InvalidTxnStateException",
            "InvalidPidMappingException",
            "producer attempted a transactional operation in an invalid state",
        ),
        pattern=r"(?P<error>InvalidTxnState|InvalidPidMapping)Exception|invalid state",
        where="line",
        sample=failed_task(
            "Caused by: org.apache.kafka.common.errors.InvalidTxnStateException: The producer attempted a transactional operation in"
            " an invalid state."
        ),
        keep=(20, 5),
    ),
    Signature(
        id="producer-state",
        says="A transactional producer moved to an error state.",
        literals=("Transiting to fatal error state due to", "Transiting to abortable error state due to"),
        pattern=rf"{CLIENT}Transiting to (?P<to_state>fatal|abortable) error state due to (?P<because>[^\n]*)",
        sample=kafka_client(
            _MANAGER,
            _P + "Transiting to fatal error state due to org.apache.kafka.common.errors.ProducerFencedException: There is a"
            " newer producer with the same transactionalId which fences the current one.",
            "ERROR",
        ),
        keep=(20, 5),
    ),
    Signature(
        id="producer-initialized",
        says="A transactional or idempotent producer got its id and epoch.",
        literals=("ProducerId set to ",),
        pattern=rf"{CLIENT}ProducerId set to (?P<producer_id>-?\d+) with epoch (?P<epoch>-?\d+)",
        sample=kafka_client(_MANAGER, _P + "ProducerId set to 4001 with epoch 7"),
        keep=(20, 5),
    ),
    Signature(
        id="transaction-coordinator-found",
        says="A producer found its transaction coordinator.",
        literals=("Discovered transaction coordinator",),
        pattern=rf"{CLIENT}Discovered transaction coordinator {NODE}",
        sample=kafka_client(_MANAGER, _P + "Discovered transaction coordinator kafka-2:9092 (id: 2 rack: null)"),
        keep=(20, 5),
    ),
    Signature(
        id="produce-error",
        says="A broker answered a produce request with an error; retried while attempts are left.",
        literals=("Got error produce response with correlation id", "Received invalid metadata error in produce request"),
        pattern=rf"{CLIENT}(?:Got error produce response with correlation id \d+ on topic-partition {TP}, retrying"
        rf" \((?P<retries_left>\d+) attempts"
        r" left\)\. Error: (?P<error>[\w: .]+)|Received invalid metadata error in produce request on partition (?P<other_tp>[\w.-]+-\d+))",
        sample=kafka_client(
            "producer.internals.Sender",
            _P + "Got error produce response with correlation id 112 on topic-partition totals-0,"
            " retrying (2147483646 attempts left). Error: NOT_ENOUGH_REPLICAS",
            "WARN",
        ),
        keep=(20, 20),
    ),
    Signature(
        id="not-enough-replicas",
        says="Fewer in-sync replicas than min.insync.replicas: brokers are down, writes with acks=all are refused.",
        literals=("NotEnoughReplicas", "fewer in-sync replicas than required"),
        pattern=r"(?:NotEnoughReplicas\w*: )?(?:The size of the current ISR (?:: (?P<in_sync>\d+)|Set\((?P<isr>[\d, ]*)\)) is insufficient"
        rf" to satisfy the min\.isr requirement of (?P<wanted>\d+) for partition |Number of insync replicas for partition ){TP}"
        r"(?:, live replica\(s\) broker\.id are : Set\((?P<live>[\d, ]*)\))?|NotEnoughReplicas|fewer in-sync replicas than required",
        where="line",
        versions="in 4.3 the number in sync, before it the ids of those brokers; up to 1.0 'Number of insync replicas'",
        sample=kafka_broker(
            "kafka.server.ReplicaManager", "[ReplicaManager broker=1] Error processing append operation on partition orders-0", "ERROR"
        )
        + "\norg.apache.kafka.common.errors.NotEnoughReplicasException: The size of the current ISR : 1 is insufficient to satisfy the"
        " min.isr requirement of 2 for partition orders-0, live replica(s) broker.id are : Set(1)",
        keep=(20, 5),
    ),
    Signature(
        id="connect-flush-timeout",
        says="Kafka Connect: what a source task read is not in Kafka when its offsets are to be committed, so they are not.",
        versions="Kafka Connect up to 2.8; from 3.0 on only what is acknowledged is committed (KAFKA-12226)",
        literals=("timed out while waiting for producer to flush outstanding",),
        pattern=r"(?:Failed to flush )?WorkerSourceTask\{id=(?P<connect_task>[^}\n]+)\}[^\n]*?outstanding"
        r" (?P<outstanding>\d+)? ?messages",
        sample=kafka_broker(
            "org.apache.kafka.connect.runtime.WorkerSourceTask",
            "WorkerSourceTask{id=orders-db-0} Failed to flush, timed out while waiting for producer to flush outstanding 4105 messages",
            "ERROR",
        ),
        keep=(50, 20),
    ),
    Signature(
        id="connect-flush",
        says="Kafka Connect: a source task waits for these records before it commits its offsets; what follows tells how it ended.",
        versions="Kafka Connect up to 2.8",
        literals=("outstanding messages for offset commit",),
        pattern=r"WorkerSourceTask\{id=(?P<connect_task>[^}\n]+)\} flushing (?P<outstanding>\d+) outstanding",
        sample=kafka_broker(
            "org.apache.kafka.connect.runtime.WorkerSourceTask",
            "WorkerSourceTask{id=orders-db-0} flushing 0 outstanding messages for offset commit",
        ),
        keep=(2, 5),
        apart=("connect_task",),
    ),
)
