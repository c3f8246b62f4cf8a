"""Preflight: the evidence of `broker-health`, what is planned, and one answer per question about it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from analyzers.derived.planned.answers import BREAKS, GOES, UNKNOWN
from analyzers.derived.planned.broker_removal import broker_removal, plan_row
from analyzers.report.durations import counted
from analyzers.tables import Row
from cli.runs.run import Subject
from cli.shell.exits import UsageError


def node_ids(text: str) -> list[int]:
    """The node ids in ``5,6``. Raises `UsageError`."""
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() and len(part) < 10 for part in parts):
        raise UsageError(f"--brokers {text} is no list of node ids", "Write the ids of the brokers that would go, as --brokers 5,6.")
    return sorted({int(part) for part in parts})


def planned(brokers: Sequence[int], groups: Sequence[str]) -> Mapping[str, Sequence[Row]]:
    """The table ``planned_changes``."""
    return {"planned_changes": [plan_row(brokers, groups)]}


def answered(rows: Sequence[Row]) -> str:
    """How many questions of ``preflight`` have which answer, as a clause."""
    said = Counter(row["answer"] for row in rows)
    words = [(GOES, "goes", "go"), (BREAKS, "breaks", "break"), (UNKNOWN, "is unknown", "are unknown")]
    parts = [f"{said[key]} {one if said[key] == 1 else many}" for key, one, many in words if said[key]]
    return f"of {counted(len(rows), 'question')} {', '.join(parts)}"


def _looked_at(tables: Mapping[str, Sequence[Row]]) -> str:
    leaving = ", ".join(next(iter(tables.get("planned_changes", ({"brokers": ()},))))["brokers"] or ())
    partitions = tables.get("partitions", ())
    topics = len({row["topic"] for row in partitions})
    where = f"{counted(len(tables.get('brokers', ())), 'broker')}, {counted(len(partitions), 'partition')} of {counted(topics, 'topic')}"
    return f"removal of broker {leaving} from {where}; {answered(broker_removal(tables))}"


BROKER_REMOVAL = Subject(
    command="preflight broker-removal",
    collected=("bootstrap_servers", "brokers", "partitions", "topic_configs", "log_dirs", "metadata_quorum", "planned_changes"),
    facts=("preflight",),
    looked_at=_looked_at,
    derived=lambda tables: {"preflight": broker_removal(tables)},
    not_judged_by=("PRE102", "PRE103", "PRE902", "PRE903"),
)
