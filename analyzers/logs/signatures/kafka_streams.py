"""Kafka Streams."""

from __future__ import annotations

from analyzers.logs.signatures.origin import in_flink
from analyzers.logs.signatures.signature import Signature

_PLACE = r"topic=(?P<topic>[\w.-]+), partition=(?P<partition>\d+), offset=(?P<offset>\d+)"

SIGNATURES = (
    Signature(
        id="streams-window-expired",
        says="A window of Kafka Streams was over when this record came: it is dropped.",
        versions="KStreamWindowAggregate and its kin, 2.1+ (at WARN; at DEBUG before 2.3)",
        literals=("Skipping record for expired window", "Skipping record for expired segment"),
        pattern=r"topic=\[(?P<topic>[\w.-]+)\] partition=\[(?P<partition>\d+)\] offset=\[(?P<offset>\d+)\] timestamp=\[(?P<timestamp>\d+)\]"
        r"[^\n]*? streamTime=\[(?P<stream_time>\d+)\]",
        sample=in_flink(
            "org.apache.kafka.streams.kstream.internals.KStreamWindowAggregate",
            "Skipping record for expired window. topic=[rides-repartition] partition=[5] offset=[5022] timestamp=[1795511838185]"
            " window=[1795511700000,1795512600000) expiration=[1827047241000] streamTime=[1827047841000]",
            "WARN",
        ),
        keep=(20, 20),
        apart=("partition",),
    ),
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
        id="streams-uncaught",
        says="An exception that nothing caught ends a thread, an instance or all instances of a Kafka Streams application.",
        versions="KafkaStreams 2.8+ names the answer of its handler; StreamThread before",
        literals=("Encountered the following exception during processing and the ",),
        pattern=r"stream-(?:client|thread) \[(?P<client>[^\]\s]+?)(?:-StreamThread-\d+)?\] Encountered the following"
        r" exception during processing and the (?:registered exception handler opted to"
        r" (?P<answer>SHUTDOWN_\w+)|thread is going to shut down)",
        sample=in_flink(
            "org.apache.kafka.streams.KafkaStreams",
            "stream-client [totals-7d1e5b9a] Encountered the following exception during processing and the registered exception handler"
            " opted to SHUTDOWN_CLIENT. The streams client is going to shut down now. ",
            "ERROR",
        ),
        keep=(20, 20),
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
        id="streams-thread-replaced",
        says="A stream thread died of an exception, and the handler for uncaught ones starts another in its place.",
        versions="KafkaStreams, 2.8+, with REPLACE_THREAD",
        literals=("] Replacing thread in the streams uncaught exception handler",),
        pattern=r"stream-client \[(?P<client>[^\]\s]+)\] Replacing thread",
        sample=in_flink(
            "org.apache.kafka.streams.KafkaStreams",
            "stream-client [totals-7d1e5b9a] Replacing thread in the streams uncaught exception handler\n"
            "org.apache.kafka.streams.errors.StreamsException: Exception caught in process. taskId=0_4,"
            " processor=KSTREAM-SOURCE-0000000000, topic=orders, partition=4, offset=7712",
            "ERROR",
        ),
        keep=(20, 20),
    ),
    Signature(
        id="streams-thread-state",
        says="A stream thread changes its state.",
        versions="StreamThread, 1.0+",
        literals=("] State transition from ",),
        pattern=r"stream-thread \[(?P<client>[^\]\s]+?)-StreamThread-(?P<number>\d+)\] State transition from (?P<from_state>[A-Z_]+)"
        r" to (?P<to_state>[A-Z_]+)",
        sample=in_flink(
            "org.apache.kafka.streams.processor.internals.StreamThread",
            "stream-thread [totals-7d1e5b9a-StreamThread-2] State transition from PARTITIONS_ASSIGNED to RUNNING",
        ),
        keep=(20, 20),
    ),
    Signature(
        id="streams-processed",
        says="A stream thread counts the records that it processed in the last two minutes.",
        versions="StreamThread, 2.7+; log.summary.interval.ms from 3.4 on",
        literals=(" total records, ran ",),
        pattern=r"stream-thread \[(?P<client>[^\]\s]+?)-StreamThread-(?P<number>\d+)\] Processed (?P<records>\d+) total records, ran",
        sample=in_flink(
            "org.apache.kafka.streams.processor.internals.StreamThread",
            "stream-thread [totals-7d1e5b9a-StreamThread-2] Processed 4120 total records, ran 0 punctuators, and committed 24 total tasks"
            " since the last update",
        ),
        keep=(5, 20),
        apart=("client", "number"),
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
