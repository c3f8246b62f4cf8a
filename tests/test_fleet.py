"""Many jobs in one run: each gets the verdicts that it gets alone; what they share is one line; one that cannot be read costs itself."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import socket
import subprocess
import sys
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pyarrow.parquet as pq
import pytest

from analyzers.fleet.judging import tasks_of
from analyzers.fleet.places import Place, flat_directory, places
from analyzers.fleet.reading import items_of, packs_of, parts_of
from analyzers.fleet.roots import compared, is_drawn
from analyzers.fleet.scopes import derived
from analyzers.report.fleet import FleetReport, JobRow, JobVerdict, fleet_schema
from cli.options.shared import RunOptions
from cli.runs import fleet as fleets
from cli.runs.fleet_evidence import Gathering, job_managers
from cli.runs.fleet_output import emit_job
from cli.shell.environment import Environment
from cli.shell.exits import CannotLook, UsageError
from tests.bundles import FIXTURES, Case
from tests.hostile.crowd import alone, copied
from tests.report_samples import incident, verdict
from tests.rest_replay import STUCK, replaying

if TYPE_CHECKING:
    from cli.engine.spark import Engine

ROOT = Path(__file__).resolve().parent.parent
RECORDED = (
    "ill/lab-broker-shrink-hung", "ill/lab-jobmanager-killed-memory-checkpoints", "ill/lab-two-jobs-one-stuck",
    "ill/spark-poison-batch", "healthy/healthy-adaptive-rescale",
)  # fmt: skip
BUNDLE = "incidents/ill/lab-timer-storm"
CALLERS, REGISTRY = ("calls-it", "calls-it-too"), "registry.shop.internal:8081"


def of_another_job(home: Path) -> None:
    """A copy of a recording is of the same job; its ids turned round are those of another."""
    for file in filter(Path.is_file, home.rglob("*")):
        text = file.read_bytes()
        for job in set(re.findall(rb"for job ([0-9a-f]{32})", text)):
            text = text.replace(job, job[::-1])
        file.write_bytes(text)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Recordings, one of them twice, a bundle, a directory without a log and an archive that is none."""
    home = tmp_path_factory.mktemp("fleet")
    for name in RECORDED:
        copied(Case(FIXTURES / "incidents" / name), home)
    shutil.copytree(home / "incidents-ill-lab-broker-shrink-hung", home / "the-same-brokers")
    of_another_job(home / "the-same-brokers")
    for name in CALLERS:  # two jobs of one company, which call the same service
        made = copied(Case(FIXTURES / "incidents/ill/lab-registry-503"), home)
        for file in filter(Path.is_file, made.rglob("*")):
            file.write_bytes(file.read_bytes().replace(b"127.0.0.1:33301", REGISTRY.encode()))
        made.rename(home / name)
    of_another_job(home / CALLERS[1])
    shutil.copytree(FIXTURES / BUNDLE, home / "bundle")
    (home / "empty").mkdir()
    (home / "broken.tar.gz").write_bytes(b"\x1f\x8b\x08\x00 this is no archive")
    return home


@pytest.fixture(scope="module")
def run(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[subprocess.CompletedProcess[str], Path]:
    """One run of the command; it has a process of its own, since pandas is kept out of this one."""
    out = tmp_path_factory.mktemp("said")
    asked = ["fleet", str(folder), "--save", str(out / "saved"), "-o", "json", "-o", f"html={out}/fleet.html", "-o", f"csv={out}/fleet.csv"]
    return diag(*asked), out


def diag(*arguments: str) -> subprocess.CompletedProcess[str]:
    asked = [sys.executable, "-m", "cli", *arguments]
    return subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, timeout=900, check=False, env=os.environ | {"DIAG_CORES": "2"})


@pytest.fixture(scope="module")
def said(run: tuple[subprocess.CompletedProcess[str], Path]) -> dict[str, Any]:
    assert run[0].returncode == 1, run[0].stderr
    found: dict[str, Any] = json.loads(run[0].stdout)
    return found


def test_each_job_gets_the_verdicts_that_it_gets_alone(folder: Path, said: dict[str, Any], engine: Engine) -> None:
    homes = [home for home in folder.iterdir() if home.name.startswith("incidents-") or home.name == "the-same-brokers"]
    apart = alone(homes, engine)
    fleet: dict[str, set[tuple[str, str | None, str, str | None]]] = {home.name: set() for home in homes}
    for job in said["jobs"]:
        for each in job["verdicts"] if job["scope"] in fleet else ():
            subject = str(sorted((key, str(value)) for key, value in each["subject"].items()))
            fleet[job["scope"]].add((each["code"], each["reason"], subject, job["job"]))
    assert fleet == apart
    assert sum(map(bool, apart.values())) == 5


def test_outcomes_are_in_order_and_say_what_could_not_be_read(said: dict[str, Any]) -> None:
    by_scope = {job["scope"]: job["outcome"] for job in said["jobs"]}
    assert by_scope["bundle"] == "ill"
    assert by_scope["incidents-healthy-healthy-adaptive-rescale"] == "clear"
    assert by_scope["empty"] == by_scope["broken.tar.gz"] == "unread"
    outcomes = [job["outcome"] for job in said["jobs"]]
    assert outcomes == sorted(outcomes, key=("ill", "at-risk", "unread", "undecided", "clear").index)
    assert "there is no log in" in next(job["says"] for job in said["jobs"] if job["scope"] == "empty")
    assert not [job["defects"] for job in said["jobs"] if job["defects"]]


def test_what_stands_behind_several_jobs_is_one_line(said: dict[str, Any]) -> None:
    """A service and a Kafka cluster; ``tm-0``, localhost and the like, which all of these recordings have, are none."""
    roots = {(root["kind"], root["value"], root["link"], root["cause"]): root["scopes"] for root in said["roots"]}
    assert roots == {
        ("address", REGISTRY, "explains", "external-system"): [*CALLERS],
        ("cluster", "2fvMl6kzTmmqF4MuK4MHAA", "explains", "broker-unreachable"): [
            "incidents-ill-lab-broker-shrink-hung",
            "the-same-brokers",
        ],
    }


def test_the_document_fits_its_schema(said: dict[str, Any]) -> None:
    jsonschema.validate(said, fleet_schema())
    jsonschema.Draft202012Validator.check_schema(fleet_schema())


def test_the_page_has_a_row_for_each_job_and_the_tables_a_row_for_each_verdict(
    run: tuple[subprocess.CompletedProcess[str], Path], said: dict[str, Any]
) -> None:
    page = (run[1] / "fleet.html").read_text()
    assert page.count('<tr class="row ') == len(said["jobs"])
    assert page.count('data-card="') >= sum(job["outcome"] == "ill" for job in said["jobs"])
    assert page.count('class="strip"') >= 5
    verdicts = sum(len(job["verdicts"]) or 1 for job in said["jobs"])
    table = pq.read_table(run[1] / "saved" / "jobs.parquet")
    assert table.num_rows == verdicts == len((run[1] / "fleet.csv").read_text().splitlines()) - 1
    assert set(table["scope"].to_pylist()) == {job["scope"] for job in said["jobs"]}
    assert "BRK101" in pq.read_table(run[1] / "saved" / "findings.parquet")["code"].to_pylist()
    assert json.loads((run[1] / "saved" / "fleet.json").read_text()) == said
    (history,) = (run[1] / "saved" / "history" / "jobs").iterdir()
    assert pq.read_table(history).drop(["run"]) == table.drop(["run"])


def test_the_conversation_counts_jobs(run: tuple[subprocess.CompletedProcess[str], Path], said: dict[str, Any]) -> None:
    number = len({job["scope"] for job in said["jobs"]})
    assert f"{number} jobs, " in run[0].stderr
    assert re.search(rf"^\d+ of (?:{number} jobs (?:read|concluded)|\d+ rules have judged)", run[0].stderr, re.M)


@pytest.mark.parametrize("called", ["incidents-ill-lab-two-jobs-one-stuck", "job id"])
def test_one_job_is_opened_by_its_directory_or_its_id(folder: Path, said: dict[str, Any], called: str, engine: Engine) -> None:
    (row,) = (job for job in said["jobs"] if job["scope"] == "incidents-ill-lab-two-jobs-one-stuck")
    name = row["job"] if called == "job id" else called
    engine.allow_pandas()
    options = RunOptions(outputs=("json",))
    found = fleets.run([str(folder)], options, version="1", job=name, engine=engine)
    out = io.StringIO()
    assert emit_job(found, name, options, Environment(out, io.StringIO())) == 1
    report = json.loads(out.getvalue())
    assert [(verdict["code"], verdict["job"]) for verdict in report["verdicts"]] == [(row["verdicts"][0]["code"], row["job"])]
    assert found.report.jobs == []


def test_a_job_that_none_or_several_are_called_is_an_error() -> None:
    environment = Environment(io.StringIO(), io.StringIO())
    with pytest.raises(CannotLook, match="no job is called orders"):
        emit_job(fleets.FleetRun(FleetReport("1", [])), "orders", RunOptions(), environment)
    two = [replace(incident(), verdicts=[replace(verdict(), scope=scope)]) for scope in ("a", "b")]
    with pytest.raises(CannotLook, match="2 jobs are called orders") as error:
        emit_job(fleets.FleetRun(FleetReport("1", []), whole=two), "orders", RunOptions(), environment)
    assert error.value.hint == "Name one by its directory: a, b"


@pytest.mark.jvm
def test_listed_job_managers_are_asked_and_a_silent_one_costs_itself(tmp_path: Path) -> None:
    file = tmp_path / "job-managers.txt"
    with replaying(STUCK) as ill, socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        nobody = f"http://127.0.0.1:{silent.getsockname()[1]}"
        file.write_text(f"# production\n{ill.address}   # orders\n\n{nobody}\n{ill.address}\n")
        run = subprocess.run(
            [sys.executable, "-m", "cli", "fleet", "--flink-rest-file", str(file), "-o", "json", "-q"],
            cwd=ROOT, capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip
    assert run.returncode == 1, run.stderr
    jobs = json.loads(run.stdout)["jobs"]
    outcomes = {job["scope"]: (job["outcome"], [verdict["cause"] for verdict in job["verdicts"]][:1]) for job in jobs}
    assert outcomes == {ill.address: ("ill", ["barrier-unacknowledged"]), nobody: ("unread", [])}
    assert {method for method, _ in ill.asked} == {"GET"}


@pytest.mark.parametrize("text", ["http://[::1", "ftp://jobmanager:8081"])
def test_an_address_that_is_none_is_told_before_anything_is_asked(text: str, tmp_path: Path) -> None:
    (tmp_path / "list").write_text(f"{text}\n")
    with pytest.raises(UsageError):
        job_managers(tmp_path / "list")


def test_a_line_that_is_no_address_costs_itself_and_no_password_is_shown(tmp_path: Path) -> None:
    file = tmp_path / "list"
    file.write_text("jobmanager:8081\n\nhttp://ann:s3cret@other:8081\nftp://ann:s3/cret@third\nhttp://fourth:8081\n")
    found = job_managers(file)
    assert [place.scope for place in found] == ["jobmanager:8081", "list:3", "list:4", "http://fourth:8081"]
    assert "cret" not in str(found)
    with pytest.raises(ValueError, match=r"line 3 of .*list holds a user name or password, so it was not asked\. .*--flink-rest-auth FILE"):
        Gathering()(found[1].paths, True)
    with pytest.raises(ValueError, match=r"line 4 of .*list …@third: the port is no number, so it was not asked\. Write http://jobmanager"):
        Gathering()(found[2].paths, True)
    file.write_text("http://ann:s3cret@other:8081\n")
    with pytest.raises(UsageError, match="no line is an address that can be asked: line 1 of") as error:
        job_managers(file)
    assert "cret" not in str(error.value)


def test_a_large_place_is_split_and_gives_the_same_rows(folder: Path) -> None:
    """Parts of files merged on an executor are what one process reads whole."""
    import pyarrow as pa

    home = folder / "incidents-ill-lab-two-jobs-one-stuck"
    (place,) = places([str(home)], "glob")
    made: dict[int, pa.Table] = {}
    for large in (1, 1 << 40):
        items = items_of(place, large)
        table = pa.Table.from_batches([batch for item in reversed(items) for batch in parts_of(item, Gathering())])
        out = derived(table).to_pylist()
        made[large] = {row["name"]: row["payload"] for row in out if row["name"]}
        assert len(items) > 1 or large > 1
    assert made[1] == made[1 << 40]
    assert made[1]


def test_tasks_are_dealt_by_weight() -> None:
    sizes = [50 << 20, *([1 << 20] * 40)]
    items = [item for number, size in enumerate(sizes) for item in items_of(Place(f"job-{number}", ("/nowhere",), size))]
    packs = packs_of(items, 4)
    assert sorted(len(pack) for pack in packs)[0] == 1
    assert sorted(item.scope for pack in packs for item in pack) == sorted(item.scope for item in items)


@pytest.mark.parametrize(("scopes", "tasks"), [(1, (1, 1)), (57, (3, 1)), (1_000, (6, 1)), (10_000, (20, 6))])
def test_a_task_has_neither_few_jobs_nor_so_many_that_its_loss_costs_minutes(scopes: int, tasks: tuple[int, int]) -> None:
    assert tasks_of(scopes, 6) == tasks


def test_jobs_are_directories_patterns_or_ids(tmp_path: Path) -> None:
    line = (
        "2025-01-01 00:00:00,000 INFO org.apache.flink.runtime.jobmaster.JobMaster [] - Starting execution of job 'a' (%032x) under id 1.\n"
    )
    for job in (1, 2):
        for name in ("jm", "tm"):
            (tmp_path / f"{name}-{job}.log").write_text(line % job)
    assert [place.scope for place in places([str(tmp_path)])] == ["jm-1.log", "jm-2.log", "tm-1.log", "tm-2.log"]
    assert [len(place.paths) for place in places([str(tmp_path / "jm-*")], "glob")] == [1, 1]
    by_id = places([str(tmp_path)], "job-id")
    assert [(place.scope[-1], [Path(path).name for path in place.paths]) for place in by_id] == [
        ("1", ["jm-1.log", "tm-1.log"]),
        ("2", ["jm-2.log", "tm-2.log"]),
    ]
    with pytest.raises(FileNotFoundError):
        places([str(tmp_path / "nothing-*")])


ZEROS = "0" * 32


def started(job: str, name: str = "", cluster: str = "") -> str:
    at = "2025-01-01 00:00:00,000 INFO  org.apache.flink."
    loaded = f"{at}configuration.GlobalConfiguration [] - Loading configuration property: kubernetes.cluster-id, {cluster}"
    lines = [loaded] if cluster else []
    named = f"'{name}' ({job})" if name else job
    return "\n".join([*lines, f"{at}runtime.jobmaster.JobMaster [] - Starting execution of job {named} under job master id 1."]) + "\n"


def test_the_id_of_application_mode_is_of_no_job_beyond_its_directory_cluster_and_name(tmp_path: Path) -> None:
    drawn = "5f0e64a1c3d2b7980e1f2a3b4c5d6e7f"
    files = {
        "pay/jm.log": started(ZEROS, "pay"), "pay/tm/tm.log": started(ZEROS), "search/jm.log": started(ZEROS, "search"),
        "a-jm.log": started(ZEROS, cluster="a"), "a-tm.log": started(ZEROS, cluster="a"), "b-jm.log": started(ZEROS, cluster="b"),
        "c.log": started(ZEROS, "orders"), "d.log": started(ZEROS, "totals"), "e/jm.log": started(drawn, "own") + started(ZEROS),
        "f/tm.log": started(drawn),
    }  # fmt: skip
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    notes: list[str] = []
    found = {place.scope: sorted(Path(path).name for path in place.paths) for place in places([str(tmp_path)], "job-id", notes)}
    top = tmp_path.name
    prefix = f"{top}/" if f"{top}/{drawn}" in found else ""
    assert found == {
        f"{prefix}pay/{ZEROS}": ["jm.log", "tm.log"], f"{prefix}search/{ZEROS}": ["jm.log"], f"{prefix}a/{ZEROS}": ["a-jm.log", "a-tm.log"],
        f"{prefix}b/{ZEROS}": ["b-jm.log"], f"{prefix}orders/{ZEROS}": ["c.log"], f"{prefix}totals/{ZEROS}": ["d.log"],
        f"{prefix}{drawn}": ["jm.log", "tm.log"],
    }  # fmt: skip
    assert len(notes) == 1
    assert notes[0].startswith(f"job id {ZEROS} is of application mode, where many jobs have one id: its files are joined within ")


def test_an_id_that_was_not_drawn_is_of_no_one_job() -> None:
    assert is_drawn("5f0e64a1c3d2b7980e1f2a3b4c5d6e7f")
    assert not is_drawn(ZEROS)
    assert not is_drawn("ffffffff8d3c52a40000000000000000"), "the hash of a cluster id"


def test_a_directory_of_files_says_how_jobs_are_named(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "jm.log").touch()
    (tmp_path / "saved.tar.gz").touch()
    assert flat_directory([str(tmp_path)]) is None, "one file may be a job"
    (tmp_path / "tm.log").touch()
    said = flat_directory([str(tmp_path)]) or ""
    assert said.startswith(f"{tmp_path} holds 2 files, and each was taken for a job: --jobs-by job-id")
    assert said.endswith(f"diag triage {tmp_path}")
    assert flat_directory([str(tmp_path / "jm.log"), str(tmp_path / "tm.log")]) is None, "each was named"


AT = datetime(2026, 11, 21, 9, 58, tzinfo=timezone.utc)


def row(scope: str, minutes: int = 0, **subject: Any) -> JobRow:
    since = AT + timedelta(minutes=minutes)
    verdict = JobVerdict(f"BRK101-{scope}", "BRK101", "broker-unreachable", None, since, subject, "says", "headline")
    return JobRow(scope, None, None, "ill", "critical", None, since, "headline", [verdict])


def test_verdicts_are_new_still_there_or_gone() -> None:
    before = {"jobs": [{"scope": scope, "verdicts": [{"id": f"BRK101-{scope}", "headline": "was"}]} for scope in "abde"]}
    well = replace(row("b"), outcome="clear", verdicts=[])
    unread = replace(row("e"), outcome="unread", verdicts=[])
    rows = [row("a"), replace(row("c")), well, unread]
    assert compared(rows, before) == ([{"scope": "b", "id": "BRK101-b", "says": "was"}], ["d", "e"]), "no more is known of what is not read"
    assert [each.verdicts[0].change for each in rows[:2]] == ["still", "new"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("/nowhere/at/all",), "no such file or directory"),
        ((".", "--jobs-by", "colour"), "--jobs-by: 'colour' is unknown"),
        ((".", "-o", "yaml"), "is no output format"),
        ((".", "--baseline", "README.md"), "is not what a run saved"),
        ((".", "--only-new"), "there is no run to compare with"),
        ((".", "--sort", "size"), "--sort: 'size' is unknown"),
        (("--trend", "."), "there are no runs in ."),
        ((".", "--since", "1h", "--until", "2h"), "--since is later than --until"),
        ((".", "--since", "2026-01-02", "--until", "2026-01-01"), "--since is later than --until"),
        ((".", "--log-timezone", "Mars/Base"), "--log-timezone: "),
    ],
)
def test_wrong_usage_is_told_before_spark_starts(arguments: tuple[str, ...], says: str) -> None:
    done = diag("fleet", *arguments)
    assert (done.returncode, says in done.stderr) == (2, True), done.stderr
