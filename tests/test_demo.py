"""The incidents that come with diag: what is listed, what is small enough to ship, and that the hints fit the recordings."""

from __future__ import annotations

import json
import re
import zlib
from pathlib import Path

import pytest

from analyzers.rules.catalogue import load_rules
from cli import incidents
from cli.incidents import Incident
from tests.command_line import diag

ALL = incidents.incidents()
MOST_BYTES = 300_000
"""Of a wheel, for all recordings."""


def recording(incident: Incident) -> Path:
    """The fixture whose logs an incident has."""
    return incident.path.resolve().parent


def test_they_are_listed_for_people_and_for_programs() -> None:
    code, out, _ = diag("demo")
    assert code == 0
    rows = [line.split("\t") for line in out.splitlines()]
    assert [row[0] for row in rows] == ["broker-shrink", "stuck-barrier", "poison-record", "healthy-shrink"]
    assert all(title and (Path(path) / "jobmanager.log").is_file() for _, title, path in rows)
    code, out, _ = diag("demo", stdout_is_tty=True)
    assert code == 0
    assert all(f"  {each.name} " in out and each.title in out for each in ALL)
    assert max(map(len, out.splitlines())) <= 80


def test_three_are_ill_and_one_is_well() -> None:
    expected = [json.loads((recording(each) / "expect.json").read_text()) for each in ALL]
    assert [each.get("cause") for each in expected] == ["broker-unreachable", "barrier-unacknowledged", "poison-record", None]
    assert expected[-1]["healthy"] is True


@pytest.mark.parametrize("incident", ALL, ids=lambda each: each.name)
def test_three_lines_say_what_to_look_at(incident: Incident) -> None:
    assert len(incident.look) == 3
    assert max(map(len, incident.look)) <= 75, "with its number a line has 80 columns"
    expected = json.loads((recording(incident) / "expect.json").read_text()).get("cause")
    named = re.findall(r"\b[A-Z]{3}\d{3}\b", " ".join(incident.look))
    assert {rule.cause for rule in load_rules() if rule.code in named} <= {expected}


def test_they_are_small_enough_to_ship() -> None:
    logs = [path for each in ALL for path in each.path.rglob("*") if path.is_file()]
    assert sum(len(zlib.compress(path.read_bytes())) for path in logs) <= MOST_BYTES


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        (["brok"], "Did you mean broker-shrink?"),
        (["posion-record"], "Did you mean poison-record?"),
        (["zzz"], "There are broker-shrink, stuck-barrier, poison-record, healthy-shrink."),
        (["-o", "json"], "no incident was named to report on"),
        (["broker-shrink", "--bundle", "incident.tar.gz"], "--bundle names other evidence"),
    ],
)
def test_wrong_usage_names_what_there_is(typed: list[str], says: str) -> None:
    code, out, err = diag("demo", *typed)
    assert (code, out) == (2, "")
    assert says in err


def test_recordings_that_did_not_come_along_are_missed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(incidents, "__file__", str(tmp_path / "__init__.py"))
    code, out, err = diag("demo", "broker-shrink")
    assert (code, out) == (3, "")
    assert f"the recording of broker-shrink is not in {tmp_path / 'broker-shrink'}" in err
