"""Tables of facts at a terminal: a narrow one may leave columns out, it may never cut words out of a sentence."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

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
