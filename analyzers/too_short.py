"""Groups that were watched for too short a time: a rule about standing still or falling behind can then not call them clean."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from analyzers.finding import NotChecked
from analyzers.tables import Row

Tables = Mapping[str, Sequence[Row]]

_NEED_TIME = ("LAG105", "LAG106")
_OPEN_TRUTHS = ("real", "unknown", None)
"""Truths that leave open whether the group reads."""


def too_short(clean: Collection[str], tables: Tables) -> list[NotChecked]:
    """Those of the `clean` rules that could not tell of a group, as its samples span too little."""
    truths = {_place(row): row["truth"] for row in tables.get("lag_truth", ())}
    short = [
        row for row in tables.get("lag_status", ()) if row["status"] == "not-enough-samples" and truths.get(_place(row)) in _OPEN_TRUTHS
    ]
    if not short:
        return []
    groups = sorted({row["group"] for row in short})
    worst = max(short, key=lambda row: (row["lag_records"] or 0, _place(row)))
    others = f" and {len(groups) - 1} more" if len(groups) > 1 else ""
    because = f"group {worst['group']}{others} was watched for too short a time: {worst['because']}"
    return [NotChecked(code, because) for code in _NEED_TIME if code in clean]


def _place(row: Row) -> tuple[str, str, str, int]:
    return row["scope"], row["group"], row["topic"], row["partition"]
