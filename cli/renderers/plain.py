"""The report for pipes: one tab-separated line per finding; the first field says what the line is. Never a table drawn with lines.

- ``info|warning|critical``, code, job, since, subject, says: a finding
- ``not-checked``, codes, because · ``clean``, codes · ``source``, state, kind, name, why · ``defect``, code, error · ``note``, text
- ``verdict``, cause, reason, code, job, since, subject, says; then ``trigger``, ``inferred``, ``missing``, ``fix``, ``next`` with
  code, job, text;
  ``fix`` and ``next`` come without a ``verdict`` for findings that none is about
- with a baseline: ``baseline``, name, time, counts; ``change``, what became of it, code, job, subject, was; of what only the baseline has
  says and why
- ``clear`` or ``no-verdict``, text, when there is no verdict
- ``noticed``, signature, code, level, count, first, last, job, subject, says, means, place: what no finding explains
- facts, with ``--tables`` or where nothing was judged: a header ``#table``, columns; then rows that begin with the table's name
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from analyzers.report.baseline import CHANGES
from analyzers.report.finding import Finding
from analyzers.report.report import Report, Verdict
from analyzers.tables import TABLES, Row
from cli.renderers import noticing
from cli.renderers.verdict_rows import advised, inferred
from cli.renderers.wording import all_clear, is_clear, iso, notes_of_their_own, printable, quoted, unchecked_by_reason


def render(report: Report, *, tables: bool = False) -> str:
    """Lines in the order of the terminal: the most important verdict last. `tables`: the facts, too, of a report that judges."""
    return "".join("\t".join(_cell(value) for value in line) + "\n" for line in _lines(report, tables))


def _lines(report: Report, tables: bool) -> Iterator[tuple[Any, ...]]:
    if tables or not (report.clean or report.findings or report.defects):
        for name, rows in sorted(report.facts.items()):
            yield from _facts(name, rows)
    for source in report.sources:
        if source.state != "ok":
            yield ("source", source.state, source.kind, source.name, source.why)
    for finding in report.found:
        yield (finding.severity.value, finding.code, _job(finding), finding.since, _subject(finding.subject), finding.says)
    yield from _since_baseline(report)
    if report.clean:
        yield ("clean", ",".join(sorted(report.clean)))
    for because, codes in unchecked_by_reason(report.not_checked):
        yield ("not-checked", ",".join(codes), because)
    for defect in report.defects:
        yield ("defect", defect.code, defect.error.splitlines()[0] if defect.error else "")
    for note in notes_of_their_own(report):
        yield ("note", note)
    for each in report.unexplained:
        head = (each.signature, each.code, each.level, each.count, each.first, each.last, each.job, _subject(each.subject))
        yield ("noticed", *head, each.says, each.means, noticing.whole_place(each))
    for finding, command in advised(report):
        yield from (
            line for line in (("fix", finding.code, _job(finding), finding.fix), ("next", finding.code, _job(finding), command)) if line[3]
        )
    for verdict in reversed(report.verdicts):
        yield from _verdict(verdict, report)
    if not report.verdicts:
        yield ("clear" if is_clear(report) else "no-verdict", all_clear(report))


def _since_baseline(report: Report) -> Iterator[tuple[Any, ...]]:
    baseline = report.baseline
    if baseline is None:
        return
    counts = " ".join(f"{change}={baseline.counts.get(change, 0)}" for change in CHANGES)
    yield ("baseline", baseline.name, baseline.as_of, baseline.failed or counts)
    for finding in report.found:
        if finding.change:
            yield ("change", finding.change, finding.code, _job(finding), _subject(finding.subject), finding.was)
    for each in baseline.missed:
        yield ("change", each.change, each.code, each.job, _subject(each.subject), each.says, each.because)
    yield from (("note", words) for words in baseline.remarks)


def _verdict(verdict: Verdict, report: Report) -> Iterator[tuple[Any, ...]]:
    head = (verdict.cause, verdict.reason, verdict.code, _job(verdict), verdict.since, _subject(verdict.subject), verdict.says)
    yield ("verdict", *head)
    for quote in verdict.words:
        yield ("words", verdict.code, _job(verdict), quote.file, quote.line, quote.count, quoted(quote))
    more = (("trigger", verdict.trigger), ("inferred", inferred(verdict, report)), ("missing", verdict.missing))
    for name, text in (*more, ("fix", verdict.fix), ("next", verdict.next_command)):
        if text:
            yield (name, verdict.code, _job(verdict), text)


def _job(of: Finding | Verdict) -> str | None:
    """Its id; where the logs of many clusters were read and none is known, the directory."""
    return of.job or of.scope or None


def _facts(name: str, rows: Sequence[Row]) -> Iterator[tuple[Any, ...]]:
    columns = TABLES[name].names if name in TABLES else tuple(sorted({key for row in rows for key in row}))
    yield ("#table", *columns)
    for row in rows:
        yield (name, *(row.get(column) for column in columns))


def _subject(subject: Mapping[str, Any]) -> str:
    return " ".join(f"{key}={_value(value)}" for key, value in subject.items() if value is not None)


def _value(value: Any) -> str:
    text = ",".join(str(v) for v in value) if isinstance(value, (list, tuple)) else str(value)
    return f'"{text}"' if " " in text else text


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (str, int)):  # before what is dear to ask: most cells are one of the two
        return printable(str(value)) or "-"
    if isinstance(value, datetime):
        return iso(value) or "-"
    if isinstance(value, (list, tuple)):
        return ",".join(_cell(v) for v in value)
    if isinstance(value, Mapping):
        return printable(" ".join(f"{key}={_value(v)}" for key, v in value.items()))
    if isinstance(value, float):
        return f"{value:g}" if abs(value) < 1e6 else f"{value:.0f}"
    return printable(str(value)) or "-"
