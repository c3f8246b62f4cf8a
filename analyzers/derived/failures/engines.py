"""A line of the user's own logger may quote anything: what only an engine or a server prints counts only from such a logger."""

from __future__ import annotations

import re
from collections.abc import Iterable

from analyzers.logs.signatures import kafka_broker, zookeeper
from analyzers.tables import Row

ENGINE_ONLY = frozenset(
    {
        "job-state",
        "task-failed",
        "task-transition",
        "checkpoint-triggered",
        "checkpoint-completed",
        "checkpoint-expired",
        "checkpoint-declined",
        "checkpoint-failed",
        "worker-terminated",
        "pod-terminated",
        "offset-out-of-range",
        "offset-reset",
        "unknown-topic-or-partition",
        "heartbeat-timeout-noted",
        "restart-suppressed",
        "slots-unavailable",
        *(signature.id for signature in (*kafka_broker.SIGNATURES, *zookeeper.SIGNATURES)),
    }
)
_ENGINE = re.compile(
    r"^(?:org\.apache\.|o\.a\.|oa|akka\.|pekko\.|kafka\.|state\.change\.|io\.confluent\.|io\.strimzi\.|org\.springframework\.kafka)"
)


def spoken_by_engines(events: Iterable[Row]) -> list[Row]:
    """`events` without engine-only signatures under a foreign logger; one without packages (Spark's short names) proves nothing."""
    return [e for e in events if not _quoted(e)]


def _quoted(event: Row) -> bool:
    logger = event["logger"]
    return event["signature"] in ENGINE_ONLY and bool(logger) and "." in logger and not _ENGINE.match(logger)
