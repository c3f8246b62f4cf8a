"""Who owns which source split: within one checkpoint, along a lineage of checkpoints, and against the broker.

What each way can see differs. Beam's duplicate restored with the same parallelism puts both readers of a split into one subtask, whose
state keeps only one of them: the checkpoint looks well, only the lineage (the position falls after the restore) and the logs tell.
`audit_legs` says which of the ways were open.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from typing import Any, NamedTuple

from analyzers.tables import Row

Tables = Mapping[str, Sequence[Row]]

_IN_DIRECTORY = re.compile(r"(.*)/chk-\d+(?:/_metadata)?\Z", re.S)
_BEAM = frozenset({"beam", "beam-kafka"})
_NEVER_READ = ("earliest", "latest", "committed")


class _Checkpoint(NamedTuple):
    """One checkpoint's splits; `whole` when every state of its sources could be read.

    `series` is what its neighbours share: the job, else the directory that its ``chk-N`` lies in, else (a savepoint) nothing. `unclear`
    are operators of which readers may rightly hold less than the enumerator knows: finished, or of a format that is not known here.
    """

    scope: str
    job: str | None
    series: str
    checkpoint: int
    path: str
    whole: bool
    splits: tuple[Row, ...]
    unclear: frozenset[str]
    mtime: datetime | None


def split_audit(tables: Tables) -> list[Row]:
    """One row per suspicious split.

    Columns: scope, as_of, job, problem (held-twice, held-by-nobody, went-back, never-read, not-discovered, topic-gone, below-log-start,
    beyond-log-end), seen_by (checkpoint, lineage, broker), path, checkpoint, since_checkpoint, compared_with (path of the checkpoint that a
    position was compared with), operator, connector, identity, topic, partition, subtasks (strings), offsets (strings, in the order of
    `subtasks`; for went-back: before, after), inferred (the lineage was inferred from the checkpoint ids alone), log_edge (the broker's log
    start or end that a position lies outside of), newest (no later checkpoint is there that a start would begin from).
    """
    checkpoints = _checkpoints(tables)
    rows = list(_within(checkpoints))
    rows += _along(checkpoints, tables)
    rows += _never_read(checkpoints)
    rows += _against_broker(checkpoints, tables)
    as_of = {row.get("scope") or "": row.get("as_of") for row in tables.get("checkpoint_files", ())}
    latest = _latest(checkpoints)
    for row in rows:
        row["as_of"] = as_of.get(row["scope"])
        row["newest"] = (row["scope"], row["path"]) in latest
    return sorted(rows, key=lambda r: (r["problem"], str(r["job"]), r["checkpoint"], r["operator"], r["identity"]))


def audit_legs(tables: Tables) -> list[str]:
    """Which ways of looking were open, and what could not be seen because of that: one sentence each."""
    checkpoints = _checkpoints(tables)
    with_splits = [c for c in checkpoints if _readers(c)]
    if not with_splits:
        known = {(row["operator"], row["identity"]) for row in tables.get("splits", ())}
        if not known:
            return ["no position of a source could be read: the audit saw nothing"]
        hidden = (
            "the state files with the positions of the readers are not here (above): bring the whole directory, or run diag where it lies"
        )
        return [f"{len(known)} splits are known to the enumerators, none of their readers could be read: {hidden}"]
    lines = [f"within one checkpoint: {len(with_splits)} looked at"]
    pairs = list(_lineage(checkpoints, tables))
    if pairs:
        lines.append(f"along the lineage: {len(pairs)} pairs of checkpoints compared")
    else:
        hidden = "a duplicate whose two readers share a subtask stays hidden"
        lines.append(f"along the lineage: not visible, only one checkpoint of it was given; {hidden}")
    lines += _hidden_by_beam(with_splits, pairs)
    unread = sum(1 for c in checkpoints if not c.whole)
    if unread:
        lines.append(f"{unread} checkpoints are incomplete here: a split that nobody holds cannot be told in them")
    lines.append(_leg_of_brokers(with_splits, tables))
    lines.append(_leg_of_logs(tables))
    return lines


def _leg_of_brokers(checkpoints: Sequence[_Checkpoint], tables: Tables) -> str:
    if "log_offsets" not in tables and "partitions" not in tables:
        failed = any(row["kind"] == "kafka" and row["state"] == "failed" for row in tables.get("sources", ()))
        return f"against the broker: not visible, {'the brokers could not be' if failed else 'no broker was'} asked (--bootstrap-server)"
    topics = {row["topic"] for row in tables.get("partitions", ())}
    held = {row["topic"] for c in _newest(checkpoints) for row in c.splits if row.get("topic") is not None and _of_one_cluster(row)}
    line = f"against the broker: {len(tables.get('log_offsets', ()))} partitions of {len(topics)} topics compared"
    if "partitions" not in tables or not held - topics:
        return line
    gone = "is not there" if all(_shows_all(tables, c.scope) for c in checkpoints) else "is not shown"
    return f"{line}; {', '.join(sorted(held - topics))} {gone}"


def _leg_of_logs(tables: Tables) -> str:
    if "split_claims" not in tables:
        return "against the logs: not visible, no logs were given (--logs)"
    told = sum(len(paths) for paths in _restored_from(tables).values())
    return f"against the logs: {len(tables['split_claims'])} claims of splits, {told} restores whose checkpoint is named"


def _hidden_by_beam(with_splits: Sequence[_Checkpoint], pairs: Sequence[tuple[_Checkpoint, _Checkpoint, bool]]) -> list[str]:
    """What no checkpoint of a Beam job can show, unless the job has not been restored: its first checkpoint is number 1.

    FlinkSourceReaderBase (Beam up to 2.62) keeps the second reader of a split in place of the first in the map that a snapshot walks.
    """
    linked = {after.path for before, after, _ in pairs if before.series != after.series}
    first: dict[tuple[str, str], _Checkpoint] = {}
    for checkpoint in with_splits:
        first.setdefault((checkpoint.scope, checkpoint.series), checkpoint)
    beam = [(c, _connectors(c)) for c in first.values() if c.checkpoint > 1 and _connectors(c) & _BEAM]
    lines = []
    if unknown := [c for c, _ in beam if c.path not in linked]:
        lines.append(f"along the lineage: what {_named(unknown)} was restored from, if anything, is not among these checkpoints")
    if beam:
        kafka = ", and KafkaIO hides them along the lineage too" if any("beam-kafka" in connectors for _, connectors in beam) else ""
        masked = "two readers of a split in one subtask are not visible in checkpoints"
        lines.append(f"Beam, {_named([c for c, _ in beam])}: {masked}{kafka}; only the logs of the restore tell (--logs)")
    return lines


def masked_by_beam(tables: Tables) -> list[str]:
    """Jobs (or series of checkpoints) of Beam whose restored checkpoints cannot show two readers of a split in one subtask."""
    if all(row["connector"] not in _BEAM for row in tables.get("splits", ())):
        return []
    first: dict[tuple[str, str], _Checkpoint] = {}
    for checkpoint in _checkpoints(tables):
        if _readers(checkpoint):
            first.setdefault((checkpoint.scope, checkpoint.series), checkpoint)
    return [c.job or c.series for c in first.values() if c.checkpoint > 1 and _connectors(c) & _BEAM]


def _connectors(checkpoint: _Checkpoint) -> set[str]:
    return {row["connector"] for rows in _readers(checkpoint).values() for row in rows}


def _named(checkpoints: Sequence[_Checkpoint], most: int = 3) -> str:
    names = [f"job {c.job}" if c.job else c.series for c in checkpoints]
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def _checkpoints(tables: Tables) -> list[_Checkpoint]:
    troubled = {(row.get("scope") or "", row["name"]) for row in tables.get("sources", ()) if row.get("state") != "ok"}
    splits: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in tables.get("splits", ()):
        splits[(row.get("scope") or "", row["path"])].append(row)
    finished: dict[str, set[str]] = defaultdict(set)
    for row in (*tables.get("operator_states", ()), *tables.get("subtask_states", ())):
        if row.get("finished"):
            finished[row["path"]].add(row["operator"])
    found = []
    for row in tables.get("checkpoint_files", ()):
        if row.get("checkpoint") is None:
            continue
        scope, path = row.get("scope") or "", row["path"]
        own = tuple(splits[(scope, path)])
        unclear = finished[path] | {split["operator"] for split in own if split["connector"] == "opaque"}
        whole = row.get("state") == "complete" and (scope, path) not in troubled
        job = row.get("job")
        found.append(_Checkpoint(scope, job, _series(job, path), row["checkpoint"], path, whole, own, frozenset(unclear), row.get("mtime")))
    return sorted(found, key=lambda c: (c.scope, c.series, c.checkpoint, c.path))


def _series(job: str | None, path: str) -> str:
    if job is not None:
        return job
    directory = _IN_DIRECTORY.match(path)
    return directory[1] if directory else path


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
        "log_edge": None,
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
        healed = [k for k in newest if k[:2] == (checkpoint.scope, checkpoint.series) and k[2:] not in found] if checkpoint.whole else []
        for key in healed:
            del newest[key], since[key]  # what was, is no fault of the job as it is now
        for kind, row in found.items():
            key = (checkpoint.scope, checkpoint.series, *kind)
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
        if (
            lost and row.get("stopping_offset") is None and row["operator"] not in checkpoint.unclear
        ):  # a bounded split is dropped by its reader when it is done
            yield _finding(checkpoint, row, "held-by-nobody", "checkpoint")


def _lineage(checkpoints: Sequence[_Checkpoint], tables: Tables) -> Iterator[tuple[_Checkpoint, _Checkpoint, bool]]:
    """(before, after, inferred) whose positions may be compared: neighbours of a series, and a series with what it was restored from."""
    by_series: dict[tuple[str, str], list[_Checkpoint]] = defaultdict(list)
    for checkpoint in checkpoints:
        if _readers(checkpoint):
            by_series[(checkpoint.scope, checkpoint.series)].append(checkpoint)
    restored = _restored_from(tables)
    for (scope, name), own in by_series.items():
        yield from ((before, after, False) for before, after in pairwise(own))
        others = [series for (other_scope, other), series in by_series.items() if other_scope == scope and other != name]
        if (scope, name) in restored:
            stated = [c for series in others for c in series if _last_names(c.path) in restored[(scope, name)]]
            yield from ((origin, own[0], False) for origin in stated[:1])
        else:
            yield from ((origin, own[0], True) for origin in _seeming_origin(own[0], others))


def _seeming_origin(first: _Checkpoint, others: Sequence[Sequence[_Checkpoint]]) -> list[_Checkpoint]:
    """Flink goes on counting from the checkpoint that it restored: the one other series that ends at N with the same splits.

    Two deployments of one pipeline may meet these conditions by chance; what rests on this is marked as inferred.
    """
    splits = set(_readers(first))
    origins = [series[-1] for series in others if series[-1].checkpoint == first.checkpoint - 1 and set(_readers(series[-1])) == splits]
    return origins if len(origins) == 1 else []


def _restored_from(tables: Tables) -> dict[tuple[str, str], set[str]]:
    """By scope and job: what the logs say that it was restored from, as the last names of the path."""
    restored: dict[tuple[str, str], set[str]] = defaultdict(set)
    for row in tables.get("attempts", ()):
        if row.get("job") and row.get("restored_from"):
            restored[(row.get("scope") or "", row["job"])].add(_last_names(row["restored_from"]))
    return restored


def _last_names(path: str) -> str:
    """``JOB/chk-N`` or ``savepoint-…``: what stays of a path when its directory is copied."""
    names = path.rstrip("/").removesuffix("/_metadata").split("/")
    return "/".join(names[-2:] if names[-1].startswith("chk-") else names[-1:])


def _along(checkpoints: Sequence[_Checkpoint], tables: Tables) -> Iterator[Row]:
    """Positions that fell; with several readers of one split the highest counts before, each one after."""
    for before, after, inferred in _lineage(checkpoints, tables):
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
        following = checkpoints[index + 1] if index + 1 < len(checkpoints) else None
        last = following is None or (following.scope, following.series) != (checkpoint.scope, checkpoint.series)
        for key, rows in _readers(checkpoint).items():
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


def _newest(checkpoints: Iterable[_Checkpoint]) -> list[_Checkpoint]:
    newest: dict[tuple[str, str], _Checkpoint] = {}
    for checkpoint in checkpoints:
        if checkpoint.splits:
            newest[(checkpoint.scope, checkpoint.series)] = checkpoint
    return list(newest.values())


def _latest(checkpoints: Sequence[_Checkpoint]) -> set[tuple[str, str]]:
    """(scope, path) of whole checkpoints after which none was written, be it by another job that reads the same partitions.

    Directories of jobs that ended long ago stay; nobody will start from them.
    """
    last = {(c.scope, c.series): c for c in checkpoints}
    wrote: dict[tuple[str, str, Any], set[datetime | None]] = defaultdict(set)
    for c in last.values():
        for row in c.splits:
            wrote[(c.scope, row["identity"], row["connector"])].add(c.mtime)

    def overtaken(c: _Checkpoint) -> bool:
        others = {at for row in c.splits for at in wrote[(c.scope, row["identity"], row["connector"])]}
        return any(at is not None and c.mtime is not None and at > c.mtime for at in others)

    return {(c.scope, c.path) for c in last.values() if c.whole and c.splits and not overtaken(c)}


def _of_one_cluster(row: Row) -> bool:
    return str(row["connector"]) != "kafka-dynamic"


def _shows_all(tables: Tables, scope: str) -> bool:
    """Whether brokers told of every topic that was asked for: one that they do not name is not there."""
    return any(
        (row.get("scope") or "") == scope and row["kind"] == "kafka" and row["state"] == "ok" and row["name"].startswith("topics")
        for row in tables.get("sources", ())
    )


def _against_broker(checkpoints: Sequence[_Checkpoint], tables: Tables) -> Iterator[Row]:
    """Partitions that the job does not know, topics that are gone, and positions outside the log; only for the newest checkpoint of each
    job."""
    topics = {((row.get("scope") or ""), row["topic"]) for row in tables.get("partitions", ())}
    ends: dict[tuple[str, str, int], Row] = {}
    for row in tables.get("log_offsets", ()):
        ends[(row.get("scope") or "", row["topic"], row["partition"])] = row
    for checkpoint in _newest(checkpoints):
        kafka = [row for row in checkpoint.splits if row.get("topic") is not None and _of_one_cluster(row)]
        listed = "partitions" in tables and _shows_all(tables, checkpoint.scope)
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


def _asked_before(end: Row, checkpoint: _Checkpoint) -> bool:
    """Whether the log may have grown between the broker's answer and the checkpoint."""
    at = end.get("at")
    return at is not None and checkpoint.mtime is not None and at < checkpoint.mtime


def _not_discovered(checkpoint: _Checkpoint, kafka: Sequence[Row], partitions: Iterable[Row]) -> Iterator[Row]:
    known = {(row["topic"], row["partition"]) for row in kafka}
    example = {row["topic"]: row for row in kafka}
    for row in partitions:
        if (row.get("scope") or "") != checkpoint.scope or row["topic"] not in example or (row["topic"], row["partition"]) in known:
            continue
        split = {**example[row["topic"]], "partition": row["partition"], "identity": f"{row['topic']}-{row['partition']}"}
        yield _finding(checkpoint, split, "not-discovered", "broker")
