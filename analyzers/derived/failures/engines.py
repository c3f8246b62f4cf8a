"""A line of the user's own logger may quote anything: what only an engine or a server prints counts only from such a logger."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from analyzers.components import role_of
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
_ERRORS = frozenset({"ERROR", "FATAL"})
_ABBREVIATED = re.compile(r"^(?:org\.apache\.|o\.a\.|oa|k\.[a-z]|state\.change\.)")
"""Loggers of theirs, as layouts shorten them; a project of Apache that the table does not name is no program of the user's."""
_TESTS = ("tests-passed", "tests-failed")
"""Of the two the last one counts: builds go on after a failed attempt."""
_NOTHING_FAILED = {"level": "INFO", "chain": None, "exception": None, "root_exception": None, "root_message": None, "user_frame": None}
_FOREIGN = frozenset(("user", "runtime", "library"))


def spoken_by_engines(events: Iterable[Row]) -> list[Row]:
    """`events` without engine-only signatures under a foreign logger; one without packages (Spark's short names) proves nothing.

    An error of that logger remains one, of no known signature.
    """
    return list(_spoken(_without_tests(events)))


def _without_tests(events: Iterable[Row]) -> list[Row]:
    """`events` without those of the output of tests that passed: what fails there was meant to."""
    every = list(events)
    ended = {(event["scope"], event["file"]): event["signature"] for event in every if event["signature"] in _TESTS}
    passed = {file for file, signature in ended.items() if signature == "tests-passed"}
    if not passed:
        return every
    kept = [event for event in every if (event["scope"], event["file"]) not in passed]
    ends = {(event["scope"], event["file"]): event for event in every if event["signature"] in _TESTS}  # the last of each
    return kept + [{**ends[file], **_NOTHING_FAILED} for file in sorted(passed)]


def _spoken(events: Iterable[Row]) -> Iterator[Row]:
    shown: set[tuple[str, str, int]] = set()
    for event in events:
        if not _quoted(event):
            yield event
            continue
        place = event["scope"], event["file"], event["line"]
        if event["level"] in _ERRORS and place not in shown:
            shown.add(place)
            yield {**event, "signature": "error-logged", "chain": None}


def _quoted(event: Row) -> bool:
    logger = event["logger"]
    return event["signature"] in ENGINE_ONLY and bool(logger) and "." in logger and not _of_engine(logger)


def _of_engine(logger: str) -> bool:
    return bool(_ABBREVIATED.match(logger)) or role_of(logger) not in _FOREIGN
