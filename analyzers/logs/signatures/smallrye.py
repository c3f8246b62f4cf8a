"""Quarkus and others on SmallRye Reactive Messaging: channels that read from Kafka (SRMSG182xx).

Sources: KafkaLogging.java, KafkaSource.reportFailure, KafkaThrottledLatestProcessedCommit.java of smallrye-reactive-messaging 2.8 to 4.
"""

from __future__ import annotations

from analyzers.logs.signatures.signature import Signature

_C = "2026-03-11 07:06:40,120 {} [io.sma.rea.mes.kafka] (vert.x-eventloop-thread-0) {}"

SIGNATURES = (
    Signature(
        id="smallrye-unacknowledged",
        says="A record was neither acknowledged nor refused by the application in time: no offset behind it can be committed.",
        literals=("SRMSG18231: ",),
        versions="the amount of records up to 2.9, the age of one since",
        pattern=r"SRMSG18231: (?:The record (?P<offset>\d+) from topic-partition '(?P<tp>[\w.-]+-\d+)' has waited for (?P<waited>\d+) s"
        r"|The amount of received messages without acking is too high for topic partition 'TopicPartition\{topic=(?P<topic>[\w.-]+),"
        r" partition=(?P<partition>\d+)\})",
        sample=_C.format(
            "WARN ",
            "SRMSG18231: The record 4711 from topic-partition 'movies-0' has waited for 62 seconds to be acknowledged. This waiting time is"
            " greater than the configured threshold (60000 ms). At the moment 18 messages from this partition are awaiting"
            " acknowledgement.",
        ),
        keep=(20, 20),
    ),
    Signature(
        id="smallrye-nacked",
        says="The application refused a record, and its channel is set to stop at the first one (failure-strategy=fail).",
        literals=("has been nacked, fail-stop",),
        pattern=r"A message sent to channel `(?P<channel>[^`\n]{1,255})` has been nacked, fail-stop",
        sample=_C.format("ERROR", "SRMSG18203: A message sent to channel `prices` has been nacked, fail-stop"),
        keep=(20, 20),
    ),
    Signature(
        id="smallrye-failed",
        says="A channel reports a failure: of a refused or an unacknowledged record it closes its consumer, others it tries again.",
        literals=("SRMSG18228: ",),
        pattern=r"SRMSG18228: A failure has been reported for Kafka topics '\[(?P<topic>[\w.-]+)(?P<more>[^\]\n]*)\]'",
        sample=_C.format(
            "WARN ",
            "SRMSG18228: A failure has been reported for Kafka topics '[movies]':"
            " io.smallrye.reactive.messaging.kafka.commit.KafkaThrottledLatestProcessedCommit$TooManyMessagesWithoutAckException: Too Many"
            " Messages without acknowledgement in topic movies (partition:0), last committed offset is 4710",
        ),
        keep=(20, 20),
    ),
)
