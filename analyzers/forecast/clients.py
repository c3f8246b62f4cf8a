"""How a Kafka client in Java chooses and gives up a server, by version: data, as its source has it.

Source: NetworkClient.leastLoadedNode, ClusterConnectionStates, CommonClientConfigs and AdminClientConfig of kafka-clients 2.1 to 4.2;
KAFKA-8376 (2.3), KIP-533 (2.5), KIP-602 (2.6), KAFKA-9893 / KIP-601 (2.7), KIP-899 (3.8), KIP-1102 (4.0).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

Version = tuple[int, int]


@dataclass(frozen=True)
class Behaviour:
    """What holds from version `since` on. Times in seconds."""

    since: Version
    stays_with_pending: bool  # every retry returns the node whose connect is unanswered; when it fails, any node may be next
    setup_timeout: float | None  # socket.connection.setup.timeout.ms; None: the operating system decides
    setup_timeout_max: float | None  # of a node that failed before
    all_addresses: bool  # of a name; before, the first only


BEHAVIOUR: tuple[Behaviour, ...] = (
    Behaviour((2, 3), True, None, None, all_addresses=False),
    Behaviour((2, 6), True, None, None, all_addresses=True),
    Behaviour((2, 7), False, 10.0, 127.0, all_addresses=True),
    Behaviour((2, 8), False, 10.0, 30.0, all_addresses=True),
    Behaviour((3, 8), False, 10.0, 30.0, all_addresses=True),
)
"""Ascending. The selection code is equal from 2.3.0 to 2.6.x, from 2.7.0 to 3.7.x, and from 3.8.0 on; of each a version was measured."""

FIRST_WITH_SETUP_TIMEOUT: Version = (2, 7)
RETRY_BACKOFF_SECONDS = 0.1  # retry.backoff.ms, between a failed pick and the next
SETUP_JITTER = 0.2  # socket.connection.setup.timeout.ms is varied by ±20 % (KIP-601)
REQUEST_TIMEOUT_SECONDS = 30.0  # request.timeout.ms of consumers and, since 2.5, AdminClients
API_TIMEOUT_SECONDS = 60.0  # default.api.timeout.ms
OLD_ADMIN_TIMEOUT_SECONDS = 120.0  # request.timeout.ms of AdminClients up to 2.4, which have no default.api.timeout.ms
OLD_ADMIN_UNTIL: Version = (2, 5)

FLINK_CLIENTS: tuple[tuple[Version, str], ...] = (
    ((1, 11), "2.4.1"), ((1, 15), "2.8.1"), ((1, 16), "3.2.3"), ((1, 18), "3.4.0"), ((2, 0), "3.9.0"), ((2, 2), "4.2.0"),
)  # fmt: skip
"""kafka-clients that the connector of a Flink version brings, ascending (its pom); jobs may bring another one, their log tells."""

_CONFLUENT: dict[int, int] = {5: 2, 7: 3, 8: 4}
"""Confluent's 5.x-ccs are Kafka 2.x, 7.x are 3.x, 8.x are 4.x; 6.0 to 6.2 are 2.6 to 2.8."""

NEWEST_MAJOR = 4
LAST_MINOR: dict[int, int] = {0: 11, 1: 1, 2: 8, 3: 9}
"""The last release of each major version that has ended: a mistyped version must get no odds."""


@dataclass(frozen=True)
class Connector:
    """How a connector uses the client at a start: which call decides, how many clients make it, and where its properties are written."""

    name: str
    call: str
    admin: bool
    one_client: bool
    measured: bool
    says: str


CONNECTORS: dict[str, Connector] = {
    c.name: c
    for c in (
        Connector("legacy", "KafkaConsumer.partitionsFor", admin=False, one_client=False, measured=True,
                  says="FlinkKafkaConsumer: every source subtask asks for the partitions itself, and all must succeed"),
        Connector("kafka-source", "AdminClient.describeTopics", admin=True, one_client=True, measured=True,
                  says="KafkaSource: its enumerator alone decides; its readers merely wait, so the parallelism does not count"),
        Connector("beam", "KafkaConsumer.position", admin=False, one_client=False, measured=False,
                  says="Beam KafkaIO: every reader must find its position; counted as one client per split"),
        Connector("spark", "AdminClient.listOffsets", admin=True, one_client=True, measured=False,
                  says="Spark: the driver's offset reader decides; tasks of executors are tried again"),
        Connector("plain", "a KafkaConsumer call with a time-out", admin=False, one_client=False, measured=True,
                  says="a client of its own: poll() merely waits, other calls fail after default.api.timeout.ms"),
    )
}  # fmt: skip


def parse_version(text: str) -> Version:
    """Major and minor of a kafka-clients version: "2.4.1", "3.4.1-amzn-0", "7.5.0-ccs" (Kafka 3.5). Raises ``ValueError``."""
    match = re.match(r"v?(\d+)\.(\d+)(?:\.|$|-)", text.strip())
    if match is None:
        raise ValueError(f"{text!r} is not a kafka-clients version")
    major, minor = int(match[1]), int(match[2])
    if re.search(r"-c(cs|e)\b", text) or major in (5, 6, 7, 8):
        major, minor = (2, 6 + minor) if major == 6 else (_CONFLUENT.get(major, major), minor)
    if major > NEWEST_MAJOR or minor > LAST_MINOR.get(major, minor):
        raise ValueError(f"{text!r} is no kafka-clients version that is known (0.8 to {NEWEST_MAJOR}.x, Confluent's 5.x to 8.x)")
    return major, minor


def behaviour(version: str) -> Behaviour | None:
    """The behaviour of `version`; None before 2.3, which was never measured. Raises ``ValueError`` for what is no version."""
    parsed = parse_version(version)
    return next((b for b in reversed(BEHAVIOUR) if parsed >= b.since), None)


def client_of_flink(version: str) -> str:
    """The kafka-clients version that the connector of Flink `version` ("1.12", "1.12.2") brings. Raises ``ValueError``."""
    match = re.fullmatch(r"(\d+)\.(\d+)(?:\.\d+)?", version.strip())
    if match is None:
        raise ValueError(f"{version!r} is not a Flink version")
    brought = [client for since, client in FLINK_CLIENTS if (int(match[1]), int(match[2])) >= since]
    if not brought:
        raise ValueError(f"which kafka-clients Flink {version} brings is not known; its log says Kafka version: …")
    return brought[-1]


def ending_property(version: str, connector: Connector) -> str:
    """Which property ends the deciding call."""
    return "request.timeout.ms" if connector.admin and parse_version(version) < OLD_ADMIN_UNTIL else "default.api.timeout.ms"


def ending_seconds(version: str, connector: Connector) -> float:
    """The default of `ending_property`."""
    return API_TIMEOUT_SECONDS if ending_property(version, connector).startswith("default") else OLD_ADMIN_TIMEOUT_SECONDS
