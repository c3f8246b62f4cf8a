"""The newest look: a bundle may hold the samples of several runs, and what was stuck then may run now."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from analyzers.tables import Row

Tables = Mapping[str, Sequence[Row]]
Key = tuple[str, str | None]
"""Scope and job."""


def newest_looks(tables: Tables, first: str) -> dict[Key, dict[str, list[Row]]]:
    """Per scope and job of table `first`, in order: the rows of every table that the newest look at `first` took."""
    looks: dict[Key, list[Row]] = defaultdict(list)
    for row in tables.get(first, ()):
        looks[row["scope"], row["job"]].append(row)
    moments = {key: max((row["as_of"] for row in rows if row["as_of"]), default=None) for key, rows in looks.items()}
    out: dict[Key, dict[str, list[Row]]] = {key: {name: [] for name in tables} for key in sorted(moments, key=lambda k: (k[0], k[1] or ""))}
    for name, rows in tables.items():
        for row in rows:
            key = (row["scope"], row["job"])
            if key in out and row["as_of"] == moments[key]:
                out[key][name].append(row)
    return out


def of_scope(rows: Iterable[Row], like: Row) -> list[Row]:
    """Rows about no job in particular (workers, the cluster's configuration) that the look which took `like` took."""
    return [row for row in rows if row["scope"] == like["scope"] and row["as_of"] == like["as_of"]]
