"""Units of logs: what each is called in the store, and what is kept of it."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import IO

from analyzers.logs.scan.selection import FilePart, Sated
from analyzers.readers.opening import TROUBLES, open_file
from analyzers.readers.scan_cache.codec import Entry, encoded, entry_of
from analyzers.readers.scan_cache.store import Store
from analyzers.readers.splits import Split, border

Unit = Sequence[Split]
"""A range of one file, or what is wanted of one that is read from its beginning: itself, or its members."""

PIECE_BYTES = 8 << 20
LEAST_BYTES = 1 << 20
"""Of a file: a smaller one is read as quickly as its entry."""
LEAST_IN_ALL_BYTES = 16 << 20
"""Of all files: fewer are read while Spark starts."""
_HEAD = 4 << 10
_CHUNK = 1 << 20
_SETTLED_SECONDS = 2.0
"""So long ago a file was changed before its times are believed: two changes may be within one tick of its clock."""


@dataclass(frozen=True)
class Address:
    """Digests of a unit's first bytes and of all of them."""

    head: str
    content: str


class Digesting:
    """A stream whose bytes are digested from `start` on, each once, in order, however often they are read."""

    def __init__(self, stream: IO[bytes], start: int) -> None:
        self._stream, self._at, self._digested = stream, start, start
        self._head, self._sha = b"", hashlib.sha256()

    def seek(self, at: int) -> int:
        self._at = self._stream.seek(at)
        return self._at

    def read(self, size: int = -1) -> bytes:
        piece = self._stream.read(size)
        new = self._digested - self._at
        self._at += len(piece)
        if 0 <= new < len(piece):
            more = memoryview(piece)[new:]
            self._head += more[: _HEAD - len(self._head)]
            self._sha.update(more)
            self._digested = self._at
        return piece

    def address(self, end: int) -> Address | None:
        """Of the bytes up to `end`; None if others were digested."""
        return Address(hashlib.sha256(self._head).hexdigest(), self._sha.hexdigest()) if self._digested == end else None


def borders(stream: IO[bytes], split: Split) -> tuple[int, int]:
    """Where the events of a range begin and end."""
    size = split.file.size
    return border(stream, split.start, size), size if split.end >= size else border(stream, split.end, size)


def pieces(split: Split) -> list[Split]:
    """The pieces of a range, numbered."""
    starts = range(split.start, split.end, PIECE_BYTES)
    return [replace(split, part=number, start=at, end=min(at + PIECE_BYTES, split.end)) for number, at in enumerate(starts)]


def composite(addresses: Sequence[Address | None]) -> Address | None:
    """That of a range of which every piece has one."""
    known = [address for address in addresses if address is not None]
    if len(known) < len(addresses) or not known:
        return None
    return Address(known[0].head, hashlib.sha256(" ".join(address.content for address in known).encode()).hexdigest())


@dataclass(frozen=True)
class Hit:
    """An entry of a unit, and the address by which it was found."""

    entry: Entry
    address: Address


def is_kept(split: Split) -> bool:
    """Whether the unit of a split may be in a store."""
    return split.file.cache is not None


def units_of(task: Sequence[Split]) -> Iterator[Unit]:
    """Ranges and files one by one, members with the others of their archive."""
    archives: dict[str, list[Split]] = {}
    for split in task:
        if split.file.members:
            archives.setdefault(split.file.path, []).append(split)
        else:
            yield (split,)
    yield from archives.values()


def find(unit: Unit, *, seen: bool = True) -> Hit | None:
    """What is in the store of a unit; `seen`: the times of its file may be believed."""
    store = _store(unit)
    names = store.names()
    if not names:
        return None
    try:
        before = os.stat(unit[0].file.path)
        if not stat.S_ISREG(before.st_mode) or before.st_size < unit[0].end:
            return None
        known = _seen(store, unit, before) if seen else None
        address = known or _address_of(unit, store, names)
        if address is None:
            return None
        name = _name(unit, store, address)
        content = store.get(name) if name in names else None
        if content is None:
            return None
        try:
            found = Hit(entry_of(content), address)
        except (ValueError, TypeError, KeyError, RecursionError, ArithmeticError):
            store.drop(name)
            return None
    except TROUBLES:
        return None  # is found again, and said, when the file is read
    if seen and known is None:
        note_seen(unit, address, before)
    return found


def parts_of(found: Hit, unit: Unit) -> list[FilePart] | None:
    """The parts of what was found; None, and no entry any more, where it is none."""
    try:
        return found.entry.parts(unit)
    except (ValueError, TypeError, KeyError, IndexError, RecursionError):
        store = _store(unit)
        store.drop(_name(unit, store, found.address))
        return None


def keep(unit: Unit, address: Address | None, parts: Sequence[FilePart], sated: Sated) -> None:
    """Puts what was read of a unit into the store, unless something was wrong with it."""
    if address is None or any(part.trouble is not None for part in parts):
        return
    content = encoded(unit, parts, sated)
    if content is not None:
        store = _store(unit)
        store.put(_name(unit, store, address), content)


def status_of(unit: Unit) -> os.stat_result | None:
    """Of its file as it is now; None where there is none."""
    with suppress(OSError):
        return os.stat(unit[0].file.path)
    return None


def is_unchanged(unit: Unit, before: os.stat_result | None) -> bool:
    """Whether the file still has the times that it had before."""
    now = status_of(unit)
    return now is not None and before is not None and _times(now) == _times(before)


def digest_of(unit: Unit) -> Address | None:
    """The address of a whole file as it is now."""
    with suppress(*TROUBLES), open_file(unit[0].file.path) as stream:
        return _digested(stream, 0, None)
    return None


def covers(known: Sated, left_out: Sated) -> bool:
    """Whether what parts left out need not be kept by what is known now."""
    for group, (first, last) in left_out.items():
        times = known.get(group)
        if times is None or times[0] > first or times[1] < last:
            return False
    return True


# ---- names -------------------------------------------------------------------------------------------------------


def _store(unit: Unit) -> Store:
    store = unit[0].file.cache
    assert store is not None, "asked for units that are kept only"
    return store


def _name(unit: Unit, store: Store, address: Address) -> str:
    return f"{_beginning(unit, store, address.head)}-{address.content}"


def _beginning(unit: Unit, store: Store, head: str) -> str:
    """The same for all units that begin alike and are read alike."""
    known = [
        (split.whole, file.members, file.wrapping, file.encoding, file.bare_returns, replace(file.origin, file="", order=0))
        for split in unit
        for file in (split.file,)
    ]
    return hashlib.sha256(repr((store.version, head, known)).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _address_of(unit: Unit, store: Store, names: frozenset[str]) -> Address | None:
    """By the bytes, which are not all read where no entry begins as they do."""
    split = unit[0]
    with open_file(split.file.path) as stream:
        start, end = (0, None) if split.whole else borders(stream, split)
        stream.seek(start)
        head = stream.read(_HEAD if end is None else min(_HEAD, end - start))
        beginning = _beginning(unit, store, hashlib.sha256(head).hexdigest()) + "-"
        if not any(name.startswith(beginning) for name in names):
            return None
        return _digested(stream, start, end)


def _digested(stream: IO[bytes], start: int, end: int | None) -> Address | None:
    """Of the bytes from `start` to `end`, or to the end of the file."""
    reading = Digesting(stream, start)
    reading.seek(start)
    at = start
    while end is None or at < end:
        piece = reading.read(_CHUNK if end is None else min(_CHUNK, end - at))
        if not piece:
            break
        at += len(piece)
    return reading.address(at if end is None else end)


# ---- files that did not change -----------------------------------------------------------------------------------


def note_seen(unit: Unit, address: Address | None, before: os.stat_result | None) -> None:
    """Remembers that the file had these bytes while it had the times of `before`; not where they may not show the next change."""
    if address is None or before is None or time.time() - max(before.st_mtime, before.st_ctime) < _SETTLED_SECONDS:
        return
    if is_unchanged(unit, before):
        _store(unit).put(_seen_name(unit, before), json.dumps([*_times(before), unit[0].end, address.head, address.content]).encode())


def _seen(store: Store, unit: Unit, now: os.stat_result) -> Address | None:
    name = _seen_name(unit, now)
    content = store.get(name)
    if content is None:
        return None
    try:
        *times, head, whole = json.loads(content)
    except (ValueError, TypeError):
        store.drop(name)
        return None
    return Address(head, whole) if times == [*_times(now), unit[0].end] else None


def _seen_name(unit: Unit, status: os.stat_result) -> str:
    return _seen_at(status, unit[0].start, whole=unit[0].whole)


def _seen_at(status: os.stat_result, start: int, *, whole: bool) -> str:
    return f"seen-{hashlib.sha256(repr((status.st_dev, status.st_ino, start, whole)).encode()).hexdigest()[:32]}"


def _times(status: os.stat_result) -> list[int]:
    return [status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns]


def was_seen(store: Store, path: str) -> bool:
    """Whether a file was read before, as it is now or when it was shorter."""
    with suppress(OSError):
        status = os.stat(path)
        return any(_seen_at(status, 0, whole=whole) in store.names() for whole in (False, True))
    return False
