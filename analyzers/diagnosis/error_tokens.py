"""The decisive word of a failure, as its product spells it: the word to search for.

Kafka's ``FENCED_INSTANCE_ID`` (org.apache.kafka.common.protocol.Errors), Kubernetes' ``OOMKilled`` and ``ImagePullBackOff``,
Elasticsearch's ``circuit_breaking_exception``, Oracle's ``ORA-12514``, S3's ``AccessDenied``, Spark's error classes.
"""

from __future__ import annotations

from analyzers.derived.failures.needed_words import Expressions

_KAFKA = (
    "OFFSET_OUT_OF_RANGE|CORRUPT_MESSAGE|UNKNOWN_TOPIC_OR_PARTITION|LEADER_NOT_AVAILABLE|NOT_LEADER_OR_FOLLOWER|NOT_LEADER_FOR_PARTITION"
    "|REQUEST_TIMED_OUT|BROKER_NOT_AVAILABLE|REPLICA_NOT_AVAILABLE|MESSAGE_TOO_LARGE|MSG_SIZE_TOO_LARGE|COORDINATOR_NOT_AVAILABLE"
    "|NOT_COORDINATOR|INVALID_TOPIC_EXCEPTION|RECORD_LIST_TOO_LARGE|NOT_ENOUGH_REPLICAS_AFTER_APPEND|NOT_ENOUGH_REPLICAS"
    "|INVALID_REQUIRED_ACKS|ILLEGAL_GENERATION|INCONSISTENT_GROUP_PROTOCOL|UNKNOWN_MEMBER_ID|INVALID_SESSION_TIMEOUT|REBALANCE_IN_PROGRESS"
    "|TOPIC_AUTHORIZATION_FAILED|GROUP_AUTHORIZATION_FAILED|CLUSTER_AUTHORIZATION_FAILED|TRANSACTIONAL_ID_AUTHORIZATION_FAILED"
    "|INVALID_TIMESTAMP|UNSUPPORTED_SASL_MECHANISM|SASL_AUTHENTICATION_FAILED|UNSUPPORTED_VERSION|INVALID_REPLICATION_FACTOR|POLICY_VIOLATION"
    "|OUT_OF_ORDER_SEQUENCE_NUMBER|INVALID_PRODUCER_EPOCH|INVALID_TXN_STATE|INVALID_PRODUCER_ID_MAPPING|INVALID_TRANSACTION_TIMEOUT"
    "|CONCURRENT_TRANSACTIONS|TRANSACTION_COORDINATOR_FENCED|KAFKA_STORAGE_ERROR|UNKNOWN_PRODUCER_ID|FETCH_SESSION_ID_NOT_FOUND"
    "|FENCED_LEADER_EPOCH|UNKNOWN_LEADER_EPOCH|STALE_BROKER_EPOCH|GROUP_MAX_SIZE_REACHED|FENCED_INSTANCE_ID|PRODUCER_FENCED"
    "|INVALID_RECORD|UNSTABLE_OFFSET_COMMIT|THROTTLING_QUOTA_EXCEEDED|INCONSISTENT_CLUSTER_ID|FENCED_MEMBER_EPOCH|STALE_MEMBER_EPOCH"
    "|UNRELEASED_INSTANCE_ID|UNSUPPORTED_ASSIGNOR|OFFSET_METADATA_TOO_LARGE|DUPLICATE_BROKER_REGISTRATION"
)
_KUBERNETES = (
    "OOMKilled|ImagePullBackOff|ErrImagePull|InvalidImageName|CrashLoopBackOff|CreateContainerConfigError|CreateContainerError"
    "|ContainerCannotRun|DeadlineExceeded|FailedMount|FailedAttachVolume|Unschedulable|Insufficient (?:cpu|memory|ephemeral-storage)"
)
_TOKENS = Expressions(
    rf"\b(?P<error>{_KAFKA})\b",
    r"\[Error \d+\] (?P<error>[A-Z]\w+Error)\b",  # kafka-python, aiokafka
    rf"\b(?P<error>{_KUBERNETES})\b",
    r"\b(?P<error>(?:ORA|TNS)-\d{5})\b",
    r"\btype[\"]?[=:] ?\"?(?P<error>[a-z]+(?:_[a-z]+)+_exception)\b",
    r"\bError Code: (?P<error>[A-Z]\w{3,60})[;)\s]",  # the AWS SDK, of S3 and all others
    r"\b(?P<error>AccessDenied|SlowDown|NoSuchBucket|NoSuchKey|InvalidAccessKeyId|ExpiredToken|RequestTimeTooSkewed)\b",
    r"\[(?P<error>[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+(?:\.[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*)*)\] ",  # org.apache.spark.ErrorClass
)
_WRAPS = frozenset(
    {"STREAM_FAILED", "FOREACH_BATCH_USER_FUNCTION_ERROR", "FAILED_EXECUTE_UDF", "JOB_ABORTED", "FETCH_SESSION_ID_NOT_FOUND"}
)
"""What only says that something failed inside, and what heals by itself."""


def error_tokens(text: str) -> set[str]:
    """All decisive words of one event."""
    return {m["error"] for m in _TOKENS.matches(text)} - _WRAPS
