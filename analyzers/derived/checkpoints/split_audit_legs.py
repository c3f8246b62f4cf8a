"""What the split audit could see: which of its ways of looking were open, and what stays hidden where one was not."""

from __future__ import annotations

from collections.abc import Sequence

from analyzers.derived.checkpoints.checkpoint_lineage import (
    Checkpoint,
    Tables,
    checkpoints_of,
    lineage_of,
    newest_of,
    readers_of,
    restored_from,
)
from analyzers.derived.checkpoints.split_audit import of_one_cluster, shows_all

_BEAM = frozenset({"beam", "beam-kafka"})


def audit_legs(tables: Tables) -> list[str]:
    """Which ways of looking were open, and what could not be seen because of that: one sentence each."""
    checkpoints = checkpoints_of(tables)
    with_splits = [c for c in checkpoints if readers_of(c)]
    if not with_splits:
        known = {(row["operator"], row["identity"]) for row in tables.get("splits", ())}
        if not known:
            return ["no position of a source could be read: the audit saw nothing"]
        hidden = (
            "the state files with the positions of the readers are not here (above): bring the whole directory, or run diag where it lies"
        )
        return [f"{len(known)} splits are known to the enumerators, none of their readers could be read: {hidden}"]
    lines = [f"within one checkpoint: {len(with_splits)} looked at"]
    pairs = list(lineage_of(checkpoints, tables))
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


def _leg_of_brokers(checkpoints: Sequence[Checkpoint], tables: Tables) -> str:
    if "log_offsets" not in tables and "partitions" not in tables:
        failed = any(row["kind"] == "kafka" and row["state"] == "failed" for row in tables.get("sources", ()))
        return f"against the broker: not visible, {'the brokers could not be' if failed else 'no broker was'} asked (--bootstrap-server)"
    topics = {row["topic"] for row in tables.get("partitions", ())}
    held = {row["topic"] for c in newest_of(checkpoints) for row in c.splits if row.get("topic") is not None and of_one_cluster(row)}
    line = f"against the broker: {len(tables.get('log_offsets', ()))} partitions of {len(topics)} topics compared"
    if "partitions" not in tables or not held - topics:
        return line
    gone = "is not there" if all(shows_all(tables, c.scope) for c in checkpoints) else "is not shown"
    return f"{line}; {', '.join(sorted(held - topics))} {gone}"


def _leg_of_logs(tables: Tables) -> str:
    if "split_claims" not in tables:
        return "against the logs: not visible, no logs were given (--logs)"
    told = sum(len(paths) for paths in restored_from(tables).values())
    return f"against the logs: {len(tables['split_claims'])} claims of splits, {told} restores whose checkpoint is named"


def _hidden_by_beam(with_splits: Sequence[Checkpoint], pairs: Sequence[tuple[Checkpoint, Checkpoint, bool]]) -> list[str]:
    """What no checkpoint of a Beam job can show, unless the job has not been restored: its first checkpoint is number 1.

    FlinkSourceReaderBase (Beam up to 2.62) keeps the second reader of a split in place of the first in the map that a snapshot walks.
    """
    linked = {after.path for before, after, _ in pairs if before.series != after.series}
    beam = _restored_of_beam(with_splits)
    lines = []
    if unknown := [c for c in beam if c.path not in linked]:
        lines.append(f"along the lineage: what {_named(unknown)} was restored from, if anything, is not among these checkpoints")
    if beam:
        kafka = ", and KafkaIO hides them along the lineage too" if any("beam-kafka" in _connectors(c) for c in beam) else ""
        masked = "two readers of a split in one subtask are not visible in checkpoints"
        lines.append(f"Beam, {_named(beam)}: {masked}{kafka}; only the logs of the restore tell (--logs)")
    return lines


def masked_by_beam(tables: Tables) -> list[Checkpoint]:
    """The first restored checkpoint of each series of Beam: they cannot show two readers of a split in one subtask."""
    if all(row["connector"] not in _BEAM for row in tables.get("splits", ())):
        return []
    return _restored_of_beam([c for c in checkpoints_of(tables) if readers_of(c)])


def _restored_of_beam(with_splits: Sequence[Checkpoint]) -> list[Checkpoint]:
    """The first checkpoint of each series of Beam's that did not begin with number 1."""
    first: dict[tuple[str, str], Checkpoint] = {}
    for checkpoint in with_splits:
        first.setdefault((checkpoint.scope, checkpoint.series), checkpoint)
    return [c for c in first.values() if c.checkpoint > 1 and _connectors(c) & _BEAM]


def _connectors(checkpoint: Checkpoint) -> set[str]:
    return {row["connector"] for rows in readers_of(checkpoint).values() for row in rows}


def _named(checkpoints: Sequence[Checkpoint], most: int = 3) -> str:
    names = [f"job {c.job}" if c.job else c.series for c in checkpoints]
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
