"""The graph of a program as a JobManager or a file has it, for what is planned with it: a few GETs, and none about its health."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from analyzers.bundle.small_files import small_file
from analyzers.states import flink_rows as rows
from analyzers.states.flink_plan import NoPlan, plan_rows
from analyzers.states.flink_rows import Look
from analyzers.tables import SOURCES, Row
from analyzers.tables.evidence import Evidence
from cli.collectors.flink_recording import open_recording
from cli.collectors.flink_rest import ENDED, listed_jobs, named_job
from cli.collectors.flink_transport import Rest, RestClient, RestLogin, parse_address
from cli.collectors.json_answers import MOST_BYTES, Appetite, TooMuchJson
from cli.shell.exits import CannotLook, UsageError

_DEFAULT_SCHEDULER = "Default"
"""Others give a vertex a max parallelism of their own; Flink before 2.0 does not say which it is."""


def program_of_file(path: Path) -> list[Row]:
    """Rows of ``planned_operators`` of a plan in JSON. Raises `UsageError` for what cannot be read, and for any other JSON."""
    try:
        body = Appetite().parsed(small_file(path, MOST_BYTES))
        return plan_rows(body, str(path))
    except NoPlan as error:
        raise UsageError(f"--job-graph {path}: {error}.", error.hint) from error
    except (OSError, ValueError, RecursionError, TooMuchJson) as error:
        why = getattr(error, "strerror", None) or ("it is no JSON" if isinstance(error, ValueError) else str(error))
        raise UsageError(f"--job-graph {path} cannot be read: {why}.", NoPlan("").hint) from error


def program_of_rest(
    address: str, *, job: Sequence[str] = (), login: RestLogin | None = None, timeout_seconds: float = 10.0
) -> Callable[[], Evidence]:
    """A function that gives ``jobs`` and ``planned_operators`` of the job at `address`, or in a directory of saved answers.

    Raises `UsageError` at once for an address that cannot be understood; the function raises `CannotLook` when it does not answer as
    Flink does, `UsageError` for a job that it does not know, or where several run and none is named.
    """
    if "://" not in address and Path(address).is_dir():
        recording = open_recording(Path(address))
        return lambda: _program(recording, job, recording.captured_at)
    where = parse_address(address)

    def look() -> Evidence:
        with ExitStack() as stack:
            client = stack.enter_context(RestClient(where, login or RestLogin(), timeout_seconds, min(10.0, timeout_seconds)))
            return _program(client, job, datetime.now(timezone.utc))

    return look


def _program(rest: Rest, wanted: Sequence[str], now: datetime) -> Evidence:
    look = Look(now.replace(microsecond=0))
    first = rest.ask(["/jobs/overview", "/overview"])
    listed = listed_jobs(first["/jobs/overview"], rest.name)
    version = rows.text(rows.member(first["/overview"].body).get("flink-version"))
    job = _chosen(wanted, listed, rest.name)
    answers = rest.ask([f"/jobs/{job}", f"/jobs/{job}/checkpoints", f"/jobs/{job}/checkpoints/config"])
    graph, checkpoints = answers[f"/jobs/{job}"], answers[f"/jobs/{job}/checkpoints"]
    if not graph.ok or rows.member(graph.body).get("jid") != job:  # saved answers may be those of one job of several
        why = graph.why or "what it answers is another job"
        raise CannotLook(f"the JobManager at {rest.name} does not show job {job}: {why}.", "Ask again, or name another with --job.")
    changelog = rows.member(answers[f"/jobs/{job}/checkpoints/config"].body).get("state_changelog_enabled")
    own = {
        "engine_version": version,
        "job_restored": _restored(graph.body, checkpoints.body),
        "changelog": changelog if isinstance(changelog, bool) else None,
    }
    try:
        operators = plan_rows(graph.body, rest.name, source="rest", **own)
    except NoPlan as error:
        raise CannotLook(f"the JobManager at {rest.name} shows no graph of job {job}: {error}.", error.hint) from error
    for row in operators:
        row["as_of"] = look.as_of
    jobs = [rows.job_row(look, each, graph.body if each.get("jid") == job else {}, {}, version, graph.at) for each in listed]
    source = SOURCES.row({"scope": "", "as_of": look.as_of, "name": rest.name, "kind": "flink-rest", "state": "ok"})
    return Evidence({"jobs": jobs, "planned_operators": operators, "sources": [source]})


def _chosen(wanted: Sequence[str], listed: Sequence[Mapping[str, Any]], where: str) -> str:
    """The job that was named, or the only one that lives, or that there is."""
    if wanted:
        return named_job(wanted[0], listed, where)
    alive = [each for each in listed if each.get("state") not in ENDED]
    found = alive or list(listed)
    if len(found) != 1:
        known = ", ".join(sorted({str(each.get("name")) for each in found})[:6])
        message = f"{len(found)} jobs are at {where} ({known})" if found else f"there is no job at {where}"
        raise UsageError(f"{message}: which one is to be restored is not said", "Name it: --job NAME; or give --job-graph, or --against.")
    return str(found[0]["jid"])


def _restored(graph: Any, checkpoints: Any) -> bool | None:
    """Whether the job has its max parallelism from a checkpoint; None where that is not shown."""
    counts = rows.whole(rows.member(checkpoints, "counts").get("restored"))
    if counts is None or graph.get("schedulerType") != _DEFAULT_SCHEDULER:
        return None
    return counts > 0
