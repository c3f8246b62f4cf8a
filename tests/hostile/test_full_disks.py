"""What a fleet writes is whole or absent, and its report is told all the same; a file of an earlier run that is nonsense is wrong usage."""

from __future__ import annotations

import io
import json
import resource
import stat
from pathlib import Path

import pytest

from analyzers.report.fleet import FleetReport, JobRow
from cli.runs.fleet import FleetRun
from cli.runs.fleet_history import baseline, save
from cli.runs.fleet_output import emit
from cli.shell.environment import Environment
from cli.shell.exits import CannotLook, UsageError

RUN = FleetRun(FleetReport("1", [JobRow("orders", None, None, "clear", None, None, None, "nothing wrong found")]))
FULL = Path("/dev/full")


def test_a_report_that_no_file_took_goes_to_standard_output(tmp_path: Path) -> None:
    out = io.StringIO()
    failures = emit(RUN, [("json", FULL), ("html", tmp_path / "page.html")], Environment(out, io.StringIO()))
    assert ["No space left" in failure.message for failure in failures] == [True]
    assert "orders" in out.getvalue()
    assert "orders" in (tmp_path / "page.html").read_text()


def test_what_a_fleet_saves_is_its_owners_whole_or_absent(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("precious")
    (tmp_path / "saved").mkdir()
    (tmp_path / "saved" / "fleet.json").symlink_to(tmp_path / "elsewhere")
    save(RUN, tmp_path / "saved")
    assert (tmp_path / "elsewhere").read_text() == "precious"
    written = [each for each in (tmp_path / "saved").rglob("*") if each.is_file()]
    assert {stat.S_IMODE(each.stat().st_mode) for each in written} == {0o600}
    assert {stat.S_IMODE(each.stat().st_mode) for each in (tmp_path / "saved").rglob("*") if each.is_dir()} == {0o700}
    assert sorted(each.name for each in (tmp_path / "saved").iterdir()) == ["findings.parquet", "fleet.json", "history", "jobs.parquet"]
    assert sorted(each.parent.name for each in written if "history" in each.parts) == ["jobs", "roots", "runs"]
    (tmp_path / "file").write_text("")
    with pytest.raises(CannotLook, match="cannot write"):
        save(RUN, tmp_path / "file")


def test_a_disk_that_is_full_before_the_end_has_the_run_before_and_nothing_of_this_one(tmp_path: Path) -> None:
    """The history had a run whose jobs were not there, and tables of one run beside the document of another."""
    save(RUN, tmp_path / "saved")
    before = {each: each.read_bytes() for each in (tmp_path / "saved").rglob("*") if each.is_file()}
    job = JobRow("orders", None, None, "clear", None, None, None, "\n".join(map(str, range(60_000))))
    room = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, room[1]))
    try:
        with pytest.raises(CannotLook, match=r"cannot write the report to .*fleet\.json: File too large"):
            save(FleetRun(FleetReport("1", [job])), tmp_path / "saved")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, room)
    assert {each: each.read_bytes() for each in (tmp_path / "saved").rglob("*") if each.is_file()} == before


@pytest.mark.parametrize("jobs", [None, 1, [1], [{}], [{"scope": 1, "verdicts": []}, {"scope": "a", "verdicts": [{"id": 1}]}], {"a": 1}])
def test_a_baseline_of_nonsense_is_wrong_usage(jobs: object, tmp_path: Path) -> None:
    (tmp_path / "fleet.json").write_text(json.dumps({"command": "fleet", "jobs": jobs}))
    with pytest.raises(UsageError, match="is not of diag fleet"):
        baseline(tmp_path)
