"""Which events are kept, and how they are counted: every operation is associative, so that no split border can show.

Counts are complete; rows are the first n and last m of each group, in order of (time, file, line).
"""

from __future__ import annotations

import zlib
from array import array
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import Any

from analyzers.logs.layouts.timestamps import MINUTE
from analyzers.logs.matching.expressions import expression

# no time?, UTC milliseconds, order of the file, line, order within the line (several events of one JSON line)
Key = tuple[bool, int, int, int, int]
GroupKey = tuple[str | None, ...]
Entry = tuple[Key, Any]
Keep = tuple[int, int]  # how many first and last entries of a group
KeptGroup = tuple[GroupKey, Keep, list[Entry]]  # what is kept is a `kept.Kept`
Sated = Mapping[GroupKey, tuple[int, int]]  # groups that have what they keep: nothing between these two times (UTC ms) is for them
Window = tuple[int | None, int | None]  # UTC ms of its first and last moment; None = open
CountKey = tuple[str, str | None, str | None]  # signature, job, task

ERROR_LOGGED = "error-logged"
EXCEPTION_LOGGED = "exception-logged"
GENERIC_KEEP = (10, 2)
GENERIC_GROUPS = 500  # per file: those with the smallest checksums, a choice that no split border can change
GENERIC_GROUPS_IN_ALL = 2000  # of all files together
REMARK = "remark"
REMARK_KEEP = (2, 1)
REMARK_GROUPS = 200  # per file
REMARK_GROUPS_IN_ALL = 2000  # of all files together
EDGE_KEEP = (200, 50)  # and, whatever their group, the first and the last errors of each file that no signature knows
EDGE_GROUPS = 2  # inside of a window and outside
EDGE_ROWS = 6_000  # or fewer of each, where there are so many files that these would be more in all
SIGNATURE_GROUPS = 5000  # per file; a group is a signature, job, task and root exception


INSIDE = "inside"
"""The last part of the keys of groups of events that lie in a window."""


def is_inside(at: int | None, window: Window) -> bool:
    """Whether `at` lies in `window`; of an event without a time nobody can say that it does not."""
    since, until = window
    return at is None or ((since is None or at >= since) and (until is None or at <= until))


def edge_keep(files: int) -> Keep:
    """How many first and last errors of each of `files` stay."""
    each = max(EDGE_ROWS // max(files, 1), 5)
    return EDGE_KEEP if each >= sum(EDGE_KEEP) else (each * 4 // 5, each - each * 4 // 5)


_MASKED_UP_TO = 300
_MASKED = expression(r"0x[0-9a-fA-F]+|\b[0-9a-fA-F]{8,}(?:[-_][0-9a-fA-F]+)*\b|\d+")


def mask(message: str) -> str:
    """A message with its numbers, hexadecimal ids and addresses masked, to tell texts from values."""
    return _MASKED.sub("#", message[:_MASKED_UP_TO])


def with_values(messages: Sequence[str], most: int = 4) -> str:
    """Messages that are alike once masked, as one: each number in which up to `most` values stand with them, else ``#``."""
    texts = [message[:_MASKED_UP_TO] for message in messages]
    found = zip(*(_MASKED.findall(text) for text in texts), strict=True)
    shown = ["/".join(dict.fromkeys(values)) if len(set(values)) <= most else "#" for values in found]
    between = _MASKED.split(texts[0])
    return "".join(part for pair in zip(between, [*shown, ""], strict=True) for part in pair)


@dataclass
class Group:
    """The first `keep[0]` and last `keep[1]` entries of one group, in order of their keys; no key occurs twice in a group."""

    keep: Keep
    first: list[Entry] = field(default_factory=list)
    last: list[Entry] = field(default_factory=list)

    def follows(self, key: Key) -> bool:
        """Whether an entry with this key comes behind all that came so far; entries mostly come in order."""
        return not (self.first and key < self.first[-1][0]) and not (self.last and key < self.last[-1][0])

    def wants(self, key: Key) -> bool:
        """Whether an entry with this key would be kept now."""
        n, m = self.keep
        return (n > 0 and (len(self.first) < n or key < self.first[-1][0])) or (m > 0 and (len(self.last) < m or key > self.last[0][0]))

    def add(self, key: Key, what: Any) -> None:
        n, m = self.keep
        if n > 0 and (len(self.first) < n or key < self.first[-1][0]):
            _insert(self.first, (key, what))
            del self.first[n:]
        if m > 0 and (len(self.last) < m or key > self.last[0][0]):
            _insert(self.last, (key, what))
            if len(self.last) > m:
                del self.last[0]

    def extend(self, entries: Sequence[Entry]) -> None:
        """Adds `entries`, which are in the order of their keys."""
        n, m = self.keep
        if not entries:
            return
        if self.follows(entries[0][0]):
            self.first += entries[: n - len(self.first)]
            self.last = [*self.last, *entries][-m:] if m else []
        elif len(entries) < _A_FEW:
            for key, what in entries:
                self.add(key, what)
        else:
            self.first = sorted([*self.first, *entries], key=_KEY)[:n]
            self.last = sorted([*self.last, *entries], key=_KEY)[-m:] if m else []

    def entries(self) -> list[Entry]:
        """All kept entries, each once, in order."""
        if not self.first:
            return self.last
        end = self.first[-1][0]
        return [*self.first, *(entry for entry in self.last if entry[0] > end)]


_KEY = itemgetter(0)
_A_FEW = 16  # entries that are put in one by one


def _insert(entries: list[Entry], entry: Entry) -> None:
    """Entries come nearly in order, so mostly at the end."""
    if not entries or entries[-1][0] < entry[0]:
        entries.append(entry)
    else:
        entries.insert(bisect_right(entries, entry[0], key=lambda e: e[0]), entry)


class Groups:
    """Groups by key, at most `limit` of them: those whose keys have the smallest checksums."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.groups: dict[GroupKey, Group] = {}

    def group(self, group: GroupKey, keep: Keep) -> Group:
        """The group, made if it is new."""
        found = self.groups.get(group)
        if found is None:
            if len(self.groups) >= 2 * self.limit:
                self.prune()
            found = self.groups[group] = Group(keep)
        return found

    def prune(self) -> None:
        """Down to the limit; a group that is dropped here would also be dropped at the end, whatever comes later."""
        if len(self.groups) > self.limit:
            ranked = sorted(self.groups, key=lambda group: (zlib.crc32(repr(group).encode()), repr(group)))
            self.groups = {group: self.groups[group] for group in ranked[: self.limit]}

    def kept(self) -> list[KeptGroup]:
        """All groups with their entries."""
        self.prune()
        return [(group, kept.keep, kept.entries()) for group, kept in self.groups.items()]


class Minutes:
    """Events of one kind: of each minute (UTC ms) how many, and when the first and the last one was; in order. `untimed` have no time."""

    __slots__ = ("events", "firsts", "lasts", "minutes", "untimed")

    def __init__(self) -> None:
        self.untimed = 0
        self.minutes, self.events, self.firsts, self.lasts = array("q"), array("q"), array("q"), array("q")

    def __len__(self) -> int:
        return len(self.minutes)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Minutes) and all(getattr(self, name) == getattr(other, name) for name in self.__slots__)

    def widen(self, minute: int, events: int, first: int, last: int) -> None:
        """`events` more in one minute."""
        at = len(self.minutes)
        if at and minute <= self.minutes[-1]:  # mostly they come in order
            at = bisect_left(self.minutes, minute)
            if self.minutes[at] == minute:
                self.events[at] += events
                self.firsts[at], self.lasts[at] = min(self.firsts[at], first), max(self.lasts[at], last)
                return
        for values, value in ((self.minutes, minute), (self.events, events), (self.firsts, first), (self.lasts, last)):
            values.insert(at, value)

    def take(self, other: Minutes) -> None:
        """Adds what `other` counted."""
        self.untimed += other.untimed
        after = bisect_right(other.minutes, self.minutes[-1]) if self.minutes else 0
        for at in range(after):
            self.widen(other.minutes[at], other.events[at], other.firsts[at], other.lasts[at])
        for name in ("minutes", "events", "firsts", "lasts"):
            getattr(self, name).extend(getattr(other, name)[after:])

    def moved(self, ms: Callable[[int], int]) -> Minutes:
        """The same events at other times."""
        moved = Minutes()
        moved.untimed = self.untimed
        for minute, events, first, last in zip(self.minutes, self.events, self.firsts, self.lasts, strict=True):
            moved.widen(ms(minute), events, ms(first), ms(last))
        return moved


class Counts:
    """Events per signature, job, task and minute, with the first and last time of each."""

    def __init__(self) -> None:
        self.counts: dict[CountKey, Minutes] = {}

    def add(self, signature: str, job: str | None, task: str | None, times: Iterable[int | None]) -> None:
        """Events at `times` (UTC ms); those of one minute that follow each other cost one entry."""
        found = self.counts.get((signature, job, task))
        if found is None:
            found = self.counts[signature, job, task] = Minutes()
        events, minute, first, last = 0, None, 0, 0
        for at in times:
            if at is None:
                found.untimed += 1
            elif minute is not None and minute <= at < minute + MINUTE:
                events += 1
                first, last = min(first, at), max(last, at)
            else:
                if minute is not None:
                    found.widen(minute, events, first, last)
                events, minute, first, last = 1, at - at % MINUTE, at, at
        if minute is not None:
            found.widen(minute, events, first, last)

    def merge(self, other: Counts) -> None:
        """Takes over what `other` counted, which is not to be used any more."""
        counts = self.counts
        for key, found in other.counts.items():
            mine = counts.setdefault(key, found)
            if mine is not found:
                mine.take(found)


Row = dict[str, Any]


@dataclass
class FilePart:
    """What one task found in its part of one file or stream. Lines are relative (`line_shift` makes them absolute)."""

    file: str
    order: int
    part: int
    role: str | None = None
    host: str | None = None
    zone: str = "unknown"
    lines: int = 0
    newlines: int = 0  # line breaks of the part: what the lines of later parts must be moved by
    events: int = 0
    unparsed: int = 0
    cut: int = 0  # lines of more than BUDGET.line_bytes, of which the rest was not looked at
    calm: bool = False  # a level of INFO or below was seen
    loud: int = 0  # lines of WARN and above; counted as long as none of INFO was seen
    first_ms: int | None = None
    last_ms: int | None = None
    version: str | None = None
    clients: set[str] = field(default_factory=set)
    known: list[KeptGroup] = field(default_factory=list)
    generic: list[KeptGroup] = field(default_factory=list)
    edges: list[KeptGroup] = field(default_factory=list)
    remarks: list[KeptGroup] = field(default_factory=list)
    remarked: Counter[GroupKey] = field(default_factory=Counter)  # how many lines each group of remarks has
    counts: Counts = field(default_factory=Counts)
    trouble: str | None = None

    def moved(self, lines: int) -> FilePart:
        """The same part with its lines counted from the start of the file."""
        if lines:
            for name in ("known", "generic", "edges", "remarks"):
                groups: list[KeptGroup] = getattr(self, name)
                for _, _, entries in groups:
                    entries[:] = [((none, at, order, line + lines, nth), kept) for (none, at, order, line, nth), kept in entries]
        return self


def merge_parts(parts: list[FilePart]) -> FilePart:
    """All parts of one file, in order, as one; events that belong to no first or last of their group any more are dropped."""
    whole = FilePart(parts[0].file, parts[0].order, 0, parts[0].role, parts[0].host)
    if len(parts) == 1:
        return replace(parts[0], part=0, zone=whole.zone if parts[0].first_ms is None else parts[0].zone)
    known, generic, edges, remarks = Groups(SIGNATURE_GROUPS), Groups(GENERIC_GROUPS), Groups(EDGE_GROUPS), Groups(REMARK_GROUPS)
    shift = 0
    for part in parts:
        part.moved(shift)
        shift += part.newlines
        for groups, entries in ((known, part.known), (generic, part.generic), (edges, part.edges), (remarks, part.remarks)):
            for group, keep, kept in entries:
                groups.group(group, keep).extend(kept)
        whole.counts.merge(part.counts)
        whole.remarked.update(part.remarked)
        whole.lines += part.lines
        whole.newlines += part.newlines
        whole.events += part.events
        whole.unparsed += part.unparsed
        whole.cut += part.cut
        whole.calm |= part.calm
        whole.loud += part.loud
        if whole.first_ms is None and part.first_ms is not None:
            whole.first_ms, whole.zone = part.first_ms, part.zone
        whole.last_ms = whole.last_ms if part.last_ms is None else part.last_ms
        whole.version = part.version or whole.version
        whole.host = whole.host or part.host
        whole.clients |= part.clients
        whole.trouble = whole.trouble or part.trouble
    whole.known, whole.generic, whole.edges, whole.remarks = known.kept(), generic.kept(), edges.kept(), remarks.kept()
    return whole
