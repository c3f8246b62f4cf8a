"""`scan` reads what `plan` shared out, in this process or on Spark, and gives the tables of log evidence."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import IO

from analyzers.budget import BUDGET
from analyzers.logs.scan.bound import Bound, Limits
from analyzers.logs.scan.captures import Catalogue, catalogue
from analyzers.logs.scan.kernel import WINDOW, Scanner
from analyzers.logs.scan.selection import FilePart, Sated, merge_parts
from analyzers.logs.signatures.signature import Signature
from analyzers.logs.wrappings import documents
from analyzers.logs.wrappings.unwrapping import Unwrapper, needs_whole
from analyzers.logs.wrappings.unwrapping import pour as unwrap_whole
from analyzers.readers.log_plan import LogOptions, Plan, plan
from analyzers.readers.log_rounds import Read, Spark, in_order, rounds
from analyzers.readers.log_tables import LONG_LOGS, Tables, tables
from analyzers.readers.opening import TROUBLES, decoded, line_feeds, line_runs, open_file, parts, trouble_text
from analyzers.readers.scan_cache.hits import apart_from_kept, covered_parts, take_covered
from analyzers.readers.scan_cache.store import prune
from analyzers.readers.scan_cache.units import (
    Address,
    Digesting,
    Unit,
    borders,
    composite,
    covers,
    digest_of,
    find,
    is_kept,
    is_unchanged,
    keep,
    note_seen,
    parts_of,
    pieces,
    status_of,
    units_of,
)
from analyzers.readers.splits import Split
from analyzers.tables import Row
from analyzers.tables.by_column import ByColumn
from analyzers.tables.memory import gc_paused

__all__ = ["LogOptions", "Plan", "Tables", "Unread", "plan", "read_splits", "scan", "tables"]

MOST_NOTES = 3  # of one kind, about different clusters


def read_splits(
    splits: Sequence[Split],
    window: int = WINDOW,
    signatures: tuple[Signature, ...] | None = None,
    sated: Sated | None = None,
    own: tuple[Signature, ...] = (),
) -> Iterator[FilePart]:
    """The parts of one task, without what groups that are `sated` need not keep. Runs on executors. A file that cannot be read gives a part
    that says so. `own`: signatures of a user's own, beside all others."""
    with gc_paused():
        known = catalogue(signatures, own=own).sparing(sated or {})
        kept = [split for split in splits if is_kept(split)] if signatures is None else []
        yield from _read_splits([split for split in splits if not is_kept(split)] if kept else splits, window, known)
        for unit in units_of(kept):
            yield from _through_cache(unit, window, known)


def _read_apart(
    splits: Sequence[Split],
    window: int,
    signatures: tuple[Signature, ...] | None,
    sated: Mapping[int, Sated],
    own: tuple[Signature, ...],
) -> Iterator[FilePart]:
    """`read_splits` of one cluster's task; `sated` by the order of the file."""
    yield from read_splits(splits, window, signatures, sated.get(splits[0].file.origin.order), own)


def _through_cache(unit: Unit, window: int, known: Catalogue) -> list[FilePart]:
    """The parts of a unit: kept ones where they leave out no more than they may, else read, and kept."""
    if (kept := covered_parts(unit, known.sated)) is not None:
        return kept
    split, before = unit[0], status_of(unit)
    if split.whole:
        parts = list(_read_splits(unit, window, known))
        address = digest_of(unit) if is_unchanged(unit, before) else None
        address = address if is_unchanged(unit, before) else None
    else:
        of_pieces = pieces(split)
        in_pieces = split.end >= split.file.size or find(of_pieces[:1], seen=False) is not None
        part, address = _by_pieces(split, of_pieces, window, known) if in_pieces else _read_range(split, known, window, digest=True)
        parts = [part]
    keep(unit, address, parts, known.sated)
    note_seen(unit, address, before)
    return parts


def _by_pieces(split: Split, of_pieces: Sequence[Split], window: int, known: Catalogue) -> tuple[FilePart, Address | None]:
    """The part of a range put together of those of its pieces, the most of which may be kept."""
    parts: list[FilePart] = []
    addresses: list[Address | None] = []
    for piece in of_pieces:
        found = find((piece,), seen=False)
        own = None if found is None or not covers(known.sated, found.entry.sated) else parts_of(found, (piece,))
        if found is not None and own is not None:
            parts += own
            addresses.append(found.address)
            continue
        part, address = _read_range(piece, known, window, digest=True)
        keep((piece,), address, [part], known.sated)
        parts.append(part)
        addresses.append(address)
    if any(part.trouble for part in parts) or sum(part.lines for part in parts) >= BUDGET.short_lines // 8:
        return _read_range(split, known, window)  # what ends the reading of a range is counted over all of it
    whole = merge_parts(parts)
    whole.part = split.part
    return whole, composite(addresses)


def _read_splits(splits: Sequence[Split], window: int, known: Catalogue) -> Iterator[FilePart]:
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
                yield from reading.finish(trouble_text(error))
        else:
            yield _read_range(split, known, window)[0]
    for path, wanted in archives.items():
        yield from _read_archive(path, wanted, known, window)


def _read_range(split: Split, known: Catalogue, window: int, *, digest: bool = False) -> tuple[FilePart, Address | None]:
    """What a range holds, and the address of its bytes where they are to be digested."""
    scanner = Scanner(split.file.origin, known, split.part)
    left, trouble, address = 0, None, None
    try:
        with open_file(split.file.path) as opened:
            start, end = borders(opened, split)
            stream = Digesting(opened, start) if digest else opened
            left = end - _by_windows(scanner, stream, start, end, window)
            stream.seek(end - left)
            while left > 0:
                chunk = stream.read(min(window, left))
                if not chunk:
                    break
                left -= len(chunk)
                scanner.feed(chunk, last=left <= 0)
            address = stream.address(end) if isinstance(stream, Digesting) else None
    except TROUBLES as error:
        trouble = trouble_text(error)
    part = scanner.finish()
    part.trouble = trouble or (f"became shorter while it was read ({left} bytes are gone)" if left > 0 else None)
    return part, address


def _by_windows(scanner: Scanner, stream: IO[bytes] | Digesting, start: int, end: int, window: int) -> int:
    """How far it was possible to read without putting pieces together: each window begins with an event, the last one is read again."""
    while start < end:
        stream.seek(start)
        chunk = stream.read(min(window, end - start))
        used = scanner.window(chunk, last=start + len(chunk) >= end) if chunk else 0
        start += used
        if not used:
            break
    return start


def _pour(scanner: Scanner, pieces: Iterator[bytes], window: int) -> None:
    """Reads `pieces`, whole windows of them for as long as that is possible. Raises what they raise; what stood before that is read."""
    held: list[bytes] = []
    size, used, trouble = 0, -1, None
    while used and trouble is None:
        try:
            while size < window:  # members of an archive may be small
                held.append(next(pieces))
                size += len(held[-1])
        except StopIteration:
            break
        except TROUBLES as error:
            trouble = error
        text = b"".join(held)
        used = scanner.window(text)
        held, size = [text[used:]], len(text) - used
    text = b"".join(held)
    if trouble is None and used and scanner.window(text, last=True):
        return
    scanner.feed(text)
    if trouble is not None:
        raise trouble
    for piece in pieces:
        scanner.feed(piece)


class _Reading:
    """One whole file or member on its way through a scanner, or through the unwrapping and the scanners of its streams."""

    def __init__(self, split: Split, known: Catalogue, window: int) -> None:
        self._file, self._window = split.file, window
        self._scanner = Scanner(split.file.origin, known, split.part)
        self._unwrapper = Unwrapper(split.file.origin, split.file.wrapping, known) if split.file.wrapping is not None else None

    def pour(self, text: IO[bytes]) -> None:
        """Reads all of `text`. Raises one of TROUBLES; `finish` then still gives what was read before."""
        pieces = decoded(text, self._file.encoding, self._window)
        if self._file.bare_returns:
            pieces = line_feeds(pieces)
        if self._unwrapper is None or self._file.wrapping is None:
            _pour(self._scanner, pieces, self._window)
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
            if self._unwrapper.cut:
                raise ValueError(f"is an export of more than {documents.MOST_RECORDS:,} records, of which only the first were read")
        else:
            self._unwrapper.runs(line_runs(pieces))

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
            yield from reading.finish(trouble_text(error))
        for split in left.values():
            yield replace(FilePart(split.file.origin.file, split.file.origin.order, 0), trouble=trouble_text(error))


class Unread(Exception):
    """Stands as the cause of what stopped a scan: the tables of what was read until then."""

    def __init__(self, tables: Tables) -> None:
        super().__init__("the scan was stopped before its end")
        self.tables = tables


def scan(
    plan: Plan,
    spark: Spark | None = None,
    signatures: Sequence[Signature] | None = None,
    watch: Callable[[int], None] = lambda read: None,
) -> Tables:
    """Reads everything of `plan` and gives `log_events`, `log_counts`, `log_files`, `sources`; the same rows with and without Spark.

    `watch` hears now and then how many stored bytes have been read. Stopped by what is no error (Ctrl-C, SIGTERM), it raises that from an
    `Unread`.
    """
    with gc_paused():
        return _scan(plan, spark, signatures, watch)


def _scan(plan: Plan, spark: Spark | None, signatures: Sequence[Signature] | None, watch: Callable[[int], None]) -> Tables:
    found = [(each, Found()) for each in plan.clusters or [plan]]
    of = {file.origin.order: number for number, (each, _) in enumerate(found) for file in each.files}
    read = 0
    known = None if signatures is None else tuple(signatures)
    sated: dict[int, Sated] = {}

    def reading() -> Read:
        return partial(_read_apart, window=plan.options.window, signatures=known, sated=dict(sated), own=plan.options.own)

    def take(splits: Iterable[Split], parts_read: Iterable[FilePart]) -> None:
        nonlocal read
        by_cluster: dict[int, list[FilePart]] = defaultdict(list)
        for part in parts_read:
            by_cluster[of[part.order]].append(part)
        for number, some in by_cluster.items():
            each, one = found[number]
            one.add(some)
            if one.sated:
                sated.update((file.origin.order, one.sated) for file in each.files)
        read += sum(split.end - split.start for split in splits)
        watch(read)

    try:
        unread, waiting = apart_from_kept(in_order(plan.tasks)) if known is None else (plan.tasks, [])
        waiting = take_covered(waiting, sated, take)
        for tasks, parts_read in rounds(unread, reading, spark):
            take(chain.from_iterable(tasks), parts_read)
        left_out_more = take_covered(waiting, sated, take)
        for tasks, parts_read in rounds([list(unit) for unit, _ in left_out_more], reading, spark) if left_out_more else ():
            take(chain.from_iterable(tasks), parts_read)
        if (store := next((file.cache for file in plan.files if file.cache is not None), None)) is not None:
            prune(store.directory)
    except BaseException as stop:
        if isinstance(stop, Exception) or not any(one.done for _, one in found):
            raise
        raise stop from Unread(_all(plan, [tables(each, [*one.parts(), *_not_read(each, one.done)], one.limits) for each, one in found]))
    return _all(plan, [tables(each, one.take(), one.limits) for each, one in found])


def _all(plan: Plan, made: Sequence[Tables]) -> Tables:
    """The tables of a plan, of its clusters one after the other."""
    if not plan.clusters:
        return made[0]
    own = of_no_cluster(plan)
    plan.notes += notes_of_many([note for each in plan.clusters for note in each.notes])
    names = dict.fromkeys(name for each in (own, *made) for name in each)
    return {name: _one_after_the_other([each[name] for each in (*made, own) if name in each]) for name in names}


def of_no_cluster(plan: Plan) -> Tables:
    """The tables of what could not be read below many clusters, and of states there: they belong to none of them."""
    return tables(Plan(plan.options, sources=plan.sources, states=plan.states), [])


def notes_of_many(notes: Sequence[str]) -> list[str]:
    """The notes of many plans: the first that rows were dropped, of others how many there are."""
    cut = [note for note in notes if note.startswith(LONG_LOGS)]
    others = Counter(note for note in notes if not note.startswith(LONG_LOGS))
    return [*cut[:MOST_NOTES], *(f"in {count} of these: {note}" for note, count in others.most_common(MOST_NOTES))]


def _one_after_the_other(tables: Sequence[Sequence[Row]]) -> Sequence[Row]:
    by_column = [rows for rows in tables if isinstance(rows, ByColumn)]
    return ByColumn.joined(by_column) if len(by_column) == len(tables) else [row for rows in tables for row in rows]


class Found:
    """What was found so far. The parts of a file are put together as soon as they follow each other: they do not pile up with its size."""

    def __init__(self) -> None:
        self.done: set[tuple[int, int]] = set()  # order of the file, number of the part
        self._whole: dict[tuple[int, str], tuple[FilePart, int]] = {}  # and the number of the part that comes next
        self._waiting: dict[tuple[int, str], dict[int, FilePart]] = defaultdict(dict)
        self._bound = Bound()

    @property
    def sated(self) -> Sated:
        """What later parts need not keep."""
        return self._bound.sated

    @property
    def limits(self) -> Limits:
        """Sampling limits applied so far."""
        return self._bound.limits

    def add(self, parts: Sequence[FilePart]) -> None:
        self._bound.count(parts)
        for part in parts:
            self._waiting[part.order, part.file][part.part] = part
            self.done.add((part.order, part.part))
        with gc_paused():
            for key, waiting in self._waiting.items():
                whole, following = self._whole.get(key, (None, 0))
                run = [] if whole is None else [whole]
                while following in waiting:
                    run.append(waiting[following])
                    following += 1
                if len(run) > 1:
                    self._whole[key] = (merge_parts(run), following)
                    for number in [number for number in waiting if number < following]:
                        del waiting[number]
            self._bound.hold(self.parts)

    def parts(self) -> list[FilePart]:
        """All of them; those that were put together as one."""
        left = [
            part
            for key, waiting in self._waiting.items()
            for number, part in waiting.items()
            if key not in self._whole or number >= self._whole[key][1]
        ]
        return [*(whole for whole, _ in self._whole.values()), *left]

    def take(self) -> list[FilePart]:
        """The same, once: whoever takes them can let each go when it has been used."""
        parts = self.parts()
        self._whole.clear()
        self._waiting.clear()
        return parts


def _not_read(plan: Plan, done: set[tuple[int, int]]) -> Iterator[FilePart]:
    """Parts that say that they are missing, in place of those that were not read."""
    for split in (split for task in plan.tasks for split in task):
        origin = split.file.origin
        if (origin.order, split.part) not in done:
            missing = FilePart(origin.file, origin.order, split.part, origin.role, origin.host)
            yield replace(missing, trouble="was not read to its end: the run was interrupted")
