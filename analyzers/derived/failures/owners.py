"""Who a line is about, where it is no Flink job and no query: a connector, a Flink deployment, an application of Kafka Streams.

Many of them print into one log, each line with its owner: ``[payments-sink|task-0]`` and ``WorkerSinkTask{id=payments-sink-0}`` of
Kafka Connect (KIP-449, WorkerTask.toString), ``[INFO ][shop/orders]`` of the Flink Kubernetes operator (MDC resource.namespace and
resource.name), ``stream-thread [orders-app-…-StreamThread-1]`` of Kafka Streams.
"""

from __future__ import annotations

import re

CONNECTOR = re.compile(
    r"(?:^|[\s\]])\[(?P<context>[^\[\]|\s]{1,200})\|(?:task-(?P<number>\d+)|worker)(?:\|offsets)?\]"
    r"|\bWorker(?:Source|Sink)Task\{id=(?P<id>[^}\s]{1,200})-(?P<id_number>\d+)\}"
    r"|\b(?:Error encountered in task|ERROR Task) (?P<failed>\S{1,200})-(?P<failed_number>\d+)(?:\. Executing stage| threw an uncaught)"
)
OF_CONNECT = re.compile(r"org\.apache\.kafka\.connect\.|io\.debezium\.|\bWorker(?:Source|Sink)Task\b")
"""What only Kafka Connect and its connectors print."""
DEPLOYMENT = re.compile(r"\[(?:TRACE|DEBUG|INFO|WARN|ERROR) *\] ?\[(?P<deployment>[a-z0-9][a-z0-9.-]{0,62}/[a-z0-9][a-z0-9.-]{0,252})\]")
APPLICATION = re.compile(
    r"(?:stream-(?:thread|client) \[|[\[\"(](?=[^\]\")\s=]{1,250}-StreamThread-\d))(?P<application>[^\]\")\s=]{1,200}?)"
    r"(?:-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})?(?:-StreamThread-\d+(?:-[a-z-]+)?)?[\]\")]"
)
_NAMED = re.compile(r"stream-(?:thread|client) \[")
_WITHIN = 600
"""Characters: whose line it is stands at its beginning."""


def connector_of(text: str) -> tuple[str, int | None] | None:
    """The connector that a line of Kafka Connect is about, and the number of its task where the line is about one."""
    # it tries every bracket, and most lines have several: it is asked only where one of its words stands
    said = "|task-" in text or "|worker" in text or "Task{id=" in text or "Error encountered in task " in text or "ERROR Task " in text
    m = CONNECTOR.search(text, 0, _WITHIN) if said else None
    if m is None:
        return None
    number = m["number"] or m["id_number"] or m["failed_number"]
    return m["context"] or m["id"] or m["failed"], int(number) if number else None


def of_status(text: str | None) -> bool:
    """Whether a line is a failed task of an answer of Kafka Connect's REST interface (`logs.wrappings.connect_status`): no event."""
    return " (is FAILED on worker " in (text or "").partition("\n")[0]


def deployment_of(text: str) -> str | None:
    """``namespace/name`` of the resource that a line of the Flink Kubernetes operator is about."""
    m = DEPLOYMENT.search(text, 0, _WITHIN)
    return m["deployment"] if m else None


def application_of(text: str) -> str | None:
    """The application of Kafka Streams whose thread or client a line is about; its id, unless client.id was set."""
    if "stream-" not in text and "StreamThread-" not in text:
        return None
    # a column of the thread may hold its last letters only; what the line itself says is whole
    named = _NAMED.search(text, 0, _WITHIN)
    m = APPLICATION.search(text, named.start() if named else 0, _WITHIN)
    return m["application"] if m else None


def owner_of(text: str) -> str | None:
    """What stands for the job of a line: connector, deployment or application."""
    connector = connector_of(text)
    return connector[0] if connector else deployment_of(text) or application_of(text)
