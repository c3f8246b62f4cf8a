"""Records around a suspect offset: what they are like, and how one differs from its neighbours; contents only if asked for."""

from __future__ import annotations

import json
import struct
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from analyzers.budget import BUDGET
from analyzers.tables import RECORDS, Row
from cli.collectors.kafka_cluster import Cluster
from cli.collectors.kafka_records import OUT_OF_RANGE, Reading, Record, Want, read_records
from cli.collectors.kafka_session import moment

BESIDE = 2  # neighbours on each side of a record that is known
MOST = BUDGET.peeked_records
MOST_WINDOWS = BUDGET.peeked_windows
JSON_BYTES = BUDGET.peeked_json_bytes
LARGE = 10.0  # times the median size of its neighbours
SHOWN = 2000  # characters of a value


@dataclass(frozen=True)
class Window:
    """Offsets to look at in one partition; `to_offset` None = as far as `MOST` records reach."""

    topic: str
    partition: int
    from_offset: int
    to_offset: int | None = None
    job: str | None = None

    @property
    def exact(self) -> bool:
        return self.from_offset == self.to_offset


@dataclass(frozen=True)
class Looks:
    """What can be said of a record without its content."""

    decodes: tuple[str, ...]
    schema_id: int | None
    fields: Mapping[str, str]


async def peek(cluster: Cluster, windows: Sequence[Window], *, show_content: bool) -> list[Row]:
    """Rows of ``records`` (why suspect or neighbour): the suspects, and beside each what tells whether it is odd."""
    chosen = list(windows)[:MOST_WINDOWS]
    wants = {window: _want(window) for window in chosen}
    readings = await read_records(cluster, dict.fromkeys(wants.values()))
    for window, want in wants.items():
        if (readings[want].error or "").startswith(OUT_OF_RANGE) and want.offset < window.from_offset:
            wants[window] = _want(window, window.from_offset)  # the log begins right there
    readings |= await read_records(cluster, [want for want in wants.values() if want not in readings])
    rows: list[Row] = []
    for window in chosen:
        rows += _rows(cluster, window, readings[wants[window]], show_content)
    return rows


def _want(window: Window, log_start: int = 0) -> Want:
    if window.exact:
        # the two before may be markers or compacted away: what is there from a little earlier on is looked at
        start = max(log_start, window.from_offset - BESIDE)
        until = window.from_offset + 50
        return Want(window.topic, window.partition, start, most=2 * BESIDE + 1, until=until, whole=True)
    return Want(window.topic, window.partition, window.from_offset, most=MOST, until=window.to_offset, whole=True)


def _rows(cluster: Cluster, window: Window, reading: Reading, show_content: bool) -> list[Row]:
    whole = reading.records
    looks = {record.offset: looks_of(record.value) for record in whole}
    odd = {r.offset: differences(r, looks[r.offset], [o for o in whole if o is not r], looks) for r in whole}
    rows = []
    for record in whole:
        differs = odd[record.offset]
        wrong = reading.damaged.get(record.offset)
        suspect = record.offset == window.from_offset if window.exact else bool(differs) or wrong is not None
        value = record.value
        look = looks[record.offset]
        values: dict[str, Any] = _head(cluster, window) | {
            "why": "suspect" if suspect else "neighbour", "offset": record.offset, "at": moment(record.timestamp),
            "key_bytes": None if record.key is None else len(record.key), "value_bytes": None if value is None else len(value),
            "headers": [name for name, _ in record.headers], "schema_id": look.schema_id, "decodes": list(look.decodes),
            "differs": "; ".join(differs) or None, "error": wrong,
            "content": shown(value) if show_content else None, "clock": record.clock,
        }  # fmt: skip
        rows.append(RECORDS.row(values))
    if reading.error is not None or not rows:
        why = reading.error or "no record is there (any more)"
        rows.append(RECORDS.row(_head(cluster, window) | {"why": "suspect", "error": why}))
    if not window.exact:
        kept = [row for row in rows if row["why"] == "suspect"]
        rows = kept or rows[: 2 * BESIDE + 1]  # a window of look-alikes: its beginning shows what they are like
    return rows


def _head(cluster: Cluster, window: Window) -> dict[str, Any]:
    return {
        "scope": "", "as_of": cluster.as_of, "job": window.job, "topic": window.topic, "partition": window.partition,
        "wanted": window.from_offset,
    }  # fmt: skip


def looks_of(value: bytes | None) -> Looks:
    """How a value decodes: utf-8, json, avro-framed (Confluent's magic byte 0 and a schema id)."""
    if value is None:
        return Looks((), None, {})
    decodes = []
    schema_id = None
    if len(value) >= 5 and value[0] == 0:
        decodes.append("avro-framed")
        (schema_id,) = struct.unpack_from(">i", value, 1)
    try:
        text = value.decode("utf-8")
    except UnicodeDecodeError:
        return Looks(tuple(decodes), schema_id, {})
    if schema_id is None:
        decodes.append("utf-8")
    fields: dict[str, str] = {}
    if len(value) <= JSON_BYTES and value[:1] not in (b"", b"\0"):
        try:
            document = json.loads(text)
        except (ValueError, RecursionError):
            document = None
        else:
            decodes.append("json")
        if isinstance(document, dict):
            fields = {str(name): _KINDS.get(type(held), "value") for name, held in document.items()}
    return Looks(tuple(decodes), schema_id, fields)


_KINDS: Mapping[type, str] = {
    str: "text", int: "number", float: "number", bool: "boolean", type(None): "null", dict: "object", list: "list",
}  # fmt: skip


def differences(record: Record, look: Looks, others: Sequence[Record], looks: Mapping[int, Looks]) -> list[str]:
    """How `record` differs from `others`, in words; each only when all of the others, or nearly all, are alike."""
    if len(others) < BESIDE:
        return []
    around = [looks[other.offset] for other in others]
    found = []
    if record.value is None and sum(other.value is None for other in others) * 4 < len(others):
        return ["it is a tombstone (no value), its neighbours have values"]
    if record.value is not None and not record.value and all(other.value for other in others):
        found.append("it is empty, its neighbours are not")
    forms = Counter(each.decodes for each in around)
    usual, count = forms.most_common(1)[0]
    if look.decodes != usual and count * 4 >= 3 * len(others) and record.value is not None:
        own, theirs = " and ".join(look.decodes), " and ".join(usual)
        found.append(f"it decodes as {own or 'nothing known'}, its neighbours as {theirs or 'nothing known'}")
    schemas = Counter(each.schema_id for each in around if each.schema_id is not None)
    if look.schema_id is not None and schemas and look.schema_id not in schemas:
        found.append(f"its schema id is {look.schema_id}, its neighbours have {schemas.most_common(1)[0][0]}")
    found += _field_differences(look, around)
    sizes = [len(other.value) for other in others if other.value is not None]
    if record.value is not None and sizes and len(record.value) > LARGE * max(1, median(sizes)):
        found.append(f"it has {len(record.value):,} bytes, its neighbours about {median(sizes):,.0f}")
    names = Counter(tuple(name for name, _ in other.headers) for other in others)
    mine, usual_names = tuple(name for name, _ in record.headers), names.most_common(1)[0]
    if mine != usual_names[0] and usual_names[1] * 4 >= 3 * len(others):
        found.append(f"its headers are {', '.join(mine) or 'none'}, its neighbours' {', '.join(usual_names[0]) or 'none'}")
    if record.key is None and all(other.key is not None for other in others):
        found.append("it has no key, its neighbours have one")
    return found


def _field_differences(look: Looks, around: Sequence[Looks]) -> list[str]:
    """Of JSON objects: fields that all others have, or have of another kind. Names and kinds only, no contents."""
    objects = [each.fields for each in around if each.fields]
    if not look.fields or len(objects) < max(BESIDE, len(around) * 3 // 4):
        return []
    found = []
    for name in sorted({name for each in objects for name in each}):
        kinds = Counter(each.get(name) for each in objects)
        usual, count = kinds.most_common(1)[0]
        if usual is None or count < len(objects):
            continue
        if name not in look.fields:
            found.append(f"field {name} is missing, its neighbours have it")
        elif look.fields[name] != usual:
            found.append(f"field {name} is {look.fields[name]}, in its neighbours {usual}")
    return found[:5]


def shown(value: bytes | None) -> str | None:
    """A value for people: as text where it is text, else in hexadecimal; clipped."""
    if value is None:
        return None
    try:
        text = value.decode("utf-8")
    except UnicodeDecodeError:
        return "hex " + value[: SHOWN // 2].hex()
    return text[:SHOWN]
