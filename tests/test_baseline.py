"""`--baseline`: the findings of a run beside those of an earlier look."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from analyzers.comparison.baseline import beside
from analyzers.comparison.sides import side_of
from analyzers.report.baseline import Baseline, Missed
from analyzers.report.finding import Finding, NotChecked, Severity
from analyzers.report.report import Report
from analyzers.tables.evidence import Evidence
from cli.engine.spark import Engine
from cli.options.shared import RunOptions, code_filters
from cli.renderers import html, markdown, plain, terminal
from cli.renderers.json import document
from cli.runs.baseline import Earlier, earlier
from cli.runs.triage import run
from cli.shell.exits import CannotLook
from cli.shell.output import exit_code
from tests.command_line import diag
from tests.report_samples import JOB, finding, report

ILL = Path(__file__).parent.parent / "fixtures" / "incidents" / "ill" / "broker-shrink-restart-loop" / "raw"
STATE = {"scope": "", "job": JOB, "name": "orders-totals", "state": "RUNNING", "loops": False, "kind": "flink", "failures": 0}
STATE |= {"last_checkpoint": None, "last_checkpoint_at": None, "first_failure_at": None, "last_failure_at": None}
OLD, NEW = finding(subject={"task": "totals"}), finding("CKP104", Severity.CRITICAL, subject={}, says="Checkpoints expire")


def look(*findings: Finding, **values: Any) -> Report:
    judged = [code for code in ("BRK101", "CKP104", "RST101") if code not in {each.code for each in findings}]
    return report(**{"findings": list(findings), "clean": judged, "job_state": [STATE], "job_names": {JOB: "orders-totals"}, **values})


def marked(before: Report, now: Report) -> Report:
    sides = [side_of(name, document(each)) for name, each in (("yesterday.json", before), ("run", now))]
    return beside(now, now, *sides)


def test_each_finding_is_marked_and_what_is_gone_is_named() -> None:
    found = marked(look(OLD, finding("RST101", subject={}, says="It restarts")), look(NEW, OLD))
    assert {each.code: each.change for each in found.findings} == {"CKP104": "new", "BRK101": "still"}
    assert found.baseline is not None
    assert [(each.change, each.code) for each in found.baseline.missed] == [("gone", "RST101")]
    assert found.baseline.counts == {"new": 1, "still": 1, "gone": 1}


@pytest.mark.parametrize(
    ("before", "code"),
    [
        (look(OLD), 0),
        (look(replace(OLD, severity=Severity.WARNING)), 1),
        (look(), 1),
        (look(clean=["RST101"], not_checked=[NotChecked("BRK101", "no log was given")]), 1),
    ],
    ids=["still there", "worse", "new", "not judged then"],
)
def test_a_run_fails_by_what_is_new_or_worse_or_was_not_judged_before(before: Report, code: int) -> None:
    now = look(OLD)
    assert exit_code(now) == 1
    assert exit_code(marked(before, now)) == code


def test_a_source_that_was_not_read_still_counts(tmp_path: Path) -> None:
    from analyzers.report.report import Source

    now = look(OLD, sources=[Source("kafka-9", "kafka", "failed", "refused")])
    assert exit_code(marked(look(OLD), replace(now, findings=[replace(OLD, cause="other", evidence=())]))) == 3


def test_another_job_is_no_baseline_and_costs_nobody_the_diagnosis() -> None:
    now = look(OLD)
    found = marked(look(job_state=[{**STATE, "name": "payments"}]), now)
    assert found.findings == now.findings
    assert found.baseline is not None
    assert "the baseline (yesterday.json) is of job payments, this run (run) of job orders-totals" in (found.baseline.failed or "")
    assert exit_code(found) == 1


def test_every_format_says_it() -> None:
    missed = Missed("unknown", "BRK201", "warning", None, {}, "Broker 5 left", "this run did not judge it: no broker log was given")
    base = Baseline("yesterday.json", "0.1.0", "2026-11-21T09:30:00.000Z", {"new": 1, "unknown": 1}, (missed,), ("this run covers 9 s",))
    shown = look(replace(NEW, change="new"), baseline=base)
    for text in (terminal.page(shown), markdown.render(shown), html.render(shown, "host")):
        words = " ".join(text.replace("\\", "").replace("<wbr>", "").split())
        assert "yesterday.json (until 2026-11-21 09:30:00): 1 new, 1 unknown" in words
        assert "this run did not judge it: no broker log was given" in words.replace("&#x27;", "'")
        assert "this run covers 9 s" in words
    assert "new: Checkpoints expire" in terminal.page(shown)
    lines = [line.split("\t") for line in plain.render(shown).splitlines()]
    assert ["baseline", "yesterday.json", "2026-11-21T09:30:00.000Z", "new=1 worse=0 unknown=1 still=0 gone=0"] in lines
    assert [line[1:3] for line in lines if line[0] == "change"] == [["new", "CKP104"], ["unknown", "BRK201"]]
    said = document(shown)
    assert said["findings"][0]["change"] == "new"
    assert said["baseline"]["missed"][0]["because"] == missed.because
    assert "baseline" not in document(look(OLD))


def test_the_verdict_says_what_became_of_it() -> None:
    from tests.report_samples import verdict

    of = verdict(subject={"task": "totals"})
    shown = look(replace(OLD, change="worse", was="it was warning, now critical"), verdicts=[of])
    assert "Worse than in the baseline: it was warning, now critical." in " ".join(terminal.page(shown).split())


def written(folder: Path, name: str, said: Any) -> str:
    place = folder / name
    place.write_text(said if isinstance(said, str) else json.dumps(said))
    return str(place)


def test_what_is_no_baseline_is_said_before_any_work(tmp_path: Path) -> None:
    damaged = written(tmp_path, "damaged.json", json.dumps(document(look()), indent=2)[:300])
    with pytest.raises(CannotLook, match=r"--baseline: .*is a damaged report"):
        earlier(damaged)
    code, out, err = diag("triage", str(ILL), "--baseline", damaged)
    assert (code, out) == (3, "")
    assert "is a damaged report" in err
    assert diag("triage", str(ILL), "--baseline", str(tmp_path / "nowhere"))[0] == 2
    assert diag("triage", str(ILL), "--baseline", damaged, "--facts-only")[0] == 2
    assert diag("triage", str(ILL), "--baseline", "-")[0] == 2


def test_a_run_beside_the_report_of_the_same_logs(engine: Engine, tmp_path: Path) -> None:
    first = run([str(ILL)], RunOptions(), version="test", engine=engine)
    place = written(tmp_path, "first.json", document(first))
    again = run([str(ILL)], RunOptions(), version="test", engine=engine, baseline=earlier(place))
    assert {each.change for each in again.findings} == {"still"}
    assert (exit_code(first), exit_code(again)) == (1, 0)
    part = run([str(ILL / "kafka")], RunOptions(), version="test", engine=engine, baseline=earlier(place))
    assert part.baseline is not None
    assert {each.change for each in part.baseline.missed} == {"unknown"}, "these logs do not show the job"
    left = run([str(ILL)], RunOptions(ignore=code_filters(["BRK201"], ["BRK201"])), version="test", engine=engine, baseline=earlier(place))
    assert left.baseline is not None
    assert not left.baseline.missed, "what is left out is not gone"
    assert "1 finding of the baseline left out (BRK201)" in left.baseline.remarks


def test_a_redacted_run_shows_no_names_of_its_baseline(engine: Engine, tmp_path: Path) -> None:
    place = written(tmp_path, "named.json", document(run([str(ILL)], RunOptions(), version="test", engine=engine)))
    hidden = run([str(ILL)], RunOptions(hide=True), version="test", engine=engine, baseline=earlier(place))
    assert hidden.baseline is not None
    assert "nothing is compared" in (hidden.baseline.failed or "")
    assert "orders" not in json.dumps(document(hidden)["baseline"])
    assert str(tmp_path) not in json.dumps(document(hidden))
    (tmp_path / "key").write_text("0123456789abcdef" * 4)
    options = RunOptions(hide=True, redaction_key=tmp_path / "key")
    redacted = written(tmp_path, "hidden.json", document(run([str(ILL)], options, version="test", engine=engine)))
    again = run([str(ILL)], options, version="test", engine=engine, baseline=earlier(redacted))
    assert {each.change for each in again.findings} == {"still"}


def test_a_bundle_that_cannot_be_read_is_a_remark_of_the_report(tmp_path: Path) -> None:
    (tmp_path / "bundle").mkdir()
    (tmp_path / "bundle" / "manifest.json").write_text('{"bundle_format": 99, "version": "9.0"}')
    now = look(OLD)
    found = Earlier(str(tmp_path / "bundle")).beside(
        now,
        Evidence({}),
        RunOptions(),
        None,
        key=None,
        version="test",
        progress=lambda said: None,  # type: ignore[arg-type]  # it is not reached
    )
    assert found.baseline is not None
    assert "has bundle format 99" in (found.baseline.failed or "")
    assert found.findings == now.findings
