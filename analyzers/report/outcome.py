"""Whether a report without findings is an all-clear, in words: what was noticed may speak against it."""

from __future__ import annotations

from analyzers.report.durations import counted
from analyzers.report.noticed import REPORTED, WENT_ON
from analyzers.report.report import Report

TREND_OPEN = "LAG901"


def doubt(report: Report) -> str | None:
    """Why this is no all-clear although no rule found anything: too little was read, or it holds an error that nothing explains."""
    if report.fragment:
        return f"Too little for a verdict: {report.fragment}"
    grave = [each for each in report.unexplained if each.is_open]
    if not grave:
        lines = sum(each.count for each in report.unexplained if each.inferred and not each.over)
        if lines:
            return f"No verdict: {counted(lines, 'warning')} that no rule explains{probably(report)}"
        return _too_few_samples(report)
    if all(each.means == REPORTED for each in grave):
        return f"No verdict: nothing here explains what a note reports{probably(report)}"
    if all(each.loss for each in grave):
        shown = counted(sum(each.count for each in grave), "line")
        return f"No verdict: {shown} of a loss or a refusal that no rule explains{probably(report)}"
    since = [each.completed_since for each in grave]
    least = min((number for number in since if number is not None), default=None)
    unit = _unit(report)
    after = (
        "nothing here shows a job at work since" if None in since or least is None
        else f"no {unit} completed since" if not least else f"only {counted(least, unit, _units(unit))} completed since"
    )  # fmt: skip
    return f"No verdict: {counted(sum(each.count for each in grave), 'error')} that no rule explains, and {after}{probably(report)}"


def probably(report: Report) -> str:
    """What the line that says most suggests, else which number stands still."""
    lead = next((each.inferred for each in report.unexplained if each.inferred), None)
    if lead:
        return f"; probably {lead[0].lower()}{lead[1:].rstrip('.')}"
    standing = next((each for each in report.noticed if each.stands), None)
    if standing is None:
        return ""
    since = f" since {standing.first:%H:%M:%S}" if standing.first is not None else ""
    return f"; {standing.stands} stands{since}"


def _too_few_samples(report: Report) -> str | None:
    """The lag that is drawn above is minutes old and does not shrink: "nothing wrong" below it would contradict it."""
    groups = sorted({str(f.subject.get("group")) for f in report.findings if f.code == TREND_OPEN})
    if not groups:
        return None
    whose = f"group {groups[0]} keeps" if len(groups) == 1 else f"{counted(len(groups), 'group')} keep"
    return f"No verdict: the samples are too few to show whether {whose} up"


def went_on(report: Report) -> str | None:
    """That jobs went on after errors that nothing explains; None where there are no such errors."""
    errors = [each for each in report.unexplained if each.is_error]
    if not errors or any(each.is_open for each in errors):
        return None
    number = counted(sum(each.count for each in errors), "error")
    since = [each.completed_since for each in errors if not each.over]
    if not since:
        return f"{number} that no rule explains, after the job was stopped"
    least = min(since, key=lambda each: each or 0) or WENT_ON
    return f"the job went on after {number} that no rule explains: {counted(least, _unit(report), _units(_unit(report)))} completed since"


def _unit(report: Report) -> str:
    kinds = {row["kind"] for row in report.job_state or ()}
    return "batch" if kinds == {"spark"} else "commit of a connector" if kinds == {None} else "checkpoint"


def _units(unit: str) -> str:
    return {"batch": "batches", "commit of a connector": "commits of connectors"}.get(unit, "checkpoints")
