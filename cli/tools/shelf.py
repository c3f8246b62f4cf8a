"""Reports of earlier calls under their handles, and pages of them that fit into an answer."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from cli.renderers.json_rows import inert
from cli.shell.exits import UsageError

MOST_KEPT_BYTES = 64 << 20
"""Of all reports together; the newest is kept in any case."""
_MOST_KEPT = 32
_COSTS_TWO = (b'"', b"\\", b"\n")
"""Bytes that a JSON string writes with two. What else is escaped a report has not: it is JSON itself."""


@dataclass
class Held:
    """One report as ``-o json`` prints it."""

    handle: str
    text: bytes
    _asked: tuple[str, int, bytes, list[int]] | None = field(default=None, init=False, repr=False)
    """The part whose pages were asked for last, with their size, and where they begin."""

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the bytes, hexadecimal."""
        return hashlib.sha256(self.text).hexdigest()

    def part(self, select: str) -> bytes:
        """The bytes of what `select` names: all, a JSON pointer (RFC 6901), or the id of a verdict or finding. Raises `UsageError`."""
        if not select:
            return self.text
        found = _selected(json.loads(self.text), select)
        return inert(json.dumps(found, indent=2, ensure_ascii=False) + "\n").encode()

    def page(self, select: str, number: int, most: int) -> tuple[str, int]:
        """Page `number` of a part, from 1, and how many there are; `most`: bytes of one within a JSON string. Raises `UsageError`."""
        asked = self._asked  # another thread may ask for another part
        if asked is None or asked[:2] != (select, most):
            part = self.part(select)
            self._asked = asked = (select, most, part, page_starts(part, most))
        _, _, part, starts = asked
        if number > len(starts):
            raise UsageError(f"there is no page {number:,}: {len(starts):,} are all", "Ask for one of them.")
        ends = [*starts[1:], len(part)]
        return part[starts[number - 1] : ends[number - 1]].decode(), len(starts)


def page_starts(part: bytes, most: int) -> list[int]:
    """Where pages of the UTF-8 text `part` begin: each takes at most `most` bytes as a JSON string, and ends with a whole character."""
    starts, at = [0], 0
    while True:
        end = min(at + most, len(part))
        while (over := end - at + sum(part.count(sign, at, end) for sign in _COSTS_TWO) - most) > 0:
            end -= max(over // 2, 1)
        while end < len(part) and part[end] & 0xC0 == 0x80:
            end -= 1
        if end >= len(part):
            return starts
        at = end
        starts.append(at)


def _selected(document: Any, select: str) -> Any:
    if not select.startswith("/"):
        for each in (*document["verdicts"], *document["findings"]):
            if each["id"] == select:
                return each
        raise UsageError("no verdict and no finding of this report has that id", "Give a JSON pointer, as /findings/0.")
    found = document
    for step in select[1:].split("/"):
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(found, dict) and name in found:
            found = found[name]
        elif isinstance(found, list) and name.isascii() and name.isdigit() and int(name) < len(found):
            found = found[int(name)]
        else:
            has = f"0 to {len(found) - 1:,}" if isinstance(found, list) and found else ", ".join(list(found)[:24]) if found else "nothing"
            where = "that place" if found is not document else "the report"
            raise UsageError(f"select: {where} has no such part", f"It has {has if not isinstance(found, str) else 'a text'}.")
    return found


class Shelf:
    """The reports that are kept: the newest, and earlier ones while there is room."""

    def __init__(self, most: int = MOST_KEPT_BYTES) -> None:
        self._most, self._kept, self._number = most, dict[str, Held](), 0
        self._lock = threading.Lock()

    def keep(self, render: Callable[[], str]) -> Held:
        """Keep what `render` gives, and let go of the oldest where that is too much."""
        text = render().encode("utf-8", "replace")
        with self._lock:
            self._number += 1
            held = Held(f"r{self._number}", text)
            self._kept[held.handle] = held
            while len(self._kept) > 1 and (
                len(self._kept) > _MOST_KEPT or sum(len(each.text) for each in self._kept.values()) > self._most
            ):
                del self._kept[next(iter(self._kept))]
            return held

    def take(self, handle: str) -> Held:
        """The report with that handle. Raises `UsageError` where it is not kept."""
        with self._lock:
            held, kept = self._kept.get(handle), list(self._kept)
        if held is None:
            are = "is" if len(kept) < 2 else "are"
            raise UsageError(f"there is no report {handle}: {', '.join(kept) or 'none'} {are} kept", "Call its tool again.")
        return held
