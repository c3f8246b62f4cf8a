"""The lab's list of incidents, without its servers: what `make lab` prints and how it ends."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from analyzers.bundle import read_bundle, write_bundle
from analyzers.report.finding import CAUSES
from analyzers.tables import SOURCES
from fixtures.lab import lab
from fixtures.lab.artifacts import LabUnavailable
from fixtures.lab.incidents import INCIDENTS, Incident, Outcome, Remedy, all_incidents, incident
from fixtures.lab.keep import keep_bundle, kept
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


def test_parameters_reach_the_scene_and_the_label(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[dict[str, str]] = []
    chosen = Incident("told", "other", "a story", {}, lambda scene: seen.append(dict(scene.options)), {"kind": "hung", "dead": "2"})
    monkeypatch.setitem(all_incidents(), "told", chosen)
    assert lab.main(["told", "dead=3", "--to", str(tmp_path)]) == 0
    assert seen == [{"kind": "hung", "dead": "3"}]
    assert json.loads((tmp_path / "label.json").read_text())["parameters"] == seen[0]
    assert lab.main(["told", "deed=3", "--to", str(tmp_path)]) == 2
    assert "told has no parameter deed (kind=hung dead=2)" in capsys.readouterr().err


def test_an_incident_that_nothing_is_tried_against(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert lab.main(["savepoint-upgrade", "--heal", "--to", str(tmp_path / "recording")]) == 2
    assert "nothing is known that could be tried against savepoint-upgrade" in capsys.readouterr().err
    assert not (tmp_path / "recording").exists(), "it is said before anything is started"


@pytest.mark.parametrize("heals", [True, False])
def test_the_recording_is_that_of_the_incident_and_the_label_tells_what_was_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, heals: bool
) -> None:
    monkeypatch.setattr("fixtures.lab.healing.heal.__defaults__", (tmp_path / "healing.json",))
    monkeypatch.setitem(all_incidents(), "told", Incident("told", "other", "a story", {}, lambda scene: None))
    remedies = [Remedy("told", "CKP101", "a pill", True, lambda scene: Outcome(heals, "3 checkpoints"))]
    monkeypatch.setattr("fixtures.lab.incidents.REMEDIES", remedies)
    assert lab.main(["told", "--heal", "--to", str(tmp_path / "recording")]) == (0 if heals else 1), "a page promised it"
    told = [event["what"] for event in json.loads((tmp_path / "recording" / "label.json").read_text())["events"]]
    assert told == ["tried: a pill", f"{'healed' if heals else 'not healed'}: 3 checkpoints"]
    assert [row["healed"] for row in json.loads((tmp_path / "healing.json").read_text())] == [heals]


def test_a_kept_recording_does_not_name_this_machine() -> None:
    lines = [
        "2026-11-21 13:22:10,658 INFO  ClusterEntrypoint [] -     -Dlog.file=/tmp/flink-slufffaq/log/jobmanager.log\n",
        "2026-11-21 13:22:10,658 INFO  ClusterEntrypoint [] -  Classpath: /root/.cache/diag/lab/flink-2.3.0/flink-dist-2.3.0.jar\n",
        "2026-11-21 13:22:11,200 INFO  BlobServer [] - Created BLOB server storage directory /tmp/tm_tm-0/blobStorage\n",
        "2026-11-21 13:24:01,001 INFO  CheckpointCoordinator [] - Could not write file:/tmp/flink-slufffaq/checkpoints/chk-3\n",
    ]
    assert kept("".join(lines)) == lines[2] + lines[3].replace("/tmp/flink-slufffaq", "/opt/flink")
    with pytest.raises(ValueError, match=r"a path of this machine: .*/root/secret"):
        kept("2026-11-21 13:22:10,658 INFO  Job [] - read /root/secret\n")


def test_a_kept_bundle_can_be_read_and_does_not_name_this_machine(tmp_path: Path) -> None:
    row = SOURCES.row({"scope": "", "name": "/tmp/flink-slufffaq/log/jobmanager.log", "kind": "logs"})
    write_bundle(tmp_path / "bundle", {"sources": [row]}, version="1", redact=False)
    (tmp_path / "kept").mkdir()
    keep_bundle(tmp_path / "bundle", tmp_path / "kept")
    assert [row["name"] for row in read_bundle(tmp_path / "kept").tables["sources"]] == ["/opt/flink/log/jobmanager.log"]
