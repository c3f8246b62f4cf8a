"""What there was to look at: counted, and in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from analyzers.tables import Row

_TABLES = (
    ("bootstrap_servers", "bootstrap entry", "bootstrap entries"),
    ("partitions", "partition", "partitions"),
    ("groups", "group", "groups"),
    ("checkpoint_files", "checkpoint", "checkpoints"),
    ("batches", "batch", "batches"),
)


def counts_of(tables: Mapping[str, Sequence[Row]]) -> dict[str, int]:
    """Rows of tables, and ``lines`` of their logs and ``asked``: jobs that a JobManager listed."""
    counts = {name: len(tables[name]) for name in ("log_files", "jobs_seen", *(name for name, _, _ in _TABLES)) if name in tables}
    if "log_files" in tables:
        counts["lines"] = sum(file["lines"] or 0 for file in tables["log_files"])
    return {**counts, "asked": len({(row["scope"], row["job"]) for row in tables.get("vertices", ())})}


def looked_at(counts: Mapping[str, int]) -> str:
    """`counts_of` tables in one clause."""
    parts = []
    if "log_files" in counts:
        parts.append(f"{counts['log_files']:,} log file{'s' * (counts['log_files'] != 1)}, {counts['lines']:,} lines")
    if jobs := counts.get("jobs_seen"):
        parts.append(f"{jobs} job{'s' * (jobs != 1)}")
    if asked := counts.get("asked"):
        parts.append(f"the JobManager's view of {asked} job{'s' * (asked != 1)}")
    parts += [f"{number} {one if number == 1 else many}" for name, one, many in _TABLES if (number := counts.get(name))]
    return ", ".join(parts)
