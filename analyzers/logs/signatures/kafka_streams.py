"""Kafka Streams."""

from __future__ import annotations

from analyzers.logs.signatures.origin import in_flink
from analyzers.logs.signatures.signature import Signature

_PLACE = r"topic=(?P<topic>[\w.-]+), partition=(?P<partition>\d+), offset=(?P<offset>\d+)"

SIGNATURES = (
    Signature(
        id="streams-record-failed",
        says="A task of Kafka Streams failed while it processed this record.",
        versions="1.0+; the trace within the message up to 3.8",
        literals=("Exception caught in process. taskId=",),
        pattern=rf"taskId=(?P<streams_task>\d+_\d+), processor=(?P<processor>[^,\n]+), {_PLACE}",
        where="line",
        sample=in_flink(
            "org.apache.kafka.streams.processor.internals.TaskExecutor",
            "stream-thread [totals-StreamThread-1] Failed to process stream task 0_4 due to the following error:\n"
            "org.apache.kafka.streams.errors.StreamsException: Exception caught in process. taskId=0_4,"
            " processor=KSTREAM-SOURCE-0000000000, topic=orders, partition=4, offset=7712",
            "ERROR",
        ),
        keep=(20, 20),
    ),
    Signature(
        id="streams-record-unread",
        says="A record could not be deserialized by Kafka Streams; what then is the exception handler's choice.",
        versions="1.0+",
        literals=("Exception caught during Deserialization, taskId: ",),
        pattern=r"taskId: (?P<streams_task>\d+_\d+), topic: (?P<topic>[\w.-]+), partition: (?P<partition>\d+), offset: (?P<offset>\d+)",
        sample=in_flink(
            "org.apache.kafka.streams.errors.LogAndFailExceptionHandler",
            "Exception caught during Deserialization, taskId: 0_1, topic: clicks, partition: 1, offset: 990",
            "ERROR",
        ),
        keep=(20, 20),
    ),
    Signature(
        id="streams-threads-dead",
        says="The last stream thread of an instance has died: the process lives on and does nothing.",
        versions="KafkaStreams, 1.0+",
        literals=("All stream threads have died. The instance will be in error state",),
        pattern=r"stream-client \[(?P<client>[^\]\s]+)\] All stream threads have died",
        sample=in_flink(
            "org.apache.kafka.streams.KafkaStreams",
            "stream-client [totals-7d1e5b9a] All stream threads have died. The instance will be in error state and should be closed.",
            "ERROR",
        ),
        keep=(20, 5),
    ),
    Signature(
        id="streams-state",
        says="An instance of Kafka Streams changes its state.",
        versions="KafkaStreams, 1.0+",
        literals=("] State transition from ",),
        pattern=r"stream-client \[(?P<client>[^\]\s]+)\] State transition from (?P<from_state>[A-Z_]+) to (?P<to_state>[A-Z_]+)",
        sample=in_flink(
            "org.apache.kafka.streams.KafkaStreams", "stream-client [totals-7d1e5b9a] State transition from REBALANCING to RUNNING"
        ),
        keep=(20, 20),
    ),
    Signature(
        id="streams-records-processed",
        says="A thread of Kafka Streams has processed records and committed its tasks.",
        versions="StreamThread, 2.6+; at INFO, every two minutes",
        literals=(" total records, ran ",),
        pattern=r"stream-thread \[(?P<thread_name>[^\]\s]+)\] Processed [1-9]\d* total records, ran ",
        sample=in_flink(
            "org.apache.kafka.streams.processor.internals.StreamThread",
            "stream-thread [totals-7d1e5b9a-StreamThread-2] Processed 120000 total records, ran 0 punctuators, and committed 240 total"
            " tasks since the last update",
        ),
        keep=(5, 20),
    ),
    Signature(
        id="connect-life",
        says="A worker of Kafka Connect starts, or ends in order.",
        literals=("Kafka Connect worker initializing", "Kafka Connect starting", "Kafka Connect stopping", "Kafka Connect stopped"),
        pattern=r"Kafka Connect (?:worker initializing|starting|stopping|stopped)",
        sample=in_flink("org.apache.kafka.connect.runtime.Connect", "Kafka Connect stopping"),
        keep=(20, 20),
    ),
)
