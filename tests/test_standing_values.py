"""Numbers of a repeated line that stand still to the end of a log (readers/standing_values.py)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from analyzers.diagnosis.diagnose import prepared
from analyzers.diagnosis.next_commands import Places
from analyzers.diagnosis.noticed import noticed
from analyzers.readers.log_scan import LogOptions, plan, scan
from analyzers.report.outcome import doubt, probably
from analyzers.tables import Row
from tests.report_samples import report

Line = Callable[[int], str]


def at(number: int) -> str:
    return f"2026-11-25 14:{10 + number // 60:02}:{number % 60:02},137"


def line_of(number: int) -> str:
    """A counter that moves for 40 lines, then stands."""
    return f"{at(number)} INFO  [stats] c.acme.Poster - posted={1000 + 37 * min(number, 40)} open=3"


def rows(path: Path, lines: Sequence[str]) -> Sequence[Row]:
    log = path / "app.log"
    log.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return scan(plan([str(log)], LogOptions(scope="s"))).get("standing_values", ())


def test_a_counter_that_stands_is_found_with_its_moment_and_what_it_was_before(tmp_path: Path) -> None:
    (row,) = rows(tmp_path, [line_of(number) for number in range(80)])
    assert (row["name"], row["value"], row["line"], row["lines"], row["before"]) == ("posted", "2480", 41, 40, 40)
    assert row["moved"] == ["2369", "2406", "2443"]
    assert f"{row['at']:%H:%M:%S} {row['last_at']:%H:%M:%S}" == "14:10:40 14:11:19"


def per_shard(number: int, *, two: Callable[[int], int], reader: str = "1/2") -> str:
    counts = ", ".join(
        f"shard-{4 * (reader == '2/2') + n}={count}" for n, count in enumerate((900 + 7 * number, two(number), 400 + number))
    )
    return f"{at(300 * number)} INFO  c.acme.Counter [Map ({reader})#0] - records in the last 5 min: {{{counts}}}"


def test_one_of_several_that_is_empty_while_its_siblings_move_needs_few_lines(tmp_path: Path) -> None:
    lines = []
    for number in range(9):
        lines += [per_shard(number, two=lambda n: 0 if n > 4 else 31 * n + 5), per_shard(number, two=lambda n: 800 - n, reader="2/2")]
    (row,) = rows(tmp_path, lines)
    assert (row["name"], row["value"], row["siblings"], row["lines"], row["before"]) == ("shard-1", "0", 2, 4, 5)
    assert (row["moved"], row["line"]) == (["67", "98", "129"], 11)
    (shown,) = noticed(prepared(scan(plan([str(tmp_path)], LogOptions(scope="s")))).whole, (), (), Places({}))
    assert (shown.stands, shown.loss) == ("shard-1 0", True)
    assert "while 2 others of that line move" in shown.says


@pytest.mark.parametrize(
    "two",
    [
        pytest.param(lambda n: 0, id="always empty"),
        pytest.param(lambda n: 0 if n % 3 else 50 + n, id="often empty"),
        pytest.param(lambda n: 0 if n > 6 else 50 + n, id="empty for a moment"),
    ],
)
def test_one_of_several_that_may_be_idle_is_none(tmp_path: Path, two: Callable[[int], int]) -> None:
    assert rows(tmp_path, [per_shard(number, two=two) for number in range(9)]) == ()


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(lambda n: f"{at(n)} INFO  c.acme.Poster - posted={1000 + 37 * n}", id="moves to the end"),
        pytest.param(lambda n: f"{at(n)} INFO  c.acme.Poster - posted=1000 limit=7", id="never moved"),
        pytest.param(lambda n: f"{at(n)} INFO  c.acme.Poster - lag={max(0, 900 - 30 * n)}", id="a lag that is worked off"),
        pytest.param(lambda n: f"{at(n)} INFO  c.acme.Poster - threads={n // 8 if n < 40 else 5}", id="moves seldom"),
        pytest.param(lambda n: f"{at(n)} INFO  c.acme.Poster - posted={n}" if n < 12 else f"{at(n)} INFO idle, x=1", id="too few"),
        pytest.param(lambda n: line_of(n) if n < 60 else f"{at(n)} INFO  c.acme.Other - {chr(97 + n % 26)}{chr(97 + n // 26)}", id="ends"),
    ],
)  # fmt: skip
def test_other_series_are_none(tmp_path: Path, line: Line) -> None:
    assert rows(tmp_path, [line(number) for number in range(400)]) == ()


def test_it_is_shown_where_there_is_no_verdict_and_is_no_error_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "app.log").write_text("\n".join(line_of(number) for number in range(80)), encoding="utf-8")
    evidence = prepared(scan(plan([str(tmp_path / "app.log")], LogOptions(scope="s"))))
    (shown,) = noticed(evidence.whole, [], [], Places(evidence.whole))
    assert shown.says.startswith("posted 2480 stands; before: 2369, 2406, 2443")
    assert (shown.telling, shown.is_error, shown.count) == (True, False, 40)
    found = report(noticed=[shown])
    assert probably(found) == "; posted 2480 stands since 14:10:40"
    assert doubt(found) is None, "a number that stands is no doubt of its own: a job may have nothing to do"


@pytest.mark.parametrize("damage", [b"\x00" * 4096, b"\xff\xfe" * 900, b"7" * 100_000, b"\n" * 5_000, b""])
def test_what_is_no_log_gives_none(tmp_path: Path, damage: bytes) -> None:
    log = tmp_path / "app.log"
    log.write_bytes(damage)
    found: dict[str, Any] = scan(plan([str(log)], LogOptions(scope="s")))  # type: ignore[assignment]
    assert found.get("standing_values", ()) == ()
