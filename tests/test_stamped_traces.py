"""Traces of Python and Go of which a container's runtime stamped each line are one event, and lines between them stay their own."""

from __future__ import annotations

from pathlib import Path

from analyzers.logs.wrappings.stamped_traces import joined
from analyzers.readers.log_scan import plan, scan
from analyzers.tables import Row

STAMP = "2026-06-03T04:10:{second:02d}.120000000Z "
PYTHON = """Traceback (most recent call last):
  File "/srv/tariff/main.py", line 31, in run
    reading = parse(msg.value())
  File "/srv/tariff/readings.py", line 17, in parse
    kwh = float(doc['kwh'])
          ^^^^^^^^^^^^^^^^^
ValueError: could not convert string to float: '1.204,5'

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "/srv/tariff/main.py", line 44, in <module>
    run()
tariff.Refused: reading of MTR-1 is no number"""
GO = """panic: assignment to entry in nil map
goroutine 18 [running]:
acme.dev/tariff/store.(*Store).Put(0xc0001, {0xc0002, 0x7})
\t/src/store/store.go:41 +0x1c
created by acme.dev/tariff.run in goroutine 1
\t/src/main.go:30 +0x88"""


def stamped(text: str, second: int) -> list[str]:
    return [STAMP.format(second=second) + line for line in text.split("\n")]


def log(*parts: list[str]) -> str:
    return "\n".join(line for part in parts for line in part) + "\n"


def events_of(text: str, folder: Path) -> list[Row]:
    (folder / "worker.log").write_text(text)
    return [*scan(plan([str(folder)]))["log_events"]]


def test_a_trace_of_python_belongs_to_the_error_above_it(tmp_path: Path) -> None:
    text = log(
        *(
            part
            for second in range(0, 40, 10)
            for part in (
                stamped("INFO tariff.consumer reading meters.raw", second),
                stamped("ERROR tariff.consumer failed offset=551226", second + 1),
                stamped(PYTHON, second + 1),
                stamped("INFO tariff.main starting", second + 2),
            )
        )
    )
    events = events_of(text, tmp_path)
    assert len(events) == 4
    assert {(row["exception"], row["root_exception"], row["level"]) for row in events} == {("tariff.Refused", "ValueError", "ERROR")}
    assert [row["line"] for row in events] == [2, 19, 36, 53]
    assert "starting" not in "".join(row["text"] for row in events)


def test_a_trace_without_an_error_above_it_keeps_its_time(tmp_path: Path) -> None:
    text = log(*(part for second in (5, 15, 25) for part in (stamped("INFO waits", second), stamped(PYTHON, second + 3))))
    events = events_of(text, tmp_path)
    assert [(row["at"].second, row["line"], row["root_exception"]) for row in events] == [
        (8, 2, "ValueError"), (18, 17, "ValueError"), (28, 32, "ValueError"),
    ]  # fmt: skip


def test_another_line_within_a_trace_stays_a_line_of_its_own() -> None:
    first, rest = stamped(PYTHON, 1)[:3], stamped(PYTHON, 1)[3:]
    lines = [*stamped("ERROR failed", 1), *first, *stamped("INFO other thread", 2), *rest]
    undone = [line.decode() for line, _ in joined([(line.encode(), number) for number, line in enumerate(lines)])]
    assert undone[1:4] == PYTHON.split("\n")[:3]
    assert undone[4] == lines[4]
    assert undone[5:12] == rest[:7]  # cut off from its beginning, the rest is no trace
    assert undone[12:] == PYTHON.split("\n")[10:]


def test_goroutines_are_joined_to_their_panic(tmp_path: Path) -> None:
    text = log(*(stamped(GO, second) for second in (1, 11, 21)))
    events = events_of(text, tmp_path)
    assert len(events) == 3
    assert all("store.go:41" in row["text"] and "panic: assignment" in row["text"] for row in events)


def test_fields_that_are_only_padded_are_no_trace() -> None:
    lines = [STAMP.format(second=n) + "  File offset is 12" for n in range(4)]
    assert [line.decode() for line, _ in joined([(line.encode(), 0) for line in lines])] == lines
