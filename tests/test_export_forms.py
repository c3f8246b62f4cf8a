"""A log is the same evidence in whatever form a tool exports it: the same events at the same times, and so the same verdict."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from analyzers.logs.layouts.timestamps import parse
from analyzers.logs.scan.lines import DATED, classify
from analyzers.logs.wrappings.documents import is_json_export
from analyzers.readers.log_scan import plan, scan
from tests.bundles import FIXTURES

Event = tuple[datetime, str]

SAMPLE = (
    "RST402/fires/raw", "RST101/fires/raw", "CKP101/fires/raw", "LAG402/fires/raw", "RST501/fires/raw", "BRK101/fires/raw",
)  # fmt: skip
"""Bundles whose first log is printed in each form."""


def events_of(text: str) -> list[Event]:
    """The events of a plain log, each with the lines of its trace, and its time; none where not all begin with a full date."""
    lines = text.rstrip("\n").split("\n")
    found: list[tuple[datetime, list[str]]] = []
    for line in lines:
        if line and classify(line.encode()).kinds[0] == DATED:
            stamp = parse(line[:23])
            if stamp is None:
                return []
            found.append((datetime.fromtimestamp(stamp.ms / 1000, timezone.utc), [line]))
        elif found:
            found[-1][1].append(line)
        else:
            return []
    return [(at, "\n".join(rows)) for at, rows in found]


def _csv(rows: Sequence[Sequence[str]]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n", quoting=csv.QUOTE_ALL).writerows(rows)
    return out.getvalue()


def _iso(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%S.") + f"{at.microsecond // 1000:03d}Z"


def _ms(at: datetime) -> int:
    return round(at.timestamp() * 1000)


def _lines(values: Sequence[Any]) -> str:
    return "\n".join(json.dumps(value) for value in values) + "\n"


FORMS: dict[str, Callable[[list[Event]], str]] = {
    "cloudwatch-array": lambda events: json.dumps(
        [{"timestamp": _ms(at), "message": text, "logStreamName": "jm", "ingestionTime": _ms(at)} for at, text in events], indent=1
    ),
    "cloudwatch-events": lambda events: json.dumps(
        {"events": [{"timestamp": _ms(at), "message": text, "eventId": "1"} for at, text in events]}
    ),
    "insights-csv": lambda events: _csv(
        [
            ["@timestamp", "@message", "@logStream"],
            *([f"{at:%Y-%m-%d %H:%M:%S}.{at.microsecond // 1000:03d}", text, "jm"] for at, text in reversed(events)),
        ]
    ),
    "gcp": lambda events: json.dumps(
        [
            {"insertId": str(n), "timestamp": _iso(at), "severity": "INFO", "textPayload": text}
            for n, (at, text) in enumerate(reversed(events))
        ],
        indent=2,
    ),
    "gcp-lines": lambda events: _lines([{"timestamp": _iso(at), "textPayload": text, "logName": "stdout"} for at, text in events]),
    "datadog-json": lambda events: json.dumps(
        {"data": [{"id": "a", "attributes": {"timestamp": _iso(at), "status": "info", "message": text}} for at, text in reversed(events)]}
    ),
    "datadog-csv": lambda events: _csv(
        [["Date", "Host", "Service", "Message"], *([_iso(at), "i-1", "jm", text] for at, text in reversed(events))]
    ),
    "loki": lambda events: json.dumps(
        {
            "data": {
                "resultType": "streams",
                "result": [{"stream": {"app": "jm"}, "values": [[str(_ms(at) * 10**6), text] for at, text in reversed(events)]}],
            }
        }
    ),
    "elasticsearch": lambda events: json.dumps(
        {"hits": {"hits": [{"_id": "1", "_source": {"@timestamp": _iso(at), "message": text}} for at, text in events]}}
    ),
    "splunk": lambda events: _csv([["_raw", "_time", "host"], *([text, _iso(at), "jm-1"] for at, text in reversed(events))]),
    "journald": lambda events: _lines(
        [{"__REALTIME_TIMESTAMP": str(_ms(at) * 1000), "_HOSTNAME": "jm-1", "MESSAGE": text} for at, text in events]
    ),
    "docker": lambda events: _lines(
        [{"log": line + "\n", "stream": "stdout", "time": _iso(at)} for at, text in events for line in text.split("\n")]
    ),
    "otlp": lambda events: _lines(
        [
            {"resourceLogs": [{"scopeLogs": [{"logRecords": [{"timeUnixNano": str(_ms(at) * 10**6), "body": {"stringValue": text}}]}]}]}
            for at, text in events
        ]
    ),
}


def seen(path: Path) -> list[tuple[Any, ...]]:
    """What a scan finds in a file, without the places."""
    rows = scan(plan([str(path)]))["log_events"]
    return sorted((row["at"], row["signature"], row["root_exception"], row["job"], row["checkpoint"]) for row in rows) if rows else []


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("bundle", SAMPLE)
def test_an_export_shows_what_the_log_shows(bundle: str, form: str, tmp_path: Path) -> None:
    logs = sorted(path for path in (FIXTURES / bundle).rglob("*") if path.is_file() and path.suffix == ".log")
    printed = [events_of(log.read_text(encoding="utf-8")) for log in logs]
    events = next(events for events in printed if len(events) > 2)
    plain = tmp_path / "plain.log"
    plain.write_text("\n".join(text for _, text in events) + "\n", encoding="utf-8")
    exported = tmp_path / "export"
    exported.write_text(FORMS[form](events), encoding="utf-8")
    wanted = seen(plain)
    assert wanted, "a log that shows nothing proves nothing"
    assert seen(exported) == wanted


def test_a_log_in_brackets_with_json_below_is_no_export() -> None:
    started, progress = "[2026-11-22 09:59:34.000] [INFO] [Driver] started", "[2026-11-22 09:59:38.000] [INFO] [Progress] made progress:"
    text = f'{started}\n{progress} {{\n  "message" : "x"\n}}\n'
    assert not is_json_export(text)
    assert is_json_export('[{"message": "a b c", "@timestamp": "2026-11-22T09:59:34Z"}, {"message": "b c d", "@timesta')
