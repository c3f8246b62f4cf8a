"""Where the poison record lies: for each partition that can hold it, from the offset that every attempt restores to the furthest one seen.

Exact where the failure itself names the record. Else two attempts that fail with the same record-level error bound it: the partitions of
the failing subtask when it is the source that fails, all of them when it is a task behind an exchange.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from analyzers.tables import SUSPECT_WINDOWS, Row

Tables = Mapping[str, Sequence[Row]]
Place = tuple[str, int]

RECORD_FAULTS = frozenset({"deserialise", "corrupt-batch", "user-code-data", "user-code", "sink-refuses", "record-too-large"})
"""Fault classes that one record can bring about; a network, a time-out or a registry's 5xx is none of them."""
ENOUGH = 2  # attempts with the same failure: one may be chance


def suspect_windows(tables: Tables) -> list[Row]:
    """Rows of ``suspect_windows``; none where neither a failure names a record nor two attempts agree."""
    by_job: dict[tuple[str, Any], list[Row]] = defaultdict(list)
    for fault in tables.get("faults", ()):
        if fault["fatal"] and not fault["consequence"] and fault["fault"] in RECORD_FAULTS:
            by_job[fault["scope"], fault["job"]].append(fault)
    rows: list[Row] = []
    for (scope, job), faults in sorted(by_job.items(), key=lambda item: (item[0][0], str(item[0][1]))):
        as_of = faults[-1].get("as_of")
        head = {"scope": scope, "as_of": as_of, "job": job}
        windows = list(_named(faults)) or list(_bounded(tables, scope, job, faults))
        rows += [SUSPECT_WINDOWS.row(head | window) for window in windows]
    return rows


def _named(faults: Sequence[Row]) -> Iterator[dict[str, Any]]:
    """Records that the failures name."""
    named: dict[tuple[str, int, int], list[Row]] = defaultdict(list)
    for fault in faults:
        if fault["topic"] is not None and fault["partition"] is not None and fault["offset"] is not None:
            named[fault["topic"], fault["partition"], fault["offset"]].append(fault)
    for (topic, partition, offset), own in sorted(named.items()):
        yield _where(own) | {
            "topic": topic, "partition": partition, "from_offset": offset, "to_offset": offset, "exact": True,
            "why": "the failure names this record",
        }  # fmt: skip


def _bounded(tables: Tables, scope: str, job: str | None, faults: Sequence[Row]) -> Iterator[dict[str, Any]]:
    by_print: dict[str, list[Row]] = defaultdict(list)
    for fault in faults:
        by_print[fault["fingerprint"]].append(fault)
    own = max(by_print.values(), key=lambda rows: len({row["attempt"] for row in rows}))
    attempts = {row["attempt"] for row in own} - {None}
    if len(attempts) < ENOUGH:
        return
    begins = _restored(tables, scope, job, attempts)
    furthest = _furthest(tables, scope, job, begins)
    source = all("source" in (row["task"] or "").lower() for row in own)
    held = _held(tables, scope, job, attempts, {row["subtask"] for row in own}) if source else set()
    narrowed = held & begins.keys()
    for place in sorted(narrowed or begins):
        which = "of the failing subtask" if narrowed else "of the source; behind an exchange, or without its splits, every one can hold it"
        seen = furthest.get(place)
        yield _where(own) | {
            "topic": place[0], "partition": place[1], "from_offset": begins[place],
            "to_offset": seen - 1 if seen is not None and seen > begins[place] else None, "exact": False,
            "why": f"{len(attempts)} attempts failed alike after they had restored {begins[place]:,}; a partition {which}",
        }  # fmt: skip


def _where(faults: Sequence[Row]) -> dict[str, Any]:
    tasks, subtasks = {row["task"] for row in faults}, {row["subtask"] for row in faults}
    return {
        "task": tasks.pop() if len(tasks) == 1 else None,
        "subtask": subtasks.pop() if len(subtasks) == 1 else None,
        "attempts": len({row["attempt"] for row in faults} - {None}) or None,
    }


def _restored(tables: Tables, scope: str, job: str | None, attempts: set[int]) -> dict[Place, int]:
    """The offset from which each attempt reads again: of the checkpoint that it restored, of its log, else what the group committed."""
    of_job = [row for row in tables.get("attempts", ()) if row["scope"] == scope and row["job"] == job]
    restored = {row["restored_checkpoint"] for row in of_job if row["attempt"] in attempts} - {None}
    found: dict[Place, int] = {}
    for row in tables.get("splits", ()):
        known = row["scope"] == scope and row["role"] == "reader" and row["topic"] is not None and row["offset"] is not None
        if known and row["checkpoint"] in restored and row.get("job") in (None, job):
            found[row["topic"], row["partition"]] = min(row["offset"], found.get((row["topic"], row["partition"]), row["offset"]))
    if found:
        return found
    last = max(attempts)
    for row in tables.get("split_claims", ()):
        if (
            row["scope"] == scope
            and row["job"] == job
            and row["attempt"] == last
            and row["topic"] is not None
            and row["offset"] is not None
        ):
            found[row["topic"], row["partition"]] = row["offset"]
    if found:
        return found
    groups = {row["group"] for row in tables.get("committed_offsets", ()) if row["scope"] == scope and row["committed"] is not None}
    if len(groups) == 1:  # commits are the offsets of the last completed checkpoint, which is what is restored
        for row in tables.get("committed_offsets", ()):
            if row["scope"] == scope and row["committed"] is not None:
                found[row["topic"], row["partition"]] = row["committed"]
    return found


def _furthest(tables: Tables, scope: str, job: str | None, begins: Mapping[Place, int]) -> dict[Place, int]:
    """The highest next offset that anything tells of each partition."""
    found: dict[Place, int] = {}
    seen = [(row, "offset", 0) for row in tables.get("splits", ()) if row.get("job") in (None, job) and row["role"] == "reader"]
    seen += [(row, "exact", 1) for row in tables.get("metrics", ()) if row["name"] == "currentOffset" and row["job"] == job]
    for row, column, plus in seen:
        place = (row["topic"], row["partition"])
        if row["scope"] == scope and place in begins and row[column] is not None:
            found[place] = max(row[column] + plus, found.get(place, 0))
    return found


def _held(tables: Tables, scope: str, job: str | None, attempts: set[int], subtasks: set[int | None]) -> set[Place]:
    """Partitions that the failing subtasks were given, in the attempts that failed."""
    return {
        (row["topic"], row["partition"])
        for row in tables.get("split_claims", ())
        if row["scope"] == scope and row["job"] == job and row["attempt"] in attempts and row["subtask"] in subtasks - {None}
        and row["topic"] is not None
    }  # fmt: skip
