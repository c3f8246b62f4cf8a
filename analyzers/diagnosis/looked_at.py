"""What there was to look at: counted, and in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from analyzers.tables import Row

_TABLES = (
    ("bootstrap_servers", "bootstrap entry", "bootstrap entries"),
    ("partitions", "partition", "partitions"),
    ("groups", "group", "groups"),
    ("checkpoint_files", "checkpoint", "checkpoints"),
    ("batches", "batch", "batches"),
)


_SHAPE = "state: "
DUMPS = "thread dump"
_DIGITS = 9


def states_of(tables: Mapping[str, Sequence[Row]]) -> Counter[str]:
    """How many states of each shape other tools gave."""
    found: Counter[str] = Counter()
    for row in tables.get("sources", ()):
        for each in (row["shapes"] or "").split(", ") if row["shapes"] else ():
            number, _, shape = each.partition(" ")
            if number.isdecimal() and len(number) <= _DIGITS:  # a bundle may hold anything here
                found[shape] += int(number)
    return found


def counts_of(tables: Mapping[str, Sequence[Row]]) -> dict[str, int]:
    """Rows of tables, and ``lines`` of their logs and ``asked``: jobs that a JobManager listed."""
    counts = {name: len(tables[name]) for name in ("log_files", "jobs_seen", *(name for name, _, _ in _TABLES)) if name in tables}
    if "log_files" in tables:
        counts["lines"] = sum(file["lines"] or 0 for file in tables["log_files"])
    for shape, number in states_of(tables).items():
        counts[f"{_SHAPE}{shape}"] = number
    if "thread_waits" in tables:
        # that a thread sleeps when it is looked at says nothing
        counts["thread_waits"] = sum(row["reason"] != "sleep" or (row["seen"] or 0) > 1 for row in tables["thread_waits"])
    return {**counts, "asked": len({(row["scope"], row["job"]) for row in tables.get("vertices", ())})}


def looked_at(counts: Mapping[str, int]) -> str:
    """`counts_of` tables in one clause."""
    parts = []
    if counts.get("log_files") or ("log_files" in counts and not any(name.startswith(_SHAPE) for name in counts)):
        parts.append(f"{counts['log_files']:,} log file{'s' * (counts['log_files'] != 1)}, {counts['lines']:,} lines")
    parts += states_shown(counts)
    if jobs := counts.get("jobs_seen"):
        parts.append(f"{jobs} job{'s' * (jobs != 1)}")
    if asked := counts.get("asked"):
        parts.append(f"the JobManager's view of {asked} job{'s' * (asked != 1)}")
    parts += [f"{number} {one if number == 1 else many}" for name, one, many in _TABLES if (number := counts.get(name))]
    return ", ".join(parts)


def _several(shape: str) -> str:
    """``views of pods``, ``thread dumps``, ``connector statuses``."""
    head, of, rest = shape.partition(" of ")
    return f"{head}{'es' if head.endswith('s') else 's'}{of}{rest}"


def states_shown(counts: Mapping[str, int]) -> list[str]:
    """``2 thread dumps (nothing waits in the user's code)``, and so for each shape."""
    found = {name.removeprefix(_SHAPE): number for name, number in counts.items() if name.startswith(_SHAPE)}
    still = counts.get("thread_waits") == 0
    return [
        f"{number} {shape if number == 1 else _several(shape)}"
        + (" (nothing waits in the user's code)" if still and shape == DUMPS else "")
        for shape, number in found.items()
    ]
