"""flink-mcp-server (PyPI): its `diagnose_job`, whose answer an assistant would read, fed with recorded REST answers.

It wants another version of `mcp` than diag, so it runs in an environment of its own: ``FLINK_MCP_PYTHON=/path/to/its/python``. What a
recording kept is served as it was kept. Of a bundle the answers are made again from its tables, which were made of such answers; the means
of back-pressure metrics are made of those of the subtasks in both.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from statistics import fmean
from typing import Any

from analyzers.bundle.read import read_bundle
from benchmarks.incidents.adapters import Outcome
from benchmarks.incidents.cases import Case
from benchmarks.incidents.marks import Answer
from cli.collectors.flink_recording import open_recording

Pages = dict[str, Any]
"""Path of the REST interface → its answer."""
_ASK = Path(__file__).with_name("rest_server_ask.py")
_VERSION = "import flink_mcp, importlib.metadata as m; print(m.version('flink-mcp-server'))"
_METRICS = {"backPressuredTimeMsPerSecond": "backpressured", "busyTimeMsPerSecond": "busy", "idleTimeMsPerSecond": "idle"}
_RATIOS = {"backPressuredTimeMsPerSecond": "ratio", "busyTimeMsPerSecond": "busyRatio", "idleTimeMsPerSecond": "idleRatio"}
_ENDED = ("FINISHED", "CANCELED", "CANCELLING")


class FlinkMcp:
    """`diagnose_job` of every job that has not ended as somebody wanted."""

    name = "flink-mcp-server"
    about = "`diagnose_job` of flink-mcp-server over recorded REST answers; every critical or warning finding is a cause named"

    def __init__(self, python: str | None = None) -> None:
        self._python = python or os.environ.get("FLINK_MCP_PYTHON") or sys.executable

    def absent(self) -> str | None:
        try:
            asked = subprocess.run([self._python, "-c", _VERSION], capture_output=True, text=True, check=False)
            if asked.returncode == 0 and asked.stdout.strip():
                self.about = f"{type(self).about}; version {asked.stdout.strip()}"
                return None
        except OSError as error:
            return f"{self._python} cannot be run ({error.strerror}): name the Python that has flink-mcp-server with FLINK_MCP_PYTHON."
        return f"flink-mcp-server is not installed for {Path(self._python).name}: name the Python that has it with FLINK_MCP_PYTHON."

    def answers(self, cases: Sequence[Case]) -> Iterator[tuple[Case, Outcome]]:
        pages = {case.name: rest_pages(case) for case in cases if case.rest}
        done = subprocess.run([self._python, str(_ASK)], input=json.dumps(pages), capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"flink-mcp-server failed on recorded answers: {done.stderr[-2000:]}")
        found: dict[str, dict[str, Any]] = json.loads(done.stdout)
        for case in cases:
            yield case, read(found[case.name]) if case.rest else "no answers of Flink's REST interface were recorded with it"

    def command(self, case: Case) -> list[str] | None:
        if not case.rest:
            return None
        pages = shlex.quote(json.dumps({case.name: rest_pages(case)}))
        return ["sh", "-c", f"echo {pages} | {shlex.quote(self._python)} {shlex.quote(str(_ASK))}"]


def read(result: Mapping[str, Any]) -> Answer:
    """What an assistant is given to read: verdict and findings of each job."""
    findings = [finding for job in result["jobs"] for finding in job["findings"]]
    lines = [f"[{finding['severity']}] {finding['area']}: {finding['message']}" for finding in findings]
    named = sum(finding["severity"] in ("critical", "warning") for finding in findings)
    verdicts = [job["verdict"] for job in result["jobs"]]
    text = "\n".join([f"verdict: {', '.join(verdicts)}", *lines])
    return Answer(text, named, set(verdicts) != {"healthy"}, seconds=result["seconds"])


def rest_pages(case: Case) -> Pages:
    """The answers that `diagnose_job` asks for."""
    assert case.rest is not None
    return _bundled(case.rest) if case.rest == case.path else _recorded(case.rest)


def _chosen(jobs: Sequence[Mapping[str, Any]]) -> list[str]:
    """The jobs that are asked about: those that are not over, else the last one."""
    return [job["jid"] for job in jobs if job["state"] not in _ENDED] or [max(jobs, key=lambda job: job["start-time"])["jid"]]


def _recorded(directory: Path) -> Pages:
    recording = open_recording(directory)

    def ask(path: str) -> Any:
        return recording.ask([path])[path].body

    pages: Pages = {}
    for job in _chosen(ask("/jobs/overview")["jobs"]):
        for path in (f"/jobs/{job}", f"/jobs/{job}/exceptions", f"/jobs/{job}/checkpoints"):
            pages[path] = ask(path)
        for vertex in pages[f"/jobs/{job}"]["vertices"]:
            place = f"/jobs/{job}/vertices/{vertex['id']}"
            ratios = (ask(f"{place}/backpressure") or {}).get("subtasks") or []
            values = {name: [1000 * one[key] for one in ratios if key in one] for name, key in _RATIOS.items()}
            pages[f"{place}/subtasks/metrics"] = _means(values)
    return pages


def _means(values: Mapping[str, Sequence[float]]) -> list[dict[str, Any]]:
    return [{"id": name, "avg": fmean(each)} for name, each in values.items() if each]


def _bundled(path: Path) -> Pages:
    tables = read_bundle(path).tables
    pages: Pages = {}
    jobs = [{"jid": job["job"], "state": job["state"], "start-time": _millis(job["started_at"]), "row": job} for job in tables["jobs"]]
    for job in (each["row"] for each in jobs if each["jid"] in _chosen(jobs)):
        mine = {name: [row for row in rows if row["job"] == job["job"]] for name, rows in tables.items()}
        place = f"/jobs/{job['job']}"
        vertices = []
        for vertex in mine["vertices"]:
            subtasks = [row for row in mine["subtasks"] if row["vertex"] == vertex["vertex"]]
            states = [row["status"] for row in subtasks]
            counts = {state: states.count(state) for state in dict.fromkeys(states)}
            about = {"id": vertex["vertex"], "name": vertex["task"], "parallelism": vertex["parallelism"], "status": vertex["status"]}
            vertices.append({**about, "tasks": counts})
            values = {name: [row[key] for row in subtasks if row[key] is not None] for name, key in _METRICS.items()}
            pages[f"{place}/vertices/{vertex['vertex']}/subtasks/metrics"] = _means(values)
        about = {"jid": job["job"], "name": job["name"], "state": job["state"], "start-time": _millis(job["started_at"])}
        pages[place] = {**about, "vertices": vertices}
        root = next((row["text"] for row in mine["exceptions"] if row["root"]), None)
        pages[f"{place}/exceptions"] = {"root-exception": root, "exceptionHistory": {"entries": []}}
        pages[f"{place}/checkpoints"] = _checkpoints(job, mine["checkpoints"])
    return pages


def _checkpoints(job: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    history = [
        {
            "id": row["checkpoint"],
            "status": row["status"],
            "is_savepoint": row["savepoint"],
            "trigger_timestamp": _millis(row["triggered_at"]),
            "end_to_end_duration": row["duration_ms"],
            "state_size": row["state_bytes"],
            "failure_message": row["failure"],
        }
        for row in sorted(rows, key=lambda row: -int(row["checkpoint"]))
    ]
    latest = {name: next((each for each in history if each["status"] == name.upper()), None) for name in ("completed", "failed")}
    counted = {name: job[f"checkpoints_{name}"] for name in ("total", "in_progress", "completed", "failed")}
    return {"counts": {name: number for name, number in counted.items() if number is not None}, "latest": latest, "history": history}


def _millis(moment: datetime | None) -> int | None:
    return None if moment is None else round(moment.timestamp() * 1000)
