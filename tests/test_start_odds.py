"""The odds of the next start, from tables: which entries count, for which client, and where the version is known from."""

from __future__ import annotations

from analyzers.derived.start_odds import start_odds
from analyzers.tables import BOOTSTRAP_SERVERS, CLIENT_CONFIGS, LOG_FILES


def probed(*states: str) -> dict[str, list[dict[str, object]]]:
    rows = [{"entry": f"k{n}:9092", "state": state, "ip": f"10.0.0.{n}", "position": n} for n, state in enumerate(states)]
    return {"bootstrap_servers": [BOOTSTRAP_SERVERS.row({"scope": "", **row}) for row in rows]}


def stated(**values: object) -> dict[str, list[dict[str, object]]]:
    return {"client_configs": [CLIENT_CONFIGS.row({"scope": "", **values})]}


def test_every_entry_alive_has_no_odds() -> None:
    assert start_odds(probed("alive", "alive")) == []


def test_an_unknown_client_gets_the_odds_of_an_old_and_a_newer_one() -> None:
    rows = start_odds(probed(*["alive"] * 8, *["black-hole"] * 4))
    assert [(row["client_version"], row["assumed"], round(row["p_fail_client"], 3)) for row in rows] == [
        ("2.4.1", True, 0.333),
        ("3.4.0", True, 0.0),
    ]


def test_each_silent_kind_has_odds_of_its_own() -> None:
    """A mixture told as one of them was too mild: one black hole of four fails an old client more often than two hung ones."""
    rows = start_odds(probed("alive", "hung", "black-hole", "refused") | stated(client_version="2.4.1", clients=64))
    assert [(row["kind"], row["dead"], row["p_fail_client"]) for row in rows] == [("black-hole", 1, 0.25), ("hung", 1, 0.0)]
    assert "practically no start succeeds" in rows[0]["says"]
    assert rows[1]["says"].endswith("the next start does not fail for this")


def test_logs_tell_the_version_and_the_oldest_of_several_counts() -> None:
    logs = {"log_files": [LOG_FILES.row({"scope": "", "clients": ["kafka-clients 3.4.0", "kafka-clients 2.4.1"]})]}
    assert [(r["client_version"], r["assumed"]) for r in start_odds(probed("alive", "hung") | logs)] == [("2.4.1", False)]
    assert [r["client_version"] for r in start_odds(probed("alive", "hung") | logs | stated(client_version="2.8.1"))] == ["2.8.1"]
