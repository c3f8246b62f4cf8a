"""BRK901: a Kafka client, topic or controller was without an answer when its log ended."""

from analyzers.vocabulary import ANY, UNDECIDED, DataFrame, has, rule
from analyzers.vocabulary.open_ends import still_open

KINDS = ("connection", "all-brokers-down", "tls-handshake", "unresolved", "coordinator", "topic-unread", "topic-unwritten", "election")


@rule(
    "BRK901",
    title="The logs end before they show whether Kafka answers",
    stage="access",
    severity=UNDECIDED,
    logs_of=ANY,
    needs=has(kind=KINDS),
    says={
        "connection": "whether Kafka client {client} gets an answer[[ from {address}]]: it had none by the end of its log, "
        "which is too short to tell a start from an outage",
        "all-brokers-down": "whether Kafka client {client} gets an answer: at the end of its log it is connected to none of its {number} "
        "broker(s)",
        "tls-handshake": "whether Kafka clients get through to {address}: {number} TLS hand-shakes were broken off there, by a listener "
        "without TLS or "
        "by a broker or balancer that goes away, and librdkafka logs none that succeed",
        "unresolved": "whether a Kafka client reaches its cluster: {address} does not resolve and was left out of its bootstrap.servers",
        "coordinator": "whether group {name} gets a coordinator[[ at {address}]]: {number} times it had none, up to the end of the log, "
        "which is too short to distinguish a broker that starts from one that cannot",
        "topic-unread": "whether topic {topic} can be read: metadata errors ({name}) go on to the end of the log",
        "topic-unwritten": "whether topic {topic} can be written: refused writes ({name}) go on to the end of the log",
        "election": "whether the controllers elect a leader: none was known by the end of the log",
    },
    next_command={
        "": "diag broker-health --bootstrap-server HOST:PORT,…",
    },
)
def kafka_unanswered(open_ends: DataFrame) -> DataFrame:
    """A Kafka client, topic or controller was without an answer when its log ended."""
    return still_open(open_ends, *KINDS)
