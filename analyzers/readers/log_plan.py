"""What logs there are, what their heads tell, and how they are shared out: the part of reading that opens files but needs no Spark."""

from __future__ import annotations

import io
import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import IO

from analyzers.bundle.held import held_file, release
from analyzers.logs.layouts.layouts import TIME_ONLY
from analyzers.logs.layouts.timestamps import DAY, UTC_ASSUMED, Zone, infer_offset, to_ms, zone_from_option
from analyzers.logs.scan.kernel import WINDOW
from analyzers.logs.scan.origin import Origin
from analyzers.logs.scan.selection import Window, edge_keep
from analyzers.logs.signatures.signature import Signature
from analyzers.logs.wrappings.sniff import HEAD, PLAIN_HEAD, TAIL, Sniffed, is_plain, sniff
from analyzers.readers.fragments import MOST_BYTES, holds_messages
from analyzers.readers.log_crowds import crowd
from analyzers.readers.log_days import Days, Written, days_of
from analyzers.readers.log_rounds import Spark, in_turn, is_much
from analyzers.readers.notes import notes
from analyzers.readers.object_stores import is_remote
from analyzers.readers.opening import CHUNK, TROUBLES, at_most, open_file, packing_of, parts, trouble_text
from analyzers.readers.scan_cache.store import opened
from analyzers.readers.scan_cache.units import LEAST_BYTES, LEAST_IN_ALL_BYTES, was_seen
from analyzers.readers.sources import MOST_NOTES, Candidate, Discovery, discover, series_key
from analyzers.readers.splits import SPLIT_BYTES, UNPACKED, LogFile, Split, pack, splits_of
from analyzers.readers.state_texts import MOST_FILES, StateText, read_states
from analyzers.states.recognise import might_hold

_STDIN = "-"
_RECORDING = "jobs_overview.json"
"""Beside it lie the saved answers of a JobManager, which are read together (`cli/collectors/flink_recording.py`)."""
_LONG_LOG = 8 << 20
"""Bytes: a log of more of them is read as one only, by those who share it out."""
NOT_UNDERSTOOD = "holds no log and no shape that diag knows"


@dataclass(frozen=True)
class LogOptions:
    """How logs are to be read. `log_timezone`: zone of times without one; `since`/`until` (aware): nothing else is kept; `inside`: times,
    or ages counted back from the newest line, between which events are kept apart from all others; `stdin`: what `-` stands for (a
    stream is put aside piece by piece: it may be larger than memory).

    `names`: what files are called, by their paths, where that is not the path. `relative_to`: directory that file names are given relative
    to (a bundle's), so that a report does not depend on where it lies.
    """

    log_timezone: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    inside: tuple[datetime | timedelta | None, datetime | timedelta | None] = (None, None)
    scope: str = ""
    stdin: bytes | IO[bytes] | None = None
    relative_to: str | None = None
    cache: str | None = None  # the directory of the scan cache; None: without
    names: Mapping[str, str] = field(default_factory=dict)
    split_bytes: int = SPLIT_BYTES
    window: int = WINDOW
    apart: bool = True  # whether many clusters are read and judged each by itself
    own: tuple[Signature, ...] = ()  # of a user's own rules, which are looked for beside all others


@dataclass
class Plan:
    """What will be read: files with their origin, tasks, and what could not be read (rows of `sources`, without scope).

    `clusters`: of many that lie together the plan that each would have alone; `files` and `tasks` are then those of all of them.
    """

    options: LogOptions
    files: list[LogFile] = field(default_factory=list)
    tasks: list[list[Split]] = field(default_factory=list)
    sources: list[dict[str, str | None]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    passed_over: int = 0
    empty: int = 0
    bundles: list[str] = field(default_factory=list)
    temporary: list[str] = field(default_factory=list)
    stop: BaseException | None = None  # Ctrl-C or SIGTERM while standard input was read
    inside: Window | None = None  # what lies in it is kept apart from all else
    clusters: list[Plan] = field(default_factory=list)
    states: list[StateText] = field(default_factory=list)  # what other tools showed, read already
    lines: list[dict[str, object]] = field(default_factory=list)  # of notes that lie beside the logs: file, line and text

    def close(self) -> None:
        """Removes what was put aside (stdin)."""
        while self.temporary:
            with suppress(OSError):
                release(Path(self.temporary.pop()))


@dataclass
class _Sniffed:
    """A file or member with what its head told."""

    candidate: Candidate
    members: tuple[str, ...]
    found: Sniffed
    packed: bool
    mtime: float
    states: bool = False
    """Whether it may hold what other tools show."""


@dataclass
class _Looked:
    """What of a file could be looked at, and what prevented the rest."""

    heads: list[_Sniffed] = field(default_factory=list)
    trouble: str | None = None


def plan(paths: Sequence[str], options: LogOptions | None = None, spark: Spark | None = None) -> Plan:
    """Discovers, sniffs and shares out; very many files are sniffed by the workers of `spark`, too. Raises ``ValueError`` for a time zone
    that is none; everything else becomes a row of `sources`.
    """
    options = options or LogOptions()
    result = Plan(options)
    zone = zone_from_option(options.log_timezone) if options.log_timezone else None
    real = [_put_aside(options.stdin or b"", result) if path == _STDIN else path for path in paths]
    found = discover(real)
    if options.own or sum(candidate.size for candidate in found.candidates) < LEAST_IN_ALL_BYTES:  # what is kept knows nothing of `own`
        options = result.options = replace(options, cache=None)
    for name, why, whole in found.troubles:
        result.sources.append(
            {"name": _shown(name, options, result), "kind": "logs", "state": "failed" if whole else "partial", "why": why}
        )
    result.bundles = found.bundles
    result.notes += [f"{folder} holds tables that diag saved, which are no logs: --bundle judges them" for folder in found.bundles]
    left: list[_Sniffed] = []
    if spark is not None and (is_much(len(found.candidates), 0) or _is_much_unread(found.candidates, options)):
        spark.workers.start()
    sniffed = list(_look(found, result, left, spark))
    fragments = _fragments(found, result, left, alone=not sniffed)
    if fragments:
        sniffed = sorted([*sniffed, *fragments], key=lambda one: series_key(one.candidate.path))
        found.passed_over -= len({one.candidate.path for one in fragments})
    result.passed_over, result.empty = found.passed_over, found.empty
    bare = (None, f"{TIME_ONLY} 100 %")  # rows of a table that begin with a time are read as a log, too
    unlaid = [one for one in sniffed if one.found.layout in bare and one.found.wrapping is None and not one.members]
    result.lines = list(_notes(found, result, [*(one for one in left if one not in fragments), *unlaid]))
    clusters = crowd([(one.candidate.path, one.members, one.found.role) for one in sniffed]) if options.apart else []
    if not clusters:
        _share_out(result, sniffed, zone)
        return result
    for name, numbers in clusters:
        one = Plan(replace(options, scope="/".join(filter(None, (options.scope, name)))))
        _share_out(one, [sniffed[number] for number in numbers], zone, before=len(result.files))
        result.clusters.append(one)
        result.files += one.files
        result.tasks += one.tasks
    result.tasks.sort(key=lambda task: -sum(split.weight for split in task))
    result.notes.append(
        f"the logs of {len(clusters)} clusters that have no job in common: each is judged by itself, as the directory that it is in"
    )
    return result


def _is_much_unread(candidates: Sequence[Candidate], options: LogOptions) -> bool:
    """Whether workers are of use for what was not read before."""
    if not is_much(0, sum(one.size for one in candidates)) or options.cache is None or (store := opened(options.cache)) is None:
        return is_much(0, sum(one.size for one in candidates))
    new = (one.size for one in candidates if one.size < LEAST_BYTES or is_remote(one.path) or not was_seen(store, one.path))
    return is_much(0, sum(new))


def _share_out(result: Plan, sniffed: list[_Sniffed], zone: Zone | None, before: int = 0) -> None:
    """Files and tasks of one plan; `before`: how many files others of the same run have."""
    options = result.options
    zones = _zones(sniffed, zone, result)
    newest_year = max((s.found.newest_year for s in sniffed if s.found.newest_year), default=None)
    result.inside = _window(options, sniffed, zones)
    edges = edge_keep(len(sniffed))
    written = [_written(one, its_zone, result) for one, its_zone in zip(sniffed, zones, strict=True)]
    days, notes = days_of(written)
    result.notes += notes
    for order, (one, log, its_days) in enumerate(zip(sniffed, written, days, strict=True), before):
        result.files.append(_log_file(order, one, log, its_days, newest_year, edges, result))
    result.tasks = pack([split for file in result.files for split in splits_of(file, options.split_bytes)], options.split_bytes)


def _put_aside(data: bytes | IO[bytes], result: Plan) -> str:
    """Standard input as a file. Stopped while it is still open (`kubectl logs -f … | diag triage -`), what came until then is the log."""
    handle, place = held_file("stdin")
    path = str(place)
    result.temporary.append(path)
    came = 0
    try:
        with os.fdopen(handle, "wb") as out:
            stream = io.BytesIO(data) if isinstance(data, bytes) else data
            take = getattr(stream, "read1", stream.read)  # what is there, not a whole piece: of half a one nothing would be left
            while piece := take(CHUNK):
                came += out.write(piece)
    except BaseException as stop:
        if isinstance(stop, Exception) or not came:  # nobody else knows of the file yet
            result.close()
            raise
        result.stop = stop
        result.sources.append(
            {"name": _STDIN, "kind": "logs", "state": "partial", "why": "was not at its end when the run was interrupted"}
        )
    return path


def _shown(path: str, options: LogOptions, result: Plan) -> str:
    if path in result.temporary:
        return _STDIN
    if path in options.names:
        return options.names[path]
    if options.relative_to is not None:
        relative = os.path.relpath(path, options.relative_to)
        return relative if not relative.startswith("..") else path
    return path


def _window(options: LogOptions, sniffed: Sequence[_Sniffed], zones: Sequence[Zone]) -> Window | None:
    """The times of `options.inside`; ages count back from the newest line at the end of a file."""
    last = ((one.found.last, zone) for one, zone in zip(sniffed, zones, strict=True) if one.found.last is not None)
    newest = max((stamp.ms if stamp.stated else zone.utc(stamp.ms) for stamp, zone in last), default=None)
    since, until = (
        newest and newest - int(when.total_seconds() * 1000) if isinstance(when, timedelta) else to_ms(when) for when in options.inside
    )
    return None if since is None and until is None else (since, until)


# ---- looking at heads --------------------------------------------------------------------------------------------


def _look(found: Discovery, result: Plan, left: list[_Sniffed], spark: Spark | None) -> Iterator[_Sniffed]:
    """The logs among what was `found`; small texts that are none are `left`."""
    named = [(candidate, _shown(candidate.path, result.options, result)) for candidate in found.candidates]
    recorded = {os.path.dirname(one.path) for one in found.candidates if not one.named and os.path.basename(one.path) == _RECORDING}
    for (candidate, shown), looked in zip(named, in_turn(named, _look_at, spark), strict=True):
        any_log = any_text = False
        for one in looked.heads:
            if one.states and (candidate.named or os.path.dirname(candidate.path) not in recorded) and _holds_states(one, shown, result):
                any_log = True
                continue
            if not _is_log(one):
                any_text = any_text or not one.found.binary
                if not one.members and not one.found.binary and candidate.size <= MOST_BYTES:
                    left.append(one)
                continue
            any_log = True
            yield one
        if looked.trouble is not None and (candidate.named or any_log or re.search(r"\.(?:log|out|err)\b", candidate.path)):
            state = "partial" if any_log else "failed"
            result.sources.append({"name": shown, "kind": "logs", "state": state, "why": looked.trouble})
            continue
        if any_log:
            continue
        if candidate.named:
            held = "code, settings, a table or a page" if any_text else "binary data"
            why = "is empty" if candidate.size == 0 else f"holds no log: {held}" if held == "binary data" else f"{NOT_UNDERSTOOD}: {held}"
            result.sources.append({"name": shown, "kind": "logs", "state": "failed", "why": why})
        found.passed_over += 1
        found.empty += candidate.size == 0


def _holds_states(one: _Sniffed, shown: str, result: Plan) -> bool:
    """Whether a text is read now for what other tools showed, and is no log beside it."""
    long_log = _is_log(one) and one.found.layout is not None and one.candidate.size > _LONG_LOG
    if len(result.states) >= MOST_FILES or long_log:
        return False
    name = "!".join((shown, *one.members))
    read = read_states(one.candidate.path, one.members, name, one.found.encoding)
    if read is None:
        return False
    rest = sniff(name, read.rest[:HEAD], whole=len(read.rest) <= HEAD)
    read.rest = b""
    result.states.append(read)
    if any(state.also_log for state in read.states):
        return False
    return not (rest.looks_like_log and rest.dense and not rest.foreign and rest.layout is not None)


def _look_at(named: tuple[Candidate, str]) -> _Looked:
    """What one file, shown by that name, holds. Runs on executors."""
    looked = _Looked()
    try:
        looked.heads.extend(_heads(*named))
    except TROUBLES as error:
        looked.trouble = trouble_text(error)
    return looked


def _fragments(found: Discovery, result: Plan, left: Sequence[_Sniffed], *, alone: bool) -> list[_Sniffed]:
    """Texts that hold messages of the products although they look like no log: pastes, tickets, JSON answers. Beside logs, which are better
    evidence, Markdown describes them, and JSON is what else was collected, unless it is the state of a connector."""
    texts = [one for one in left if not one.candidate.named]
    if alone:
        for note in found.notes if len(found.notes) + len(texts) <= MOST_NOTES else ():
            with suppress(*TROUBLES):
                texts += [one for one in _heads(note, _shown(note.path, result.options, result)) if note.size <= MOST_BYTES]
    if len(texts) > MOST_NOTES:
        return []
    fragments = []
    for one in texts:
        known = one.found.wrapping is not None and "connect-status" in one.found.wrapping.shown
        if not alone and not known and re.search(r"\.jsonl?$", one.candidate.path):
            continue
        with suppress(*TROUBLES), open_file(one.candidate.path) as stream:
            if holds_messages(one.candidate.path, stream.read(MOST_BYTES + 1), one.found):
                fragments.append(one)
    return fragments


def _notes(found: Discovery, result: Plan, left: Sequence[_Sniffed]) -> Iterator[dict[str, object]]:
    """The lines of what lies beside the logs and is none."""
    candidates = [*(one.candidate for one in left), *found.notes, *found.asides]
    files = [(one.path, _shown(one.path, result.options, result)) for one in candidates if one.size <= MOST_BYTES]
    return notes(files, [(state.name, state.lines) for state in result.states])


_LOG_NAME = re.compile(
    r"(?:\.log|\.out|\.err|\.stdout|\.stderr|(?:^|[/!])(?:stdout|stderr|syslog|messages|console)|-json\.log)(?:[.\-_\d]|\.gz|\.zst|\.bz2|\.xz|$)",
    re.IGNORECASE,
)


def _is_log(one: _Sniffed) -> bool:
    """Whether to read it: text that the user named or that has a log's name, anything else if it is full of headers or has a trace."""
    if one.found.binary:
        return False
    if one.candidate.named and not one.members:
        return not one.found.foreign
    name = one.members[-1] if one.members else one.candidate.path
    return bool(_LOG_NAME.search(name)) or (one.found.looks_like_log and one.found.dense and not one.found.foreign)


def _heads(candidate: Candidate, shown: str) -> Iterator[_Sniffed]:
    with open_file(candidate.path) as stream:
        head = stream.read(PLAIN_HEAD)
        if head and packing_of(head) is None:
            if len(head) < min(PLAIN_HEAD, candidate.size):
                head += at_most(stream, PLAIN_HEAD - len(head))
            yield _plain_file(candidate, shown, head, stream)
            return
        packed_file = bool(head)
        stream.seek(0)
        for members, text, mtime in parts(stream):
            head, enough = _enough(at_most(text, PLAIN_HEAD), text)
            if not head:
                continue
            packed = bool(members) or packed_file
            name = "!".join((shown, *members))
            found = sniff(name, head, whole=not enough and len(head) < HEAD, plain=enough)
            yield _Sniffed(candidate, members, found, packed, mtime or candidate.mtime, might_hold(head))


def _plain_file(candidate: Candidate, shown: str, head: bytes, stream: IO[bytes]) -> _Sniffed:
    """A file that is not packed, of which the first bytes were read."""
    head, enough = _enough(head, stream)
    tail = b""
    if candidate.size > len(head):
        some = PLAIN_HEAD if enough else TAIL
        stream.seek(max(candidate.size - some, len(head)))
        tail = stream.read(some)
    found = sniff(shown, head, tail, whole=not enough and len(head) < HEAD, plain=enough)
    return _Sniffed(candidate, (), found, False, candidate.mtime, might_hold(head) or might_hold(tail))


def _enough(head: bytes, stream: IO[bytes]) -> tuple[bytes, bool]:
    """`head`, of a log that is plainly one up to its last whole line; otherwise as much as can be of use, or there is."""
    if len(head) < PLAIN_HEAD:
        return head, False
    lines = head[: head.rfind(b"\n") + 1]
    if lines and is_plain(lines):
        return lines, True
    return head + at_most(stream, HEAD - PLAIN_HEAD), False


def _log_file(
    order: int, one: _Sniffed, log: Written, days: Days, newest_year: int | None, edges: tuple[int, int], result: Plan
) -> LogFile:
    found = one.found
    year = found.newest_year or newest_year or datetime.fromtimestamp(one.mtime).year
    newest = int(one.mtime * 1000) + DAY if found.newest_year is None and newest_year is None else None
    origin = Origin(
        log.name, order, found.role, found.host, log.zone, year, newest, days.first, days.last,
        to_ms(result.options.since), to_ms(result.options.until), result.inside, edges,
    )  # fmt: skip
    path = one.candidate.path
    large = one.candidate.size * (UNPACKED if one.packed else 1) >= LEAST_BYTES
    local = path not in result.temporary and not is_remote(path)
    store = opened(result.options.cache) if result.options.cache is not None and large and local else None
    return LogFile(
        one.candidate.path, one.members, origin, one.candidate.size, one.packed, found.splittable and not one.packed,
        found.wrapping, found.encoding, found.layout, found.bare_returns, store,
    )  # fmt: skip


def _written(one: _Sniffed, zone: Zone, result: Plan) -> Written:
    """What is known of the days on which a log was written."""
    found = one.found
    to_end = found.whole or not (one.packed or found.wrapping is not None)
    last = None if found.last is None or not to_end else found.last.ms if found.last.stated else zone.utc(found.last.ms)
    clock = found.last_clock_ms if to_end else None
    midnights = found.midnights if found.whole else None
    name = "!".join((_shown(one.candidate.path, result.options, result), *one.members))
    return Written(name, zone, found.dateless and not found.timed, found.dated_line, last, clock, int(one.mtime * 1000), midnights)


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
        zones.append(UTC_ASSUMED if offset is None else Zone("inferred", offset))
    for offset, files in sorted(borrowed.items()):
        result.notes.append(
            f"{_zoneless(files)}; taken as {_offset_text(offset)}, which a neighbouring log proves (--log-timezone overrides)"
        )
    unknown = sum(1 for one, zone in zip(sniffed, zones, strict=True) if zone.kind == "assumed-utc" and one.found.zoneless)
    if unknown:
        result.notes.append(f"{_zoneless(unknown)}; taken as UTC (--log-timezone overrides)")
    return zones


def _zoneless(files: int) -> str:
    return "1 log file names no time zone" if files == 1 else f"{files} log files name no time zone"


def _offset_text(ms: int) -> str:
    minutes = abs(ms) // 60_000
    return "UTC" if not ms else f"UTC{'+' if ms > 0 else '-'}{minutes // 60:02d}:{minutes % 60:02d}"
