"""From findings to verdicts: one per job and independent cause, the one that stops the job first.

The *trigger* is the first fault of the first failed attempt. The *cause* is what must be repaired for the job to stay up: the deepest
fault, not of a consequence class, in which at least two later attempts agree; with fewer failed attempts it is the trigger.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone

from analyzers.derived.failures.fault_classes import by_id
from analyzers.diagnosis.recovered import CAME_BACK, ENOUGH_CHECKPOINTS, ENOUGH_TIME
from analyzers.diagnosis.resubmissions import one_per_name
from analyzers.report.codes import is_own
from analyzers.report.finding import STAGES, Finding, Severity
from analyzers.report.report import RESTARTED_BECAUSE, Moment, Verdict
from analyzers.tables import Row

EXPLAINS: Mapping[str, frozenset[str]] = {
    "broker-unreachable": frozenset(
        {"offset-commit", "barrier-unacknowledged", "no-progress", "checkpoint-storage", "other", "offset-reset"}
    ),
    "external-system": frozenset({"barrier-unacknowledged", "no-progress", "other", "offset-commit", "poison-record"}),
    "checkpoint-storage": frozenset({"barrier-unacknowledged", "offset-commit", "no-progress", "other"}),
    "poison-record": frozenset({"barrier-unacknowledged", "no-progress", "offset-commit", "other"}),
    "taskmanager-lost": frozenset({"barrier-unacknowledged", "no-progress", "offset-commit", "broker-unreachable", "other"}),
    "jobmanager-lost": frozenset(
        {"taskmanager-lost", "barrier-unacknowledged", "no-progress", "offset-commit", "offset-reset", "checkpoint-storage", "other"}
    ),
    "barrier-unacknowledged": frozenset({"no-progress", "offset-commit", "other"}),
    "offset-reset": frozenset({"no-progress", "other"}),
    "no-progress": frozenset({"other"}),
    "duplicate-split": frozenset({"other"}),
    "offset-commit": frozenset({"other"}),
}
"""What a cause may bring about, declared once. A later cause of the same job is then part of the earlier one's chain."""

OVER = (("external-system", "barrier-unacknowledged"), ("broker-unreachable", "offset-commit"), ("jobmanager-lost", "taskmanager-lost"))
"""Tie-breaks: where both are proven for one job, the first is repaired and the second is its consequence."""

_LASTING = frozenset({"duplicate-split", "offset-reset"})
"""Wrong data from a job that runs: worse than the restart that began it, once the job is up again."""

_LONGER = 4
"""So many times longer than it usually ran between two failures a job was well in between: what came after is another incident."""

MOST_GROUPS_APART = 5
"""More groups with one cause share what made them ill, and one verdict."""

_SLACK = timedelta(minutes=2)
_MOST_MOMENTS = 12
_NEVER = datetime.max.replace(tzinfo=timezone.utc)


_UNKNOWN = ("unknown", "untold")
"""Reasons that say only that no rule knows the failure."""
_ENOUGH_LATER = 2


@dataclass(frozen=True)
class Decision:
    """What the attempts of one job agree on."""

    trigger: Row | None
    fault: str | None
    cause: str | None
    failed: tuple[Row, ...]
    up: bool = False
    """The job came back after its last failure and completed a checkpoint."""


def decide(attempts: Sequence[Row]) -> Decision:
    """Trigger and cause of one job's failed attempts, by the rule of the module's docstring."""
    attempts = _incident(attempts)
    failed = [a for a in attempts if a["ended"] == "failed"]
    up = bool(attempts) and attempts[-1]["ended"] == "running" and bool(attempts[-1]["checkpoints_completed"])
    first = next((a for a in failed if a["trigger"]), None)
    told = [a for a in failed if a["fault"]]
    if not told:
        return Decision(first, None, None, tuple(failed), up)
    later = [a for a in told if a is not failed[0]]
    votes = Counter((a["cause"], a["fault"]) for a in later)
    causes = Counter(a["cause"] for a in later)
    agreed = [c for c, n in causes.most_common() if n >= 2 and c is not None]
    if agreed:
        cause = agreed[0]
        fault = next(f for (c, f), _ in votes.most_common() if c == cause)
        return Decision(first, fault, cause, tuple(failed), up)
    last = told[-1]
    return Decision(first, last["fault"], last["cause"], tuple(failed), up)


def _incident(attempts: Sequence[Row]) -> Sequence[Row]:
    """The attempts from the last one on that was well for long and failed then: an incident that was over by then is another one."""

    def length(attempt: Row) -> timedelta:
        both = attempt["started_at"] is not None and attempt["ended_at"] is not None
        return attempt["ended_at"] - attempt["started_at"] if both else timedelta(0)

    lengths = sorted(length(a) for a in attempts if a["ended"] == "failed")
    usual = lengths[len(lengths) // 2] if lengths else timedelta(0)
    begin = 0
    for number, attempt in enumerate(attempts):
        well = (attempt["checkpoints_completed"] or 0) >= ENOUGH_CHECKPOINTS and length(attempt) >= max(ENOUGH_TIME, _LONGER * usual)
        if well and attempt["ended"] == "failed":
            begin = number
    return attempts[begin:]


def verdicts_of(findings: Sequence[Finding], tables: Mapping[str, Sequence[Row]]) -> list[Verdict]:
    """The verdicts, most important first. Findings of no job are joined to the only job there is."""
    attempts: dict[tuple[str, str | None], list[Row]] = defaultdict(list)
    for row in tables.get("attempts", ()):
        attempts[row["scope"], row["job"]].append(row)
    jobs: dict[str, set[str]] = defaultdict(set)
    for row in tables.get("jobs_seen", ()):
        jobs[row["scope"]].add(row["job"])
    groups: dict[tuple[str, str | None], list[Finding]] = defaultdict(list)
    for finding in findings:
        own = finding.job
        if own is None and len(jobs[finding.scope]) == 1:
            own = next(iter(jobs[finding.scope]))
        groups[finding.scope, own].append(finding)
    out: list[Verdict] = []
    for (scope, job), own_findings in sorted(groups.items(), key=lambda g: (g[0][0], g[0][1] or "")):
        decision = decide(attempts.get((scope, job), []))
        out.extend(_of_job(job, own_findings, decision))
    out.sort(key=lambda verdict: verdict.weight)
    return one_per_name(out, tables.get("jobs_seen", ()))


def _of_job(job: str | None, findings: list[Finding], decision: Decision) -> list[Verdict]:
    grave = [f for f in findings if f.cause is not None and f.severity is Severity.CRITICAL and f.stage != "risk"]
    apart = _apart(grave) if job is None else frozenset()
    by_cause: dict[tuple[str | None, str | None], list[Finding]] = defaultdict(list)
    for f in grave:
        by_cause[_kin(f, apart)].append(f)
    if not by_cause:
        return []
    for winner, loser in OVER:
        if decision.cause == loser and any(f.cause == winner for f in grave):
            decision = replace(decision, cause=winner, fault=None)
    others = {f.reason for f in grave if f.cause == "other"}
    if decision.cause == "other" and others == {"untold"} and any(f.cause != "other" for f in grave):
        decision = replace(decision, cause=None, fault=None)  # that these lines do not show why a job failed decides nothing
    if decision.cause == "other" and any(is_own(f.code) for f in grave):
        decision = replace(decision, cause=None, fault=None)  # its users know it
    mains = {kin: min(group, key=lambda f: _telling(f, decision)) for kin, group in by_cause.items()}
    order = sorted(mains.values(), key=lambda f: _rank(f, decision))
    kept: list[Finding] = []
    chains: dict[int, list[Finding]] = {}
    for main in order:
        if main.cause == "other" and kept:
            continue
        by = next((k for k in kept if _explains(k, main, decision)), None)
        if by is None:
            kept.append(main)
            chains[id(main)] = []
        else:
            chains[id(by)].append(main)
    out = []
    for place, main in enumerate(kept):
        assert main.cause is not None
        mates = [f for f in by_cause[_kin(main, apart)] if f is not main]
        symptoms = [f for f in findings if f.cause is None and f.stage != "risk" and f.severity is not Severity.INFO] if place == 0 else []
        if main.cause in apart:
            symptoms = [f for f in symptoms if f.subject.get("group") in (None, main.subject.get("group"))]
        chain = sorted({f.code for f in (main, *mates, *chains[id(main)], *symptoms)}, key=lambda c: (_stage_of(c, findings), c))
        out.append(_verdict(job, main, chain, [main, *mates, *chains[id(main)], *symptoms], decision))
    return out


def _apart(findings: Sequence[Finding]) -> frozenset[str]:
    """Causes that are told group by group where no job is known: what ails one consumer group is no evidence about another."""
    groups: dict[str, set[str]] = defaultdict(set)
    for finding in findings:
        if finding.cause is not None and finding.subject.get("group") is not None:
            groups[finding.cause].add(str(finding.subject["group"]))
    return frozenset(cause for cause, named in groups.items() if len(named) <= MOST_GROUPS_APART)


def _kin(finding: Finding, apart: frozenset[str]) -> tuple[str | None, str | None]:
    """Findings with the same answer become one verdict."""
    group = finding.subject.get("group")
    return finding.cause, str(group) if group is not None and finding.cause in apart else None


def _rank(finding: Finding, decision: Decision) -> tuple[object, ...]:
    """What still is before what the job came back from; decided cause first, then what stops the job, then the earlier stage and time."""
    decided = finding.cause == decision.cause and decision.cause is not None
    names_fault = decision.fault is not None and decision.fault in (finding.detail.get("fault_ids") or ())
    return (
        CAME_BACK in finding.detail,
        not (decision.up and finding.cause in _LASTING),
        not decided,
        finding.cause == "other",
        not names_fault if decided else False,
        finding.job is None and finding.missing is not None,  # what names the cause comes before what asks for it
        -finding.confidence,
        STAGES.index(finding.stage),
        finding.since or _NEVER,
        finding.code,
    )


def _telling(finding: Finding, decision: Decision) -> tuple[object, ...]:
    """Among findings of one cause: as `_rank`, but first what a user's own rule knows, then what goes on (not what only began it), then
    what a server states itself (2: of its own end, 1: of what it refuses; a client only sees a timeout), a failure that is known, one that
    names the task before one that asks for it, and of equals who names more.
    """
    *front, _asks, confidence, stage, since, code = _rank(finding, decision)
    unknown = finding.cause == "other" and finding.reason in _UNKNOWN
    named = "task" not in finding.subject
    stated = -int(finding.detail.get("stated") or 0)
    return (
        not is_own(finding.code),
        _was_first(finding, decision),
        stated,
        *front,
        unknown,
        named,
        confidence,
        stage,
        -len(finding.subject),
        since,
        code,
    )


def _was_first(finding: Finding, decision: Decision) -> bool:
    """Whether a finding was over before the attempts that failed later, all for another fault, began."""
    later, last = decision.failed[1:], finding.until or finding.since
    faults = {a["fault"] or a["trigger"] for a in later}
    if len(later) < _ENOUGH_LATER or last is None or len(faults) != 1 or None in faults:
        return False
    begins = later[0]["started_at"]
    return begins is not None and last < begins and faults.isdisjoint(finding.detail.get("fault_ids") or ())


def _importance(finding: Finding, decision: Decision) -> tuple[object, ...]:
    stops = finding.cause in _LASTING if decision.up else finding.cause == decision.cause and bool(decision.failed)
    back = CAME_BACK in finding.detail
    return (
        back,
        not stops,
        finding.cause == "other",
        finding.job is None and finding.missing is not None,
        finding.inferred is not None,  # what a rule knows comes before what only words and names suggest
        STAGES.index(finding.stage),
        finding.since or _NEVER,
        finding.code,
        finding.job or "",
    )


def _explains(earlier: Finding, later: Finding, decision: Decision) -> bool:
    if earlier.cause is None or later.cause is None:
        return False
    if _only_began(earlier, later, decision):
        return True
    if later.cause == decision.cause and decision.failed:
        return False
    if earlier.cause == decision.cause and decision.failed and _only_triggered(later, decision):
        return True
    if later.cause not in EXPLAINS.get(earlier.cause, frozenset()):
        return False
    return earlier.since is None or later.since is None or earlier.since <= later.since + _SLACK


def _only_began(lasting: Finding, earlier: Finding, decision: Decision) -> bool:
    """The job is up, and what failed it was over when the lasting damage began: the restart that brought the damage about."""
    if not decision.up or lasting.cause not in _LASTING or earlier.cause in _LASTING or lasting.since is None:
        return False
    last = earlier.until or earlier.since
    return last is not None and last <= lasting.since


def _only_triggered(finding: Finding, decision: Decision) -> bool:
    """The finding is about the trigger: it was seen before the cause showed, and not among the later attempts."""
    later = decision.failed[1:]
    first = decision.trigger["trigger"] if decision.trigger is not None else None
    if first is None or by_id(first).cause != finding.cause:
        return False
    return len(later) >= 2 and sum(a["cause"] == finding.cause for a in later) <= len(later) // 4


def _stage_of(code: str, findings: Sequence[Finding]) -> int:
    return next((STAGES.index(f.stage) for f in findings if f.code == code), len(STAGES))


def _verdict(job: str | None, main: Finding, chain: list[str], members: list[Finding], decision: Decision) -> Verdict:
    assert main.cause is not None
    is_decided = main.cause == decision.cause
    trigger = decision.trigger["trigger_says"] if decision.trigger is not None and is_decided else None
    trigger_at = decision.trigger["ended_at"] if decision.trigger is not None else None
    says = main.says
    began = [f for f in members if _only_began(main, f, decision) and f.cause == decision.cause] if not is_decided else []
    if began and decision.failed:
        last = decision.failed[-1]
        trigger, trigger_at = last["trigger_says"], last["ended_at"]
        if trigger is not None:
            says = f"{RESTARTED_BECAUSE}{trigger}{f' ({trigger_at:%H:%M:%S} UTC)' if trigger_at else ''}; since then: {main.says}"
    elif trigger is not None and decision.trigger is not None and decision.trigger["cause"] != main.cause and len(decision.failed) > 1:
        again = "failed again" if decision.up else "cannot come back"
        says = f"{RESTARTED_BECAUSE}{trigger}{f' ({trigger_at:%H:%M:%S} UTC)' if trigger_at else ''}; {again} because: {says}"
    since = min((f.since for f in members if f.cause == main.cause and f.since is not None), default=None)
    return Verdict(
        cause=main.cause,
        reason=main.reason,
        code=main.code,
        job=job,
        since=since,
        trigger=trigger,
        subject=main.subject,
        says=says,
        fix=main.fix,
        confidence=main.confidence,
        chain=tuple(chain),
        timeline=_timeline(members, decision),
        missing=main.missing,
        next_command=main.detail.get("next_command"),
        scope=main.scope,
        headline=main.headline,
        steps=main.steps,
        no_help=main.no_help,
        danger=main.danger,
        weight=_importance(main, decision),
    )


def _timeline(members: list[Finding], decision: Decision) -> tuple[Moment, ...]:
    moments = [Moment(f.since, f.code, _first_sentence(f.says)) for f in members if f.since is not None]
    failed = decision.failed
    for n, attempt in enumerate(failed):
        if n < 3 or n == len(failed) - 1:
            what = attempt["trigger_says"] or "no reason in these logs"
            moments.append(Moment(attempt["ended_at"], "", f"attempt {attempt['attempt']} failed: {what[:160]}"))
    if len(failed) > 4:
        moments.append(Moment(failed[3]["ended_at"], "", f"… and {len(failed) - 4} more failed attempt{'s' * (len(failed) > 5)}"))
    moments.sort(key=lambda m: (m.at or _NEVER, m.code, m.says))
    return tuple(moments[:_MOST_MOMENTS])


def _first_sentence(text: str) -> str:
    return text.split(". ")[0].rstrip(".")
