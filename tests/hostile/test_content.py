"""What exceptions quote of records is shortened to what it is like, in reports and in redacted bundles."""

from __future__ import annotations

import io
import time

import pytest

from analyzers.bundle.redact import Redactor
from analyzers.report.finding import Evidence, Finding, Severity
from analyzers.report.report import Report
from analyzers.secrets import shortened
from analyzers.tables import TABLES
from cli.shell.environment import Environment
from cli.shell.output import FORMATS, emit

QUOTED = (
    (
        "JsonParseException: Unrecognized token '⟦bob-smith⟧': was expecting ('true', 'false')",
        "Unrecognized token '<text, 9 characters>': was",
    ),
    ('\n at [Source: (String)"⟦{"card":"4111-1111"}⟧"; line: 1, column: 5]', '"<JSON object, 20 characters>"; line: 1'),
    (
        '\n at [Source: (byte[])"⟦{"card":"4111-11⟧"[truncated 90 bytes]; line: 1, column: 5]',
        '"<JSON object, 16 characters>"[truncated 90 bytes]',
    ),
    (
        'ConsumerRecord(topic = o, partition = 3, headers = [], key = ⟦bob-key⟧, value = ⟦{"card":(1)}⟧).',
        "key = <text, 7 characters>, value = <JSON",
    ),
    (
        "ProducerRecord(topic=o, partition=null, key=⟦bob-key⟧, value=⟦4111,1111⟧, timestamp=null)",
        "key=<text, 7 characters>, value=<number, 9",
    ),
    ('NumberFormatException: For input string: "⟦12,50-x⟧"\n\tat X', 'For input string: "<text, 7 characters>"'),
    ("DateTimeParseException: Text '⟦2026-13-45⟧' could not be parsed at index 5", "Text '<text, 10 characters>' could not"),
    ('IOException: Failed to deserialize JSON \'⟦{"a":"it\'s"}⟧\'.\n\tat X', "JSON '<JSON object, 12 characters>'."),
    ("Failed to deserialize CSV row '⟦bob;17;Main St⟧'.", "CSV row '<text, 14 characters>'."),
    ('Corrupt Debezium JSON message \'⟦{"op":"u"}⟧\'.', "message '<JSON object, 10 characters>'."),
    (
        "Malformed records are detected in record parsing: [⟦bob,17,null⟧]. Parse Mode: FAILFAST",
        "parsing: [<text, 11 characters>]. Parse Mode",
    ),
    ("ERROR: null value\n  Detail: Failing row contains (⟦17, bob@acme.com⟧).", "contains (<text, 16 characters>)."),
    ("Detail: Key (email)=(⟦bob@acme.com⟧) already exists.", "Key (email)=(<text, 12 characters>) already"),
    ("Duplicate entry '⟦bob-1⟧' for key 'orders.PRIMARY'", "Duplicate entry '<text, 5 characters>' for key"),
    ("Incorrect integer value: '⟦twelve⟧' for column 'amount' at row 1", "value: '<text, 6 characters>' for column 'amount'"),
    ("failed to parse. Preview of field's value: '⟦twelve⟧'", "value: '<text, 6 characters>'"),
    ('Failed to deserialize JSON \'⟦{"a":"cut off in the mid⟧', "JSON '<JSON object, "),
)


def _parts(marked: str) -> tuple[str, list[str]]:
    contents = [piece.split("⟧")[0] for piece in marked.split("⟦")[1:]]
    return marked.replace("⟦", "").replace("⟧", ""), contents


@pytest.mark.parametrize(("marked", "says"), QUOTED)
def test_content_becomes_its_shape(marked: str, says: str) -> None:
    text, contents = _parts(marked)
    short = shortened(text)
    assert says in short
    assert [each for each in contents if each in short] == []
    assert shortened(short) == short


@pytest.mark.parametrize(
    "text",
    [
        "ConsumerRecord(topic = orders, partition = 3, offset = 12, key = [B@1b2c3d4e, value = [B@5f6a7b8c).",
        "Malformed records are detected in record parsing: [null]. Parse Mode: FAILFAST",
        "Failed to deserialize Avro record.",
        "Unexpected character ('x' (code 120)): was expecting double-quote",
        "Job orders (f83dbb7e04f400ccfd1258d03b96d7ad) switched from state RUNNING to RESTARTING.",
    ],
)
def test_what_quotes_no_content_stays(text: str) -> None:
    assert shortened(text) is text


@pytest.mark.parametrize("form", FORMATS)
def test_reports_show_it_only_when_asked(form: str) -> None:
    text = 'Failed to deserialize JSON \'{"card":"4111-1111"}\'.'
    finding = Finding(
        "RST202", "poison-record", "x", "failure", Severity.CRITICAL, 1.0, "j", {}, None, None, text, text, text,
        (Evidence("log_events", "jm.log", 1, None, text),), "RST202",
    )  # fmt: skip
    report = Report("diag", "1", "triage", None, (None, None), findings=[finding], notes=[text])
    for wanted in (False, True):
        out = io.StringIO()
        emit(report, [form], "never", Environment(out, io.StringIO(), stdout_is_tty=True, verbosity=1, show_content=wanted))
        assert ("4111-1111" in out.getvalue()) is wanted


def test_a_redacted_bundle_never_has_it() -> None:
    row = TABLES["log_events"].row({"scope": "", "signature": "x", "text": 'Failed to deserialize JSON \'{"card":"4111-1111"}\'.'})
    (changed,) = Redactor(b"0123456789abcdef").tables({"log_events": [row]})["log_events"]
    assert "JSON object" in changed["text"]


@pytest.mark.parametrize("unit", ["ConsumerRecord(topic", '[Source: (String)"', "Unrecognized token '", "deserialize JSON '", "Key (a)=("])
def test_a_long_line_takes_no_time(unit: str) -> None:
    began = time.process_time()
    shortened(unit * ((1 << 18) // len(unit)))
    assert time.process_time() - began < 5
