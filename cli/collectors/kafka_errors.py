"""What the error codes of the protocol mean to who asks: the words that a row carries."""

from __future__ import annotations

from collections.abc import Mapping

from cli.collectors.kafka_permissions import Sight

CLUSTER_AUTHORIZATION_FAILED = 31

# org.apache.kafka.common.protocol.Errors
ERRORS: Mapping[int, str] = {
    3: "UNKNOWN_TOPIC_OR_PARTITION: the topic was deleted",
    5: "LEADER_NOT_AVAILABLE",
    6: "NOT_LEADER_OR_FOLLOWER: the leader is moving",
    14: "COORDINATOR_LOAD_IN_PROGRESS",
    15: "COORDINATOR_NOT_AVAILABLE",
    16: "NOT_COORDINATOR: the coordinator is moving",
    29: "TOPIC_AUTHORIZATION_FAILED: {who} needs DESCRIBE on the topic",
    30: "GROUP_AUTHORIZATION_FAILED: {who} needs DESCRIBE on the group",
    31: "CLUSTER_AUTHORIZATION_FAILED: {who} needs DESCRIBE on the cluster",
    41: "NOT_CONTROLLER: the controller is moving",
    53: "TRANSACTIONAL_ID_AUTHORIZATION_FAILED: {who} needs DESCRIBE on the transactional id",
    56: "KAFKA_STORAGE_ERROR: the log directory is offline",
    69: "GROUP_ID_NOT_FOUND: no such group",
    78: "OFFSET_NOT_AVAILABLE: the leader was just elected",
}


def error_says(code: int | None, sight: Sight, words: str | None = None) -> str:
    """The words for `code`; what is refused names the user that `sight` is of. `words` are librdkafka's, for a code that has none here."""
    return ERRORS.get(code or 0, words or f"error {code}").replace("{who}", sight.who)
