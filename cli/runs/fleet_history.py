"""What runs over many jobs leave behind: the newest one to compare with, and tables of Parquet that grow by each."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from analyzers.budget import BUDGET
from analyzers.bundle.small_files import small_file
from analyzers.report.fleet import OUTCOMES, FleetReport
from analyzers.report.fleet_tables import JOBS, ROOTS, RUNS, fleet_rows, job_rows
from cli.renderers.fleet_trend import RootThing, Trend
from cli.renderers.tables import as_parquet, findings_table
from cli.shell.exits import CannotLook, UsageError
from cli.shell.output import write_files

if TYPE_CHECKING:
    import pyarrow as pa

    from analyzers.tables.model import Row, Table
    from cli.runs.fleet import FleetRun

SAVED, HISTORY = "fleet.json", "history"
_MOST_BASELINE_BYTES = BUDGET.baseline_bytes
_NEWEST_RUNS = 10


def baseline(place: Path, saved: Path | None = None) -> dict[str, Any] | None:
    """The document of the newest run at `place`. None where that is the directory of the run itself, its first. Raises `UsageError`."""
    file = place / SAVED if place.is_dir() or place == saved else place
    if place == saved and not file.exists():
        return None
    try:
        said: dict[str, Any] = json.loads(small_file(file, _MOST_BASELINE_BYTES))
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"--baseline: {file} is not what a run saved: {error}", "Name the directory of an earlier --save.") from error
    if not isinstance(said, dict) or said.get("command") != "fleet" or not _can_be_compared(said):
        raise UsageError(f"--baseline: {file} is not of diag fleet", "Name the directory of an earlier --save.")
    return said


def _can_be_compared(said: dict[str, Any]) -> bool:
    """Whether each job of it has what `compared` looks at."""
    try:
        return all(
            isinstance(word, str)
            for job in said["jobs"]
            for verdict in job["verdicts"]
            for word in (job["scope"], verdict["id"], verdict["headline"])
        )
    except (KeyError, TypeError):
        return False


def jobs_table(report: FleetReport, run: datetime | None = None) -> pa.Table:
    """A row per verdict, and one per job without any."""
    return _arrow(JOBS, list(job_rows(report, run)))


def _arrow(table: Table, rows: list[Row]) -> pa.Table:
    from analyzers.bundle.encoding import storable
    from analyzers.tables.arrow import arrow

    return arrow(table, [table.row(row) for row in rows], storable)


def save(found: FleetRun, directory: Path, now: datetime | None = None) -> None:
    """The newest run in ``fleet.json``, ``jobs.parquet`` and ``findings.parquet``, and a file more in each directory of ``history``.

    Raises `CannotLook`.
    """
    from cli.renderers.fleet import as_json

    run = now or datetime.now(timezone.utc)
    run = run.replace(microsecond=run.microsecond // 1000 * 1000)
    name = f"{run:%Y%m%dT%H%M%S}{run.microsecond // 1000:03d}Z.parquet"
    try:
        for table in (RUNS, JOBS, ROOTS):
            (directory / HISTORY / table.name).mkdir(parents=True, exist_ok=True, mode=0o700)
        for each in (directory, directory / HISTORY):
            each.chmod(0o700)
    except OSError as error:
        raise CannotLook(f"cannot write to {directory}: {error.strerror or error}", "Name another directory: --save DIR") from error
    history = {directory / HISTORY / table.name / name: as_parquet(_arrow(table, rows)) for table, rows in fleet_rows(found.report, run)}
    write_files(
        {
            **history,
            directory / "jobs.parquet": as_parquet(jobs_table(found.report, run)),
            directory / "findings.parquet": as_parquet(findings_table(found.findings)),
            directory / SAVED: as_json(found.report),  # what a later run reads comes last
        }
    )


def trend(directory: Path, most: int = _NEWEST_RUNS) -> tuple[list[datetime], Trend]:
    """The newest runs, oldest first; and by kind (outcomes, causes, roots) how many jobs had each in these runs. Raises `UsageError`."""
    names = sorted(each.name for each in (directory / HISTORY / RUNS.name).glob("*.parquet"))[-most:]
    if not names:
        raise UsageError(f"--trend: there are no runs in {directory}", "Name the directory of an earlier --save.")
    runs: list[datetime] = []
    counts: dict[str, dict[Hashable, Counter[int]]] = {kind: defaultdict(Counter) for kind in ("jobs", "causes", "roots")}
    for place, name in enumerate(names):
        (run,) = _read(directory, RUNS, name)
        runs.append(run["run"])
        for outcome in OUTCOMES:
            counts["jobs"][outcome][place] += run[outcome.replace("-", "_")] or 0
        by_job = {(row["scope"], row["job"]): row["cause"] for row in reversed(_read(directory, JOBS, name)) if row["cause"]}
        for cause in by_job.values():
            counts["causes"][cause][place] += 1
        for row in _read(directory, ROOTS, name):
            counts["roots"][RootThing(row["kind"], row["value"], row["link"])][place] += 1
    return runs, {kind: {what: [many[place] for place in range(len(runs))] for what, many in own.items()} for kind, own in counts.items()}


def _read(directory: Path, table: Table, name: str) -> list[Mapping[str, Any]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = directory / HISTORY / table.name / name
    try:
        found: list[Mapping[str, Any]] = pq.ParquetFile(file).read().select(list(table.names)).to_pylist()
    except (OSError, KeyError, pa.ArrowException) as error:
        raise UsageError(f"--trend: {file} is not what a run saved: {error}", "Remove that file, or name another directory.") from error
    return found
