"""Who owns which source split: within one checkpoint, along a lineage of checkpoints, and against the broker.

What each way can see differs. Beam's duplicate restored with the same parallelism puts both readers of a split into one subtask, whose
state keeps only one of them: the checkpoint looks well, only the lineage (the position falls after the restore) and the logs tell.
`audit_legs` (split_audit_legs.py) says which of the ways were open.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from analyzers.derived.checkpoints.checkpoint_lineage import (
    Checkpoint,
    Tables,
    checkpoints_of,
    last_written,
    lineage_of,
    newest_of,
    readers_of,
)
from analyzers.tables import Row

_NEVER_READ = ("earliest", "latest", "committed")


def split_audit(tables: Tables) -> list[Row]:
    """One row per suspicious split.

    Columns: scope, as_of, job, problem (held-twice, held-by-nobody, went-back, never-read, not-discovered, topic-gone, below-log-start,
    beyond-log-end), seen_by (checkpoint, lineage, broker), path, checkpoint, since_checkpoint, compared_with (path of the checkpoint that a
    position was compared with), operator, connector, identity, topic, partition, subtasks (strings), offsets (strings, in the order of
    `subtasks`; for went-back: before, after), inferred (the lineage was inferred from the checkpoint ids alone), log_edge (the broker's log
    start or end that a position lies outside of), newest (no later checkpoint is there that a start would begin from).
    """
    checkpoints = checkpoints_of(tables)
    rows = list(_within(checkpoints))
    rows += _along(checkpoints, tables)
    rows += _never_read(checkpoints)
    rows += _against_broker(checkpoints, tables)
    as_of = {row.get("scope") or "": row.get("as_of") for row in tables.get("checkpoint_files", ())}
    latest = last_written(checkpoints)
    for row in rows:
        row["as_of"] = as_of.get(row["scope"])
        row["newest"] = (row["scope"], row["path"]) in latest
    return sorted(rows, key=lambda r: (r["problem"], str(r["job"]), r["checkpoint"], r["operator"], r["identity"]))


def _finding(checkpoint: Checkpoint, split: Row, problem: str, seen_by: str, **more: Any) -> Row:
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
        "log_edge": None,
        **more,
    }


def _position(row: Row) -> str:
    return str(row["offset"]) if row.get("offset") is not None else str(row.get("offset_kind"))


def _within(checkpoints: Sequence[Checkpoint]) -> Iterator[Row]:
    """Splits held by two readers, or by none, in the newest checkpoint that shows it; `since_checkpoint` is the first in a row."""
    since: dict[tuple[Any, ...], int] = {}
    newest: dict[tuple[Any, ...], Row] = {}
    for checkpoint in checkpoints:
        found = {
            (row["problem"], row["operator"], row["identity"]): row for row in (*_held_twice(checkpoint), *_held_by_nobody(checkpoint))
        }
        healed = [k for k in newest if k[:2] == (checkpoint.scope, checkpoint.series) and k[2:] not in found] if checkpoint.whole else []
        for key in healed:
            del newest[key], since[key]  # what was, is no fault of the job as it is now
        for kind, row in found.items():
            key = (checkpoint.scope, checkpoint.series, *kind)
            row["since_checkpoint"] = since.setdefault(key, checkpoint.checkpoint)
            newest[key] = row
    yield from newest.values()


def _held_twice(checkpoint: Checkpoint) -> Iterator[Row]:
    for rows in readers_of(checkpoint).values():
        if len(rows) > 1 and rows[0]["connector"] != "opaque":  # opaque splits are told by their bytes: equal bytes need not be one split
            rows = sorted(rows, key=lambda r: (r["subtask"], str(r.get("offset"))))
            subtasks, offsets = [str(r["subtask"]) for r in rows], [_position(r) for r in rows]
            yield _finding(checkpoint, rows[0], "held-twice", "checkpoint", subtasks=subtasks, offsets=offsets)


def _held_by_nobody(checkpoint: Checkpoint) -> Iterator[Row]:
    if not checkpoint.whole:
        return
    held = readers_of(checkpoint)
    for row in checkpoint.splits:
        lost = row["role"] == "enumerator" and row.get("status") == "assigned" and (row["operator"], row["identity"]) not in held
        if (
            lost and row.get("stopping_offset") is None and row["operator"] not in checkpoint.unclear
        ):  # a bounded split is dropped by its reader when it is done
            yield _finding(checkpoint, row, "held-by-nobody", "checkpoint")


def _along(checkpoints: Sequence[Checkpoint], tables: Tables) -> Iterator[Row]:
    """Positions that fell; with several readers of one split the highest counts before, each one after."""
    for before, after, inferred in lineage_of(checkpoints, tables):
        earlier = readers_of(before)
        for key, rows in readers_of(after).items():
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


def _never_read(checkpoints: Sequence[Checkpoint]) -> Iterator[Row]:
    """Splits that still carry a start marker in two or more checkpoints of a job (one is normal just after the start)."""
    runs: dict[tuple[Any, ...], int] = {}
    for index, checkpoint in enumerate(checkpoints):
        following = checkpoints[index + 1] if index + 1 < len(checkpoints) else None
        last = following is None or (following.scope, following.series) != (checkpoint.scope, checkpoint.series)
        for key, rows in readers_of(checkpoint).items():
            run = (checkpoint.scope, checkpoint.series, *key)
            if rows[0].get("offset_kind") not in _NEVER_READ:
                runs.pop(run, None)
                continue
            since = runs.setdefault(run, checkpoint.checkpoint)
            if last and since < checkpoint.checkpoint:
                marker = [str(rows[0]["offset_kind"])]
                yield _finding(
                    checkpoint, rows[0], "never-read", "lineage", since_checkpoint=since, subtasks=[str(rows[0]["subtask"])], offsets=marker
                )


def of_one_cluster(row: Row) -> bool:
    return str(row["connector"]) != "kafka-dynamic"


def shows_all(tables: Tables, scope: str) -> bool:
    """Whether brokers told of every topic that was asked for: one that they do not name is not there."""
    return any(
        (row.get("scope") or "") == scope and row["kind"] == "kafka" and row["state"] == "ok" and row["name"].startswith("topics")
        for row in tables.get("sources", ())
    )


def _against_broker(checkpoints: Sequence[Checkpoint], tables: Tables) -> Iterator[Row]:
    """Partitions that the job does not know, topics that are gone, and positions outside the log; only for the newest checkpoint of each
    job."""
    topics = {((row.get("scope") or ""), row["topic"]) for row in tables.get("partitions", ())}
    ends: dict[tuple[str, str, int], Row] = {}
    for row in tables.get("log_offsets", ()):
        ends[(row.get("scope") or "", row["topic"], row["partition"])] = row
    for checkpoint in newest_of(checkpoints):
        kafka = [row for row in checkpoint.splits if row.get("topic") is not None and of_one_cluster(row)]
        listed = "partitions" in tables and shows_all(tables, checkpoint.scope)
        for row in kafka:
            if listed and row["role"] == "reader" and row.get("offset") is not None and (checkpoint.scope, row["topic"]) not in topics:
                gone = {"subtasks": [str(row["subtask"])], "offsets": [str(row["offset"])]}
                yield _finding(checkpoint, row, "topic-gone", "broker", **gone)
                continue
            end = ends.get((checkpoint.scope, row["topic"], row["partition"]))
            if end is None or row["role"] != "reader" or row.get("offset") is None:
                continue
            seen = {"subtasks": [str(row["subtask"])], "offsets": [str(row["offset"])]}
            if end.get("log_start") is not None and row["offset"] < end["log_start"]:
                yield _finding(checkpoint, row, "below-log-start", "broker", log_edge=end["log_start"], **seen)
            elif end.get("high_watermark") is not None and row["offset"] > end["high_watermark"] and not _asked_before(end, checkpoint):
                yield _finding(checkpoint, row, "beyond-log-end", "broker", log_edge=end["high_watermark"], **seen)
        if checkpoint.whole:
            yield from _not_discovered(checkpoint, kafka, tables.get("partitions", ()))


def _asked_before(end: Row, checkpoint: Checkpoint) -> bool:
    """Whether the log may have grown between the broker's answer and the checkpoint."""
    at = end.get("at")
    return at is not None and checkpoint.mtime is not None and at < checkpoint.mtime


def _not_discovered(checkpoint: Checkpoint, kafka: Sequence[Row], partitions: Iterable[Row]) -> Iterator[Row]:
    known = {(row["topic"], row["partition"]) for row in kafka}
    example = {row["topic"]: row for row in kafka}
    for row in partitions:
        if (row.get("scope") or "") != checkpoint.scope or row["topic"] not in example or (row["topic"], row["partition"]) in known:
            continue
        split = {**example[row["topic"]], "partition": row["partition"], "identity": f"{row['topic']}-{row['partition']}"}
        yield _finding(checkpoint, split, "not-discovered", "broker")
