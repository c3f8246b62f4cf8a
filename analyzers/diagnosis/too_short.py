"""Groups that were watched for too short a time: a rule about standing still or falling behind can then not call them clean."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

from analyzers.report.finding import NotChecked
from analyzers.tables import Row

Tables = Mapping[str, Sequence[Row]]

_STANDS, _FALLS_BEHIND = "LAG105", "LAG106"
_OPEN_TRUTHS = ("real", "unknown", None)
"""Truths that leave open whether the group reads."""


def too_short(clean: Collection[str], tables: Tables) -> list[NotChecked]:
    """Those of the `clean` rules that could not tell of a group, as its samples span too little."""
    truths = {_place(row): row["truth"] for row in tables.get("lag_truth", ())}
    short = [
        row for row in tables.get("lag_status", ()) if row["status"] == "not-enough-samples" and truths.get(_place(row)) in _OPEN_TRUTHS
    ]
    commits: dict[tuple[str, str, str, int], set[int]] = defaultdict(set)
    for row in tables.get("committed_offsets", ()):
        commits[_place(row)].add(row["committed"])
    unmoved = [row for row in short if len(commits[_place(row)]) < 2]
    of_rules = ((_STANDS, unmoved), (_FALLS_BEHIND, short))
    return [NotChecked(code, _because(rows)) for code, rows in of_rules if rows and code in clean]


def _because(short: Sequence[Row]) -> str:
    groups = sorted({row["group"] for row in short})
    worst = max(short, key=lambda row: (row["lag_records"] or 0, _place(row)))
    others = f" and {len(groups) - 1} more" if len(groups) > 1 else ""
    return f"group {worst['group']}{others} was watched for too short a time: {worst['because']}"


def _place(row: Row) -> tuple[str, str, str, int]:
    return row["scope"], row["group"], row["topic"], row["partition"]
