"""An incident that has passed is no verdict: the job has been well for a while since. A younger one is, and says that the job came back."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import pairwise
from types import MappingProxyType

from analyzers.derived.failures.progress import by_minute
from analyzers.diagnosis.findings import to_read
from analyzers.diagnosis.outlived import Outlived
from analyzers.diagnosis.work_since import Work
from analyzers.report.durations import span
from analyzers.report.finding import Finding, Severity
from analyzers.tables import Row

LASTING = frozenset({"duplicate-split", "offset-reset", "jobmanager-lost"})
"""Causes whose damage stays when the job runs on: records read twice, skipped, or state that is gone."""

STAYS = "damage_stays"
"""In the detail of a finding: what it is about is lost however well the job runs since, by any cause."""

ENOUGH_CHECKPOINTS = 10  # fewer prove little: readers without splits acknowledge too
ENOUGH_TIME = timedelta(minutes=10)  # the longest default restart back-off is 5 min; a restart loop is not "well" between two turns
TWICE = 2  # the usual time between two failures: what comes back in its own time has not passed before
BESIDE = timedelta(seconds=60)  # what ended an attempt may be logged a moment after its tasks have failed
ENOUGH_PAUSES = 2  # of one nobody knows whether it is usual
LONG_AGO = timedelta(minutes=30)  # beyond any restart strategy: a job that still fails says so again
CAME_BACK_CHECKPOINTS = 3  # as many prove that all tasks run again
CAME_BACK = "came_back"
_OF_WORKERS = "taskmanager-lost"
"""In the detail of a finding: the job runs again, too early to call it passed."""
_LOWER = {Severity.CRITICAL: Severity.WARNING, Severity.WARNING: Severity.INFO}
_OVER = frozenset({"FINISHED", "CANCELED"})  # stopped by somebody, so that its end says nothing about its health


def weigh_passed(
    findings: Sequence[Finding], tables: Mapping[str, Sequence[Row]], logged: Mapping[str, datetime] = MappingProxyType({})
) -> list[Finding]:
    """`findings`, those that have passed lowered by one degree, with a sentence that says so. `logged`: the newest log line per scope."""
    completed = {**_answered(tables.get("checkpoints", ())), **by_minute(tables.get("log_counts", ()))}
    jobs = tables.get("jobs_seen", ())
    successors = _successors(jobs)
    done = {(r["scope"], r["job"]): "batches" if r["kind"] == "spark" else "checkpoints" for r in jobs}
    ends = {(r["scope"], r["job"]): r["last_at"] for r in jobs if r["last_at"]}
    attempts: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in tables.get("attempts", ()):
        attempts[row["scope"], row["job"]].append(row)
    outlived = Outlived(tables.get("faults", ()))
    out = []
    work = Work(tables) if any(finding.cause == _OF_WORKERS for finding in findings) else None
    for finding in findings:
        key = (finding.scope, finding.job or "")
        if work is not None and finding.cause == _OF_WORKERS and work.ended_before(finding.scope, finding.job, finding.since):
            said = _and_then(finding, "Its job had ended before: workers end with it.")
            out.append(replace(_over(finding, said), severity=Severity.INFO))
            continue
        after = successors.get(key)
        usual = _usual_pause(finding, attempts.get(key, []))
        unit = done.get(key, "checkpoints")
        if after is not None and finding.severity is Severity.CRITICAL and _stays(finding):
            out.append(_left_behind(finding, after, ends.get(key)) if _shows_nothing_of_it(after, findings, finding) else finding)
            continue
        if after is not None and _passes(finding) and (after.failed or _well_for_long(after.job, usual)):
            said = _and_then(finding, f"It has passed: the job was submitted again as {after.job['job']} and completes {unit}.")
            out.append(_over(finding, said))
            continue
        since_then = _well_since(finding, completed.get(key, []), ends, usual)
        if since_then is not None:
            out.append(_lower(finding, f"{since_then} {unit}"))
            continue
        seen = outlived.since(finding) if _passes(finding) and not _stays(finding) else None
        if seen is not None:
            out.append(_over(finding, _and_then(finding, f"It has passed: {seen}.")))
            continue
        single = _single(finding, attempts.get(key, []))
        if single is not None:
            out.append(_lower(finding, f"{single} {unit}"))
            continue
        again = after.job if after is not None else None
        back = _came_back(finding, attempts.get(key, []), again, ends.get(key), unit)
        sentence = back or _long_ago(finding, logged.get(finding.scope))
        detail = {**finding.detail, CAME_BACK: True} if back else finding.detail
        out.append(replace(finding, says=f"{finding.says.rstrip('.')}. {sentence}", detail=detail) if sentence else finding)
    return out


def _answered(checkpoints: Sequence[Row]) -> dict[tuple[str, str], list[tuple[datetime, int]]]:
    """When checkpoints were completed, by a JobManager's answers: it shows the newest of them."""
    found: dict[tuple[str, str], list[tuple[datetime, int]]] = defaultdict(list)
    for row in checkpoints:
        if row["status"] == "COMPLETED" and row["job"] and row["last_ack_at"]:
            found[row["scope"], row["job"]].append((row["last_ack_at"], 1))
    return found


def _stays(finding: Finding) -> bool:
    return finding.cause in LASTING or bool(finding.detail.get(STAYS))


@dataclass(frozen=True)
class _Successor:
    """The later job of the same name that runs well, and whether the ended one had failed (else somebody stopped it)."""

    job: Row
    failed: bool


def _successors(jobs: Sequence[Row]) -> dict[tuple[str, str], _Successor]:
    """Per ended job of which there is one."""
    well: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for job in jobs:
        done = (job["checkpoints_completed"] or 0) >= CAME_BACK_CHECKPOINTS and not job["restarts"]
        if done and job["state"] in ("RUNNING", "FINISHED") and job["name"] is not None and job["first_at"] is not None:
            well[job["scope"], job["name"]].append(job)
    out: dict[tuple[str, str], _Successor] = {}
    for job in jobs:
        if (job["state"] != "FAILED" and job["state"] not in _OVER) or job["last_at"] is None:
            continue
        for later in well.get((job["scope"], job["name"]), ()):
            if later["job"] != job["job"] and later["first_at"] >= job["last_at"]:
                out[job["scope"], job["job"]] = _Successor(later, job["state"] == "FAILED")
    return out


def _usual_pause(finding: Finding, attempts: Sequence[Row]) -> timedelta:
    """How long the job ran between two of the failures that the finding is about: one that fails every 40 minutes is not well after 30."""
    ends = [
        a["ended_at"]
        for a in attempts
        if a["ended"] == "failed"
        and a["ended_at"]
        and finding.since
        and finding.since - BESIDE <= a["ended_at"] <= (finding.until or a["ended_at"]) + BESIDE
    ]
    pauses = sorted(later - earlier for earlier, later in pairwise(ends))
    return pauses[len(pauses) // 2] if len(pauses) >= ENOUGH_PAUSES else timedelta(0)


def _well_for_long(job: Row, usual: timedelta) -> bool:
    """Whether a job that was submitted again has proved itself: somebody who stops one mends it or not."""
    return bool(
        (job["checkpoints_completed"] or 0) >= ENOUGH_CHECKPOINTS
        and job["first_at"] and job["last_at"] and job["last_at"] - job["first_at"] >= max(ENOUGH_TIME, TWICE * usual)
    )  # fmt: skip


def _shows_nothing_of_it(after: _Successor, findings: Sequence[Finding], finding: Finding) -> bool:
    """Whether the job that was submitted again shows nothing of the kind."""
    return not any(each.scope == finding.scope and each.job == after.job["job"] and each.cause == finding.cause for each in findings)


def _left_behind(finding: Finding, after: _Successor, ended: datetime | None) -> Finding:
    """A finding whose damage stays, of a job that runs no more."""
    until = f" until {ended:%Y-%m-%d %H:%M:%S} UTC" if ended else ""
    name = after.job["job"]
    said = _and_then(finding, f"That job ran{until}; it was submitted again as {name}, which shows nothing of the kind.")
    fix = f"Clean up what was written{until}; the running job {name} need not be stopped for it. For the next time: {finding.fix}"
    return replace(finding, says=said, fix=fix, until=finding.until or ended)


def _came_back(finding: Finding, attempts: Sequence[Row], after: Row | None, end: datetime | None, unit: str) -> str | None:
    """The sentence that the job runs again, where it is too early to call the incident passed.

    An attempt counts only if it outlasts those that failed of the finding: readers without splits acknowledge between two failures.
    """
    last = finding.until or finding.since
    if finding.severity is not Severity.CRITICAL or finding.cause is None or _stays(finding) or "came back" in finding.says:
        return None
    fell = [a for a in attempts if a["ended"] == "failed" and a["ended_at"] is not None]
    if after is not None:
        return f"The job came back: it was submitted again as {after['job']}, which completed {after['checkpoints_completed']} {unit}."
    if not fell or last is None:
        return None  # a job that never failed has nothing to come back from
    newest = attempts[-1]
    begun, stopped = newest["started_at"], newest["ended_at"] or end
    if newest["ended"] in ("failed", "suspended") or begun is None or stopped is None or begun < last:
        return None
    again = [
        a["ended_at"] - a["started_at"] for a in fell if a["started_at"] is not None and finding.since and a["started_at"] > finding.since
    ]
    if newest["checkpoints_completed"] < CAME_BACK_CHECKPOINTS or any(stopped - begun <= length for length in again):
        return None
    return f"The job came back and completed {newest['checkpoints_completed']} {unit} since."


_LOSES = frozenset({"LAG403"})
"""An aborted transaction may have lost records, however well the job is since."""


def _single(finding: Finding, attempts: Sequence[Row]) -> int | None:
    """How many checkpoints the newest attempt completed, where the only failed one before it ran long and well until it failed.

    Two failures have a pause between them, which is to be outlasted: a token or a leak fails a job every hour.
    """
    last = finding.until or finding.since
    if not _passes(finding) or _stays(finding) or finding.code in _LOSES or last is None or not attempts:
        return None
    *before, newest = attempts
    if newest["ended"] in ("failed", "suspended") or newest["started_at"] is None or newest["started_at"] < last:
        return None
    fell = [a for a in before if a["ended"] == "failed"]
    ran_long = all(
        a["started_at"] and a["ended_at"] and a["ended_at"] - a["started_at"] >= LONG_AGO
        and a["checkpoints_completed"] >= ENOUGH_CHECKPOINTS for a in fell
    )  # fmt: skip
    enough = newest["checkpoints_completed"] >= CAME_BACK_CHECKPOINTS
    return newest["checkpoints_completed"] if enough and ran_long and len(fell) == 1 else None


def _long_ago(finding: Finding, end: datetime | None) -> str | None:
    """The sentence that lines which go on for long say no more of it: whether the job runs again, they do not tell."""
    if finding.severity is not Severity.CRITICAL or _stays(finding) or finding.until is None or end is None:
        return None
    quiet = end - finding.until
    if quiet < LONG_AGO or not any(each.file for each in finding.evidence):
        return None
    return f"The last sign of it is of {finding.until:%Y-%m-%d %H:%M:%S} UTC, {span(quiet)} before these logs end"


def _well_since(
    finding: Finding, completed: list[tuple[datetime, int]], ends: Mapping[tuple[str, str], datetime], usual: timedelta
) -> int | None:
    """How many checkpoints were completed since the finding's last sign, when that is enough to call it passed."""
    last = finding.until or finding.since
    end = ends.get((finding.scope, finding.job or ""))
    if not _passes(finding) or _stays(finding) or last is None or end is None:
        return None
    if end - last < max(ENOUGH_TIME, TWICE * usual):
        return None
    count = sum(n for at, n in completed if at > last)
    return count if count >= ENOUGH_CHECKPOINTS else None


def _lower(finding: Finding, completed: str) -> Finding:
    told = " checkpoints since" in finding.says or " batches since" in finding.says
    said = _and_then(finding, "It has passed." if told else f"It has passed: {completed} were completed since.")
    return _over(finding, said)


def _over(finding: Finding, said: str) -> Finding:
    """A degree lower. A live JobManager tells nothing of it any more: what is left to read are the lines."""
    asks_live = "--flink-rest" in (finding.detail.get("next_command") or "")
    detail = {**finding.detail, "next_command": to_read(finding.evidence)} if asks_live else finding.detail
    severity = _LOWER[finding.severity]
    return replace(finding, severity=severity, says=said, fix=_for_the_next_time(finding), detail=detail, passed=True)


def _passes(finding: Finding) -> bool:
    """Whether it says that the job is ill: what is critical, and that it fails again and again, whatever of."""
    return finding.severity is Severity.CRITICAL or (
        finding.severity is Severity.WARNING and finding.cause is None and finding.stage == "restart"
    )


def _for_the_next_time(finding: Finding) -> str:
    return f"Nothing for now: the job runs. Should it come back: {finding.fix}" if finding.fix else finding.fix


def _and_then(finding: Finding, sentence: str) -> str:
    return f"{finding.says}{'' if finding.says.endswith('.') else '.'} {sentence}"
