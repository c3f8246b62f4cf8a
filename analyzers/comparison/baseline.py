"""A report beside an earlier look: each of its findings is new, worse, or still there, and what it has no more is named."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from analyzers.comparison.findings import FindingChange
from analyzers.comparison.meeting import meet
from analyzers.comparison.sides import NotComparable, Side
from analyzers.report.baseline import Baseline, Missed
from analyzers.report.finding import Finding
from analyzers.report.identity import identity
from analyzers.report.report import Report


def beside(report: Report, shown: Report, before: Side, after: Side, left_out: Sequence[str] = ()) -> Report:
    """`report` with what became of its findings since `before`. `shown` is the same report as it is shown, without secrets, and `after` the
    look that this makes; `left_out`: sentences on what the options took from the earlier look.

    Where both cannot be compared the report says so, and is else what it was.
    """
    try:
        met = meet(replace(before, called="the baseline"), replace(after, called="this run"))
    except NotComparable as error:
        return replace(report, baseline=Baseline(before.name, failed=f"{error.message}."))
    rows = after.document["findings"]
    became = {(rows[number]["id"], rows[number].get("scope") or ""): each for each in met.findings for number in each.members}

    def marked(finding: Finding, as_shown: Finding) -> Finding:
        each = became.get((identity(as_shown, shown.job_names), as_shown.scope))
        return finding if each is None else replace(finding, change=each.change, was=each.because or each.was)

    return replace(
        report,
        findings=[marked(finding, as_shown) for finding, as_shown in zip(report.findings, shown.findings, strict=True)],
        baseline=Baseline(
            before.name,
            before.version,
            before.window[1],
            dict(Counter(each.change for each in met.findings)),
            tuple(_missed(each) for each in met.findings if not each.members),
            (*met.remarks, *left_out),
        ),
    )


def _missed(each: FindingChange) -> Missed:
    return Missed(each.change, each.code, each.severity, each.job, each.subject, each.says, each.because)
