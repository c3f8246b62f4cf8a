"""Kafka Streams."""

from __future__ import annotations

from analyzers.logs.signatures.origin import in_flink
from analyzers.logs.signatures.signature import Signature

SIGNATURES = (
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
        id="connect-life",
        says="A worker of Kafka Connect starts, or ends in order.",
        literals=("Kafka Connect worker initializing", "Kafka Connect starting", "Kafka Connect stopping", "Kafka Connect stopped"),
        pattern=r"Kafka Connect (?:worker initializing|starting|stopping|stopped)",
        sample=in_flink("org.apache.kafka.connect.runtime.Connect", "Kafka Connect stopping"),
        keep=(20, 20),
    ),
)
