"""Reads a Structured Streaming checkpoint directory: one row per batch, and the end offsets of each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from posixpath import join
from typing import Any

from analyzers.budget import BUDGET
from analyzers.checkpoints.cursor import DamagedBytes
from analyzers.checkpoints.structured_streaming import (
    OffsetLog,
    kafka_offsets,
    read_commit_log,
    read_input_files,
    read_offset_log,
    read_query_id,
)
from analyzers.readers.checkpoint_places import Place, Problem
from analyzers.readers.streaming_state import leftover_facts, state_store_facts
from analyzers.readers.trees import Entry

_NUMBER = re.compile(r"\d{1,18}\Z")
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)

_MAX_BATCHES = BUDGET.batches
_MAX_LOG = BUDGET.batch_log_bytes

Facts = Iterator[tuple[str, dict[str, Any]]]


def streaming_facts(place: Place, problems: list[Problem], strict: bool) -> Facts:
    """Rows of the tables of Structured Streaming and, for the dump, ``inputs`` (files that a file source planned to read)."""
    query, metadata = _query_id(place, problems, strict)
    committed = _numbered(place, "commits", problems)  # first: a query that runs goes on between two listings, and plans before it commits
    planned = _numbered(place, "offsets", problems)
    batches = sorted(planned.keys() | committed.keys())
    if len(batches) > _MAX_BATCHES:
        problems.append(Problem(place.shown, f"{len(batches)} batches: only the newest {_MAX_BATCHES} were read"))
        batches = batches[-_MAX_BATCHES:]
    head = {"job": query, "path": place.shown, "query": query}
    started = len(_source_directories(place))
    for batch in batches:
        try:
            log, damage = _planned(place, planned.get(batch), strict)
            damage = damage or _commit_damage(place, committed.get(batch), strict)
        except FileNotFoundError:
            continue  # a query that runs deletes its oldest batches
        if damage is not None:
            problems.append(Problem(f"{place.shown}: batch {batch}", damage))
        yield (
            "batches",
            {
                **head,
                "batch": batch,
                "planned": batch in planned,
                "committed": batch in committed,
                "planned_at": None if log is None else _moment(log.timestamp_ms),
                "watermark_ms": None if log is None else log.watermark_ms,
                "damage": damage,
                "committed_at": committed[batch].modified if batch in committed else None,
                "mtime": planned[batch].modified if batch in planned else None,
                # in version 2 of the log sources are told by name and may come and go: their number says nothing
                "sources": None if log is None or log.version >= 2 else len(log.sources),
                "source_directories": started,
                "metadata": metadata,
            },
        )
        if log is not None:
            yield from _offsets(head, batch, log)
    yield from _inputs(place, head, problems)
    yield from leftover_facts(place, head)
    yield from state_store_facts(place, head, max(committed) + 1 if committed else None, problems)


def _query_id(place: Place, problems: list[Problem], strict: bool) -> tuple[str | None, str | None]:
    """The query's id, and how the file was that holds it."""
    path = join(place.directory, "metadata")
    try:
        return read_query_id(place.tree.read(path, 0, _MAX_LOG)), "read"
    except FileNotFoundError as error:
        problems.append(Problem(f"{place.shown}: metadata", error.strerror or str(error)))
        return None, "missing"
    except OSError as error:
        problems.append(Problem(f"{place.shown}: metadata", error.strerror or str(error)))
    except DamagedBytes as damage:
        if strict:
            raise
        problems.append(Problem(f"{place.shown}: metadata", f"damaged: {damage}"))
        return None, "damaged"
    return None, None


def _numbered(place: Place, directory: str, problems: list[Problem]) -> dict[int, Entry]:
    try:
        entries = place.tree.entries(join(place.directory, directory))
    except FileNotFoundError:
        return {}  # no batch was committed yet, or no source keeps a log
    except OSError as error:
        problems.append(Problem(f"{place.shown}: {directory}", error.strerror or str(error)))
        return {}
    return {int(entry.name): entry for entry in entries if not entry.directory and _NUMBER.match(entry.name)}


def _planned(place: Place, entry: Entry | None, strict: bool) -> tuple[OffsetLog | None, str | None]:
    if entry is None:
        return None, None
    try:
        return read_offset_log(place.tree.read(entry.path, 0, _MAX_LOG)), None
    except DamagedBytes as damage:
        if strict:
            raise
        return None, f"offsets/{entry.name}: {damage}"
    except FileNotFoundError:
        raise
    except OSError as error:
        return None, f"offsets/{entry.name}: {error.strerror or error}"


def _commit_damage(place: Place, entry: Entry | None, strict: bool) -> str | None:
    if entry is None:
        return None
    try:
        read_commit_log(place.tree.read(entry.path, 0, _MAX_LOG))
    except DamagedBytes as damage:
        if strict:
            raise
        return f"commits/{entry.name}: {damage}"
    except FileNotFoundError:
        raise
    except OSError as error:
        return f"commits/{entry.name}: {error.strerror or error}"
    return None


def _moment(milliseconds: int | None) -> datetime | None:
    try:
        return None if milliseconds is None else _EPOCH + timedelta(milliseconds=milliseconds)
    except OverflowError:
        return None


def _offsets(head: dict[str, Any], batch: int, log: OffsetLog) -> Facts:
    for source, (name, text) in enumerate(log.sources):
        row = {**head, "batch": batch, "source": source, "source_id": name}
        kafka = None if text is None else kafka_offsets(text)
        if kafka is None:
            yield "batch_offsets", {**row, "raw": text}
            continue
        for found in kafka:
            yield "batch_offsets", {**row, **found._asdict()}


def _inputs(place: Place, head: dict[str, Any], problems: list[Problem]) -> Facts:
    for source, directory in sorted(_source_directories(place)):
        for number, entry in sorted(_numbered(place, join("sources", directory), problems).items()):
            try:
                files = read_input_files(place.tree.read(entry.path, 0, _MAX_LOG))
            except DamagedBytes as damage:
                problems.append(Problem(f"{place.shown}: sources/{directory}/{number}", f"damaged: {damage}"))
                continue
            except OSError as error:
                problems.append(Problem(f"{place.shown}: sources/{directory}/{number}", error.strerror or str(error)))
                continue
            for file in files:
                yield "inputs", {**head, "source": source, "log_offset": number, "input": file.path}


def _source_directories(place: Place) -> list[tuple[int, str]]:
    try:
        entries = place.tree.entries(join(place.directory, "sources"))
    except OSError:
        return []
    return [(int(entry.name), entry.name) for entry in entries if entry.directory and _NUMBER.match(entry.name)]
