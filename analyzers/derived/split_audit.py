"""Who owns which source split: within one checkpoint, along a lineage of checkpoints, and against the broker.

What each way can see differs. Beam's duplicate restored with the same parallelism puts both readers of a split into one subtask, whose
state keeps only one of them: the checkpoint looks well, only the lineage (the position falls after the restore) and the logs tell.
`audit_legs` says which of the ways were open.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from analyzers.tables import Row

Tables = Mapping[str, Sequence[Row]]

_NEVER_READ = ("earliest", "latest", "committed")


class _Checkpoint(NamedTuple):
    """One checkpoint's splits; `whole` when every state of its sources could be read."""

    scope: str
    job: str | None
    checkpoint: int
    path: str
    whole: bool
    splits: tuple[Row, ...]


def split_audit(tables: Tables) -> list[Row]:
    """One row per suspicious split.

    Columns: scope, as_of, job, problem (held-twice, held-by-nobody, went-back, never-read, not-discovered, below-log-start,
    beyond-log-end), seen_by (checkpoint, lineage, broker), path, checkpoint, since_checkpoint, compared_with (path of the checkpoint
    that a position was compared with), operator, connector, identity, topic, partition, subtasks (strings), offsets (strings, in the
    order of `subtasks`; for went-back: before, after), inferred (the lineage was inferred from the checkpoint ids alone).
    """
    checkpoints = _checkpoints(tables)
    rows = list(_within(checkpoints))
    rows += _along(checkpoints)
    rows += _never_read(checkpoints)
    rows += _against_broker(checkpoints, tables)
    as_of = next((row.get("as_of") for row in tables.get("checkpoint_files", ())), None)
    for row in rows:
        row["as_of"] = as_of
    return sorted(rows, key=lambda r: (r["problem"], str(r["job"]), r["checkpoint"], r["operator"], r["identity"]))


def audit_legs(tables: Tables) -> list[str]:
    """Which ways of looking were open, and what could not be seen because of that: one sentence each."""
    checkpoints = _checkpoints(tables)
    with_splits = [c for c in checkpoints if _readers(c)]
    if not with_splits:
        return ["no position of a source could be read: the audit saw nothing"]
    lines = [f"within one checkpoint: {len(with_splits)} looked at"]
    pairs = list(_lineage(checkpoints))
    if pairs:
        lines.append(f"along the lineage: {len(pairs)} pairs of checkpoints compared")
    else:
        hidden = "a duplicate whose two readers share a subtask stays hidden"
        lines.append(f"along the lineage: not visible, only one checkpoint of it was given; {hidden}")
    unread = sum(1 for c in checkpoints if not c.whole)
    if unread:
        lines.append(f"{unread} checkpoints are incomplete here: a split that nobody holds cannot be told in them")
    if not tables.get("log_offsets") and not tables.get("partitions"):
        lines.append("against the broker: not visible, no broker was asked")
    return lines


def _checkpoints(tables: Tables) -> list[_Checkpoint]:
    troubled = {row["name"] for row in tables.get("sources", ()) if row.get("state") != "ok"}
    splits: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in tables.get("splits", ()):
        splits[(row.get("scope") or "", row["path"])].append(row)
    found = []
    for row in tables.get("checkpoint_files", ()):
        if row.get("checkpoint") is None:
            continue
        scope = row.get("scope") or ""
        whole = row.get("state") == "complete" and row["path"] not in troubled
        own = tuple(splits[(scope, row["path"])])
        found.append(_Checkpoint(scope, row.get("job"), row["checkpoint"], row["path"], whole, own))
    return sorted(found, key=lambda c: (c.scope, str(c.job), c.checkpoint, c.path))


def _readers(checkpoint: _Checkpoint) -> dict[tuple[str, str], list[Row]]:
    """Reader rows by (operator, identity)."""
    held: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in checkpoint.splits:
        if row["role"] == "reader" and row.get("status") != "retained":
            held[(row["operator"], row["identity"])].append(row)
    return held


def _finding(checkpoint: _Checkpoint, split: Row, problem: str, seen_by: str, **more: Any) -> Row:
    return {
        "scope": checkpoint.scope,
        "job": checkpoint.job,
        "problem": problem,
        "seen_by": seen_by,
        "path": checkpoint.path,
        "checkpoint": checkpoint.checkpoint,
        "since_checkpoint": checkpoint.checkpoint,
        "compared_with": None,
        "operator": split["operator"],
        "connector": split["connector"],
        "identity": split["identity"],
        "topic": split.get("topic"),
        "partition": split.get("partition"),
        "subtasks": [],
        "offsets": [],
        "inferred": False,
        **more,
    }


def _position(row: Row) -> str:
    return str(row["offset"]) if row.get("offset") is not None else str(row.get("offset_kind"))


def _within(checkpoints: Sequence[_Checkpoint]) -> Iterator[Row]:
    """Splits held by two readers, or by none, in the newest checkpoint that shows it; `since_checkpoint` is the first in a row."""
    since: dict[tuple[Any, ...], int] = {}
    newest: dict[tuple[Any, ...], Row] = {}
    for checkpoint in checkpoints:
        found = {
            (row["problem"], row["operator"], row["identity"]): row for row in (*_held_twice(checkpoint), *_held_by_nobody(checkpoint))
        }
        for key in [k for k in newest if k[:2] == (checkpoint.scope, checkpoint.job) and k[2:] not in found]:
            del newest[key], since[key]  # it healed: what was, is no fault of the job as it is now
        for kind, row in found.items():
            key = (checkpoint.scope, checkpoint.job, *kind)
            row["since_checkpoint"] = since.setdefault(key, checkpoint.checkpoint)
            newest[key] = row
    yield from newest.values()


def _held_twice(checkpoint: _Checkpoint) -> Iterator[Row]:
    for rows in _readers(checkpoint).values():
        if len(rows) > 1 and rows[0]["connector"] != "opaque":  # opaque splits are told by their bytes: equal bytes need not be one split
            rows = sorted(rows, key=lambda r: (r["subtask"], str(r.get("offset"))))
            subtasks, offsets = [str(r["subtask"]) for r in rows], [_position(r) for r in rows]
            yield _finding(checkpoint, rows[0], "held-twice", "checkpoint", subtasks=subtasks, offsets=offsets)


def _held_by_nobody(checkpoint: _Checkpoint) -> Iterator[Row]:
    if not checkpoint.whole:
        return
    held = _readers(checkpoint)
    for row in checkpoint.splits:
        lost = row["role"] == "enumerator" and row.get("status") == "assigned" and (row["operator"], row["identity"]) not in held
        if lost and row.get("stopping_offset") is None:  # a bounded split is dropped by its reader when it is done
            yield _finding(checkpoint, row, "held-by-nobody", "checkpoint")


def _lineage(checkpoints: Sequence[_Checkpoint]) -> Iterator[tuple[_Checkpoint, _Checkpoint, bool]]:
    """(before, after, inferred): checkpoints whose positions may be compared.

    Within a job: neighbours. Between jobs: Flink goes on counting from the checkpoint that it restored, so a job whose first id is N + 1
    continues another job's N, if that is the only one with these operators. A first id of 1 is a start without state.
    """
    by_job: dict[tuple[str, str | None], list[_Checkpoint]] = defaultdict(list)
    for checkpoint in checkpoints:
        if _readers(checkpoint):
            by_job[(checkpoint.scope, checkpoint.job)].append(checkpoint)
    for (scope, job), own in by_job.items():
        if job is not None:
            yield from ((before, after, False) for before, after in pairwise(own))
        first = own[0]
        origins = [
            other
            for (other_scope, other_job), series in by_job.items()
            for other in series
            if other_scope == scope and other_job != job and other.checkpoint == first.checkpoint - 1
            if {row["operator"] for row in other.splits} & {row["operator"] for row in first.splits}
        ]
        if job is not None and len(origins) == 1:
            yield origins[0], first, True


def _along(checkpoints: Sequence[_Checkpoint]) -> Iterator[Row]:
    """Positions that fell; with several readers of one split the highest counts before, each one after."""
    for before, after, inferred in _lineage(checkpoints):
        earlier = _readers(before)
        for key, rows in _readers(after).items():
            known = [r["offset"] for r in earlier.get(key, ()) if r.get("offset") is not None and r["connector"] != "opaque"]
            fallen = [r for r in rows if r.get("offset") is not None and known and r["offset"] < max(known)]
            # Two readers of one split that were there before stay apart: that is one old finding, not a new one at each checkpoint.
            if not fallen or len(earlier[key]) > 1:
                continue
            lowest = min(fallen, key=lambda r: int(r["offset"]))
            yield _finding(
                after, lowest, "went-back", "lineage", compared_with=before.path, inferred=inferred,
                subtasks=[str(lowest["subtask"])], offsets=[str(max(known)), str(lowest["offset"])],
            )  # fmt: skip


def _never_read(checkpoints: Sequence[_Checkpoint]) -> Iterator[Row]:
    """Splits that still carry a start marker in two or more checkpoints of a job (one is normal just after the start)."""
    runs: dict[tuple[Any, ...], int] = {}
    for index, checkpoint in enumerate(checkpoints):
        last = index + 1 == len(checkpoints) or (checkpoints[index + 1].scope, checkpoints[index + 1].job) != (
            checkpoint.scope,
            checkpoint.job,
        )
        for key, rows in _readers(checkpoint).items():
            run = (checkpoint.scope, checkpoint.job, *key)
            if rows[0].get("offset_kind") not in _NEVER_READ:
                runs.pop(run, None)
                continue
            since = runs.setdefault(run, checkpoint.checkpoint)
            if last and since < checkpoint.checkpoint and checkpoint.job is not None:
                marker = [str(rows[0]["offset_kind"])]
                yield _finding(
                    checkpoint, rows[0], "never-read", "lineage", since_checkpoint=since, subtasks=[str(rows[0]["subtask"])], offsets=marker
                )


def _newest(checkpoints: Iterable[_Checkpoint]) -> list[_Checkpoint]:
    newest: dict[tuple[str, str | None], _Checkpoint] = {}
    for checkpoint in checkpoints:
        if checkpoint.splits:
            newest[(checkpoint.scope, checkpoint.job)] = checkpoint
    return list(newest.values())


def _against_broker(checkpoints: Sequence[_Checkpoint], tables: Tables) -> Iterator[Row]:
    """Partitions that the job does not know, and positions outside the log; only for the newest checkpoint of each job."""
    ends: dict[tuple[str, str, int], Row] = {}
    for row in tables.get("log_offsets", ()):
        ends[(row.get("scope") or "", row["topic"], row["partition"])] = row
    for checkpoint in _newest(checkpoints):
        kafka = [row for row in checkpoint.splits if row.get("topic") is not None and row["connector"] != "kafka-dynamic"]
        for row in kafka:
            end = ends.get((checkpoint.scope, row["topic"], row["partition"]))
            if end is None or row["role"] != "reader" or row.get("offset") is None:
                continue
            seen = {"subtasks": [str(row["subtask"])], "offsets": [str(row["offset"])]}
            if end.get("log_start") is not None and row["offset"] < end["log_start"]:
                yield _finding(checkpoint, row, "below-log-start", "broker", **seen)
            elif end.get("high_watermark") is not None and row["offset"] > end["high_watermark"]:
                yield _finding(checkpoint, row, "beyond-log-end", "broker", **seen)
        if checkpoint.whole:
            yield from _not_discovered(checkpoint, kafka, tables.get("partitions", ()))


def _not_discovered(checkpoint: _Checkpoint, kafka: Sequence[Row], partitions: Iterable[Row]) -> Iterator[Row]:
    known = {(row["topic"], row["partition"]) for row in kafka}
    example = {row["topic"]: row for row in kafka}
    for row in partitions:
        if (row.get("scope") or "") != checkpoint.scope or row["topic"] not in example or (row["topic"], row["partition"]) in known:
            continue
        split = {**example[row["topic"]], "partition": row["partition"], "identity": f"{row['topic']}-{row['partition']}"}
        yield _finding(checkpoint, split, "not-discovered", "broker")
