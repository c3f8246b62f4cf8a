"""The odds of the next start, from tables: which entries count, for which client, and where the version is known from."""

from __future__ import annotations

from typing import Any

import pytest

from analyzers.derived.next_start.start_odds import start_odds as start_odds_tables
from analyzers.forecast.what_if import parse_what_if
from analyzers.tables import BOOTSTRAP_SERVERS, BROKERS, CLIENT_CONFIGS, LOG_EVENTS, LOG_FILES, PARTITIONS, TOPIC_CONFIGS


def start_odds(tables: dict[str, list[dict[str, Any]]], *questions: str) -> list[dict[str, Any]]:
    return start_odds_tables(tables, [parse_what_if(question) for question in questions])["forecast"]


def probed(*states: str) -> dict[str, list[dict[str, Any]]]:
    rows = [{"entry": f"k{n}:9092", "state": state, "ip": f"10.0.0.{n}", "position": n} for n, state in enumerate(states)]
    return {"bootstrap_servers": [BOOTSTRAP_SERVERS.row({"scope": "", **row}) for row in rows]}


def stated(**values: object) -> dict[str, list[dict[str, Any]]]:
    return {"client_configs": [CLIENT_CONFIGS.row({"scope": "", **values})]}


def test_every_entry_alive_has_no_odds() -> None:
    assert start_odds(probed("alive", "alive")) == []


def test_an_unknown_client_gets_the_odds_of_an_old_and_a_newer_one() -> None:
    rows = start_odds(probed(*["alive"] * 8, *["black-hole"] * 4))
    assert [(row["client_version"], row["assumed"], round(row["p_fail_client"], 3)) for row in rows] == [
        ("2.4.1", True, 0.333),
        ("3.4.0", True, 0.0),
    ]


def test_two_silent_kinds_are_one_forecast() -> None:
    """Told one by one they were too mild: a hung entry costs half of the minute in which a black hole may still come."""
    (row,) = start_odds(probed("alive", "hung", "black-hole", "refused") | stated(client_version="2.4.1", clients=64))
    assert (row["kind"], row["dead"], row["entries"], row["skipped"]) == ("black-hole+hung", 2, 4, 1)
    assert row["p_fail_client"] == pytest.approx(1 / 3 + 1 / 3 * 1 / 2)
    assert row["measured"] is False
    assert "practically no start succeeds" in str(row["says"])
    assert "3 of 4 entries dead (1 black-hole, 1 hung, 1 refused)" in str(row["says"])


def test_a_question_about_several_kinds_keeps_them_all() -> None:
    (row,) = start_odds({}, "entries=12 black-hole=4 dns=2 refused=1 client=2.4.1")
    assert "7 of 12 entries dead (4 black-hole, 2 dns, 1 refused)" in str(row["says"])
    (row,) = start_odds({}, "entries=6 tls=2 client=3.4.0")
    assert (row["kind"], row["p_fail_client"]) == ("tls", None)


def test_the_addresses_of_one_name_are_what_counts() -> None:
    rows = [{"entry": "kafka:9092", "state": "black-hole" if n < 8 else "alive", "ip": f"10.0.0.{n}", "position": 0} for n in range(12)]
    tables = {"bootstrap_servers": [BOOTSTRAP_SERVERS.row({"scope": "", **row}) for row in rows]}
    (row,) = start_odds(tables | stated(client_version="3.4.1"))
    assert (row["entries"], row["dead"]) == (12, 8)
    assert row["p_fail_client"] == pytest.approx(56 / 220)


def test_brokers_that_might_be_removed() -> None:
    tables = probed("alive", "alive", "alive")
    for row in tables["bootstrap_servers"]:
        row["broker"] = row["position"]
    tables["brokers"] = [BROKERS.row({"scope": "", "broker": node, "state": "alive"}) for node in range(3)]
    lists = {"a": ("0", "1"), "b": ("1", "2"), "c": ("1",)}
    tables["partitions"] = [
        PARTITIONS.row({"scope": "", "topic": topic, "partition": 0, "replicas": list(nodes), "isr": list(nodes)})
        for topic, nodes in lists.items()
    ]
    tables["topic_configs"] = [TOPIC_CONFIGS.row({"scope": "", "topic": "a", "key": "min.insync.replicas", "value": "2"})]
    (row,) = start_odds(tables | stated(client_version="2.4.1"), "remove=1,2")
    assert (row["scenario"], row["dead"], row["entries"], row["p_fail_client"]) == ("remove=1,2", 2, 3, pytest.approx(2 / 3))
    assert str(row["says"]).endswith("Partitions: every replica gone: b-0, c-0; closed to writers with acks=all: a-0")


def test_a_broker_that_does_not_exist_is_told() -> None:
    tables = probed("alive", "alive") | stated(client_version="2.4.1")
    (row,) = start_odds(tables, "remove=7")
    assert str(row["says"]).endswith("Partitions: unknown, no broker told its cluster")
    tables["brokers"] = [BROKERS.row({"scope": "", "broker": 1, "state": "alive"})]
    (row,) = start_odds(tables, "remove=1,7")
    assert str(row["says"]).endswith("Partitions: unknown, broker 7 is not in the cluster")


def test_an_entry_that_is_named_twice_is_two_servers() -> None:
    tables = probed("alive", "black-hole", "black-hole")
    tables["bootstrap_servers"][2]["entry"] = tables["bootstrap_servers"][1]["entry"]
    (row,) = start_odds(tables | stated(client_version="2.4.1"))
    assert (row["entries"], row["dead"]) == (3, 2)


def test_a_question_alone_needs_no_table_at_all() -> None:
    rows = start_odds({}, "entries=12 dead=4 client=2.4.1 parallelism=64", "entries=12 dead=4 client=2.8.1 parallelism=64")
    assert [(row["p_fail_start"], row["kind"]) for row in rows] == [(pytest.approx(1.0), "black-hole"), (0.0, "black-hole")]
    assert rows[0]["smallest_change"] == "drop the 4 dead entries from bootstrap.servers"


CONFIG = """ConsumerConfig values:
	bootstrap.servers = [k0:9092, k1:9092]
	default.api.timeout.ms = 15000
	request.timeout.ms = 10000
"""


def test_logs_tell_connector_parallelism_and_time_outs() -> None:
    events: list[dict[str, Any]] = [
        {"signature": "kafka-client-config", "detail": {"config_of": "Consumer", "bootstrap": "k0:9092, k1:9092"}, "text": CONFIG},
        {"signature": "task-deploying", "task": "Source: orders -> parse", "parallelism": 64},
        {"signature": "metadata-timeout", "frames": ["org.apache.flink.streaming.connectors.kafka.FlinkKafkaConsumerBase.open"]},
        {
            "signature": "kafka-client-config",
            "role": "kafka-broker",
            "detail": {"config_of": "Consumer"},
            "text": CONFIG.replace("15000", "1"),
        },
    ]
    logs = {
        "log_events": [LOG_EVENTS.row({"scope": "", **event}) for event in events],
        "log_files": [
            LOG_FILES.row({"scope": "", "clients": ["kafka-clients 2.4.1"], "role": "taskmanager"}),
            LOG_FILES.row({"scope": "", "clients": ["kafka-clients 2.3.0"], "role": "kafka-broker"}),
        ],
    }
    (row,) = start_odds(probed("alive", "black-hole") | logs)
    assert (row["client_version"], row["connector"], row["clients"], row["timeout_seconds"]) == ("2.4.1", "legacy", 64, 15.0)
    (row,) = start_odds(probed("alive", "black-hole") | logs | stated(connector="kafka-source"))
    assert (row["connector"], row["clients"]) == ("kafka-source", 1)


def test_logs_tell_the_version_and_the_oldest_of_several_counts() -> None:
    logs = {"log_files": [LOG_FILES.row({"scope": "", "clients": ["kafka-clients 3.4.0", "kafka-clients 2.4.1"]})]}
    assert [(r["client_version"], r["assumed"]) for r in start_odds(probed("alive", "hung") | logs)] == [("2.4.1", False)]
    assert [r["client_version"] for r in start_odds(probed("alive", "hung") | logs | stated(client_version="2.8.1"))] == ["2.8.1"]


def test_a_worse_list_has_no_milder_forecast() -> None:
    """An entry whose kind was never measured makes no start likelier: what is measured of the others is a bound."""
    client = stated(client_version="2.4.1", clients=4)
    (known,) = start_odds(probed("alive", "alive", "black-hole") | client)
    (worse,) = start_odds(probed("alive", "tls", "black-hole") | client)
    assert worse["p_fail_start"] >= known["p_fail_start"] > 0
    assert (worse["measured"], worse["p_fail_client_high"]) == (False, 1.0)
    assert "at least" in str(worse["says"])
    assert "at least" not in str(known["says"])
