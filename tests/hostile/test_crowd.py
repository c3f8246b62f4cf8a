"""Verdicts do not vanish in a crowd: what a recording gets alone it gets among fifty others."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import jsonschema
import pytest

from analyzers.readers.log_crowds import TOGETHER, belongs_to, crowd
from analyzers.readers.log_scan import plan, scan
from analyzers.report.report import Report
from analyzers.report.schema import report_schema
from analyzers.tables import LOG_FILES
from cli.options.shared import RunOptions
from cli.renderers.json import document
from cli.runs import evidence
from cli.runs.triage import run
from tests.hostile.crowd import alone, copied, differences, recordings, together

if TYPE_CHECKING:
    from cli.engine.spark import Engine


@pytest.fixture(scope="module")
def homes(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("crowd")
    return [copied(case, folder) for case in recordings(50)]


@pytest.fixture(scope="module")
def report(homes: list[Path], engine: Engine) -> Report:
    return run([str(homes[0].parent)], RunOptions(), version="test", engine=engine)


@pytest.mark.long
def test_each_recording_gets_the_verdicts_that_it_gets_alone(homes: list[Path], report: Report, engine: Engine) -> None:
    apart = alone(homes, engine)
    assert sum(map(bool, apart.values())) > 25, "most of them are ill"
    assert differences(apart, together(report, homes)) == {}


@pytest.mark.long
def test_findings_name_their_job_or_directory(homes: list[Path], report: Report) -> None:
    assert {finding.scope for finding in report.findings} <= {home.name for home in homes}
    said = document(report)
    jsonschema.validate(said, report_schema())
    assert all(verdict["scope"] for verdict in said["verdicts"])


@pytest.mark.long
def test_very_many_clusters_are_read_where_they_are_judged(
    homes: list[Path], report: Report, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    damaged = homes[0].parent / "damaged.log.gz"  # of no cluster
    damaged.write_bytes(b"\x1f\x8b\x08\x00\x00")
    beside_none = homes[0].parent / "chk-7" / "_metadata"
    beside_none.parent.mkdir()
    beside_none.write_bytes(b"\x00" * 64)  # no checkpoint that could be restored: CKP304
    said: list[str] = []
    with settings_of(engine, "spark.sql.shuffle.partitions", "spark.sql.execution.arrow.maxRecordsPerBatch"):
        whole = run([str(homes[0].parent)], RunOptions(), version="test", engine=engine)
        monkeypatch.setattr(evidence, "MANY", 10)
        apart = run([str(homes[0].parent)], RunOptions(), version="test", engine=engine, progress=said.append)
    damaged.unlink()
    shutil.rmtree(beside_none.parent)
    assert f"{len(homes)} clusters, each judged by itself" in said
    assert document(apart) == document(whole)
    assert "CKP304" in {finding.code for finding in apart.findings if not finding.scope}, "what lies beside no cluster is judged, too"
    assert str(damaged) in {source.name for source in apart.sources if source.state == "failed"}
    assert (apart.log_clocks, apart.job_names) == (whole.log_clocks, whole.job_names)
    # of a job that still runs a lane ends with the logs of its own cluster, not with the newest of all
    assert [(lane.name, lane.job, lane.marks) for lane in apart.history] == [(lane.name, lane.job, lane.marks) for lane in whole.history]


@contextmanager
def settings_of(engine: Engine, *names: str) -> Iterator[None]:
    """These settings are afterwards what they were."""
    conf = engine.session().conf
    before = {name: conf.get(name) for name in names}
    yield
    for name, value in before.items():
        conf.set(name, str(value))


def test_rows_are_bounded_for_each_cluster_by_itself(homes: list[Path]) -> None:
    made = plan([str(homes[0].parent)])
    rows = scan(made)["log_events"]
    for home in homes:
        assert len(scan(plan([str(home)]))["log_events"]) == sum(row["scope"] == home.name for row in rows), home.name
    assert len(made.clusters) == len(homes)


JOB = "2025-01-01 00:00:00,000 INFO org.apache.flink.runtime.jobmaster.JobMaster [] - Starting execution of job 'a' (%032x) under id 1.\n"


def _clusters(folder: Path, number: int) -> list[tuple[str, tuple[str, ...], str | None]]:
    out: list[tuple[str, tuple[str, ...], str | None]] = []
    for at in range(number):
        for role in ("jobmanager", "taskmanager"):
            place = folder / f"job-{at}" / role / f"{role}.log"
            place.parent.mkdir(parents=True)
            place.write_text(JOB % at)
            out.append((str(place), (), role))
    return out


def test_a_few_clusters_are_judged_as_one(tmp_path: Path) -> None:
    assert crowd(_clusters(tmp_path, TOGETHER)) == []


@pytest.mark.parametrize(
    ("servers", "names"),
    [
        (("kafka-a:9092, kafka-b:9092", "other-1:9092"), ["job-0", "job-1"]),
        (("kafka-a:9092, kafka-b:9092", "kafka-b:9092"), []),
        (("kafka-a:9092", ""), []),
    ],
)
def test_two_clusters_of_two_kafkas_are_judged_each_by_itself(tmp_path: Path, servers: tuple[str, str], names: list[str]) -> None:
    """One lists a server of the other: a job that runs twice shows only where both are seen."""
    logs = _clusters(tmp_path, len(servers))
    for at, named in enumerate(servers):
        place = tmp_path / f"job-{at}" / "taskmanager" / "taskmanager.log"
        place.write_text(place.read_text() + (f"ConsumerConfig values: \n\tbootstrap.servers = [{named}]\n" if named else ""))
    assert [name for name, _ in crowd(logs)] == names


def test_directories_of_one_job_stay_together(tmp_path: Path) -> None:
    assert [(name, len(logs)) for name, logs in crowd(_clusters(tmp_path, TOGETHER + 1))] == [
        ("job-0", 2), ("job-1", 2), ("job-2", 2), ("job-3", 2)
    ]  # fmt: skip


def test_a_log_without_a_job_belongs_to_the_cluster_beside_it(tmp_path: Path) -> None:
    logs = _clusters(tmp_path, TOGETHER + 1)
    beside, of_all = tmp_path / "job-1" / "kafka" / "server.log", tmp_path / "kafka" / "server.log"
    for place in (beside, of_all):
        place.parent.mkdir()
        place.write_text("no job\n")
        logs.append((str(place), (), "kafka-broker"))
    assert dict(crowd(logs)) == {"job-0": [0, 1], "job-1": [2, 3, 8], "job-2": [4, 5], "job-3": [6, 7], "kafka": [9]}


def test_jobs_of_one_session_cluster_are_no_crowd(tmp_path: Path) -> None:
    logs = _clusters(tmp_path, TOGETHER + 1)
    shared = tmp_path / "taskmanager-1" / "taskmanager.log"
    shared.parent.mkdir()
    shared.write_text("".join(JOB % at for at in range(TOGETHER + 1)))
    assert crowd([*logs, (str(shared), (), "taskmanager")]) == []


def test_what_lies_beside_the_logs_of_a_cluster_is_of_it() -> None:
    files = [LOG_FILES.row({"scope": scope, "file": f"/logs/{scope}/{name}"}) for scope in ("a", "b") for name in ("jm.log", "tm/1.log")]
    of = belongs_to(files)
    assert (of("/logs/a/chk-1/_metadata"), of("/logs/b/rest"), of("/logs/c/rest"), of("/checkpoints/x")) == ("a", "b", "", "")
