"""The dump of checkpoints, one JSON line per fact, and what the paths of a command line mean.

Apart from what judges: a dump loads nothing that it does not need, so that it is done when another reader's JVM has just started.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from json.encoder import encode_basestring_ascii
from typing import Any
from urllib.parse import unquote, urlsplit

from analyzers.checkpoints.cursor import DamagedBytes
from analyzers.readers.checkpoint_files import checkpoint_facts
from analyzers.readers.object_stores import is_remote
from analyzers.secrets import scrub
from cli.shell.exits import CannotLook, UsageError


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
        return encode_basestring_ascii(scrub(value) if "@" in value or "?" in value else value)  # an address with what opens it
    if value is None:
        return "null"
    if kind is bool:
        return "true" if value else "false"
    if kind is list:
        return "[" + ", ".join([_json(item) for item in value]) + "]"
    return encode_basestring_ascii(value.isoformat().replace("+00:00", "Z"))


def existing(paths: Sequence[str]) -> list[str]:
    """`paths`; raises `UsageError` for a local one that does not exist, or when none is named. Remote ones are asked when they are read."""
    if not paths:
        raise UsageError("nothing to look at", "Name a _metadata file, a checkpoint directory, a directory of jobs, or an archive of one.")
    named = []
    for path in paths:
        try:
            local = unquote(urlsplit(path).path) if path.startswith("file:") else path
        except ValueError:  # a bracket that is not closed
            local = path
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
