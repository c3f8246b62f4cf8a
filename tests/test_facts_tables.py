"""Tables of facts at a terminal: a narrow one may leave columns out, it may never cut words out of a sentence."""

from __future__ import annotations

import io
from datetime import datetime, timezone

import pytest
from rich.console import Console

from analyzers.tables import TABLES
from cli.renderers.facts import drawn

SENTENCE = "accepts the connection, no answer to ApiVersions in 1.2 s"


def lines(name: str, rows: list[dict[str, object]], width: int) -> list[str]:
    text = io.StringIO()
    Console(file=text, width=width).print(drawn(name, rows))
    return [line.rstrip() for line in text.getvalue().splitlines()]


@pytest.mark.parametrize("width", range(50, 170, 7))
def test_no_word_of_a_sentence_is_lost(width: int) -> None:
    """Cut off at the right, "no answer to" became "answer to"."""
    entry = {"entry": "kafka-1.example:9092", "ip": "10.0.0.1", "state": "hung", "broker": 1, "connect_ms": 0.4, "why": SENTENCE}
    alive = {"entry": "kafka-2.example:9092", "ip": "10.0.0.2", "state": "alive", "broker": 2, "connect_ms": 0.4, "api_versions_ms": 1.5}
    drawn_lines = lines("bootstrap_servers", [entry, alive | {"metadata_ms": 2.0}], width)
    assert max(map(len, drawn_lines)) <= width
    words = [word for line in drawn_lines for word in line.split()]
    for word in SENTENCE.split():
        assert word in words


def test_a_forecast_without_odds_is_said_to_have_none() -> None:
    """It was a table of what had been asked, without an answer."""
    row = {"scope": "", "scenario": "now", "client_version": "3.4.0", "kind": "not-kafka", "dead": 1, "entries": 3, "clients": 1}
    assert lines("forecast", [row], 100) == ["forecast: it is not known how often clients fail at entries that are not-kafka"]
    assert "100%" in "".join(lines("forecast", [row, {**row, "p_fail_start": 1.0}], 100))


@pytest.mark.parametrize("width", [60, 80, 120])
def test_what_logs_hold_is_a_line_for_each_thing_that_happened(width: int) -> None:
    """With a column for each of eight things every word stood in six lines, and there were hundreds of rows."""
    at = [datetime(2026, 11, 21, 13, 3, second, tzinfo=timezone.utc) for second in (8, 17, 33)]
    counts = [
        TABLES["log_counts"].row(
            {"signature": name, "task": task, "file": "/var/log/flink/jm.log", "events": 2, "first_at": a, "last_at": z}
        )
        for name, task, a, z in (
            ("task-transition", "a", at[1], at[1]),
            ("task-transition", "b", at[1], at[2]),
            ("flink-banner", None, at[0], at[0]),
        )
    ]
    shown = [line.split() for line in lines("log_counts", counts, width) if line][-2:]
    assert [fields[:4] for fields in shown] == [
        ["flink-banner", "2", "2026-11-21", "13:03:08"],
        ["task-transition", "4", "2026-11-21", "13:03:17"],
    ]
    events = [TABLES["log_events"].row({"signature": "job-state", "at": at[0], "file": "/var/log/flink/jm.log", "line": 7, "text": "x"})]
    assert [line for line in lines("log_events", events, width) if line][-1].split() == [
        "2026-11-21",
        "13:03:08",
        "job-state",
        "jm.log",
        "7",
    ]


@pytest.mark.parametrize("width", [80, 100, 120])
def test_names_stay_whole_where_columns_can_give_way(width: int) -> None:
    row = {
        "group": "orders-enrichment", "topic": "orders.v2", "partition": 3, "committed": 1_180_112, "log_start": 0,
        "last_stable": 1_204_331, "high_watermark": 1_204_331, "lag_records": 24_219, "client": "flink-1", "host": "10.0.0.7",
    }  # fmt: skip
    text = "\n".join(lines("committed_offsets", [row], width))
    for value in ("orders-enrichment", "orders.v2", "1180112", "1204331", "24,219"):
        assert value in text


def test_an_address_is_not_shown_twice() -> None:
    row = {"entry": "10.0.0.1:9092", "ip": "10.0.0.1", "state": "alive"}
    assert "ip" not in lines("bootstrap_servers", [row], 120)[2].split()
    assert "ip" in lines("bootstrap_servers", [row | {"entry": "kafka:9092"}], 120)[2].split()


def test_healthy_partitions_give_way_to_those_that_suffer() -> None:
    healthy: list[dict[str, object]] = [{"topic": "orders", "partition": number, "state": "ok", "leader": 1} for number in range(300)]
    text = "\n".join(lines("partitions", [*healthy, {"topic": "sink", "partition": 7, "state": "leaderless"}], 80))
    assert "sink" in text
    assert "orders" not in text
    assert "300 partitions more, ok" in text
    assert lines("partitions", healthy, 80) == ["partitions (300 rows): all ok"]
    assert "orders" in "\n".join(lines("partitions", healthy[:3], 80))


def forecast_row(**more: object) -> dict[str, object]:
    return {
        "scenario": "now", "client_version": "2.4.1", "connector": "kafka-source", "kind": "black-hole+hung", "dead": 4, "entries": 12,
        "clients": 64, "p_fail_client": 1 / 3, "p_fail_start": 1 - 1e-12, "expected_starts": 1.9e11, "minutes_lost": 1.9e11, **more,
    }  # fmt: skip


def test_a_forecast_is_readable_in_80_columns() -> None:
    assumed = forecast_row(
        client_version="3.4.0", assumed=True, p_fail_client=0.0, p_fail_start=1e-5, minutes_lost=0.0, scenario="remove=7"
    )
    drawn_lines = lines("forecast", [forecast_row(), assumed], 80)
    assert max(map(len, drawn_lines)) <= 80
    text = "\n".join(drawn_lines)
    # neither 0 nor 100 % for what is neither; an assumed version says so
    for words in ("4 of 12", "33.3%", ">99.9%", "<0.1%", "for ever", "none", "if 3.4.0"):
        assert words in text


def test_of_several_forecasts_the_best_change_of_each_is_shown() -> None:
    rows: list[dict[str, object]] = [
        {"scope": "", "scenario": scenario, "client_version": "2.4.1", "rank": rank, "change": f"change {rank}", "p_fail_start": 0.5}
        for scenario in ("now", "remove=7")
        for rank in (1, 2)
    ]
    assert "change 2" in "\n".join(lines("forecast_fixes", rows[:2], 80))
    assert "change 2" not in "\n".join(lines("forecast_fixes", rows, 80))
