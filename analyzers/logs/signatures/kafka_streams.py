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
)
