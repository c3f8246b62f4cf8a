"""Exports that are one document: JSON of Loki, Elasticsearch, CloudWatch, Kibana; CSV of the same. Record by record, with its line."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from typing import Any

from analyzers.logs.wrappings.records import Record, from_dict, stamp_of, unfolded

LIMIT = 64 << 20
"""Bytes; text, records and their order need eight times as many."""
MOST_RECORDS = 500_000
"""Of one export; a record is half a kilobyte, however few bytes its line has. Kibana, CloudWatch and Splunk export no more."""
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
    """Whether a whole JSON document holds log records."""
    try:
        value = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return False
    return next(_records(value, {}), None) is not None


def read_json(text: str) -> Iterator[tuple[Record, int]]:
    """Records of a JSON export with the line on which the message of each stands, counted from 1."""
    place, line = 0, 1
    for record in _records(json.loads(text, strict=False), {}):
        needle = json.dumps(record.message[:60])[1:-1]
        at = text.find(needle, place)
        if at < 0:
            at = text.find(json.dumps(record.message[:60], ensure_ascii=False)[1:-1], place)
        if at >= 0:
            line += text.count("\n", place, at)
            place = at
        yield record, line


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
    record = from_dict(item)
    return record if record is not None and record.message else None


def _labelled(labels: Any) -> str | None:
    if not isinstance(labels, dict):
        return None
    pod = labels.get("pod") or labels.get("pod_name")
    if pod:
        return f"{pod}/{labels['container']}" if labels.get("container") else str(pod)
    return next((str(labels[k]) for k in ("container", "instance", "host", "filename", "app", "job") if labels.get(k)), None)
