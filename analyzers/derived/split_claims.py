"""Who was given which source split, and how: the rows that a duplicate is read from."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from analyzers.derived.faults import _windows
from analyzers.tables import SPLIT_CLAIMS, Row

_KAFKA = re.compile(r"\[Partition: (.+?)-(\d+), StartingOffset: (-?\d+), StoppingOffset: -?\d+\]")
_BEAM = re.compile(r"FlinkSourceSplit\{splitIndex=(\d+), beamSource=(.*?), splitState\.isNull=(true|false)")
_LEGACY = re.compile(r"KafkaTopicPartition\{topic='([^']+)', partition=(\d+)\}=(-?\d+)")
_ASSIGNMENT = re.compile(r"(\d+)=\[((?:\[Partition: [^\]]*\](?:, )?)+)\]")
_BACKLOG_CONSUMER = "_offset_consumer_"


def split_claims_of(events: Sequence[Row], attempts: Sequence[Row]) -> list[Row]:
    """One row per split named in an assignment, restore or read line."""
    windows = _windows(attempts)
    out: list[dict[str, Any]] = []
    for event in events:
        for claim in _claims(event):
            out.append(
                {k: event[k] for k in ("scope", "as_of", "job", "at", "file", "line", "host", "text")}
                | {"attempt": _attempt(event, windows)}
                | claim
            )  # fmt: skip
    return [SPLIT_CLAIMS.row(c) for c in out]


def _attempt(event: Row, windows: dict[tuple[str, str], list[tuple[datetime, int]]]) -> int | None:
    starts = windows.get((event["scope"], event["job"] or ""))
    if not starts or event["at"] is None:
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
            {"how": "restored" if m.group(3) == "false" else "assigned", "split": m.group(1), "source": m.group(2).split("@")[0], "subtask": event["subtask"]}
            for m in _BEAM.finditer(text)
        ]
    if signature == "legacy-fetcher-started":
        return [
            {"how": "reading", "split": f"{m.group(1)}-{m.group(2)}", "topic": m.group(1), "partition": int(m.group(2)), "offset": int(m.group(3)) + 1,
             "subtask": event["subtask"]}
            for m in _LEGACY.finditer(text)
        ]  # fmt: skip
    if signature == "beam-kafka-reading" and event["topic"] and _BACKLOG_CONSUMER not in (event["group"] or ""):
        return [
            {"how": "reading", "split": f"{event['topic']}-{event['partition']}", "topic": event["topic"], "partition": event["partition"], "offset": event["offset"],
             "subtask": event["subtask"]}
        ]  # fmt: skip
    return []


def _kafka(match: re.Match[str], how: str, subtask: int | None) -> dict[str, Any]:
    offset = int(match.group(3))
    return {"how": how, "split": f"{match.group(1)}-{match.group(2)}", "topic": match.group(1), "partition": int(match.group(2)), "offset": offset if offset >= 0 else None, "subtask": subtask}
