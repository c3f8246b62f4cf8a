"""The tables that runs over many jobs add to: what was ill when, and of what, for DuckDB, pandas and Spark."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from datetime import datetime
from typing import Any

from analyzers.report.fleet import OUTCOMES, FleetReport
from analyzers.tables.model import Row, Table, columns

_RUN = "run timestamp when the run ended, UTC; the same in all tables\n"


def _table(name: str, says: str, spec: str) -> Table:
    return Table(name, says, columns(_RUN + spec))


RUNS = _table(
    "runs",
    "one row per run",
    """
version string version of diag
jobs long jobs that were looked at
ill long jobs with a verdict
at_risk long jobs with findings of a warning or more and no verdict
unread long jobs that could not be read
undecided long jobs of which too little is known
clear long jobs with nothing wrong
""",
)
JOBS = _table(
    "jobs",
    "one row per verdict, and one per job without any",
    """
scope string the directory or address of the job
job string job id
name string job name
outcome string ill, at-risk, unread, undecided, clear
severity string worst finding: critical, warning, info, undecided
state string state of the job
since timestamp when it began
until timestamp end of the evidence
code string code of the rule
cause string one of the closed list of causes
reason string reason of the rule
headline string what is wrong
id string the same for one fault in two runs
change string new or still, against the run before
subject string what it is about, as JSON
not_checked long rules that could not judge
""",
)
ROOTS = _table(
    "roots",
    "one row per job of each shared root",
    """
kind string address, server, host, node, cluster, broker, topic, storage, image, frame
value string what it is called
link string explains or in-common
cause string the most frequent cause
since timestamp when it began
until timestamp when it was seen last
scope string directory or address of the job
job string job id
""",
)


def fleet_rows(report: FleetReport, run: datetime | None) -> Iterator[tuple[Table, list[Row]]]:
    """Each table with its rows of one run."""
    outcomes = {outcome.replace("-", "_"): sum(row.outcome == outcome for row in report.jobs) for outcome in OUTCOMES}
    yield RUNS, [{"run": run, "version": report.version, "jobs": len(report.jobs), **outcomes}]
    yield JOBS, list(job_rows(report, run))
    yield (
        ROOTS,
        [
            {
                "run": run, "kind": root.kind, "value": root.value, "link": root.link, "cause": root.cause, "since": root.since,
                "until": root.until, "scope": scope, "job": job,
            }
            for root in report.roots
            for scope, job in root.jobs
        ],
    )  # fmt: skip


def history_tables() -> dict[str, Any]:
    """What ``diag schema --fleet-history`` prints: each table, where its files are, and what its columns hold. It may only grow."""
    tables = {
        table.name: {
            "says": table.says,
            "files": f"DIR/history/{table.name}/*.parquet",
            "columns": [{"name": column.name, "type": column.type, "says": column.says} for column in table.columns],
        }
        for table in (RUNS, JOBS, ROOTS)
    }
    return {"format": 1, "tables": tables}


def job_rows(report: FleetReport, run: datetime | None) -> Iterator[Row]:
    """The rows of `JOBS`."""
    for job in report.jobs:
        head = {name: value for name, value in asdict(job).items() if name in JOBS.names}
        said: list[dict[str, Any]] = [asdict(verdict) for verdict in job.verdicts] or [{"since": job.since, "headline": job.says}]
        for each in said:
            own = {name: value for name, value in each.items() if name in JOBS.names}
            yield {"run": run, **head, **own, "subject": json.dumps(each.get("subject"), default=str, sort_keys=True)}
