"""Healthy jobs whose logs lost their beginning get no verdict: each healthy bundle, with a third and with two thirds of its lines cut."""

from __future__ import annotations

import gzip
import shutil
from collections import defaultdict
from pathlib import Path

import pytest

from analyzers.bundle.read import read_bundle
from analyzers.derived import derive
from analyzers.diagnosis.diagnose import judge
from analyzers.readers.log_scan import LogOptions, plan, scan
from analyzers.readers.log_tables import LOUD_LOGS
from analyzers.tables import TABLES, Row
from cli.engine.spark import Engine
from tests.bundles import FIXTURES, HEALTHY, Case

CUTS = {"a third": (1, 3), "two thirds": (2, 3)}
TRACE_ALONE = "what is left is the rest of one trace: as in a paste of one, nothing shows that the job went on"
EXPLAINED = {
    ("a third", "CKP309/quiet"): TRACE_ALONE,
    ("a third", "RST502/quiet-slot-handed-over"): TRACE_ALONE,
    ("a third", "RST001/quiet-commit-tried-again"): TRACE_ALONE,
    ("a third", "RST501/quiet-kafka-debug"): TRACE_ALONE,
    ("two thirds", "BRK101/quiet-commit-fails"): TRACE_ALONE,
    ("a third", "LAG402/quiet-rest-of-trace"): TRACE_ALONE,
    ("a third", "CKP301/quiet-expired-at-warn"): TRACE_ALONE,
    ("a third", "CKP302/quiet-at-warn"): TRACE_ALONE,
    ("a third", "RST406/quiet-at-warn"): TRACE_ALONE,
    ("a third", "RST203/fires-streams-started-again"): TRACE_ALONE,
    ("two thirds", "RST001/quiet-spark-ui"): TRACE_ALONE,
    ("two thirds", "RST501/quiet-rolled-log"): "one error is left, and the log ends with it",
    ("a third", "RST001/quiet-taskmanager-told-to-end"): "the signal that ended the process was in the lines that are gone",
    ("a third", "RST301/quiet-killed-and-restored"): "a container was killed for its memory; that it was the JobManager's is gone",
    ("a third", "RST403/quiet-node-shutdown"): "a TaskManager was lost, and the job restarted; that its node was drained is gone",
}
"""Verdicts that are right for what is left of a bundle."""
OF_WARNINGS = ("-at-warn", "RST503/quiet-single-calls")
"""Healthy bundles that hold nothing of INFO."""


def rolled(case: Case, cut: tuple[int, int], into: Path) -> dict[str, list[Row]] | None:
    """The tables of a bundle, of whose logs the first lines are cut away; None where it has no logs."""
    bundle = read_bundle(case.path)
    if bundle.raw_dir is None:
        return None
    shutil.copytree(bundle.raw_dir, into)
    for log in plan([str(into)], LogOptions()).files:
        path = Path(log.path)
        if path.is_file():
            _cut(path, *cut)
    return {**scan(plan([str(into)], LogOptions()), None), **bundle.tables}


def _cut(path: Path, part: int, of: int) -> None:
    packed = path.suffix == ".gz"
    lines = (gzip.decompress(path.read_bytes()) if packed else path.read_bytes()).splitlines(keepends=True)
    left = b"".join(lines[len(lines) * part // of :])
    path.write_bytes(gzip.compress(left) if packed else left)


def test_a_healthy_log_without_its_beginning_gets_no_verdict(engine: Engine, tmp_path: Path) -> None:
    tables: dict[str, list[Row]] = {name: [] for name, table in TABLES.items() if not table.derived}
    seen = defaultdict(set)
    for number, case in enumerate(HEALTHY):
        for cut, parts in CUTS.items():
            shown = rolled(case, parts, tmp_path / str(number) / cut)
            for name, rows in (shown or {}).items():
                tables[name].extend(row | {"scope": f"{cut}: {case.scope}"} for row in rows)
                seen[cut].add(case.scope)
    assert min(len(cases) for cases in seen.values()) > 200
    verdicts = judge(tables, engine.session, command="triage", version="test").verdicts
    given = {tuple(verdict.scope.split(": ", 1)): (verdict.code, verdict.says) for verdict in verdicts}
    assert {case: said for case, said in given.items() if case not in EXPLAINED} == {}
    assert set(EXPLAINED) - set(given) == set(), "no longer needed"


def test_logs_of_warnings_only_are_named() -> None:
    loud = plan([str(FIXTURES / "RST001" / "quiet-suspending-at-warn" / "raw")], LogOptions())
    scan(loud, None)
    assert loud.notes.count(LOUD_LOGS) == 1


def test_no_other_logs_are() -> None:
    """An excerpt of a few errors proves no filter, and one line of INFO proves that there is none."""
    for case in HEALTHY:
        if (raw := read_bundle(case.path).raw_dir) is not None and not any(name in case.scope for name in OF_WARNINGS):
            made = plan([str(raw)], LogOptions())
            scan(made, None)
            assert LOUD_LOGS not in made.notes, case.scope


@pytest.mark.parametrize("name", ["LAG401/fires-rolled-log", "RST501/quiet-rolled-log"])
def test_what_a_job_goes_on_after_failed_nothing(name: str) -> None:
    found = scan(plan([str(FIXTURES / name / "raw")], LogOptions()), None)
    assert [fault["fatal"] for fault in derive(found)["faults"]] == [False]


def test_an_error_after_the_last_checkpoint_still_fails_the_job(tmp_path: Path) -> None:
    shutil.copytree(FIXTURES / "RST501" / "quiet-rolled-log" / "raw", tmp_path / "raw")
    master = tmp_path / "raw" / "jobmanager.log"
    lines = master.read_text().splitlines(keepends=True)
    master.write_text("".join(lines[:10]))
    faults = derive(scan(plan([str(tmp_path / "raw")], LogOptions()), None))["faults"]
    assert [fault["fatal"] for fault in faults] == [True]


def test_a_failure_that_the_jobmanager_has_counts_once(tmp_path: Path) -> None:
    shutil.copytree(FIXTURES / "RST501" / "quiet-rolled-log" / "raw", tmp_path / "raw")
    (tmp_path / "raw" / "jobmanager.log").write_text((tmp_path / "raw" / "jobmanager.log").read_text().partition("\n")[0] + "\n")
    found = scan(plan([str(tmp_path / "raw")], LogOptions()), None)
    job = next(event["job"] for event in found["log_events"] if event["job"])
    head = {"scope": "", "job": job, "as_of": max(event["as_of"] for event in found["log_events"])}
    asked = {"jobs": [TABLES["jobs"].row(head | {"state": "RUNNING", "captured_at": head["as_of"]})], "exceptions": []}
    assert [fault["fatal"] for fault in derive(found)["faults"]] == [True]
    assert [fault["fatal"] for fault in derive({**found, **asked})["faults"]] == [False]
