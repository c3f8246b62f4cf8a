"""Saved answers of a JobManager, and addresses of none."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

from tests.hostile.inputs.case import LINE, MB, NOT_READ, REFUSED, Attack, beside_an_ill_job, case

JOB = "0" * 31 + "1"


def answers(here: Path, **files: bytes) -> Path:
    folder = here / "rest"
    folder.mkdir()
    good = {
        "jobs_overview": json.dumps(
            {
                "jobs": [
                    {
                        "jid": JOB,
                        "name": "orders",
                        "state": "RUNNING",
                        "start-time": 1,
                        "end-time": -1,
                        "duration": 1,
                        "last-modification": 1,
                        "tasks": {},
                    }
                ]
            }
        ).encode(),
        "job": json.dumps(
            {"jid": JOB, "name": "orders", "state": "RUNNING", "now": 1795254000000, "start-time": 1, "vertices": [], "plan": {"nodes": []}}
        ).encode(),
    }
    for name, content in {**good, **files}.items():
        (folder / f"{name}.json").write_bytes(content)
    return folder


@case
def rest_answer_that_is_deep(here: Path) -> Attack:
    return Attack(
        [
            "triage",
            "--flink-rest",
            str(answers(here, job_checkpoints=b"[" * 100_000, job_exceptions=b'{"a":' * 100_000 + b"1" + b"}" * 100_000)),
        ],
        {0, 3},
        "",
    )


@case
def rest_answer_that_expands(here: Path) -> Attack:
    wide = b'{"a":[' + b"{}," * (40 * MB // 3) + b"0]}"
    return Attack(["triage", "--flink-rest", str(answers(here, job_checkpoints=wide, job_exceptions=wide, job_config=wide))], {0, 3}, "")


@case
def rest_answer_that_is_huge(here: Path) -> Attack:
    folder = answers(here)
    with open(folder / "job_checkpoints.json", "wb") as file:
        file.truncate(3000 * MB)
    return Attack(["triage", "--flink-rest", str(folder)], {0, 3}, "")


@case
def rest_overview_that_is_huge(here: Path) -> Attack:
    folder = answers(here)
    for name in ("jobs_overview", "captured_at"):
        with open(folder / f"{name}.json", "wb") as file:
            file.truncate(3000 * MB)
    return Attack(["triage", "--flink-rest", str(folder)], NOT_READ, "")


@case
def rest_answers_beside_logs_that_are_deep(here: Path) -> Attack:
    attack = beside_an_ill_job(here, "c.log", LINE, "")
    shutil.move(answers(here, job=b"[" * 100_000, captured_at=b"[" * 100_000), here / "logs" / "rest")
    return attack


@case
def rest_directory_of_pipes(here: Path) -> Attack:
    folder = answers(here)
    (folder / "job.json").unlink()
    os.mkfifo(folder / "job.json")
    os.mkfifo(folder / "captured_at.json")
    return Attack(["triage", "--flink-rest", str(folder)], {0, 3})


@case
def rest_file_that_is_a_pipe(here: Path) -> Attack:
    os.mkfifo(here / "pipe")
    return Attack(["triage", "--flink-rest", str(here / "pipe")], {2, 3})


@case
def rest_address_that_is_half_an_address(here: Path) -> Attack:
    return Attack(["triage", "--flink-rest", "http://[::1"], REFUSED, "--flink-rest")


@case
def rest_address_with_a_surrogate(here: Path) -> Attack:
    return Attack([b"triage", b"--flink-rest", b"http://127.0.0.1:1/\xff"], {2, 3}, "")


@case
def rest_host_of_nonsense(here: Path) -> Attack:
    return Attack([b"triage", b"--flink-rest", b"http://a\xffb..c:8081"], {2, 3}, "")
