"""Inspect checkpoints: from paths to a report of facts, or to the dump. Reads files only; starts no JVM."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from json.encoder import encode_basestring_ascii
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from analyzers.checkpoints.cursor import DamagedBytes
from analyzers.derived import derive
from analyzers.derived.barrier_frontier import barrier_frontier
from analyzers.derived.checkpoint_series import checkpoint_series
from analyzers.derived.split_audit import audit_legs, split_audit
from analyzers.readers.checkpoint_files import checkpoint_facts, tables_of
from analyzers.readers.object_stores import is_remote
from analyzers.tables import Row
from cli.evidence import Evidence
from cli.exits import CannotLook, UsageError
from cli.gathering import Collector, asking, merged
from cli.judging import Subject


def _keys(spec: str) -> tuple[tuple[str, str], ...]:
    """Words ``key`` or ``key=column``: the key in the dump and the column of the table it is taken from."""
    return tuple((word.partition("=")[0], word.rpartition("=")[2]) for word in spec.split())


# The kinds of the dump and their keys. The order is part of the format; keys are only added, at the end.
_DUMP: dict[str, tuple[str, tuple[tuple[str, str], ...]]] = {
    "checkpoint_files": (
        "file",
        _keys(
            "path job version checkpoint_id=checkpoint type=kind savepoint_format state operators bytes=size_bytes state_bytes unread_bytes"
            " damaged_at damage"
        ),
    ),
    "operator_states": (
        "operator",
        _keys(
            "path checkpoint_id=checkpoint id=operator name uid parallelism max_parallelism subtasks size_bytes coordinator_bytes finished"
            " complete"
        ),
    ),
    "subtask_states": (
        "subtask",
        _keys(
            "path checkpoint_id=checkpoint operator subtask size_bytes managed_operator_bytes raw_operator_bytes managed_keyed_bytes"
            " raw_keyed_bytes channel_bytes finished referenced_checkpoint"
        ),
    ),
    "splits": (
        "split",
        _keys(
            "path checkpoint_id=checkpoint operator subtask role connector identity topic partition offset offset_kind stopping_offset"
            " stopping_kind status split_index"
        ),
    ),
    "references": ("reference", _keys("path checkpoint_id=checkpoint operator subtask")),  # and those of _references
    "batches": (
        "batch",
        _keys("path query batch planned committed planned_at watermark_ms damage committed_at sources source_directories"),
    ),
    "batch_offsets": ("batch_offset", _keys("path batch source source_id topic partition offset offset_kind raw")),
    "state_store_files": (
        "state_store",
        _keys("path operator partition store state wanted_version newest_version newest_snapshot missing empty files size_bytes"),
    ),
    "query_leftovers": ("leftover", _keys("path directory batch batch_exists file size_bytes")),
    "inputs": ("input", _keys("path source log_offset input")),
    "sources": ("source", _keys("name state why")),
}


def _template(kind: str, keys: tuple[tuple[str, str], ...]) -> tuple[str, tuple[str, ...]]:
    """The line of one kind with a place for each value, and the columns that fill the places."""
    return f'{{"kind": "{kind}", ' + ", ".join(f'"{key}": %s' for key, _ in keys) + "}\n", tuple(column for _, column in keys)


_TEMPLATES = {table: _template(kind, keys) for table, (kind, keys) in _DUMP.items()}


def dump(paths: Sequence[str], *, strict: bool = False, rebase: Sequence[tuple[str, str]] = ()) -> Iterator[tuple[str, str]]:
    """(read, ok, partial or failed; JSON lines) in the order of the files, one line per fact; the same bytes give the same lines.

    What a source could not give is a line too: its state is the first of the pair, that of every other line is read.

    Raises `CannotLook` with ``strict`` at the first damage.
    """
    try:
        for table, values in checkpoint_facts(paths, strict=strict, rebase=rebase, references=True):
            state = values["state"] if table == "sources" else "read"
            yield state, _references(values) if table == "references" else _line(table, values)
    except DamagedBytes as damage:
        raise CannotLook(f"cannot read the checkpoint: {damage}", "Leave out --strict to see what lies before the damage.") from damage


def _line(table: str, values: Mapping[str, Any]) -> str:
    template, columns = _TEMPLATES[table]
    get = values.get
    return template % tuple([_json(get(column)) for column in columns])


def _references(values: Mapping[str, Any]) -> str:
    """The lines of all state files of one subtask; what they share is written once per subtask, which halves the time of a large dump."""
    head = _line("references", values)[:-2]
    lines = []
    for storage, name, start, size, shared in values["references"]:
        whose = "null" if shared is None else "true" if shared else "false"
        text = encode_basestring_ascii(name)
        lines.append(f'{head}, "storage": "{storage}", "name": {text}, "start": {start}, "size": {size}, "shared": {whose}}}\n')
    return "".join(lines)


def _json(value: Any) -> str:
    # A 100 MB _metadata has 200,000 handles: json.dumps of a dict each would cost more than reading them.
    kind = type(value)
    if kind is int:
        return str(value)
    if kind is str:
        return encode_basestring_ascii(value)
    if value is None:
        return "null"
    if kind is bool:
        return "true" if value else "false"
    if kind is list:
        return "[" + ", ".join([_json(item) for item in value]) + "]"
    return encode_basestring_ascii(value.isoformat().replace("+00:00", "Z"))


def collect(paths: Sequence[str], *, strict: bool = False, rebase: Sequence[tuple[str, str]] = ()) -> Callable[[], Evidence]:
    """A function that reads everything at `paths`; with ``strict`` it raises `CannotLook` at the first damage."""

    def read() -> Evidence:
        try:
            return Evidence(tables_of(checkpoint_facts(paths, strict=strict, rebase=rebase, look=True)))
        except DamagedBytes as damage:
            hint = "Leave out --strict to see what lies before the damage."
            raise CannotLook(f"cannot read the checkpoint: {damage}", hint) from damage

    return read


def together(files: Callable[[], Evidence] | None, collectors: Sequence[Collector]) -> Callable[[], Evidence]:
    """What `files` reads and `collectors` answer; a JobManager that is asked alone and does not answer raises `CannotLook`."""
    if files is None and len(collectors) == 1:
        return collectors[0].ask

    def ask() -> Evidence:
        with asking(collectors) as answers:
            return merged([*([files()] if files else []), *answers()])

    return ask


def with_brokers(read: Callable[[], Evidence], ask: Callable[[Collection[str]], Evidence], name: str) -> Callable[[], Evidence]:
    """A function that reads the checkpoints, then asks the brokers for the topics that are named there.

    A cluster that cannot be asked is a row of ``sources``. What was asked live makes now the moment of collection of the files, too: only
    then is the age of an unfinished checkpoint known.
    """

    def both() -> Evidence:
        found = read()
        rows = (*found.tables.get("splits", ()), *found.tables.get("batch_offsets", ()))
        topics = {row["topic"] for row in rows if row["topic"] is not None}
        with asking([Collector(name, "kafka", lambda: ask(topics))]) as answers:
            whole = merged([found, *answers()])
        now = max((row["as_of"] for row in whole.tables.get("log_offsets", ()) if row["as_of"]), default=None)
        for row in (row for table in _OF_FILES for row in whole.tables.get(table, ())):
            row["as_of"] = now or row["as_of"]
        return whole

    return both


def _derived(tables: Mapping[str, Sequence[Row]]) -> dict[str, list[Row]]:
    # logs say what each job was restored from: the lineage
    audited = split_audit(derive(tables) if "log_events" in tables else tables) if "splits" in tables else []
    told = {"barrier_frontier": barrier_frontier, "checkpoint_series": checkpoint_series} if "checkpoint_acks" in tables else {}
    return {**({"split_audit": audited} if audited else {}), **{name: rows for name, make in told.items() if (rows := make(tables))}}


def _audit_says(tables: Mapping[str, Sequence[Row]]) -> list[str]:
    """In sentences what the split audit saw and could not see."""
    if "splits" not in tables:
        return []
    whole = derive(tables) if "log_events" in tables else tables
    return [*_sentences(tables.get("split_audit", ())), *(f"split audit, {leg}" for leg in audit_legs(whole))]


def _looked_at(tables: Mapping[str, Sequence[Row]]) -> str:
    files = tables.get("checkpoint_files", ())
    words = []
    if files:
        jobs = len({row["job"] for row in files})
        words.append(f"{len(files)} checkpoint{'s' * (len(files) != 1)} of {jobs} job{'s' * (jobs != 1)}")
        readers = sum(1 for row in tables.get("splits", ()) if row["role"] == "reader")
        words.append(f"{readers} split position{'s' * (readers != 1)}")
    if tables.get("batches"):
        words.append(f"{len(tables['batches'])} batches")
    asked = {row["job"] for row in tables.get("vertices", ())}
    if asked:
        words.append(f"the JobManager's view of {len(asked)} job{'s' * (len(asked) != 1)}")
    return ", ".join(words)


# What the splits of one problem have in common, and what is said of each.
_PROBLEMS: dict[str, tuple[str, Callable[[Row], str]]] = {
    "held-twice": ("held twice", lambda row: f"by subtasks {' and '.join(row['subtasks'])} at {' and '.join(row['offsets'])}"),
    "held-by-nobody": ("assigned by the enumerator and held by no reader", lambda row: ""),
    "went-back": ("gone back", lambda row: f"from {row['offsets'][0]} to {row['offsets'][1]}"),
    "never-read": ("without a record yet", lambda row: f"start marker {row['offsets'][0]}"),
    "not-discovered": ("unknown to the job", lambda row: ""),
    "below-log-start": ("at a position that the broker has deleted", lambda row: str(row["offsets"][0])),
    "beyond-log-end": ("at a position beyond the end of the log", lambda row: str(row["offsets"][0])),
}
_MOST_NAMED = 8


def _sentences(audited: Sequence[Row]) -> Iterator[str]:
    """One sentence per problem, checkpoint and operator."""
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in audited:
        key = (
            row["problem"],
            row["job"],
            row["checkpoint"],
            row["since_checkpoint"],
            row["operator"],
            row["compared_with"],
            row["inferred"],
        )
        groups.setdefault(key, []).append(row)
    for (problem, job, checkpoint, since, operator, compared_with, inferred), rows in groups.items():
        common, each = _PROBLEMS[problem]
        named = ", ".join(f"{row['identity']} {each(row)}".strip() for row in rows[:_MOST_NAMED])
        more = f" and {len(rows) - _MOST_NAMED} more" if len(rows) > _MOST_NAMED else ""
        where = f"checkpoint {checkpoint} of job {job or 'unknown'}" + (f" (since {since})" if since != checkpoint else "")
        against = f", compared with {compared_with}" if compared_with else ""
        guess = ", from which the job seems to have been restored: its checkpoint ids go on from there" if inferred else ""
        yield f"{len(rows)} split{'s' * (len(rows) != 1)} of operator {operator} {common} in {where}{against}{guess}: {named}{more}"


_OF_JOBMANAGER = ("jobs", "vertices", "subtasks", "checkpoints", "checkpoint_acks", "stack_samples")

_OF_FLINK = ("checkpoint_files", "operator_states", "subtask_states", "splits", "split_audit", "state_files")
_OF_QUERIES = ("batches", "batch_offsets", "state_store_files", "query_leftovers")
_OF_FILES = (*_OF_FLINK, *_OF_QUERIES)
CHECKPOINT_INSPECT = Subject(
    command="checkpoint-inspect",
    collected=("checkpoint_files", "operator_states", "subtask_states", "splits", "state_files", *_OF_QUERIES, *_OF_JOBMANAGER),
    facts=(*_OF_FILES, *_OF_JOBMANAGER, "barrier_frontier", "checkpoint_series"),
    looked_at=_looked_at,
    derived=_derived,
    remarks=_audit_says,
    apart=(_OF_QUERIES, _OF_FLINK, _OF_JOBMANAGER, ("log_events",), ("log_offsets",)),
)


def existing(paths: Sequence[str]) -> list[str]:
    """`paths`; raises `UsageError` for a local one that does not exist, or when none is named. Remote ones are asked when they are read."""
    if not paths:
        raise UsageError("nothing to look at", "Name a _metadata file, a checkpoint directory, a directory of jobs, or an archive of one.")
    named = []
    for path in paths:
        local = url2pathname(urlsplit(path).path) if path.startswith("file:") else path
        if not is_remote(local) and not os.path.lexists(local):
            raise UsageError(
                f"no such file or directory: {local}", "Name a _metadata file, a chk-N or savepoint directory, or one above them."
            )
        named.append(local)
    return named


def rebases(values: Sequence[str]) -> list[tuple[str, str]]:
    """``OLD=NEW`` texts; raises `UsageError` for one without both."""
    pairs = []
    for value in values:
        old, _, new = value.partition("=")
        if not old or not new:
            raise UsageError(f"--rebase {value}: not OLD=NEW", "Write --rebase s3://bucket/checkpoints=/copies/checkpoints")
        pairs.append((old, new))
    return pairs
