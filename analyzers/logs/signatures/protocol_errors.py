"""Answers of a Kafka broker that matter to a stalled client, in the words of each client library: one table for signatures and faults.

Sources: kafka.apache.org/protocol (codes, names), Errors.java, rd_kafka_err2str of librdkafka 2.16 (.NET, Python, Go, Node, Rust, Ruby, C),
errors.go of sarama, kerr of franz-go, error.go of kafka-go, src/protocol/error.js of kafkajs, errors.py of aiokafka and kafka-python.
franz-go prints the name and the words of Java, kafkajs those words alone, the clients in Python ``[Error code]`` and a class.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class ProtocolError:
    """One error code: its name, the class of Java's exception, and what the other libraries print.

    ``means``: what it says about the client (`ACCESS`, `LEADERLESS`, …). ``former``: the name in older versions, which some clients keep.
    """

    code: int
    name: str
    means: str
    java: str
    rdkafka: str
    sarama: str | None
    kafka_go: str
    kafkajs: str
    former: str | None = None


ACCESS, LEADERLESS, FEW_REPLICAS, NO_COORDINATOR = "access", "leaderless", "few-replicas", "no-coordinator"
MEMBERSHIP, REJOIN, FENCED_MEMBER, FENCED_PRODUCER = "membership", "rejoin", "fenced-member", "fenced-producer"
OFFSET, TOPIC, SIZE, POLICY, SLOW = "offset", "topic", "size", "policy", "slow"
PASSING = (LEADERLESS, FEW_REPLICAS, NO_COORDINATOR, REJOIN, SLOW)
"""What a client tries again by itself: normal for a moment, a fault when it goes on for minutes."""

_E = ProtocolError
PROTOCOL_ERRORS: tuple[ProtocolError, ...] = (
    _E(1, "OFFSET_OUT_OF_RANGE", OFFSET, "OffsetOutOfRangeException", "Offset out of range",
       "The requested offset is outside the range of offsets maintained by the server", "Offset Out Of Range",
       "The requested offset is not within the range of offsets maintained by the server"),
    _E(3, "UNKNOWN_TOPIC_OR_PARTITION", TOPIC, "UnknownTopicOrPartitionException", "Unknown topic or partition",
       "Request was for a topic or partition that does not exist on this broker", "Unknown Topic Or Partition",
       "This server does not host this topic-partition"),
    _E(5, "LEADER_NOT_AVAILABLE", LEADERLESS, "LeaderNotAvailableException", "Leader not available",
       "In the middle of a leadership election, there is currently no leader for this partition", "Leader Not Available",
       "There is no leader for this topic-partition as we are in the middle of a leadership election"),
    _E(6, "NOT_LEADER_OR_FOLLOWER", LEADERLESS, "NotLeaderOrFollowerException", "Not leader for partition",
       "Tried to send a message to a replica that is not the leader for some partition", "Not Leader For Partition",
       "This server is not the leader for that topic-partition", former="NOT_LEADER_FOR_PARTITION"),
    _E(7, "REQUEST_TIMED_OUT", SLOW, "TimeoutException", "Request timed out",
       "Request exceeded the user-specified time limit in the request", "Request Timed Out", "The request timed out"),
    _E(10, "MESSAGE_TOO_LARGE", SIZE, "RecordTooLargeException", "Message size too large",
       "Message was too large, server rejected it to avoid allocation error", "Message Size Too Large",
       "The request included a message larger than the max message size the server will accept"),
    _E(14, "COORDINATOR_LOAD_IN_PROGRESS", NO_COORDINATOR, "CoordinatorLoadInProgressException", "Coordinator load in progress",
       "The coordinator is still loading offsets", "Group Load In Progress",
       "The coordinator is loading and hence can't process requests", former="GROUP_LOAD_IN_PROGRESS"),
    _E(15, "COORDINATOR_NOT_AVAILABLE", NO_COORDINATOR, "CoordinatorNotAvailableException", "Coordinator not available",
       "The coordinator is not available", "Group Coordinator Not Available",
       "The group coordinator is not available", former="GROUP_COORDINATOR_NOT_AVAILABLE"),
    _E(16, "NOT_COORDINATOR", NO_COORDINATOR, "NotCoordinatorException", "Not coordinator",
       "Request was for a consumer group that is not coordinated by this broker", "Not Coordinator For Group",
       "This is not the correct coordinator for this group", former="NOT_COORDINATOR_FOR_GROUP"),
    _E(19, "NOT_ENOUGH_REPLICAS", FEW_REPLICAS, "NotEnoughReplicasException", "Not enough in-sync replicas",
       "Messages are rejected since there are fewer in-sync replicas than required", "Not Enough Replicas",
       "Messages are rejected since there are fewer in-sync replicas than required"),
    _E(20, "NOT_ENOUGH_REPLICAS_AFTER_APPEND", FEW_REPLICAS, "NotEnoughReplicasAfterAppendException",
       "Message(s) written to insufficient number of in-sync replicas",
       "Messages are written to the log, but to fewer in-sync replicas than required", "Not Enough Replicas After Append",
       "Messages are written to the log, but to fewer in-sync replicas than required"),
    _E(22, "ILLEGAL_GENERATION", MEMBERSHIP, "IllegalGenerationException", "Specified group generation id is not valid",
       "The provided generation id is not the current generation", "Illegal Generation", "Specified group generation id is not valid"),
    _E(25, "UNKNOWN_MEMBER_ID", MEMBERSHIP, "UnknownMemberIdException", "Unknown member",
       "The provided member is not known in the current generation", "Unknown Member ID",
       "The coordinator is not aware of this member"),
    _E(27, "REBALANCE_IN_PROGRESS", REJOIN, "RebalanceInProgressException", "Group rebalance in progress",
       "A rebalance for the group is in progress", "Rebalance In Progress", "The group is rebalancing, so a rejoin is needed"),
    _E(29, "TOPIC_AUTHORIZATION_FAILED", ACCESS, "TopicAuthorizationException", "Topic authorization failed",
       "The client is not authorized to access this topic", "Topic Authorization Failed",
       "Not authorized to access topics: [Topic authorization failed"),
    _E(30, "GROUP_AUTHORIZATION_FAILED", ACCESS, "GroupAuthorizationException", "Group authorization failed",
       "The client is not authorized to access this group", "Group Authorization Failed",
       "Not authorized to access group: Group authorization failed"),
    _E(31, "CLUSTER_AUTHORIZATION_FAILED", ACCESS, "ClusterAuthorizationException", "Cluster authorization failed",
       "The client is not authorized to send this request type", "Cluster Authorization Failed", "Cluster authorization failed"),
    _E(33, "UNSUPPORTED_SASL_MECHANISM", ACCESS, "UnsupportedSaslMechanismException", "Unsupported SASL mechanism",
       "The broker does not support the requested SASL mechanism", "Unsupported SASL Mechanism",
       "The broker does not support the requested SASL mechanism"),
    _E(34, "ILLEGAL_SASL_STATE", ACCESS, "IllegalSaslStateException", "Request not valid in current SASL state",
       "Request is not valid given the current SASL state", "Illegal SASL State", "Request is not valid given the current SASL state"),
    _E(44, "POLICY_VIOLATION", POLICY, "PolicyViolationException", "Policy violation",
       "Request parameters do not satisfy the configured policy", "Policy Violation",
       "Request parameters do not satisfy the configured policy"),
    _E(47, "INVALID_PRODUCER_EPOCH", FENCED_PRODUCER, "InvalidProducerEpochException", "Producer attempted an operation with an old epoch",
       "Producer attempted an operation with an old epoch", "Invalid Producer Epoch",
       "Producer attempted an operation with an old epoch"),
    _E(53, "TRANSACTIONAL_ID_AUTHORIZATION_FAILED", ACCESS, "TransactionalIdAuthorizationException",
       "Transactional Id authorization failed", "Transactional ID authorization failed", "Transactional ID Authorization Failed",
       "Transactional Id authorization failed"),
    _E(58, "SASL_AUTHENTICATION_FAILED", ACCESS, "SaslAuthenticationException", "SASL Authentication failed",
       "SASL Authentication failed", "SASL Authentication Failed", "SASL Authentication failed"),
    _E(72, "LISTENER_NOT_FOUND", LEADERLESS, "ListenerNotFoundException", "No matching listener",
       "There is no listener on the leader broker that matches the listener", "Listener Not Found",
       "There is no listener on the leader broker that matches the listener"),
    _E(82, "FENCED_INSTANCE_ID", FENCED_MEMBER, "FencedInstanceIdException",
       "Static consumer fenced by other consumer with same group.instance.id",
       "The broker rejected this static consumer since another consumer with the same group.instance.id", "Fenced Instance ID",
       "The broker rejected this static consumer since another consumer with the same group.instance.id"),
    _E(89, "THROTTLING_QUOTA_EXCEEDED", SLOW, "ThrottlingQuotaExceededException", "Throttling quota has been exceeded",
       None, "Throttling Quota Exceeded", "The throttling quota has been exceeded"),
    _E(90, "PRODUCER_FENCED", FENCED_PRODUCER, "ProducerFencedException",
       "There is a newer producer with the same transactionalId", None, "Producer Fenced",
       "There is a newer producer with the same transactionalId"),
)  # fmt: skip


def meaning(*means: str) -> tuple[ProtocolError, ...]:
    """The errors of the table that say one of these about a client."""
    return tuple(error for error in PROTOCOL_ERRORS if error.means in means)


def names(errors: tuple[ProtocolError, ...]) -> str:
    """An alternation of the names of `errors`, as the protocol and franz-go have them."""
    return "|".join(name for error in errors for name in (error.name, error.former) if name)


def numbered(errors: tuple[ProtocolError, ...]) -> str:
    """An expression for `errors` as kafka-go prints them: ``[29] Topic Authorization Failed``."""
    return "(?:" + "|".join(rf"\[{error.code}\] {re.escape(error.kafka_go)}" for error in errors) + ")"


def of_sarama(errors: tuple[ProtocolError, ...]) -> str:
    """An expression for `errors` as sarama prints them, behind ``kafka server: ``."""
    return "(?:" + "|".join(re.escape(error.sarama) for error in errors if error.sarama) + ")"


def of_rdkafka(errors: tuple[ProtocolError, ...]) -> str:
    """An expression for `errors` as librdkafka prints them, behind ``Broker: ``."""
    return "(?:" + "|".join(re.escape(error.rdkafka) for error in errors) + ")"


def words(*means: str) -> str:
    """An expression for what clients in other languages than Java print of the errors that say one of `means`; of them all where empty."""
    errors = meaning(*means) if means else PROTOCOL_ERRORS
    codes = "|".join(str(error.code) for error in errors)
    in_javas_words = "|".join(re.escape(error.kafkajs) for error in errors)
    return (
        rf"(?:Broker: {of_rdkafka(errors)}|kafka server: {of_sarama(errors)}|\b(?:{names(errors)}): (?=[A-Z])|{numbered(errors)}"
        rf"|\[Error (?:{codes})\] (?=\w+Error\b)|(?:\bKafkaJS\w{{1,40}}: |\berror\W{{1,3}})(?:{in_javas_words}))"
    )


def literals(*means: str) -> tuple[str, ...]:
    """A literal for each way in which `words` finds one of the errors."""
    errors = meaning(*means)
    every = [
        text
        for error in errors
        for text in (
            f"Broker: {error.rdkafka}",
            error.sarama and f"kafka server: {error.sarama}",
            *(f"{name}: " for name in (error.name, error.former) if name),
            f"[{error.code}] {error.kafka_go}",
            f"[Error {error.code}] ",
            error.kafkajs,
        )
        if text
    ]
    return tuple(dict.fromkeys(every))
