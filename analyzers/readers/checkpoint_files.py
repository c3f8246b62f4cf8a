"""Reads the checkpoints at given paths: facts for the dump, rows for the tables.

The only code about checkpoints that opens files. Whatever cannot be read becomes a row of ``sources``, and the rest is read on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from analyzers.budget import BUDGET
from analyzers.checkpoints.cursor import DamagedBytes
from analyzers.checkpoints.handles import Reference
from analyzers.checkpoints.metadata import FileFact, OperatorFact, SubtaskFact, read_metadata
from analyzers.checkpoints.sink_committables import is_committer, is_legacy_producer, transactions
from analyzers.checkpoints.source_splits import enumerator_splits, holds_splits, is_legacy_beam, may_be_legacy_beam, reader_splits
from analyzers.checkpoints.split import Split
from analyzers.readers.checkpoint_places import Place, Problem, find_places
from analyzers.readers.state_file_check import StateFileCheck
from analyzers.readers.state_files import StateFiles
from analyzers.readers.streaming_logs import streaming_facts
from analyzers.tables import TABLES, Row

Values = dict[str, Any]
_FLINK = ("checkpoint_files", "operator_states", "subtask_states", "splits", "state_files", "pending_transactions")
_STREAMING = ("batches", "batch_offsets", "state_store_files", "query_leftovers")
CHECKPOINT_TABLES = {name: TABLES[name] for name in (*_FLINK, *_STREAMING, "sources")}

_SMALL_STATE = 1 << 20
_LEGACY_BEAM = (
    "the state of Beam's legacy source (UnboundedSourceWrapper) cannot be read: its positions are in a coder of the job; the commits of "
    "its group (commitOffsetsInFinalize) and the logs tell how far it is"
)

_MAX_METADATA = BUDGET.metadata_bytes
_MOST_ROWS = BUDGET.metadata_rows
_MOST_ROWS_IN_ALL = BUDGET.checkpoint_rows


def checkpoint_facts(
    paths: Sequence[str], *, strict: bool = False, rebase: Sequence[tuple[str, str]] = (), references: bool = False, look: bool = False
) -> Iterator[tuple[str, Values]]:
    """(table, values) of everything at `paths`, in file order; `values` may hold more than the table's columns (for the dump).

    ``references=True`` adds the pseudo table ``references``: the state files that a subtask names, one item each. ``look=True`` looks
    whether they are there (``state_files``; listings and stat only). `rebase` replaces the beginning of absolute paths of state files
    (OLD, NEW). ``strict=True`` raises `DamagedBytes` at the first damage; without it damage is a row.
    """
    seen: set[str] = set()
    check = StateFileCheck(rebase) if look else None
    for path in paths:
        places, problems = find_places(path)
        read = 0
        for place in places:
            if place.shown in seen:
                read += 1
                continue
            seen.add(place.shown)
            try:
                yield from _place_facts(place, problems, strict, StateFiles(place, rebase), references, check)
                read += 1
            except OSError as error:
                problems.append(Problem(place.shown, _vanished(error)))
        yield from _source_facts(path, places, problems, read)
    if check is not None:
        yield from (("state_files", row) for row in check.orphans())


def _vanished(error: OSError) -> str:
    if isinstance(error, FileNotFoundError):
        return "vanished between listing and reading (a live job deletes old checkpoints)"
    return error.strerror or str(error)


def _source_facts(path: str, places: Sequence[Place], problems: Sequence[Problem], read: int) -> Iterator[tuple[str, Values]]:
    for problem in problems:
        if problem.name != path:
            yield "sources", {"name": problem.name, "kind": "checkpoint", "state": "partial" if read else "failed", "why": problem.why}
    own = next((problem.why for problem in problems if problem.name == path), None)
    if not places and own is None:
        own = "no checkpoint here: no _metadata, no chk-N, no offsets/ with commits/"
    if own is None and problems:
        own = f"{len(problems)} of the things below it could not be read whole"
    state = "ok" if own is None else "partial" if read else "failed"
    yield "sources", {"name": path, "kind": "checkpoint", "state": state, "why": own}


def _place_facts(
    place: Place, problems: list[Problem], strict: bool, files: StateFiles, references: bool, check: StateFileCheck | None
) -> Iterator[tuple[str, Values]]:
    if place.kind == "streaming":
        yield from streaming_facts(place, problems, strict)
    elif place.kind in ("empty", "never"):
        head = {"path": place.shown, "checkpoint": place.checkpoint, "kind": place.holds, "state": place.kind}
        yield "checkpoint_files", {"job": place.job, **head, "mtime": place.modified}
    elif place.size > _MAX_METADATA:
        problems.append(Problem(place.shown, f"{place.size:,} bytes: no _metadata is that large, not read"))
    elif references:  # for the dump, which keeps nothing
        yield from _metadata_facts(place, problems, strict, files, references, check)
    else:
        for number, fact in enumerate(_metadata_facts(place, problems, strict, files, references, check)):
            if number == _MOST_ROWS:
                problems.append(Problem(place.shown, f"holds more than {_MOST_ROWS:,} rows: what follows was not read (--dump prints all)"))
                break
            yield fact


def _metadata_facts(
    place: Place, problems: list[Problem], strict: bool, files: StateFiles, references: bool, check: StateFileCheck | None
) -> Iterator[tuple[str, Values]]:
    data = place.tree.read(place.path)
    # The id stands in the first 16 bytes; rows that come before the file's own row need it.
    checkpoint = int.from_bytes(data[8:16], "big", signed=True) if len(data) >= 16 else None
    head = {"job": place.job, "path": place.shown, "checkpoint": checkpoint}
    named: list[Reference] = []
    unread: list[str] = []
    looked = None if check is None else check.checkpoint(place, checkpoint)
    for fact in read_metadata(data, strict=strict, references=named if references or looked is not None else None):
        if isinstance(fact, SubtaskFact):
            yield "subtask_states", {**head, **_subtask(fact)}
            yield from _reader_rows(head, fact, files, unread, strict)
            yield from _transaction_rows(head, fact, files)
        elif isinstance(fact, OperatorFact):
            yield "operator_states", {**head, **_operator(fact)}
            yield from _enumerator_rows(head, fact, files, unread)
            if looked is not None:
                yield from (("state_files", row) for row in looked.rows_of(fact.operator, fact.name))
        else:
            summary = {} if looked is None else looked.summary(fact.damage is None)
            if summary.get("state_files_missing"):
                place.tree.entry(place.path)  # raises when a live job gave the checkpoint up meanwhile: Flink deletes _metadata first
            grows = fact.damage is not None and _still_written(place, len(data))
            yield from _file_rows(place, head, fact, problems, summary, grows=grows)
        if named and isinstance(fact, SubtaskFact):
            if looked is not None:
                looked.add(fact.operator, fact.subtask, named)
            if references:
                yield "references", {**head, "operator": fact.operator, "subtask": fact.subtask, "references": tuple(named)}
            named.clear()
    if looked is not None:
        yield from (("state_files", row) for row in looked.rest())
    if unread:
        more = f" (and {len(unread) - 1} more)" if len(unread) > 1 else ""
        problems.append(Problem(place.shown, f"positions of the sources are incomplete: {unread[0]}{more}"))


def _still_written(place: Place, read: int) -> bool:
    """Whether the file is not what was listed or read: not every file system shows a file only when it is whole."""
    try:
        now = place.tree.entry(place.path)
    except OSError:
        return False
    return now.size != read or read != place.size


def _subtask(fact: SubtaskFact) -> Values:
    return {
        "operator": fact.operator,
        "subtask": fact.subtask,
        "size_bytes": fact.size_bytes,
        "managed_operator_bytes": fact.managed_operator_bytes,
        "raw_operator_bytes": fact.raw_operator_bytes,
        "managed_keyed_bytes": fact.managed_keyed_bytes,
        "raw_keyed_bytes": fact.raw_keyed_bytes,
        "channel_bytes": fact.channel_bytes,
        "finished": fact.finished,
        "changelog": fact.changelog,
        "referenced_checkpoint": fact.referenced_checkpoint,
    }


def _operator(fact: OperatorFact) -> Values:
    values = fact._asdict()
    del values["coordinator"]
    return values


def _file_rows(
    place: Place, head: Values, fact: FileFact, problems: list[Problem], looked: Values, *, grows: bool
) -> Iterator[tuple[str, Values]]:
    """The row of the file; one that is still being written counts as a checkpoint that was begun, not as a damaged one."""
    damage = fact.damage
    if grows:
        problems.append(Problem(place.shown, "it changed while it was read: it is being written, look again in a minute"))
    elif damage is not None:
        problems.append(Problem(place.shown, f"damaged at byte {damage.offset}: expected {damage.expected}, found {damage.found}"))
    properties = fact.properties
    yield (
        "checkpoint_files",
        {
            **head,
            "checkpoint": fact.checkpoint if fact.checkpoint is not None else place.checkpoint,
            "version": fact.version,
            "kind": place.holds if properties is None or properties.kind == "unknown" else properties.kind,
            "savepoint_format": None if properties is None else properties.format,
            "state": "complete" if damage is None else "empty" if grows else "damaged",
            "operators": fact.operators,
            "size_bytes": fact.size_bytes,
            "state_bytes": fact.state_bytes,
            "unread_bytes": fact.unread_bytes,
            "mtime": place.modified,
            "damaged_at": None if damage is None or grows else damage.offset,
            "damage": None if damage is None or grows else f"expected {damage.expected}, found {damage.found}",
            "discarded": None if properties is None else _discarded(properties.flags),
            **looked,
        },
    )


def _discarded(flags: Mapping[str, bool]) -> list[str]:
    """When Flink deletes the checkpoint, by the flags of CheckpointProperties (discardCancelled, …)."""
    return sorted(name.removeprefix("discard").lower() for name, value in flags.items() if value and name.startswith("discard"))


def _split_row(head: Values, operator: str, subtask: int | None, split: Split) -> tuple[str, Values]:
    values = split._asdict()
    values["subtask"] = subtask if split.subtask is None else split.subtask
    return "splits", {**head, "operator": operator, **values}


def _reader_rows(head: Values, fact: SubtaskFact, files: StateFiles, unread: list[str], strict: bool) -> Iterator[tuple[str, Values]]:
    handle = fact.managed_operator
    if handle is None:
        return
    who = f"operator {fact.operator} subtask {fact.subtask}"
    if not holds_splits(handle["states"]):
        if may_be_legacy_beam(handle["states"]) and _of_legacy_beam(handle["stream"], files):
            unread.append(f"{who}: {_LEGACY_BEAM}")
        return
    try:
        stream = files.read(handle["stream"])
        splits = reader_splits(stream, handle["states"])
    except OSError as error:
        unread.append(f"{who}: {error}")
        return
    except DamagedBytes as damage:
        if strict:
            raise
        unread.append(f"{who}: state is damaged, {damage}")
        return
    for split in splits:
        yield _split_row(head, fact.operator, fact.subtask, split)


def _transaction_rows(head: Values, fact: SubtaskFact, files: StateFiles) -> Iterator[tuple[str, Values]]:
    """What a sink's committer is to commit; one row that says why where that cannot be read."""
    handle = fact.managed_operator
    states = () if handle is None else handle["states"]
    row = {**head, "operator": fact.operator, "subtask": fact.subtask}
    if is_legacy_producer(states):
        yield "pending_transactions", {**row, "unread": "FlinkKafkaProducer keeps its transactions in a form of its own"}
    if handle is None or not is_committer(states):
        return
    try:
        found = transactions(files.read(handle["stream"]), states)
    except OSError as error:
        yield "pending_transactions", {**row, "unread": str(error)}
    except DamagedBytes as damage:
        yield "pending_transactions", {**row, "unread": f"they are not those of a Kafka sink, or in a form that is not known ({damage})"}
    else:
        for one in found:
            own = {"of_checkpoint": one.checkpoint, "transactional_id": one.transactional_id, "producer": one.producer}
            yield "pending_transactions", {**row, **own, "producer_epoch": one.producer_epoch}


def _of_legacy_beam(stream: dict[str, Any] | None, files: StateFiles) -> bool:
    """Looked at only while it is small: the same unnamed state may be a function's own, of any size."""
    if stream is None or (stream["kind"] != "inline" and stream.get("size", 0) > _SMALL_STATE):
        return False
    try:
        return is_legacy_beam(files.read(stream))
    except OSError:
        return False


def _enumerator_rows(head: Values, fact: OperatorFact, files: StateFiles, unread: list[str]) -> Iterator[tuple[str, Values]]:
    if fact.coordinator is None:
        return
    try:
        data = files.read(fact.coordinator)
    except OSError as error:
        unread.append(f"operator {fact.operator} coordinator: {error}")
        return
    for split in enumerator_splits(data) or ():
        yield _split_row(head, fact.operator, None, split)


def read_checkpoints(
    paths: Sequence[str], *, strict: bool = False, rebase: Sequence[tuple[str, str]] = (), scope: str = ""
) -> dict[str, list[Row]]:
    """Rows of the checkpoint tables and ``sources`` for everything at `paths`.

    ``as_of`` is the newest modification time found. Tables of Flink stay absent when only Structured Streaming was found, and the
    other way round: absent is *not looked*, empty is *nothing there*.
    """
    return tables_of(checkpoint_facts(paths, strict=strict, rebase=rebase, look=True), scope=scope)


def tables_of(facts: Iterable[tuple[str, Values]], *, scope: str = "") -> dict[str, list[Row]]:
    """Group `facts` into whole rows."""
    tables: dict[str, list[Row]] = {"sources": []}
    as_of = None
    kept = dropped = 0
    for name, values in facts:
        table = CHECKPOINT_TABLES.get(name)
        if table is None:
            continue
        if name not in ("sources", "checkpoint_files"):
            if kept == _MOST_ROWS_IN_ALL:
                dropped += 1
                continue
            kept += 1
        family = _STREAMING if name in _STREAMING else _FLINK if name in _FLINK else ()
        for sibling in family:
            tables.setdefault(sibling, [])
        row: Row = {column: values.get(column) for column in table.names}
        row["scope"] = scope
        tables[name].append(row)
        for column in ("mtime", "committed_at"):
            when = row.get(column)
            if when is not None and (as_of is None or when > as_of):
                as_of = when
    if dropped:
        why = f"hold {kept + dropped:,} rows, of which {_MOST_ROWS_IN_ALL:,} were kept: name fewer of them"
        tables["sources"].append(
            {**dict.fromkeys(CHECKPOINT_TABLES["sources"].names), "scope": scope, "name": "these checkpoints", "kind": "checkpoint",
             "state": "partial", "why": why}
        )  # fmt: skip
    if not tables.get("state_files") and all(row["state_files"] is None for row in tables.get("checkpoint_files", ())):
        tables.pop("state_files", None)  # nobody looked for them: an empty table would say that all are there
    for rows in tables.values():
        for row in rows:
            row["as_of"] = as_of
    return tables
