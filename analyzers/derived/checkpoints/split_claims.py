"""Who was given which source split, and how: the rows that a duplicate is read from."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from analyzers.derived.failures.fault_attempts import attempt_windows
from analyzers.tables import SPLIT_CLAIMS, Row

_KAFKA = re.compile(r"\[Partition: (.+?)-(\d+), StartingOffset: (-?\d+), StoppingOffset: -?\d+\]")
_BEAM = re.compile(r"FlinkSourceSplit\{splitIndex=(\d+), beamSource=(.*?), splitState\.isNull=(true|false)")
_LEGACY = re.compile(r"KafkaTopicPartition\{topic='([^']+)', partition=(\d+)\}=(-?\d+)")
_LEGACY_READS = "creating fetcher with offsets"  # "restored state: {…}" lists the whole union state of all subtasks: no claim
_ASSIGNMENT = re.compile(r"(\d+)=\[((?:\[Partition: [^\]]*\](?:, )?)+)\]")
_BACKLOG_CONSUMER = "_offset_consumer_"
_CLOCKS = timedelta(seconds=5)
"""Clocks of two hosts differ by less."""


def split_claims_of(events: Sequence[Row], attempts: Sequence[Row]) -> list[Row]:
    """One row per split named in an assignment, restore or read line."""
    starts = attempt_windows(attempts).starts
    place = ("scope", "as_of", "job", "at", "file", "line", "host", "text")
    return [
        SPLIT_CLAIMS.row({k: event[k] for k in place} | {"attempt": _attempt(event, starts)} | claim)
        for event in events
        for claim in _claims(event)
    ]


def _attempt(event: Row, by_job: dict[tuple[str, str], list[tuple[datetime, int]]]) -> int | None:
    """The attempt that runs at the time of a claim; none where that one began before the JobManager's log does."""
    starts = by_job.get((event["scope"], event["job"] or ""))
    if not starts or event["at"] is None or event["at"] < starts[0][0] - _CLOCKS:
        return None
    return starts[max(0, bisect_right(starts, (event["at"], 1 << 40)) - 1)][1]


def _claims(event: Row) -> list[dict[str, Any]]:
    signature, text = event["signature"], event["text"] or ""
    if signature == "splits-added":
        return [_kafka(m, "reading", None) for m in _KAFKA.finditer(text)]
    if signature == "splits-assigned":
        return [_kafka(m, "assigned", int(part.group(1))) for part in _ASSIGNMENT.finditer(text) for m in _KAFKA.finditer(part.group(2))]
    if signature == "beam-splits-added":
        return [
            {
                "how": "restored" if m.group(3) == "false" else "assigned",
                "split": m.group(1),
                "source": m.group(2).split("@")[0],
                "subtask": event["subtask"],
            }
            for m in _BEAM.finditer(text)
        ]
    if signature == "legacy-fetcher-started" and _LEGACY_READS in text:
        # the legacy consumer's state holds the last record it processed, or a sentinel below 0
        return [_read(m.group(1), int(m.group(2)), _next(int(m.group(3))), event["subtask"]) for m in _LEGACY.finditer(text)]
    if signature == "beam-kafka-reading" and event["topic"] and _BACKLOG_CONSUMER not in (event["group"] or ""):
        return [_read(event["topic"], event["partition"], event["offset"], event["subtask"])]
    return []


def _next(last: int) -> int | None:
    return last + 1 if last >= 0 else None


def _read(topic: str, partition: int, offset: int | None, subtask: int | None) -> dict[str, Any]:
    return {"how": "reading", "split": f"{topic}-{partition}", "topic": topic, "partition": partition, "offset": offset, "subtask": subtask}


def _kafka(match: re.Match[str], how: str, subtask: int | None) -> dict[str, Any]:
    offset = int(match.group(3))
    return _read(match.group(1), int(match.group(2)), offset if offset >= 0 else None, subtask) | {"how": how}
