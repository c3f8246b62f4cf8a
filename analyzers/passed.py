"""An incident that has passed is no verdict: the job has been well for a while since."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from analyzers.finding import Finding, Severity
from analyzers.tables import Row

LASTING = frozenset({"duplicate-split", "offset-reset", "jobmanager-lost"})
"""Causes whose damage stays when the job runs on: records read twice, skipped, or state that is gone."""

ENOUGH_CHECKPOINTS = 10  # fewer prove little: readers without splits acknowledge too
ENOUGH_TIME = timedelta(minutes=10)  # the longest default restart back-off is 5 min; a restart loop is not "well" between two turns
_COMPLETED = frozenset({"checkpoint-completed", "query-progress"})


def weigh_passed(findings: Sequence[Finding], tables: Mapping[str, Sequence[Row]]) -> list[Finding]:
    """`findings`, the critical ones that have passed lowered to a warning that says so."""
    completed: dict[tuple[str, str], list[tuple[datetime, int]]] = defaultdict(list)
    for row in tables.get("log_counts", ()):
        if row["signature"] in _COMPLETED and row["job"] and row["last_at"]:
            completed[row["scope"], row["job"]].append((row["last_at"], row["events"]))
    successors = _successors(tables.get("jobs_seen", ()))
    ends = {(r["scope"], r["job"]): r["last_at"] for r in tables.get("jobs_seen", ()) if r["last_at"]}
    out = []
    for finding in findings:
        after = successors.get((finding.scope, finding.job or ""))
        if after is not None and finding.severity is Severity.CRITICAL and finding.cause not in LASTING:
            said = f"{finding.says} It has passed: the job was submitted again as {after} and completes checkpoints."
            out.append(replace(finding, severity=Severity.WARNING, says=said))
            continue
        since_then = _well_since(finding, completed.get((finding.scope, finding.job or ""), []), ends)
        out.append(finding if since_then is None else _lower(finding, since_then))
    return out


def _successors(jobs: Sequence[Row]) -> dict[tuple[str, str], str]:
    """Per failed job the later one of the same name that runs well."""
    out: dict[tuple[str, str], str] = {}
    for job in jobs:
        for later in jobs:
            same = (
                later["scope"] == job["scope"] and later["name"] is not None and later["name"] == job["name"] and later["job"] != job["job"]
            )
            well = later["state"] in ("RUNNING", "FINISHED") and (later["checkpoints_completed"] or 0) >= 3 and not later["restarts"]
            ordered = job["last_at"] is not None and later["first_at"] is not None and later["first_at"] >= job["last_at"]
            if job["state"] == "FAILED" and same and well and ordered:
                out[job["scope"], job["job"]] = later["job"]
    return out


def _well_since(finding: Finding, completed: list[tuple[datetime, int]], ends: Mapping[tuple[str, str], datetime]) -> int | None:
    """How many checkpoints were completed since the finding's last sign, when that is enough to call it passed."""
    last = finding.until or finding.since
    end = ends.get((finding.scope, finding.job or ""))
    if finding.severity is not Severity.CRITICAL or finding.cause in LASTING or last is None or end is None or end - last < ENOUGH_TIME:
        return None
    count = sum(n for at, n in completed if at > last)
    return count if count >= ENOUGH_CHECKPOINTS else None


def _lower(finding: Finding, checkpoints: int) -> Finding:
    said = f"{finding.says} It has passed: {checkpoints} checkpoints were completed since."
    return replace(finding, severity=Severity.WARNING, says=said)
