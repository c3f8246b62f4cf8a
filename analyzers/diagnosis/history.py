"""The lanes of the picture: attempts and checkpoints of each job, and the brokers that left."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import pairwise

from analyzers.report.history import Lane, Mark, Span
from analyzers.tables import Row

Tables = Mapping[str, Sequence[Row]]

_CHECKPOINTS = {"checkpoint-completed": "completed", "query-progress": "completed", "checkpoint-expired": "expired"}
_BROKERS = {
    **dict.fromkeys(("broker-shutdown-granted", "broker-left-at-once", "broker-fenced", "broker-failure-callback"), "left"),
    **dict.fromkeys(("broker-unfenced", "broker-unfence-granted", "broker-startup-callback"), "back"),
}
MOST_MARKS = 2_000  # of a lane: more than any picture has columns


def history(tables: Tables, as_of: datetime | None) -> list[Lane]:
    """The lanes, in the order in which they are drawn; of a job without a time there is none."""
    attempts: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in tables.get("attempts", ()):
        if row["job"] and row["started_at"]:
            attempts[row["scope"], row["job"]].append(row)
    marks: dict[tuple[str, str | None, str], dict[tuple[datetime, str], Mark]] = defaultdict(dict)
    gone: set[tuple[str, int]] = set()
    served: set[tuple[str, int]] = set()
    for event in tables.get("log_events", ()):
        at, signature = event["at"], event["signature"]
        if at is None:
            continue
        if signature in _CHECKPOINTS and event["job"]:
            what = f"checkpoint {event['checkpoint']} {_CHECKPOINTS[signature]}"
            mark = Mark(at, _CHECKPOINTS[signature], what, event["file"], event["line"])
            marks[event["scope"], event["job"], "checkpoints"].setdefault((at, mark.kind), mark)
        elif signature in _BROKERS and event["broker"] is not None:
            broker = (event["scope"], event["broker"])
            if _BROKERS[signature] == "left":
                if signature == "broker-fenced" and broker not in served:
                    continue  # KRaft registers every broker fenced
                gone.add(broker)
            else:
                served.add(broker)
                if broker not in gone:
                    continue  # it starts
            mark = Mark(at, _BROKERS[signature], f"broker {event['broker']} {_BROKERS[signature]}", event["file"], event["line"])
            marks[event["scope"], None, "brokers"].setdefault((at, mark.says), mark)
    for row in tables.get("checkpoints", ()):
        if row["job"] and row["triggered_at"] and row["status"] in ("COMPLETED", "FAILED"):
            done = row["status"] == "COMPLETED"
            at = (row["last_ack_at"] if done else row["failed_at"]) or row["triggered_at"]
            kind = "completed" if done else "expired"
            known = marks[row["scope"], row["job"], "checkpoints"]
            known.setdefault(
                (at, kind), Mark(at, kind, f"checkpoint {row['checkpoint']} {'completed' if done else row['failure'] or 'failed'}")
            )
    lanes = [Lane("job", job, scope, *_of_job(rows, as_of)) for (scope, job), rows in sorted(attempts.items())]
    for (scope, job, name), found in sorted(marks.items(), key=lambda one: (one[0][2] == "brokers", one[0][0], one[0][1] or "")):
        ordered = sorted(found.values(), key=lambda mark: mark.at)
        lanes.append(Lane(name, job, scope, marks=tuple((each_once(ordered) if name == "brokers" else ordered)[-MOST_MARKS:])))
    return lanes


def each_once(marks: Sequence[Mark]) -> list[Mark]:
    """`marks` of brokers, in order of time, without those that repeat a broker's last one: each of the others logs that it left."""
    last: dict[str, str] = {}
    kept = []
    for mark in marks:
        broker = mark.says.removesuffix(mark.kind)
        if last.get(broker) != mark.kind:
            kept.append(mark)
        last[broker] = mark.kind
    return kept


def _of_job(attempts: Sequence[Row], as_of: datetime | None) -> tuple[tuple[Span, ...], tuple[Mark, ...]]:
    rows = sorted(attempts, key=lambda row: row["started_at"])
    spans, marks = [], []
    for row in rows:
        end = row["ended_at"] or as_of or row["started_at"]
        if end >= row["started_at"]:
            spans.append(Span(row["started_at"], end, "works" if row["checkpoints_completed"] else "tries"))
        if row["ended"] == "failed" and row["ended_at"]:
            says = f"attempt {row['attempt']} failed: {row['trigger_says'] or 'no reason in these logs'}"
            marks.append(Mark(row["ended_at"], "failed", says, row["file"], row["line"]))
    spans += [Span(a.end, b.begin, "down") for a, b in pairwise(spans) if b.begin > a.end]
    return tuple(sorted(spans, key=lambda span: span.begin)), tuple(marks)
