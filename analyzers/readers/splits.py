"""What is read by which task: byte ranges of large plain files, whole files otherwise, small ones packed together, largest first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO

import numpy as np

from analyzers.logs.scan.lines import dated_lines
from analyzers.logs.scan.origin import Origin
from analyzers.logs.wrappings.wrappings import Wrapping
from analyzers.readers.scan_cache.store import Store

SPLIT_BYTES = 64 << 20
_STEP = 256 << 10
UNPACKED = 6  # how much larger a compressed log is; a guess, only to share out work


@dataclass(frozen=True)
class LogFile:
    """One log: a file, or a member of an archive (`members` = names on the way to it)."""

    path: str
    members: tuple[str, ...]
    origin: Origin
    size: int
    packed: bool = False
    splittable: bool = False
    wrapping: Wrapping | None = None
    encoding: str | None = None
    layout: str | None = None
    bare_returns: bool = False  # lines end in a carriage return alone
    cache: Store | None = None  # where what is found in it is kept


@dataclass(frozen=True)
class Split:
    """Bytes `start` to `end` of one file; `part` numbers the splits of a file. `whole`: read from its start to its end, unpacked."""

    file: LogFile
    part: int = 0
    start: int = 0
    end: int = 0
    whole: bool = True

    @property
    def weight(self) -> int:
        return (self.file.size * UNPACKED if self.file.packed else self.file.size) if self.whole else self.end - self.start


def splits_of(file: LogFile, split_bytes: int = SPLIT_BYTES) -> list[Split]:
    """The splits of one file."""
    if not file.splittable or file.size <= split_bytes:
        return [Split(file, 0, 0, file.size, not file.splittable)]
    return [Split(file, n, at, min(at + split_bytes, file.size), False) for n, at in enumerate(range(0, file.size, split_bytes))]


def pack(splits: Sequence[Split], split_bytes: int = SPLIT_BYTES) -> list[list[Split]]:
    """Tasks, heaviest first: members of one archive stay together (it is unpacked once), small files share a task."""
    archives: dict[str, list[Split]] = {}
    single: list[Split] = []
    for split in splits:
        if split.file.members:
            archives.setdefault(split.file.path, []).append(split)
        else:
            single.append(split)
    tasks = list(archives.values())
    small: list[Split] = []
    weight = 0
    for split in single:
        if split.weight >= split_bytes // 4:
            tasks.append([split])
            continue
        if small and (weight + split.weight > split_bytes // 4 or len(small) >= 1000):
            tasks.append(small)
            small, weight = [], 0
        small.append(split)
        weight += split.weight + 4096
    if small:
        tasks.append(small)
    return sorted(tasks, key=lambda task: -sum(split.weight for split in task))


def border(stream: IO[bytes], offset: int, size: int) -> int:
    """The first line at or after `offset` that begins with a full date and time (or `size`): where a split begins to own events."""
    if offset <= 0:
        return 0
    at = offset - 1  # a line that begins exactly at the offset belongs here, so its line break is looked at
    carry = b""
    while at < size:
        stream.seek(at)
        piece = stream.read(min(_STEP, size - at))
        if not piece:
            return size
        block = carry + piece
        base = at - len(carry)
        at += len(piece)
        breaks = np.flatnonzero(np.frombuffer(block, np.uint8) == 10) + 1
        # a line whose time stamp is not whole yet waits for the next piece
        breaks = breaks[breaks <= len(block) - 24] if at < size else breaks[breaks < len(block)]
        dated = np.flatnonzero(dated_lines(block, breaks))
        if len(dated):
            return base + int(breaks[dated[0]])
        carry = block[-24:]
    return size
