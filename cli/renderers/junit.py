"""JUnit's XML: what a run found, for continuous integration. A rule is a test case.

It fails where the exit code is 1 for it; what was found below ``--fail-on``, or stood in the baseline already, is skipped with its words,
and so is what could not judge; what could not be read, and a rule that crashed, is an error. Jenkins and Ant each
have a schema for this: what is written is what both allow. The host is not named.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timezone

from analyzers.report.finding import Severity
from analyzers.report.fleet import FleetReport, JobRow
from cli.renderers.results import Place, Result, Results
from cli.renderers.wording import clipped, printable, subject_words

_MOST_PLACES = 6
_MOST_TEXT = 400
_NO_HOST = "localhost"
"""Ant's schema wants one; this is what it says of a host that is not known."""


def render(found: Results, fail_on: str = "critical") -> str:
    """The document; the same results give the same bytes."""
    cases = [*_of_findings(found, fail_on), *_of_rules(found), *_of_troubles(found)]
    return _document(found.command, found.version, found.as_of, cases, _output(found, fail_on), found.notes)


def jobs(report: FleetReport, fail_on: str = "critical") -> str:
    """The document of a fleet: a job is a test case."""
    return _document("fleet", report.version, None, [_of_job(row, fail_on) for row in report.jobs], (), report.notes)


def _document(
    command: str, version: str, as_of: datetime | None, cases: Sequence[ET.Element], output: Iterable[str], notes: Iterable[str]
) -> str:
    suites = ET.Element("testsuites")
    kinds = Counter(child.tag for case in cases for child in case)
    suite = ET.SubElement(
        suites,
        "testsuite",
        {
            "name": f"diag {command}",
            "package": "diag",
            "id": "0",
            "hostname": _NO_HOST,
            **({"timestamp": f"{as_of.astimezone(timezone.utc):%Y-%m-%dT%H:%M:%S}"} if as_of else {}),
            "tests": str(len(cases)),
            "failures": str(kinds["failure"]),
            "errors": str(kinds["error"]),
            "skipped": str(kinds["skipped"]),
            "time": "0",
        },
    )
    properties = ET.SubElement(suite, "properties")
    ET.SubElement(properties, "property", {"name": "diag.version", "value": _line(version)})
    suite.extend(cases)
    ET.SubElement(suite, "system-out").text = "\n".join(output)
    ET.SubElement(suite, "system-err").text = "\n".join(_line(note) for note in notes)
    ET.indent(suites)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(suites, encoding="unicode")}\n'


def _of_job(row: JobRow, fail_on: str) -> ET.Element:
    case = ET.Element("testcase", {"name": _line(row.name or row.job or row.scope), "classname": _line(row.scope or "diag"), "time": "0"})
    words = [_line(f"{each.headline} [{each.code}]" + (f" ({each.change})" if each.change else "")) for each in row.verdicts]
    if row.severity is not None and fail_on != "never" and Severity(row.severity).rank >= Severity(fail_on).rank:
        ET.SubElement(case, "failure", {"type": row.severity, "message": _line(row.says)}).text = "\n".join(words or [_line(row.says)])
    elif row.defects or row.outcome == "unread":
        why = f"a defect in diag: {', '.join(row.defects)} crashed" if row.defects else row.says
        ET.SubElement(case, "error", {"type": "defect" if row.defects else "unread", "message": _line(why)})
    elif row.outcome != "clear":
        ET.SubElement(case, "skipped", {"message": _line(f"{row.outcome}: {row.says}")})
    return case


def _line(words: str) -> str:
    """`words` on one line, without what XML has no place for."""
    return _allowed(printable(words))


def _allowed(text: str) -> str:
    """`text` without what no XML 1.0 document may hold, not even as a reference; `printable` has taken the control characters away."""
    return "".join("\ufffd" if c in "\ufffe\uffff" or "\ud800" <= c <= "\udfff" else c for c in text)


def _case(name: str, group: str) -> ET.Element:
    return ET.Element("testcase", {"name": _line(name), "classname": f"diag.{group}", "time": "0"})


def _of_findings(found: Results, fail_on: str) -> Iterator[ET.Element]:
    """One each; the subject is in the name of those whose rule has several."""
    many = Counter(each.code for each in found.results)
    names: Counter[str] = Counter()
    for each in found.results:
        where = ", ".join(subject_words(_lasting(each.subject))) if many[each.code] > 1 else ""
        name = _named(each.code, found) + (f" ({where})" if where else "")
        names[name] += 1
        case = _case(name + (f" #{names[name]}" if names[name] > 1 else ""), _family(each.code))
        if each.fails(fail_on):
            ET.SubElement(case, "failure", {"type": each.severity.value, "message": _line(each.says)}).text = "\n".join(_words(each))
        elif why := _why_skipped(each, fail_on):
            ET.SubElement(case, "skipped", {"message": _line(why)})
        yield case


def _why_skipped(each: Result, fail_on: str) -> str | None:
    """Why a finding is no failure; None of what is gone."""
    if each.change == "gone":
        return None
    if each.missed:
        return each.because or "not seen"
    why = "still there since the baseline" if each.change == "still" else f"{each.severity.value}, below --fail-on {fail_on}"
    return f"{why}: {each.says}"


def _lasting(subject: Mapping[str, object]) -> dict[str, object]:
    """Without what differs from run to run: a test case is to keep its name."""
    return {key: value for key, value in subject.items() if key not in ("attempt", "checkpoint", "offset", "execution", "batch", "run")}


def _family(code: str) -> str:
    """The letters of a code."""
    return code.rstrip("0123456789")


def _named(code: str, found: Results) -> str:
    words = found.title(code)
    return f"{code} {words}" if words else code


def _of_rules(found: Results) -> Iterator[ET.Element]:
    for code in found.clean:
        yield _case(_named(code, found), _family(code))
    for code, because in found.unchecked:
        case = _case(_named(code, found), _family(code))
        ET.SubElement(case, "skipped", {"message": _line(because)})
        yield case


def _of_troubles(found: Results) -> Iterator[ET.Element]:
    for trouble in found.troubles:
        if trouble.state == "partial":
            continue
        case = _case(
            f"{trouble.about}" if trouble.state == "defect" else f"read {trouble.about}", "source" if trouble.state == "failed" else "rule"
        )
        ET.SubElement(case, "error", {"type": trouble.state, "message": _line(trouble.why)}).text = _line(f"{trouble.about}: {trouble.why}")
        yield case


def _words(each: Result) -> Iterator[str]:
    yield _line(each.says)
    if each.change:
        yield _line(f"since the baseline: {each.change}" + (f", {each.because}" if each.because else ""))
    if each.job:
        yield _line(f"job: {each.job}")
    if words := subject_words(each.subject):
        yield _line(f"where: {', '.join(words)}")
    yield from (f"fix {number}: {_line(step)}" for number, step in enumerate(each.fix, 1))
    yield from _places(each.places)


def _places(places: Iterable[Place]) -> Iterator[str]:
    for place in list(places)[:_MOST_PLACES]:
        at = f"{place.file or ''}:{place.line}" if place.line is not None else place.file or ""
        yield _allowed(f"{printable(at)}  {clipped(place.text.partition(chr(10))[0], _MOST_TEXT)}".strip())


def _output(found: Results, fail_on: str) -> Iterator[str]:
    """What is no failure and to be known all the same."""
    for each in found.results:
        if not each.fails(fail_on):
            mark = f"{each.change} " if each.change else ""
            yield _line(f"{mark}{each.severity.value} {each.code}: {each.says}")
    for trouble in found.troubles:
        if trouble.state == "partial":
            yield _line(f"partly read: {trouble.about}: {trouble.why}")
