"""The lab's list of incidents, without its servers: what `make lab` prints and how it ends."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from analyzers.finding import CAUSES
from fixtures.lab import lab
from fixtures.lab.artifacts import LabUnavailable
from fixtures.lab.incidents import INCIDENTS, Incident, all_incidents, incident
from fixtures.lab.scene import Scene


def test_every_label_is_a_cause_or_healthy() -> None:
    incidents = all_incidents()
    assert len(incidents) >= 20
    assert {known.cause for known in incidents.values()} <= {*CAUSES, None}
    healthy = [known.name for known in incidents.values() if known.cause is None]
    assert healthy, "faults alone prove no rule quiet"


def test_the_list_names_them_all(capsys: pytest.CaptureFixture[str]) -> None:
    assert lab.main([]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(all_incidents())


def test_an_unknown_name_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert lab.main(["stuck-asink"]) == 2
    assert "no incident stuck-asink" in capsys.readouterr().err


def test_a_lab_that_cannot_be_had_says_why(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def play(scene: Scene) -> None:
        raise LabUnavailable("no Java here")

    monkeypatch.setitem(all_incidents(), "none", Incident("none", None, "nothing", {}, play))
    assert lab.main(["none", "--to", str(tmp_path / "recording")]) == 3
    assert "none could not be recorded: no Java here" in capsys.readouterr().err
    assert not (tmp_path / "recording").exists(), "half a recording would look like one"


def test_the_label_says_what_was_done_when(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def play(scene: Scene) -> None:
        scene.happens("well until here")
        scene.happens("the first fault", bad=True)
        scene.happens("the second", bad=True)
        scene.label["culprit"]["offset"] = 7

    target = tmp_path / "recording"
    monkeypatch.setitem(all_incidents(), "told", Incident("told", "other", "a story", {"topic": "orders"}, play))
    assert lab.main(["told", "--to", str(target)]) == 0
    assert capsys.readouterr().out == f"{target}\n"
    label = json.loads((target / "label.json").read_text())
    assert (label["cause"], label["culprit"]) == ("other", {"topic": "orders", "offset": 7})
    assert label["first_bad_moment"] == label["events"][1]["at"]
    assert INCIDENTS["told"].culprit == {"topic": "orders"}, "a label must not change the incident"


def test_two_incidents_of_one_name() -> None:
    name = next(iter(all_incidents()))
    with pytest.raises(ValueError, match="two incidents"):
        incident(name, None, "again")(lambda scene: None)
