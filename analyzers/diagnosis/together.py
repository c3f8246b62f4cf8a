"""One report of those that clusters got each by itself, as if all of their tables had been judged at once."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import chain

from analyzers.diagnosis.diagnose import finding_order, undecided
from analyzers.diagnosis.looked_at import looked_at
from analyzers.diagnosis.noticed import order
from analyzers.report.finding import NotChecked
from analyzers.report.history import Lane
from analyzers.report.report import Report, Source
from analyzers.tables import Row


def together(reports: Iterable[Report], *, notes: Sequence[str] = (), sources: Sequence[Source] = ()) -> Report:
    """One report of `reports`, of which there is at least one, each of a scope of its own. `notes` and `sources` are of none of them."""
    every = list(reports)
    first = every[0]
    dated = [each for each in every if each.counts.get("log_files")] or every  # not by when a copy of a checkpoint was made
    findings = sorted(chain.from_iterable(each.findings for each in every), key=finding_order)
    verdicts = sorted(chain.from_iterable(each.verdicts for each in every), key=lambda verdict: (verdict.weight, verdict.scope))
    defects = {defect.code: defect for each in every for defect in each.defects}
    elsewhere = {finding.code for finding in findings} | {*defects}
    clean = sorted({code for each in every for code in each.clean} - elsewhere)
    counts, roles = Counter[str](), Counter[str]()
    for each in every:
        counts.update(each.counts)
        roles.update(each.log_roles)
    return Report(
        tool=first.tool,
        version=first.version,
        command=first.command,
        as_of=max(_times(each.as_of for each in dated), default=None),
        window=(min(_times(each.window[0] for each in dated), default=None), max(_times(each.window[1] for each in dated), default=None)),
        sources=sorted({*sources, *chain.from_iterable(each.sources for each in every)}, key=lambda source: (source.kind, source.name)),
        verdicts=verdicts,
        findings=findings,
        clean=clean,
        not_checked=_not_checked(every, {*clean} | elsewhere),
        defects=sorted(defects.values(), key=lambda defect: defect.code),
        notes=[*notes, *sorted({note for each in every for note in each.notes})],
        looked_at=looked_at(counts),
        counts=counts,
        log_roles=dict(sorted(roles.items())),
        job_names={job: name for each in every for job, name in each.job_names.items()},
        job_state=[row for each in every for row in each.job_state],
        history=sorted(chain.from_iterable(each.history for each in every), key=_of_lane),
        barriers=_tables(each.barriers for each in every),
        log_clocks=sorted({clock for each in every for clock in each.log_clocks}),
        own_rules={code: title for each in every for code, title in each.own_rules.items()},
        unseen=[] if verdicts else undecided(findings),
        noticed=sorted(chain.from_iterable(each.noticed for each in every), key=order),
    )


def _times(times: Iterable[datetime | None]) -> Iterator[datetime]:
    return (at for at in times if at is not None)


def _tables(apart: Iterable[Mapping[str, Sequence[Row]]]) -> dict[str, list[Row]]:
    tables: dict[str, list[Row]] = defaultdict(list)
    for each in apart:
        for name, rows in each.items():
            tables[name] += rows
    return dict(tables)


def _not_checked(reports: Sequence[Report], judged: set[str]) -> list[NotChecked]:
    """What could be judged in no cluster, and why it could not in most of them."""
    why = Counter(each for report in reports for each in report.not_checked if each.code not in judged)
    most: dict[str, NotChecked] = {}
    for each, _ in sorted(why.items(), key=lambda item: (-item[1], item[0].because)):
        most.setdefault(each.code, each)
    return sorted(most.values(), key=lambda each: each.code)


def _of_lane(lane: Lane) -> tuple[bool, bool, str, str]:
    return lane.name != "job", lane.name == "brokers", lane.scope, lane.job or ""
