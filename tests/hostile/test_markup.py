"""What evidence says stays text: no element, link or formula is made of it, no mark turns its direction, in a report or in a fleet's."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from analyzers.report.finding import Defect, Evidence, NotChecked
from analyzers.report.fleet import FleetReport, JobRow, JobVerdict, Root
from analyzers.report.history import Lane, Mark, Span
from analyzers.report.report import Moment, Report, Source
from analyzers.tables import TABLES
from cli.renderers import fleet
from cli.runs.fleet import FleetRun
from cli.runs.fleet_output import _text
from cli.shell.environment import Environment
from cli.shell.output import FORMATS, emit
from tests.report_samples import AT, JOB, finding, incident, minutes, verdict

WORDS = (
    "</style></title><script>window.owned=1</script>",
    "\"><img src=x onerror='window.owned=1'>]]><svg onload=window.owned=1><!-- ' onmouseover='x",
    "[x](javascript:alert(1)) ![x](http://evil/x.png) <http://evil> {{7*7}}${7*7}",
    "` ``` x ```` ` | a | b\\|c \\",
    "\n# owned\n\n- x\n| --- |\n</details>",
    "a\u2028b\u202ec\u2066d\u2069\u061ce\u200ff\u200bg\ufeffh\u2060i\u2029",
    "\x1b]8;;http://evil/\x07x\x1b]8;;\x07\x1b[2J\x9b31m\x00\x08\x7f \ud800",
    "&#x202e;&lt;script&gt;",
)
PLAIN = ("xyz", "x\ty", "long " * 40)  # whether something is folded depends on its length and on what can be printed as it is
UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]")


def report(x: str) -> Report:
    """`x` wherever a report has words of others."""
    marks = tuple(Mark(minutes(n / 10), "failed", x, x, n) for n in range(3))
    lanes = [Lane(x, JOB, "", (Span(AT, minutes(5), "tries"),), marks)]
    told = finding(says=x, headline=x, inferred=x, evidence=(Evidence("log_events", x, 3, AT, f"{x}\n\tat {x}"),), steps=(x, f"`{x}`"))
    told = replace(told, missing=x, no_help=x, danger=x, fix=x, subject={"task": x, "host": x, "topic": x})
    hurt = verdict(says=x, headline=x, steps=(x, f"`ls {x}`"), no_help=x, danger=x, missing=x, next_command=x, impact=x, trigger=x)
    facts = {
        "log_events": [TABLES["log_events"].row({"scope": x, "signature": "x", "text": x, "detail": {x: x}})],
        "groups": [TABLES["groups"].row({"group": x, "state": x})],
    }
    return replace(
        incident(), verdicts=[replace(hurt, timeline=(Moment(AT, "BRK101", x),))], findings=[told, replace(told, code="BRK103", job=None)],
        facts=facts, history=lanes, job_names={JOB: x}, looked_at=x, notes=[x], unseen=[x], sources=[Source(x, "logs", "failed", x)],
        defects=[Defect("BRK104", x)], not_checked=[NotChecked("BRK102", x)],
    )  # fmt: skip


def of_many(x: str) -> FleetReport:
    row = JobRow(x, x, x, "ill", "critical", x, AT, x, [JobVerdict("i", "BRK101", "c", x, AT, {"host": x}, x, x)], 0, [])
    return FleetReport("1", [row, replace(row, verdicts=[])], [Root("host", x, "c", AT, (x, x))], [{"scope": x, "id": x, "says": x}], [x])


def rendered(x: str, form: str) -> str:
    if form.startswith("fleet "):
        return _text(FleetRun(of_many(x)), form.removeprefix("fleet "), 100)
    out = io.StringIO()
    emit(report(x), [form], "never", Environment(out, io.StringIO(), verbosity=1, tables=True))
    return out.getvalue()


class _Elements(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: set[object] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        leads = tuple(value for name, value in attrs if name in ("href", "src", "id", "class"))
        self.found.add((tag, tuple(name for name, _ in attrs), leads))

    def handle_comment(self, data: str) -> None:
        self.found.add(data)


@pytest.mark.parametrize("form", [*FORMATS, "fleet terminal", "fleet plain", "fleet json", "fleet html", "fleet csv"])
def test_words_of_others_stay_text(form: str) -> None:
    texts = {x: rendered(x, form) for x in (*WORDS, *PLAIN)}
    assert {x: sorted(set(UNSEEN.findall(text))) for x, text in texts.items() if UNSEEN.search(text)} == {}
    assert [x for x, text in texts.items() if "window.owned" in x and "window.owned" not in text] == []
    if form.endswith("html"):
        allowed = set.union(*(_Elements(texts[x]).found for x in PLAIN))
        assert {x: more for x in WORDS if (more := _Elements(texts[x]).found - allowed)} == {}
    if form.endswith("json"):
        assert [x for x in WORDS if "\ud800" not in x and x not in str(json.loads(texts[x]).values()) and x not in _strings(texts[x])] == []
    if form == "markdown":
        for text in texts.values():
            outside = re.sub(r"^(`{3,})text\n.*?^\1$|(?<!\\)(`+) .*? \2(?!`)|`[^`\n]+`", "", text, flags=re.M | re.S)
            assert not re.search(r"(?<!\\)(?:<(?!/?details>|/?summary>|br>)|\]\(|!\[|&)", outside)


def _strings(text: str) -> list[str]:
    found: list[str] = []
    left = [json.loads(text)]
    while left:
        each = left.pop()
        if isinstance(each, str):
            found.append(each)
        elif isinstance(each, (dict, list)):
            left += [*each, *each.values()] if isinstance(each, dict) else each
    return found


@pytest.mark.parametrize("begin", ["=cmd|' /C calc'!A0", "@SUM(1)", "+1", "-1+1", "\t=1", "\u202e=1"])
def test_no_cell_of_a_table_is_a_formula(begin: str) -> None:
    (_, *rows) = csv.reader(io.StringIO(rendered(begin, "fleet csv")))
    assert [cell for row in rows for cell in row if cell[:1] in tuple("=+-@\t\r")] == []
    assert fleet.plain(of_many(begin)).count("\n") == 4
