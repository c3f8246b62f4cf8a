"""Exports that are one document: JSON of Loki, Elasticsearch, CloudWatch, Kibana; CSV of the same. Record by record, with its line."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator
from typing import Any

from analyzers.budget import BUDGET
from analyzers.logs.matching.expressions import expression
from analyzers.logs.wrappings.records import Record, from_dict, stamp_of, unfolded

LIMIT = BUDGET.export_bytes
MOST_RECORDS = BUDGET.export_records
_MESSAGES = (
    "message",
    "@message",
    "msg",
    "line",
    "log",
    "_raw",
    "textpayload",
    "jsonpayload.message",
    "body",
    "content",
    "log.message",
    "event.original",
    "short_message",
)
_TIMES = ("@timestamp", "timestamp", "time", "_time", "ts", "tsns", "date", "datetime", "ingestiontime", "eventtime", "timestampms")


def csv_columns(first_line: str) -> tuple[str, int, int | None] | None:
    """Delimiter, message column and time column (None = none) of a CSV export by its header line; None if it is none."""
    for delimiter in (",", "\t", ";"):
        try:
            cells = next(csv.reader([first_line], delimiter=delimiter), [])
        except csv.Error:  # a bare carriage return, as progress bars leave them: no header line
            return None
        names = [name.strip().strip('"').removeprefix("_source.").lower() for name in cells]
        if len(names) < 2 or len(names) > 200:
            continue
        message = next((names.index(name) for name in _MESSAGES if name in names), None)
        time = next((names.index(name) for name in _TIMES if name in names), None)
        if message is not None and (time is not None or "level" in names):
            return delimiter, message, time
    return None


def read_csv(text: str) -> Iterator[tuple[Record, int]]:
    """Records of a CSV export with the line each begins on, counted from 1."""
    found = csv_columns(text.split("\n", 1)[0].rstrip("\r"))
    if found is None:
        return
    delimiter, message, time = found
    csv.field_size_limit(1 << 24)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    names = [name.strip().removeprefix("_source.") for name in next(reader)]
    line = reader.line_num + 1
    while True:
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error:
            line = reader.line_num + 1
            continue
        if len(row) > message:
            value: dict[str, Any] = {name: cell for name, cell in zip(names, row, strict=False) if cell not in ("", "-")}
            value["message"] = row[message]
            if time is not None and time < len(row):
                value["@timestamp"] = row[time]
            record = from_dict(value)
            stamp = stamp_of(row[time]) if time is not None and time < len(row) else None
            if record is None and row[message]:
                record = Record(row[message], stamp[0] if stamp else None)
            if record is not None:
                yield record, line
        line = reader.line_num + 1


def is_json_export(text: str) -> bool:
    """Whether a whole JSON document, or the first of several, holds log records."""
    try:
        value = next(values(text))
    except (ValueError, RecursionError, StopIteration):
        return False
    return next(_records(value, {}), None) is not None


def holds_many(text: str) -> bool:
    """Whether the object on a line wraps a list of log records."""
    try:
        value = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and from_dict(value) is None and next(_records(value, {}), None) is not None


def values(text: str) -> Iterator[Any]:
    """The JSON documents of a text, one after the other; of one that lacks its end what stands before it. Raises ``ValueError`` where a
    text is no JSON at all."""
    decoder, at, found = json.JSONDecoder(strict=False), 0, False
    while (at := _after_blanks(text, at)) < len(text):
        try:
            value, at = decoder.raw_decode(text, at)
        except ValueError:
            cut = _whole_elements(text, at) if _OPENS.match(text, at) else []
            if not cut and not found:
                raise
            yield from cut
            return
        found = True
        yield value


def _after_blanks(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\r\n,\x1e":
        at += 1
    return at


_OPENS = expression(r"[\[\s]*\{\s*\"")
"""What a list of objects, or an object, begins with; a line ``[2026-11-22 09:59:34] [INFO]`` does not."""
_ELEMENT = expression(r"\{\s*\"")
_MOST_TRIES = 1_000  # that fail: an error counts the lines before it


def _whole_elements(text: str, at: int) -> list[Any]:
    """The objects that are whole in a document whose end is missing, the outermost ones that can be read."""
    decoder, out = json.JSONDecoder(strict=False), list[Any]()
    tries = 0
    while (m := _ELEMENT.search(text, at)) is not None and tries < _MOST_TRIES:
        try:
            value, at = decoder.raw_decode(text, m.start())
        except (ValueError, RecursionError):
            at, tries = m.end(), tries + 1
            if tries > 64 and not out:  # it is no list of objects
                return []
            continue
        out.append(value)
    return out


def read_json(text: str) -> Iterator[tuple[Record, int]]:
    """Records of a JSON export with the line on which the message of each stands, counted from 1; in a text of fewer lines than records,
    where a line says nothing, their numbers. Raises ``ValueError`` where it is none."""
    records = (record for value in values(text) for record in _records(value, {}))
    if text.count("\n") < _FEW_LINES:
        return ((record, number) for number, record in enumerate(records, 1))
    return _on_lines(text, records)


_FEW_LINES = 8
_LONG = 300  # letters of a message: threads are named after the tasks with which messages begin


def _on_lines(text: str, records: Iterable[Record]) -> Iterator[tuple[Record, int]]:
    place, line = 0, 1
    for record in records:
        begin = record.message.partition("\n")[0][:_LONG]
        found = (_string_that_begins(text, place, json.dumps(begin, ensure_ascii=plain)[1:-1]) for plain in (True, False))
        if (at := next((at for at in found if at >= 0), -1)) >= 0:
            line += text.count("\n", place, at)
            place = at + 1
        yield record, line


def _string_that_begins(text: str, place: int, needle: str) -> int:
    """Where the next string begins with `needle`, -1 where none does: the same words stand within other strings, too."""
    while (at := text.find(needle, place)) >= 0 and text[at - 1] != '"':
        place = at + 1
    return at


def _records(value: Any, labels: dict[str, Any], depth: int = 0) -> Iterator[Record]:
    """All log records below a value: objects with a message in lists, and Loki's (nanoseconds, line) pairs."""
    if depth > 12:
        return
    if isinstance(value, dict):
        if depth == 0 and (record := _item(value)) is not None:  # one record, printed over several lines
            yield record
            return
        pairs = value.get("values")
        if isinstance(pairs, list) and pairs and all(isinstance(p, list) and len(p) >= 2 and isinstance(p[1], str) for p in pairs):
            names = value.get("stream") or value.get("metric") or labels
            for pair in pairs:
                stamp = stamp_of(pair[0])
                yield unfolded(Record(pair[1], stamp[0] if stamp else None, stream=_labelled(names)))
            return
        for inner in value.values():
            if isinstance(inner, (list, dict)):
                yield from _records(inner, value if isinstance(value.get("stream"), dict) else labels, depth + 1)
    elif isinstance(value, list):
        for item in value:
            if isinstance(item, dict):
                record = _item(item)
                if record is not None:
                    yield record
                    continue
            if isinstance(item, (dict, list)):
                yield from _records(item, labels, depth + 1)


def _item(item: dict[str, Any]) -> Record | None:
    record = from_dict(_plain(item) if "body" in item else item)
    return record if record is not None and record.message else None


def _plain(item: dict[str, Any]) -> dict[str, Any]:
    """A record of OTLP with its body and attributes as other exports have them: their values stand in an object that names the type."""
    out = dict(item)
    body = item["body"]
    if isinstance(body, dict) and len(body) == 1:
        (kind, inner) = next(iter(body.items()))
        out["body"] = inner if kind == "stringValue" else body
    attributes = item.get("attributes")
    if isinstance(attributes, list):
        out["attributes"] = {
            str(each["key"]): next(iter(each["value"].values()), None)
            for each in attributes
            if isinstance(each, dict) and "key" in each and isinstance(each.get("value"), dict)
        }
    return out


def _labelled(labels: Any) -> str | None:
    if not isinstance(labels, dict):
        return None
    pod = labels.get("pod") or labels.get("pod_name")
    if pod:
        return f"{pod}/{labels['container']}" if labels.get("container") else str(pod)
    return next((str(labels[k]) for k in ("container", "instance", "host", "filename", "app", "job") if labels.get(k)), None)
