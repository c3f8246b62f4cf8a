"""`plan` looks at what there is and shares it out; `scan` reads it, here or on Spark, and gives the tables of log evidence."""

from __future__ import annotations

import os
import re
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import IO, TYPE_CHECKING, Any

from analyzers.logs import documents
from analyzers.logs.captures import Catalogue, catalogue
from analyzers.logs.kernel import WINDOW, Origin, Scanner
from analyzers.logs.model import Signature
from analyzers.logs.selection import FilePart, Groups, RowEntry, entries_of, merge_parts
from analyzers.logs.sniff import HEAD, TAIL, Sniffed, sniff
from analyzers.logs.timestamps import DAY, Zone, infer_offset, to_datetime, zone_from_option
from analyzers.logs.unwrapping import Unwrapper, needs_whole
from analyzers.logs.unwrapping import pour as unwrap_whole
from analyzers.readers.opening import TROUBLES, decoded, numbered_lines, open_file, packing_of, parts
from analyzers.readers.sources import Candidate, Discovery, discover
from analyzers.readers.splits import SPLIT_BYTES, LogFile, Split, border, pack, splits_of
from analyzers.tables import LOG_COUNTS, LOG_EVENTS, LOG_FILES, SOURCES, Row

if TYPE_CHECKING:
    from pyspark import SparkContext

Tables = dict[str, list[Row]]
_STDIN = "-"


@dataclass(frozen=True)
class LogOptions:
    """How logs are to be read. `log_timezone`: zone of times without one; `since`/`until`: aware; `stdin`: what `-` stands for.

    `relative_to`: directory that file names are given relative to (a bundle's), so that a report does not depend on where it lies.
    """

    log_timezone: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    scope: str = ""
    stdin: bytes | None = None
    relative_to: str | None = None
    split_bytes: int = SPLIT_BYTES
    window: int = WINDOW


@dataclass
class Plan:
    """What will be read: files with their origin, tasks, and what could not be read (rows of `sources`, without scope)."""

    options: LogOptions
    files: list[LogFile] = field(default_factory=list)
    tasks: list[list[Split]] = field(default_factory=list)
    sources: list[dict[str, str | None]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    passed_over: int = 0
    temporary: list[str] = field(default_factory=list)

    def close(self) -> None:
        """Removes what was put aside (stdin)."""
        while self.temporary:
            path = self.temporary.pop()
            try:
                os.unlink(path)
            except OSError:
                continue


@dataclass
class _Sniffed:
    """A file or member with what its head told."""

    candidate: Candidate
    members: tuple[str, ...]
    found: Sniffed
    packed: bool
    mtime: float


def plan(paths: Sequence[str], options: LogOptions | None = None) -> Plan:
    """Discovers, sniffs and shares out. Raises ``ValueError`` for a time zone that is none; everything else becomes a row of `sources`."""
    options = options or LogOptions()
    result = Plan(options)
    zone = zone_from_option(options.log_timezone) if options.log_timezone else None
    real = [_put_aside(options.stdin or b"", result) if path == _STDIN else path for path in paths]
    found = discover(real)
    for name, why, whole in found.troubles:
        result.sources.append(
            {"name": _shown(name, options, result), "kind": "logs", "state": "failed" if whole else "partial", "why": why}
        )
    sniffed = list(_look(found, result))
    zones = _zones(sniffed, zone, result)
    newest_year = max((s.found.newest_year for s in sniffed if s.found.newest_year), default=None)
    since, until = _ms(options.since), _ms(options.until)
    for order, (one, its_zone) in enumerate(zip(sniffed, zones, strict=True)):
        result.files.append(_log_file(order, one, its_zone, newest_year, since, until, result))
    result.passed_over = found.passed_over
    result.tasks = pack([split for file in result.files for split in splits_of(file, options.split_bytes)], options.split_bytes)
    return result


def _put_aside(data: bytes, result: Plan) -> str:
    handle, path = tempfile.mkstemp(prefix="diag-stdin-")
    with os.fdopen(handle, "wb") as out:
        out.write(data)
    result.temporary.append(path)
    return path


def _shown(path: str, options: LogOptions, result: Plan) -> str:
    if path in result.temporary:
        return _STDIN
    if options.relative_to is not None:
        relative = os.path.relpath(path, options.relative_to)
        return relative if not relative.startswith("..") else path
    return path


def _ms(moment: datetime | None) -> int | None:
    return None if moment is None else int(moment.timestamp() * 1000)


# ---- looking at heads --------------------------------------------------------------------------------------------


def _look(found: Discovery, result: Plan) -> Iterator[_Sniffed]:
    for candidate in found.candidates:
        shown = _shown(candidate.path, result.options, result)
        any_log = False
        try:
            for one in _heads(candidate, shown):
                if not _is_log(one):
                    continue
                any_log = True
                yield one
        except TROUBLES as error:
            state = "partial" if any_log else "failed"
            if candidate.named or any_log or re.search(r"\.(?:log|out|err)\b", candidate.path):
                result.sources.append({"name": shown, "kind": "logs", "state": state, "why": _why(error)})
                continue
        if any_log:
            continue
        if candidate.named:
            why = "is empty" if candidate.size == 0 else "holds no log: binary data" if not any_log else None
            result.sources.append({"name": shown, "kind": "logs", "state": "failed", "why": why})
        found.passed_over += 1


_LOG_NAME = re.compile(
    r"(?:\.log|\.out|\.err|\.stdout|\.stderr|(?:^|[/!])(?:stdout|stderr|syslog|messages|console)|-json\.log)(?:[.\-_\d]|\.gz|\.zst|\.bz2|\.xz|$)",
    re.IGNORECASE,
)


def _is_log(one: _Sniffed) -> bool:
    """Whether to read it: what the user named unless it is binary; what has a log's name if it has a log's look; anything else if it is full of headers."""
    if one.found.binary:
        return False
    if one.candidate.named and not one.members:
        return True
    name = one.members[-1] if one.members else one.candidate.path
    return one.found.looks_like_log and (one.found.dense or bool(_LOG_NAME.search(name)))


def _why(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"cannot be read: {error.strerror}"
    return f"cannot be read to its end: {str(error) or type(error).__name__}"


def _heads(candidate: Candidate, shown: str) -> Iterator[_Sniffed]:
    with open_file(candidate.path) as stream:
        for members, text, mtime in parts(stream):
            head = _read(text, HEAD)
            if not head:
                continue
            packed = bool(members) or _is_packed(candidate.path)
            tail = b""
            if not packed and candidate.size > HEAD:
                with open_file(candidate.path) as again:
                    again.seek(max(candidate.size - TAIL, HEAD))
                    tail = again.read(TAIL)
            name = "!".join((shown, *members))
            yield _Sniffed(candidate, members, sniff(name, head, tail, whole=len(head) < HEAD), packed, mtime or candidate.mtime)


def _is_packed(path: str) -> bool:

    with open_file(path) as stream:
        return packing_of(stream.read(512)) is not None


def _read(stream: IO[bytes], size: int) -> bytes:
    """At most `size` bytes; of damaged ones those before the damage, which is reported when the file is scanned."""
    got = bytearray()
    while len(got) < size:
        try:
            piece = stream.read(min(size - len(got), 64 << 10))
        except TROUBLES:
            if got:
                break
            raise
        if not piece:
            break
        got += piece
    return bytes(got)


def _log_file(
    order: int, one: _Sniffed, zone: Zone, newest_year: int | None, since: int | None, until: int | None, result: Plan
) -> LogFile:
    found = one.found
    name = "!".join((_shown(one.candidate.path, result.options, result), *one.members))
    named_date = re.search(r"(20\d\d)[-_.]?([01]\d)[-_.]?([0-3]\d)(?!\d)", os.path.basename(name)) if found.dateless else None
    date = _midnight(named_date) if named_date else None
    year = found.newest_year or newest_year or datetime.fromtimestamp(one.mtime).year
    newest = int(one.mtime * 1000) + DAY if found.newest_year is None and newest_year is None else None
    origin = Origin(
        name, order, found.role, found.host, zone, year, newest, date, None if date is not None else _date_of_change(one), since, until,
    )  # fmt: skip
    return LogFile(
        one.candidate.path, one.members, origin, one.candidate.size, one.packed, found.splittable and not one.packed,
        found.wrapping, found.encoding, found.layout,
    )  # fmt: skip


def _midnight(date: re.Match[str]) -> int | None:
    try:
        return int((datetime(int(date[1]), int(date[2]), int(date[3])) - datetime(1970, 1, 1)).total_seconds() * 1000)
    except ValueError:
        return None


def _date_of_change(one: _Sniffed) -> int | None:
    """The day of the file's last change, if its last line was written at that moment; a copied file says nothing."""
    last = one.found.last_clock_ms
    if last is None:
        return None
    changed = int(one.mtime * 1000)
    return changed // DAY * DAY if abs(changed % DAY - last) < 120_000 else None


# ---- zones -------------------------------------------------------------------------------------------------------


def _zones(sniffed: list[_Sniffed], option: Zone | None, result: Plan) -> list[Zone]:
    """The zone of each file: the option, else what a line of the file betrays, else what files of the same directory or input do."""
    if option is not None:
        return [option] * len(sniffed)
    own = [infer_offset(one.found.pairs) for one in sniffed]
    by_folder: dict[str, Counter[int]] = defaultdict(Counter)
    by_root: dict[str, Counter[int]] = defaultdict(Counter)
    for one, offset in zip(sniffed, own, strict=True):
        if offset is not None:
            by_folder[os.path.dirname(one.candidate.path)][offset] += 1
            by_root[one.candidate.root][offset] += 1
    every = sum(by_root.values(), Counter[int]())
    zones = []
    borrowed: Counter[int] = Counter()
    for one, offset in zip(sniffed, own, strict=True):
        if offset is None:
            near = next(
                (
                    votes
                    for votes in (by_folder[os.path.dirname(one.candidate.path)], by_root[one.candidate.root], every)
                    if len(votes) == 1
                ),
                None,
            )
            offset = next(iter(near)) if near else None
            if offset is not None and one.found.zoneless:
                borrowed[offset] += 1
        zones.append(Zone() if offset is None else Zone("inferred", offset))
    for offset, files in sorted(borrowed.items()):
        result.notes.append(
            f"{files} log file(s) name no time zone; taken as {_offset_text(offset)}, which a neighbouring log proves (--log-timezone overrides)"
        )
    unknown = sum(1 for one, zone in zip(sniffed, zones, strict=True) if zone.kind == "assumed-utc" and one.found.zoneless)
    if unknown:
        result.notes.append(f"{unknown} log file(s) name no time zone; taken as UTC (--log-timezone overrides)")
    return zones


def _offset_text(ms: int) -> str:
    minutes = abs(ms) // 60_000
    return "UTC" if not ms else f"UTC{'+' if ms > 0 else '-'}{minutes // 60:02d}:{minutes % 60:02d}"


# ---- reading -----------------------------------------------------------------------------------------------------


def read_splits(splits: Sequence[Split], window: int = WINDOW, signatures: tuple[Signature, ...] | None = None) -> Iterator[FilePart]:
    """The parts of one task. Runs on executors. A file that cannot be read gives a part that says so."""
    known = catalogue(signatures)
    archives: dict[str, dict[tuple[str, ...], Split]] = defaultdict(dict)
    for split in splits:
        if split.file.members:
            archives[split.file.path][split.file.members] = split
        elif split.whole:
            reading = _Reading(split, known, window)
            try:
                with open_file(split.file.path) as stream:
                    for _, text, _ in parts(stream):
                        reading.pour(text)
                yield from reading.finish()
            except TROUBLES as error:
                yield from reading.finish(_why(error))
        else:
            yield _read_range(split, known, window)
    for path, wanted in archives.items():
        yield from _read_archive(path, wanted, known, window)


def _read_range(split: Split, known: Catalogue, window: int) -> FilePart:
    scanner = Scanner(split.file.origin, known, split.part)
    newlines, left, trouble = 0, 0, None
    try:
        with open_file(split.file.path) as stream:
            start = border(stream, split.start, split.file.size)
            left = border(stream, split.end, split.file.size) - start
            stream.seek(start)
            while left > 0:
                chunk = stream.read(min(window, left))
                if not chunk:
                    break
                left -= len(chunk)
                newlines += chunk.count(b"\n")
                scanner.feed(chunk)
    except TROUBLES as error:
        trouble = _why(error)
    part = scanner.finish(newlines)
    part.trouble = trouble or (f"became shorter while it was read ({left} bytes are gone)" if left > 0 else None)
    return part


class _Reading:
    """One whole file or member on its way through a scanner, or through the unwrapping and the scanners of its streams."""

    def __init__(self, split: Split, known: Catalogue, window: int) -> None:
        self._file, self._window = split.file, window
        self._scanner = Scanner(split.file.origin, known, split.part)
        self._unwrapper = Unwrapper(split.file.origin, split.file.wrapping, known) if split.file.wrapping is not None else None

    def pour(self, text: IO[bytes]) -> None:
        """Reads all of `text`. Raises one of TROUBLES; `finish` then still gives what was read before."""
        pieces = decoded(text, self._file.encoding, self._window)
        if self._unwrapper is None or self._file.wrapping is None:
            for piece in pieces:
                self._scanner.feed(piece)
        elif needs_whole(self._file.wrapping):
            whole = bytearray()
            trouble: BaseException | None = None
            try:
                for piece in pieces:
                    whole += piece
                    if len(whole) > documents.LIMIT:
                        raise ValueError(f"is an export of more than {documents.LIMIT >> 20} MB, of which only the beginning was read")
            except TROUBLES as error:
                trouble = error
            unwrap_whole(self._unwrapper, self._file.wrapping, bytes(whole))
            if trouble is not None:
                raise trouble
        else:
            self._unwrapper.lines(numbered_lines(pieces))

    def finish(self, trouble: str | None = None) -> list[FilePart]:
        found = [self._scanner.finish()] if self._unwrapper is None else self._unwrapper.finish()
        if not found:
            found = [FilePart(self._file.origin.file, self._file.origin.order, 0)]
        for part in found:
            part.trouble = trouble
        return found


def _read_archive(path: str, wanted: dict[tuple[str, ...], Split], known: Catalogue, window: int) -> Iterator[FilePart]:
    left = dict(wanted)
    reading: _Reading | None = None
    try:
        with open_file(path) as stream:
            for members, text, _ in parts(stream):
                split = left.pop(members, None)
                if split is None:
                    continue
                reading = _Reading(split, known, window)
                reading.pour(text)
                yield from reading.finish()
                reading = None
    except TROUBLES as error:
        if reading is not None:
            yield from reading.finish(_why(error))
        for split in left.values():
            yield replace(FilePart(split.file.origin.file, split.file.origin.order, 0), trouble=_why(error))


def scan(plan: Plan, context: SparkContext | None = None, signatures: Sequence[Signature] | None = None) -> Tables:
    """Reads everything of `plan` and gives `log_events`, `log_counts`, `log_files`, `sources`; the same rows with and without Spark."""
    chosen = None if signatures is None else tuple(signatures)
    window = plan.options.window
    if context is None or not plan.tasks:
        found = [part for task in plan.tasks for part in read_splits(task, window, chosen)]
    else:

        def run(tasks: Iterable[list[Split]]) -> Iterator[FilePart]:
            for task in tasks:
                yield from read_splits(task, window, chosen)

        found = context.parallelize(plan.tasks, len(plan.tasks)).mapPartitions(run).collect()
    return tables(plan, found)


def tables(plan: Plan, found: Iterable[FilePart]) -> Tables:
    """All parts put together: lines counted from the start of each file, groups merged, rows in order."""
    by_file: dict[tuple[int, str], list[FilePart]] = defaultdict(list)
    for part in found:
        by_file[part.order, part.file].append(part)
    files = [merge_parts(sorted(parts, key=lambda part: part.part)) for _, parts in sorted(by_file.items())]
    as_of = to_datetime(max((f.last_ms for f in files if f.last_ms is not None), default=None))
    head = {"scope": plan.options.scope, "as_of": as_of}
    events = _events(files, head)
    return {
        LOG_EVENTS.name: events,
        LOG_COUNTS.name: _counts(files, head),
        LOG_FILES.name: _files(plan, files, head),
        SOURCES.name: _sources(plan, files, head),
    }


def _events(files: list[FilePart], head: dict[str, Any]) -> list[Row]:
    known, generic = Groups(10**9), Groups(10**9)
    kept: list[RowEntry] = []
    for file in files:
        for groups, entries in ((known, file.known), (generic, file.generic)):
            for group, keep, key, row in entries:
                groups.add(group, keep, key, row)
        kept += file.edges
    unique = {(key, row["signature"]): row for _, _, key, row in (*entries_of(known), *entries_of(generic), *kept)}
    rows: list[Row] = []
    latest: dict[str, int] = {}
    ordered = []
    for (key, signature), row in sorted(unique.items(), key=lambda item: (item[0][0][2:], item[0][1])):  # by file and line
        if not key[0]:
            latest[row["file"]] = key[1]
        ordered.append(((latest.get(row["file"], -(2**62)), key[2:], signature), row))
    for number, (_, row) in enumerate(sorted(ordered, key=lambda item: item[0])):
        row.update(head, seq=number)
        rows.append(row)
    return rows


def _counts(files: list[FilePart], head: dict[str, Any]) -> list[Row]:
    rows = []
    for file in files:
        for (signature, job, task, minute), (events, first, last) in file.counts.counts.items():
            rows.append(
                LOG_COUNTS.row({
                    **head, "job": job, "signature": signature, "task": task, "host": file.host, "file": file.file, "minute": to_datetime(minute),
                    "events": events, "first_at": to_datetime(first), "last_at": to_datetime(last),
                })
            )  # fmt: skip
    return sorted(rows, key=lambda r: (r["signature"], r["file"], r["job"] or "", r["task"] or "", str(r["minute"] or "")))


def _files(plan: Plan, files: list[FilePart], head: dict[str, Any]) -> list[Row]:
    planned = {file.origin.order: file for file in plan.files}
    rows = []
    for part in files:
        file = planned[part.order]
        rows.append(
            LOG_FILES.row({
                **head, "file": part.file, "role": part.role, "host": part.host, "layout": file.layout, "wrapping": " > ".join(file.wrapping.shown) if file.wrapping else None,
                "zone": part.zone, "first_at": to_datetime(part.first_ms), "last_at": to_datetime(part.last_ms), "size_bytes": file.size,
                "lines": part.lines, "events": part.events, "unparsed_lines": part.unparsed, "version": part.version, "clients": sorted(part.clients),
            })
        )  # fmt: skip
    return rows


def _sources(plan: Plan, files: list[FilePart], head: dict[str, Any]) -> list[Row]:
    rows = [SOURCES.row({**head, **source}) for source in plan.sources]
    told = {source["name"] for source in plan.sources}
    for part in files:
        if part.file in told:
            continue
        state = "ok" if part.trouble is None else "partial" if part.events else "failed"
        rows.append(SOURCES.row({**head, "name": part.file, "kind": "logs", "state": state, "why": part.trouble}))
    return rows
