"""The recorder: what the events of one part of a file say, how often, and which of them are kept.

Most events are only counted: their text, or one that differs from it in nothing but numbers, was read before (`memo.py`). Of those that
are kept only the text is (`kept.py`).
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Protocol

from analyzers.logs.layouts.timestamps import FLOATING, Zone
from analyzers.logs.matching.expressions import expression
from analyzers.logs.scan.captures import ERROR, EXCEPTION, REMARK, SIGNED, START, Catalogue, Prepared
from analyzers.logs.scan.events import MATCHED, NO_TRACE, Event
from analyzers.logs.scan.hits import Hit
from analyzers.logs.scan.kept import Kept, Reading, kept_of
from analyzers.logs.scan.lines import BARE, DATED
from analyzers.logs.scan.memo import DIGIT, ID, all_figures, all_letters
from analyzers.logs.scan.origin import Origin
from analyzers.logs.scan.remarks import is_remark
from analyzers.logs.scan.selection import (
    EDGE_GROUPS,
    ERROR_LOGGED,
    EXCEPTION_LOGGED,
    GENERIC_GROUPS,
    GENERIC_KEEP,
    INSIDE,
    REMARK_GROUPS,
    REMARK_KEEP,
    SIGNATURE_GROUPS,
    Entry,
    FilePart,
    Group,
    GroupKey,
    Groups,
    Key,
    is_inside,
    mask,
)
from analyzers.logs.scan.selection import REMARK as REMARKED
from analyzers.logs.signatures.signature import OWN

_FAULTY = ("ERROR", "FATAL")
_TROUBLE = expression(r"fail|error|exception|expir|timed? ?out|refused|lost", re.IGNORECASE)
_COMMAND = expression(
    r"\s*(?:[\w.@:~/-]{1,60} ?)?[$#%>] (?:sudo )?(?:kubectl|oc|kafka-[\w-]+|kcat|curl|e?z?grep|docker|journalctl|aws|gcloud|psql|mysql"
    r"|flink|yarn|hdfs|helm|jq|cat|zcat|tail|head|less|awk|sed|ssh)\b"
)
"""A line behind a prompt: what was asked for."""
_BANNER = expression(r"Starting ([^(]*?) ?\(Version: ([^,)]+)")
_SPARK = expression(r"Running Spark version (\S+)")
_CLIENTS = expression(r"Kafka version ?: (\S+)")


class Source(Protocol):
    """The events of one block in which a literal stands; an `Event` is made only of those that somebody looks at."""

    lines: Sequence[int]
    orders: Sequence[int]
    flags: Sequence[int]

    def short_text(self, number: int) -> bytes | None: ...

    def event(self, number: int) -> Event: ...


class Outcome:
    """The groups in which an event counts: the same for every event of its text.

    `parts`: what of the text decides on the group, where it has digits; None = more than that decides.
    """

    __slots__ = ("banner", "generic", "known", "parts")

    def __init__(self, reading: Reading) -> None:
        self.banner = reading.banner
        header, trace = reading.header, reading.trace
        root = trace.root
        root_kind = root.kind if root else None
        self.known: list[tuple[Prepared, GroupKey]] = []
        self.generic: tuple[str, GroupKey] | None = None
        parts: list[str] = []
        for prepared, match in reading.known:
            names, job, task = prepared.names, None, None
            apart: tuple[str | None, ...] = ()
            if match is not None:
                job = match["job"] if "job" in names else None
                task = match["task"] if "task" in names else None
                apart = tuple(match[name] for name in prepared.signature.apart)
                parts += [value for value in (job, task, *apart) if value and (DIGIT.search(value) or ID.search(value))]
            self.known.append((prepared, (prepared.signature.id, job or header.job, task, root_kind, *apart)))
        deciding = [header.job, *(thrown.kind for thrown in trace.chain)]
        if reading.generic is not None:
            self.generic = (reading.generic, (header.logger, root_kind, mask(header.message), header.job))
            deciding.append(header.logger)
        self.parts = None if any(value and DIGIT.search(value) for value in deciding) else tuple(parts)

    def renamed(self, names: Mapping[str, str]) -> Outcome:
        """The outcome of a text in which other parts stand."""

        def new(part: str | None) -> str | None:
            return part and names.get(part, part)

        other = Outcome.__new__(Outcome)
        other.banner, other.generic = self.banner, self.generic
        other.known = [
            (prepared, (name, new(job), new(task), root, *map(new, apart))) for prepared, (name, job, task, root, *apart) in self.known
        ]
        other.parts = tuple(names.values())
        return other

    def groups(self, spoken: Callable[[bytes], bytes] = bytes) -> tuple[object, ...]:
        """What is the same of two outcomes if they are; with names as `spoken` makes them."""

        def named(group: GroupKey) -> GroupKey:
            return tuple(part and spoken(part.encode()).decode() for part in group)

        generic = self.generic and (self.generic[0], named(self.generic[1]))
        return ([(prepared, named(group)) for prepared, group in self.known], generic, self.banner)


def _merged(parts: list[list[int]]) -> list[int]:
    """All numbers of ordered `parts`, in order: sorted once, as there may be as many of them as events."""
    return parts[0] if len(parts) == 1 else sorted(chain.from_iterable(parts))


class Stretch:
    """The events of one block on their way into their groups: by number, when they were and what was read of them."""

    def __init__(self, source: Source, ats: list[int | None], zone: str) -> None:
        self.source, self.ats, self._zone = source, ats, zone
        self.zones: dict[int, str] = {}  # where it is not the usual one
        self.readings: dict[int, Reading] = {}
        self.events: dict[int, Event] = {}  # those that the source would make another way
        self.said: defaultdict[Outcome, list[int]] = defaultdict(list)

    def kept(self, number: int, by: Prepared | None, name: str) -> Kept:
        """What a group keeps of an event, which the signature `by` knows; None = none does."""
        text = self.source.short_text(number) if number not in self.events else None
        if text is not None:
            return Kept(
                name,
                by.signature if by is not None else None,
                text,
                b"",
                self.source.flags[number],
                self.zones.get(number, self._zone),
                None,
                None,
            )
        event = self.events.get(number) or self.source.event(number)
        zone = self.zones.get(number, self._zone)
        return kept_of(event, self.readings.get(number), by.signature if by is not None else None, name, zone)


class Recorder:
    """Reads the events of one part of a file, counts them, keeps the first and last of each group."""

    def __init__(self, origin: Origin, catalogue: Catalogue, part: int) -> None:
        self.part = FilePart(origin.file, origin.order, part, origin.role, origin.host)
        self._origin, self._catalogue = origin, catalogue
        self._known, self._generic, self._edges = Groups(SIGNATURE_GROUPS), Groups(GENERIC_GROUPS), Groups(EDGE_GROUPS)
        self._remarks = Groups(REMARK_GROUPS)
        self.bounded = origin.since_ms is not None or origin.until_ms is not None

    def read(self, event: Event, hits: Iterable[Hit]) -> Reading | None:
        """What an event with these hits says; None if nobody wants it."""
        flags = event.flags
        found = self._matches(event, hits) if flags & SIGNED else None
        generic = None if found and not self._is_own_alone(found) else self._generic_kind(event)
        banner = _banner(event.header.message) if flags & START else None
        if not found and generic is None and banner is None:
            return None
        return Reading(event.header, event.trace, tuple((found or {}).values()), generic, banner)

    def _is_own_alone(self, found: Mapping[int, tuple[Prepared, re.Match[str] | None]]) -> bool:
        """Whether a user's own rules alone know an event: to diag's it is what it would be without them."""
        return self._catalogue.has_own and all(prepared.signature.id.startswith(OWN) for prepared, _ in found.values())

    def says_with_other_ids(self, event: Event, hits: Sequence[Hit], outcome: Outcome | None) -> bool:
        """Whether `event` would count in the same groups (but for the ids in their names) whatever ids stood in its text: it is read with
        ids that are all letters, and with such that are all digits but one."""
        text, tail = event.raw()
        if tail or len(text) != event.end - event.start:
            return False
        for other in (all_letters, all_figures):
            changed = other(text)
            if changed == text and other is all_letters:
                return False  # no id stands in it
            reading = self.read(event.saying(changed), hits)
            if (reading is None) != (outcome is None):
                return False
            if reading is not None and outcome is not None and Outcome(reading).groups() != outcome.groups(other):
                return False
        return True

    def note(self, banner: tuple[str, str] | None) -> None:
        """What a program says of itself."""
        if banner is None:
            return
        program, version = banner
        if program:
            self.part.clients.add(f"{program} {version}")
        else:
            self.part.version = version

    def outside(self, at: int | None) -> bool:
        """Whether somebody wants nothing of that time."""
        if at is None:
            return False
        since, until = self._origin.since_ms, self._origin.until_ms
        return (since is not None and at < since) or (until is not None and at >= until)

    def take(self, stretch: Stretch) -> None:
        """Counts the events of a block, and keeps those that are to be kept."""
        known: dict[GroupKey, tuple[Prepared, list[list[int]]]] = {}
        generic: defaultdict[tuple[str, GroupKey], list[list[int]]] = defaultdict(list)
        banners: list[tuple[int, tuple[str, str]]] = []
        for outcome, numbers in stretch.said.items():
            if outcome.banner is not None:
                banners.append((numbers[-1], outcome.banner))
            for prepared, said in outcome.known:
                group = (*said, self._origin.role)
                known[group] = (prepared, known[group][1] if group in known else [])
                known[group][1].append(numbers)
            if outcome.generic is not None:
                generic[outcome.generic].append(numbers)
        for _, banner in sorted(banners):  # the last one is the program that runs now
            self.note(banner)
        counts, ats, sated = self.part.counts, stretch.ats, self._catalogue.sated
        for group, (prepared, parts) in known.items():
            name, every = prepared.signature.id, _merged(parts)
            counts.add(name, group[1], group[2], [ats[number] for number in every])
            for mark, numbers in self._apart(every, ats):
                own = (*group, *mark)
                self._keep(self._known.group(own, prepared.signature.keep), stretch, numbers, prepared, name, {}, sated.get(own))
        seen: dict[int, Entry] = {}
        errors: list[int] = []
        for (kind, (*group_key, job)), parts in generic.items():
            numbers = _merged(parts)
            if kind == REMARKED:
                self._keep(self._remarks.group(tuple(group_key), REMARK_KEEP), stretch, numbers, None, kind, seen)
                self.part.remarked[tuple(group_key)] += len(numbers)
                continue
            counts.add(kind, job, None, [ats[number] for number in numbers])
            if kind == ERROR_LOGGED:
                errors += numbers
            for mark, some in self._apart(numbers, ats):
                own = (*group_key, *mark)
                self._keep(self._generic.group(own, GENERIC_KEEP), stretch, some, None, kind, seen, sated.get(own))
        for mark, some in self._apart(sorted(errors), ats):
            self._keep(self._edges.group((ERROR_LOGGED, *mark), self._origin.edges), stretch, some, None, ERROR_LOGGED, seen)

    def _apart(self, numbers: list[int], ats: Sequence[int | None]) -> Iterator[tuple[GroupKey, list[int]]]:
        """Those of `numbers` that make a group of their own, with what its key ends in: hours of a storm before a window use up no room of
        what happens inside."""
        window = self._origin.inside
        if window is None:
            if numbers:
                yield (), numbers
            return
        parted: tuple[list[int], list[int]] = ([], [])
        for number in numbers:
            parted[is_inside(ats[number], window)].append(number)
        for mark, some in zip(((), (INSIDE,)), parted, strict=True):
            if some:
                yield mark, some

    def _keep(
        self,
        group: Group,
        stretch: Stretch,
        numbers: list[int],
        by: Prepared | None,
        name: str,
        shared: dict[int, Entry],
        between: tuple[int, int] | None = None,
    ) -> None:
        """Gives `group` those of the events, in the order of the file, that may be among its first or last, which are not `between` these
        times; groups of one `name` share what they keep."""
        ats, lines, orders, order = stretch.ats, stretch.source.lines, stretch.source.orders, self._origin.order
        if between is not None:
            first, last = between
            numbers = [number for number in numbers if (at := ats[number]) is None or not first < at < last]
            if not numbers:
                return

        def key_of(number: int) -> Key:
            at = ats[number]
            return (at is None, at or 0, order, lines[number], orders[number])

        n, m = group.keep
        times = [ats[number] for number in numbers]
        if None in times or times != sorted(times):  # type: ignore[type-var]  # None was looked for
            numbers = sorted(numbers, key=key_of)
        follow = group.follows(key_of(numbers[0]))
        room = n - len(group.first) if follow else n
        if len(numbers) > room + m:
            numbers = numbers[:room] + numbers[len(numbers) - m :]
        entries = []
        for number in numbers:
            entry = shared.get(number)
            if entry is None:
                key = key_of(number)
                if not (follow or group.wants(key)):
                    continue
                entry = shared[number] = (key, stretch.kept(number, by, name))
            entries.append(entry)
        group.extend(entries)

    def _matches(self, event: Event, hits: Iterable[Hit]) -> dict[int, tuple[Prepared, re.Match[str] | None]]:
        """Signatures that match, each with its match where it has an expression."""
        found: dict[int, tuple[Prepared, re.Match[str] | None]] = {}
        failed: set[int] | None = None  # in a text that is the same for all hits
        header = event.header
        whole: str | None = None
        by_literal = self._catalogue.by_literal
        for literal, line in hits:
            if event.kind == BARE and _COMMAND.match(event.line_text(line)):
                continue  # what was asked for, no answer
            for number, prepared in by_literal[literal]:
                if number in found or (failed and number in failed):
                    continue
                if prepared.picky and not prepared.fits(header.level, header.logger):
                    continue
                if prepared.pattern is None:
                    found[number] = (prepared, None)
                    continue
                where = prepared.signature.where
                if where == "message":
                    text = header.message
                elif where == "event":
                    text = whole = event.whole() if whole is None else whole
                else:
                    text = event.line_text(line).strip()
                match = prepared.pattern.search(text if len(text) <= MATCHED else text[:MATCHED])
                if match is not None:
                    found[number] = (prepared, match)
                elif where != "line":
                    failed = {number} if failed is None else failed | {number}
        return found

    def _generic_kind(self, event: Event) -> str | None:
        """error-logged, exception-logged or None, for an event that no signature knows."""
        level = event.header.level
        if level in _FAULTY and (event.flags & ERROR or event.kind != DATED):
            return ERROR_LOGGED
        trace = event.trace if event.flags & EXCEPTION or level is None else NO_TRACE
        if level is None and not trace.chain and trace.loose and _TROUBLE.search(event.header.message):
            return ERROR_LOGGED  # a pasted trace whose first line lost its class
        if not trace.chain or not (trace.printed or level == "WARN"):
            return REMARKED if event.flags & REMARK and is_remark(level, event.header.message) else None
        return ERROR_LOGGED if level is None or level in _FAULTY else EXCEPTION_LOGGED

    def finish(self, newlines: int | None, shift: int | None) -> FilePart:
        """The part with what was kept. `shift` (ms) turns times without a day into dates."""
        part = self.part
        part.newlines = part.lines if newlines is None else newlines
        self._remarks.prune()
        part.remarked = Counter({group: part.remarked[group] for group in self._remarks.groups})
        moved = _Clock(shift, self._origin.zone)
        kept = ((self._known, part.known), (self._generic, part.generic), (self._edges, part.edges), (self._remarks, part.remarks))
        for groups, target in kept:
            target += groups.kept()
            if shift is not None:
                for _, _, entries in target:
                    entries[:] = [((key[0], moved.ms(key[1]) or 0, *key[2:]), kept) for key, kept in entries]
        if shift is not None:
            counts = part.counts.counts
            counts.update({key: found.moved(lambda ms: moved.ms(ms) or 0) for key, found in counts.items()})
            part.first_ms, part.last_ms = moved.ms(part.first_ms), moved.ms(part.last_ms)
        return part


def _banner(message: str) -> tuple[str, str] | None:
    """Name and version of a library, or no name and the version of the program itself."""
    if m := _BANNER.search(message):
        return "", m[2]
    if m := _SPARK.search(message):
        return "", m[1]
    if m := _CLIENTS.search(message):
        return "kafka-clients", m[1]
    return None


class _Clock:
    """Turns times without a day into dates; leaves all others alone."""

    def __init__(self, shift: int | None, zone: Zone) -> None:
        self._shift, self._zone = shift, zone

    def ms(self, ms: int | None) -> int | None:
        if ms is None or ms >= FLOATING or self._shift is None:
            return ms
        return self._zone.utc(ms + self._shift)
