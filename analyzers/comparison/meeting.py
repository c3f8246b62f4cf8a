"""Whether two looks can be compared at all, what became of their findings, and what holds for all of these."""

from __future__ import annotations

from dataclasses import dataclass

from analyzers.comparison.findings import FindingChange, compared_findings
from analyzers.comparison.sides import NotComparable, Side, moment, share_names
from analyzers.report.durations import few, span


@dataclass(frozen=True)
class Meeting:
    """`names`: whether what is called alike in both is the same thing. `remarks`: what takes from what is said of the findings."""

    names: bool
    findings: tuple[FindingChange, ...]
    remarks: tuple[str, ...]


def meet(before: Side, after: Side, *, any_job: bool = False) -> Meeting:
    """The findings of both, each once.

    Raises `NotComparable` where one was not judged, and, unless `any_job`, where they are of different jobs or of other processes.
    """
    for side in (before, after):
        if not side.is_judged:
            why = next((f": {each['because']}" for each in side.document["not_checked"]), "")
            raise NotComparable(f"no rule judged {side.called} ({side.name}){why}", "Compare reports that were judged, bundles, or logs.")
    names = share_names(before, after)
    if not any_job:
        _of_one_job(before, after, names=names)
    findings = tuple(compared_findings(before, after, names=names, any_job=any_job))
    remarks = _remarks(before, after, names=names) + _times(before, after)
    remarks += [f"undecided in {after.called}: {words}" for words in after.undecided[:_MOST_UNDECIDED]]
    if any(each.change == "gone" for each in findings):
        remarks += [*_shorter(before, after), *_fewer_logs(before, after)]
    return Meeting(names, findings, tuple(remarks))


def _of_one_job(before: Side, after: Side, *, names: bool) -> None:
    """Raises `NotComparable` where the looks are of different jobs, or show no process that both have."""
    if names and before.named and after.named and not before.named & after.named:
        raise NotComparable(
            f"{before.called} ({before.name}) is of {_jobs(before)}, {after.called} ({after.name}) of {_jobs(after)}: nothing is compared",
            "--any-job compares them all the same.",
        )
    if before.log_roles and after.log_roles and not before.log_roles.keys() & after.log_roles.keys():
        old, new = (", ".join(sorted(side.log_roles)) for side in (before, after))
        raise NotComparable(
            f"{before.called} ({before.name}) has logs of {old}, {after.called} ({after.name}) of {new}: nothing is compared",
            "Give logs of the same processes; --any-job compares them all the same.",
        )


def _jobs(side: Side) -> str:
    names = side.shown_jobs
    return ("job " if len(names) == 1 else "jobs ") + few(names)


def _remarks(before: Side, after: Side, *, names: bool) -> list[str]:
    """What holds for the whole comparison."""
    said = []
    if not names:
        said.append(
            "names are tokens on one side, or tokens of two keys: findings are compared by rule, reason and number, "
            "and whether both are of one job is not known (redact both with one --redaction-key)"
        )
    if before.version != after.version:
        judges = f"{before.called} was judged by diag {before.version}, {after.called} by diag {after.version}"
        said.append(f"{judges}: what differs may be the rules")
    unnamed = [side.called for side in (before, after) if not side.named]
    if len(unnamed) == 1 and names:
        said.append(f"{unnamed[0]} names no job: whether both are of one job is not known")
    elif names:
        only = [(one.called, sorted(one.named - other.named)) for one, other in ((before, after), (after, before))]
        said += [f"only {called} has {'job' if len(own) == 1 else 'jobs'} {', '.join(own[:5])}" for called, own in only if own]
    return said + [f"in {side.called} {side.incomplete}" for side in (before, after) if side.incomplete is not None]


_MOST_UNDECIDED = 3
_SHORT = 2
"""How many times longer one look may be before it matters what the other had no time for."""


def _times(before: Side, after: Side) -> list[str]:
    end, later_end = moment(before.window[1]), moment(after.window[1])
    if end is None or later_end is None or later_end >= end:
        return []
    return [f"{after.called} ends before {before.called}: are they the wrong way round?"]


def _shorter(before: Side, after: Side) -> list[str]:
    """What the later look had no time for."""
    (begin, end), (later_begin, later_end) = ([moment(text) for text in side.window] for side in (before, after))
    if begin is None or end is None or later_begin is None or later_end is None or (later_end - later_begin) * _SHORT >= end - begin:
        return []
    covered = f"{after.called} covers {span(later_end - later_begin)}, {before.called} {span(end - begin)}"
    return [f"{covered}: what is gone may only not have happened yet"]


def _fewer_logs(before: Side, after: Side) -> list[str]:
    """What logs that only the earlier look has."""
    fewer = [(role, number, old) for role, old in before.log_roles.items() if 0 < (number := after.log_roles.get(role, 0)) < old]
    logs = ", ".join(f"{number} of {role} ({before.called}: {old})" for role, number, old in fewer)
    return [f"{after.called} has fewer logs, {logs}: what is gone may stand in one that it lacks"] if fewer else []
