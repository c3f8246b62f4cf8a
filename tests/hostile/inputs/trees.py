# ruff: noqa: E501 -- bytes that are hostile as a whole
"""Deep directories, links in a circle, names that are no UTF-8, lone surrogates."""

from __future__ import annotations

import io
import json
import os
import shutil
import tarfile
from pathlib import Path

from tests.hostile.inputs.answers import JOB, answers
from tests.hostile.inputs.bombs import _member
from tests.hostile.inputs.bundles import bundle
from tests.hostile.inputs.case import ILL, JUDGED, LINE, NOT_READ, REFUSED, Attack, beside_an_ill_job, case
from tests.hostile.inputs.checkpoints import metadata_of_finished_subtasks


def _deep(folder: Path, levels: int) -> None:
    at = os.open(folder, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir("d", dir_fd=at)
        below = os.open("d", os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = below
    file = os.open("a.log", os.O_WRONLY | os.O_CREAT, dir_fd=at)
    os.write(file, LINE)
    os.close(file)
    os.close(at)


@case
def tree_1500_deep(here: Path) -> Attack:
    attack = beside_an_ill_job(here, "b.log", LINE, "")
    _deep(here / "logs", 1500)
    return attack


@case
def tree_3000_deep(here: Path) -> Attack:  # longer than a path may be
    attack = beside_an_ill_job(here, "b.log", LINE, "deep|too long")
    _deep(here / "logs", 3000)
    return attack


@case
def checkpoint_tree_1500_deep(here: Path) -> Attack:
    (here / "checkpoints").mkdir()
    _deep(here / "checkpoints", 1500)
    return Attack(["checkpoint-inspect", str(here / "checkpoints")], NOT_READ, "deep")


@case
def rest_tree_1500_deep(here: Path) -> Attack:
    folder = answers(here)
    _deep(folder, 1500)
    return Attack(["triage", "--flink-rest", str(folder)], {0, 3})


@case
def bundle_tree_1500_deep(here: Path) -> Attack:
    (here / "bundle" / "raw").mkdir(parents=True)
    for path in ILL.iterdir():
        shutil.copy(path, here / "bundle" / "raw")
    _deep(here / "bundle" / "raw", 1500)
    return Attack(["triage", "--bundle", str(here / "bundle")], JUDGED)


@case
def archive_member_that_is_deep(here: Path) -> Attack:
    made = here / "bundle.tar"
    with tarfile.open(made, "w", format=tarfile.PAX_FORMAT) as archive:
        info = tarfile.TarInfo("a/" * 3000 + "b")
        archive.addfile(info, io.BytesIO())
    return Attack(["triage", "--bundle", str(made)], {2, 3}, "bundle")


@case
def checkpoint_archive_member_that_is_deep(here: Path) -> Attack:
    made = here / "checkpoints.tar"
    with tarfile.open(made, "w", format=tarfile.PAX_FORMAT) as archive:
        for number in range(3):
            archive.addfile(tarfile.TarInfo(f"{number}/" + "a/" * 20_000 + "b"), io.BytesIO())
    return Attack(["checkpoint-inspect", str(made)], NOT_READ)


@case
def circle_of_links(here: Path) -> Attack:
    attack = beside_an_ill_job(here, "b.log", LINE, "")
    for number in range(30):
        os.symlink(here / "logs", here / "logs" / f"link{number}")
    os.symlink("itself", here / "logs" / "itself")
    return attack


@case
def names_that_are_no_utf8(here: Path) -> Attack:
    attack = beside_an_ill_job(here, "b.log", LINE, "")
    folder = os.fsencode(here / "logs")
    for number, path in enumerate(sorted(ILL.iterdir())):
        os.rename(os.path.join(folder, path.name.encode()), os.path.join(folder, b"tm-\xff\xfe-%d.log" % number))
    os.mkdir(os.path.join(folder, b"\xc3("))
    shutil.copy(next(ILL.iterdir()), os.path.join(folder, b"\xc3(", b"\xed\xa0\x80.log"))  # type: ignore[type-var]  # one path of bytes, one of str
    return attack


@case
def argument_that_is_no_utf8(here: Path) -> Attack:
    names_that_are_no_utf8(here)
    return Attack([b"triage", os.path.join(os.fsencode(here / "logs"), b"tm-\xff\xfe-0.log"), b"-o", b"json"], JUDGED)


@case
def saved_names_that_are_no_utf8(here: Path) -> Attack:
    attack = names_that_are_no_utf8(here)
    attack.arguments = [
        *attack.arguments,
        "--save",
        str(here / "saved"),
        "-o",
        "json=" + str(here / "a.json"),
        "-o",
        "html=" + str(here / "a.html"),
        "-o",
        "markdown=" + str(here / "a.md"),
    ]
    attack.codes = {0, 1, 3}  # the report is in files
    return attack


@case
def archive_names_that_are_no_utf8(here: Path) -> Attack:
    made = here / "a.tar"
    with tarfile.open(made, "w") as archive:
        for number, path in enumerate(sorted(ILL.iterdir())):
            info = tarfile.TarInfo(f"tm-\udcff-{number}.log")
            info.size = path.stat().st_size
            archive.addfile(info, io.BytesIO(path.read_bytes()))
    return Attack(["triage", str(made), "--save", str(here / "saved"), "-o", "json"], JUDGED)


@case
def checkpoint_names_that_are_no_utf8(here: Path) -> Attack:
    folder = os.path.join(os.fsencode(here), b"\xff", b"chk-1")
    os.makedirs(folder)
    with open(os.path.join(folder, b"_metadata"), "wb") as file:
        file.write(metadata_of_finished_subtasks(1)[:400])
    return Attack(
        [b"checkpoint-inspect", os.path.join(os.fsencode(here), b"\xff"), b"--save", os.fsencode(here / "saved"), b"-o", b"json"], {0, 1, 3}
    )


@case
def surrogates_in_json_lines(here: Path) -> Attack:
    content = b"".join(
        b'{"@timestamp":"2026-11-21T09:35:19.130Z","log.level":"ERROR","message":"\\ud800 Job orders \\udfff failed","logger":"\\ud800","pod":"\\udc80","flink-job-id":"\\ud800"}\n'
        for _ in range(200)
    )
    attack = beside_an_ill_job(here, "b.log", content, "")
    attack.arguments = [*attack.arguments, "--save", str(here / "saved"), "-o", "json"]
    return attack


@case
def surrogates_in_rest_answers(here: Path) -> Attack:
    vertices = [{"id": "\ud800", "name": "a\udfff", "status": "RUNNING", "parallelism": 1, "metrics": {}, "tasks": {}}]
    job = json.dumps(
        {
            "jid": JOB,
            "name": "\ud800",
            "state": "RUNNING",
            "now": 1795254000000,
            "start-time": 1,
            "vertices": vertices,
            "plan": {"nodes": []},
        }
    ).encode()
    fails = json.dumps({"root-exception": "java.lang.Error: \ud800", "timestamp": 1795254000000, "all-exceptions": []}).encode()
    overview = json.dumps({"jobs": [{"jid": JOB, "name": "\ud800", "state": "RUNNING", "start-time": 1, "tasks": {}}]}).encode()
    folder = answers(here, job=job, job_exceptions=fails, jobs_overview=overview)
    return Attack(
        ["triage", "--flink-rest", str(folder), "--save", str(here / "saved"), "-o", "json"], {0, 1, 3}, facts_only=False, quick=False
    )


@case
def surrogates_in_a_bundle(here: Path) -> Attack:
    row = b'{"scope":"","as_of":"2026-11-21T09:35:19.130Z","at":"2026-11-21T09:35:19.130Z","file":"\\ud800","line":1,"signature":"job-state","text":"\\udfff Job \\ud800","level":"ERROR"}\n'
    return Attack(
        ["triage", "--bundle", str(bundle(here, {"log_events": ("log_events.jsonl", row, 1)})), "-o", "json"],
        {0, 1, 3},
        facts_only=False,
        quick=False,
    )


@case
def surrogates_in_other_options(here: Path) -> Attack:
    return Attack([b"triage", os.fsencode(ILL), b"--log-timezone", b"\xff", b"--since", b"\xff"], REFUSED, "")


@case
def surrogates_in_a_group(here: Path) -> Attack:
    return Attack([b"lag-report", b"-b", b"127.0.0.1:1", b"--group", b"\xff", b"--timeout", b"1s"], {2, 3, 1}, "")


@case
def surrogates_in_a_bootstrap_server(here: Path) -> Attack:
    return Attack([b"broker-health", b"-b", b"a\xff:9092", b"--timeout", b"1s"], {1, 2, 3}, "")


@case
def nul_in_names_of_an_archive(here: Path) -> Attack:
    made = here / "a.tar"
    made.write_bytes(_member("a.log", LINE * 100).replace(b"a.log", b"a\nlog", 1) + bytes(1024))
    return Attack(["triage", str(made)], {0, 3})
