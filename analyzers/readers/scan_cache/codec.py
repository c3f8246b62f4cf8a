"""Parts of files as bytes and back: JSON, compressed. Nothing in an entry is code, and none of it is run."""

from __future__ import annotations

import base64
import json
from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any

import zstandard

from analyzers.budget import BUDGET
from analyzers.logs.layouts.exceptions import Thrown, Trace
from analyzers.logs.layouts.layouts import Header
from analyzers.logs.scan.kept import Kept
from analyzers.logs.scan.selection import CountKey, Counts, FilePart, KeptGroup, Minutes, Sated
from analyzers.logs.signatures.signature import Signature
from analyzers.readers.splits import Split
from analyzers.tables.memory import gc_paused

_GROUPS = ("known", "generic", "edges", "remarks")
_OWN_FORM = {*_GROUPS, "file", "order", "part", "clients", "remarked", "counts"}
_PLAIN = tuple(field.name for field in fields(FilePart) if field.name not in _OWN_FORM)
_ARRAYS = ("minutes", "events", "firsts", "lasts")
_LENGTH = 8


@dataclass(frozen=True)
class Entry:
    """What is known of a unit. `sated`: what its parts leave out."""

    sated: Sated
    packed: bytes

    def parts(self, unit: Sequence[Split]) -> list[FilePart]:
        """The parts, as if `unit` were read now. Raises ``ValueError`` and the like where it is no entry."""
        with gc_paused():
            return [_part(of, unit[of["unit"]]) for of in json.loads(_unpacked(self.packed))]


def encoded(unit: Sequence[Split], parts: Sequence[FilePart], sated: Sated) -> bytes | None:
    """What `entry_of` reads; None where a part belongs to no split of `unit`, or is nothing that was foreseen here."""
    places = {split.file.origin.order: number for number, split in enumerate(unit)}
    if any(part.order not in places or not part.file.startswith(unit[places[part.order]].file.origin.file) for part in parts):
        return None
    try:
        with gc_paused():
            left_out = _packed([[group, *times] for group, times in sated.items()])
            return len(left_out).to_bytes(_LENGTH, "big") + left_out + _packed([_plain(part, places[part.order], unit) for part in parts])
    except (TypeError, ValueError):
        return None


def entry_of(content: bytes) -> Entry:
    """Raises ``ValueError`` and the like where it is none."""
    end = _LENGTH + int.from_bytes(content[:_LENGTH], "big")
    sated = {tuple(group): (first, last) for group, first, last in json.loads(_unpacked(content[_LENGTH:end]))}
    return Entry(sated, content[end:])


def _packed(what: object) -> bytes:
    text = json.dumps(what, separators=(",", ":"), check_circular=False, default=int)  # numbers of NumPy are none to it
    return zstandard.compress(text.encode(), 1)


def _unpacked(packed: bytes) -> bytes:
    if zstandard.frame_content_size(packed) > BUDGET.scan_cache_unpacked_bytes:
        raise ValueError("is larger than any entry")
    return zstandard.decompress(packed)


# ---- to plain values ---------------------------------------------------------------------------------------------


def _plain(part: FilePart, number: int, unit: Sequence[Split]) -> dict[str, Any]:
    kept: dict[int, tuple[int, Kept]] = {}
    groups = {name: [_group(group, kept) for group in getattr(part, name)] for name in _GROUPS}
    return {
        "unit": number,
        "stream": part.file.removeprefix(unit[number].file.origin.file),
        **{name: getattr(part, name) for name in _PLAIN},
        "clients": sorted(part.clients),
        "remarked": list(part.remarked.items()),
        "counts": [_count(key, found) for key, found in part.counts.counts.items()],
        "kept": [_kept(each) for _, each in kept.values()],
        **groups,
    }


def _group(found: KeptGroup, kept: dict[int, tuple[int, Kept]]) -> list[Any]:
    group, keep, entries = found
    rows = []
    for (none, at, _, line, nth), each in entries:
        number, _ = kept.setdefault(id(each), (len(kept), each))
        rows.append((none, at, line, nth, number))
    return [group, keep, rows]


def _kept(kept: Kept) -> list[Any]:
    said = None
    if kept.said is not None:
        trace, columns = kept.said
        said = [[[thrown.kind, thrown.message, thrown.frames] for thrown in trace.chain], trace.loose, trace.printed, columns]
    by = kept.by and kept.by.id
    return [kept.name, by, kept.text.decode("latin-1"), kept.tail.decode("latin-1"), kept.flags, kept.zone, kept.header, said]


def _count(key: CountKey, found: Minutes) -> list[Any]:
    return [*key, found.untimed, *(_text_of(getattr(found, name)) for name in _ARRAYS)]


def _text_of(numbers: array[int]) -> str:
    return base64.b64encode(numbers.tobytes()).decode()


# ---- and back ----------------------------------------------------------------------------------------------------


def _part(of: Mapping[str, Any], split: Split) -> FilePart:
    origin = split.file.origin
    kept = [_kept_of(each) for each in of["kept"]]
    part = FilePart(origin.file + of["stream"], origin.order, split.part, **{name: of[name] for name in _PLAIN})
    part.clients = set(of["clients"])
    part.remarked = Counter({tuple(group): lines for group, lines in of["remarked"]})
    part.counts = _counts(of["counts"])
    for name in _GROUPS:
        groups: list[KeptGroup] = getattr(part, name)
        groups += [
            (tuple(group), tuple(keep), [((none, at, origin.order, line, nth), kept[number]) for none, at, line, nth, number in rows])
            for group, keep, rows in of[name]
        ]
    return part


def _kept_of(of: Sequence[Any]) -> Kept:
    name, by, text, tail, flags, zone, header, said = of
    told = None
    if said is not None:
        chain, loose, printed, columns = said
        told = (Trace([Thrown(*thrown) for thrown in chain], loose, printed), columns)
    signature = None if by is None else _signatures()[by]
    return Kept(
        name, signature, text.encode("latin-1"), tail.encode("latin-1"), flags, zone, None if header is None else Header(*header), told
    )


@lru_cache(maxsize=1)
def _signatures() -> dict[str, Signature]:
    from analyzers.logs.signatures import SIGNATURES

    return {signature.id: signature for signature in SIGNATURES}


def _counts(rows: Sequence[Sequence[Any]]) -> Counts:
    counts = Counts()
    for signature, job, task, untimed, *texts in rows:
        found = counts.counts[signature, job, task] = Minutes()
        found.untimed = untimed
        for name, text in zip(_ARRAYS, texts, strict=True):
            getattr(found, name).frombytes(base64.b64decode(text))
    return counts
