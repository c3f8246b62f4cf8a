"""Settings that the evidence gives (`derived/settings_given.py`), and those that a verdict's steps name (`diagnosis/settings_named.py`)."""

from __future__ import annotations

from typing import Any

import pytest

from analyzers.derived.settings_given import assigned, settings_given, values_of
from analyzers.diagnosis.settings_named import settings_named
from analyzers.tables import LOG_EVENTS, LOG_REMARKS, Row


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('"auto.offset.reset": "latest",', ("auto.offset.reset", "latest")),
        ("auto-offset-reset: latest   # since the move", ("auto-offset-reset", "latest")),
        ("KAFKA_AUTO_OFFSET_RESET=latest", ("KAFKA_AUTO_OFFSET_RESET", "latest")),
        ("    AutoOffsetReset = AutoOffsetReset.Latest,", ("AutoOffsetReset", "AutoOffsetReset.Latest")),
        ("StartOffset:       kafka.LastOffset,", ("StartOffset", "kafka.LastOffset")),
        ('props.put("auto.offset.reset", "latest");', ("auto.offset.reset", "latest")),
        ('.option("startingOffsets", start)', ("startingOffsets", "start")),
        (".setStartingOffsets(OffsetsInitializer.latest())", ("StartingOffsets", "OffsetsInitializer.latest()")),
        ("retention.ms=172800000 sensitive=false", ("retention.ms", "172800000")),
        ("auto_offset_reset='latest',", ("auto_offset_reset", "latest")),
    ],
)
def test_each_spelling_is_read(line: str, expected: tuple[str, str]) -> None:
    assert next(assigned(line)) == expected


@pytest.mark.parametrize(
    "line",
    [
        "11:14 payments-oncall: the job was stopped, and is up again",
        "clickstream.raw:12:0",
        "CreatePartitionsTopicResult(name='crm.user-events', errorCode)",
        "lag: 412",
        "if a.b == c.d:",
    ],
)
def test_prose_and_listings_give_none(line: str) -> None:
    assert [name for name, _ in assigned(line) if "." in name] == []


def note(text: str, file: str = "app.yaml", line: int = 3, **more: Any) -> Row:
    return LOG_REMARKS.row({"scope": "s", "file": file, "line": line, "text": text, **more})


def test_notes_and_a_clients_own_listing_give_them_but_lines_of_logs_do_not() -> None:
    listing = LOG_EVENTS.row(
        {"scope": "s", "file": "a.log", "line": 9, "signature": "kafka-client-config",
         "text": "INFO ConsumerConfig values: \n\tauto.offset.reset = earliest\n\tmax.poll.records = 500"}
    )  # fmt: skip
    logged = note("WARN auto.offset.reset=none is odd", "b.log", times=4, level="WARN")
    notes = [note("auto-offset-reset: latest"), note("auto-offset-reset: latest", line=8), logged]
    rows = settings_given({"log_remarks": notes, "log_events": [listing]})
    assert [(row["file"], row["line"], row["name"], row["value"]) for row in rows] == [
        ("app.yaml", 3, "auto-offset-reset", "latest"),
        ("a.log", 9, "auto.offset.reset", "earliest"),
        ("a.log", 9, "max.poll.records", "500"),
    ]
    assert values_of(rows, "auto.offset.reset") == {"latest", "earliest"}
    assert values_of(rows, "max.poll.interval.ms") == set()


def test_a_steps_setting_is_shown_in_every_clients_spelling_once() -> None:
    rows = settings_given(
        {"log_remarks": [note("max_poll_records=200", line=4), note("max-poll-records: 200", line=5), note("unrelated.thing: 7", line=6)]}
    )
    step = "Lower max.poll.records (200 now), and read session.timeout.ms."
    assert [(quote.words, quote.line) for quote in settings_named([step], rows)] == [("max_poll_records=200", 4)]
    assert settings_named(["Add a member to the group."], rows) == ()


def test_of_a_long_line_only_the_setting_is_shown() -> None:
    rows = settings_given({"log_remarks": [note(f"# {'x' * 90} offsets.retention.minutes=10080 and more words")]})
    (quote,) = settings_named(["Raise the brokers' offsets.retention.minutes."], rows)
    assert quote.words == "offsets.retention.minutes=10080"
