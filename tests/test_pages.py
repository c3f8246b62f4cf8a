"""The page of every recording and fixture, as an engineer reads it at 80 columns."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace

from analyzers.report.report import Report
from cli.renderers import terminal

MOST_ROWS = 40
_SENTENCE = re.compile(r"[^.:;!?]{40,}[.:;!?]")
_QUOTED = re.compile("“[^”]*”")
_COMMAND = re.compile(r"^  check .*$", re.MULTILINE)
_STORY = re.compile(r"^  (?:\d\d-\d\d )?\d\d:\d\d:\d\d .*$", re.MULTILINE)
"""A row of the story may be the headline, with its time and place."""
_GRID_ROWS = 4


def alone(report: Report, scope: str) -> Report:
    """What `report` says of one bundle."""
    window = (None, max((row["state_as_of"] for row in report.job_state if row["scope"] == scope and row["state_as_of"]), default=None))
    return replace(
        report,
        as_of=window[1],
        window=window,
        verdicts=[v for v in report.verdicts if v.scope == scope],
        findings=[f for f in report.findings if f.scope == scope],
        job_state=[row for row in report.job_state if row["scope"] == scope],
        noticed=[each for each in report.noticed if each.scope == scope],
        history=[lane for lane in report.history if lane.scope == scope],
        unseen=[],
        notes=[],
        facts={},
    )


def said_twice(page: str) -> list[str]:
    """The sentences that stand on a page twice, commands and rows of the story left out."""
    prose = " ".join(_STORY.sub("", _COMMAND.sub("", page)).split())
    sentences = Counter(map(str.strip, _SENTENCE.findall(_QUOTED.sub(" ", prose))))
    for quotation in _QUOTED.findall(prose):  # a product may say a thing twice in one message
        sentences.update({words.strip() for words in _SENTENCE.findall(quotation)})
    return [words for words, times in sentences.items() if times > 1 and "…" not in words]


def test_a_page_fits_a_screen_and_says_nothing_twice(grid: Report) -> None:
    long, twice, cut = [], [], []
    for scope in sorted({f.scope for f in grid.findings}):
        report = alone(grid, scope)
        page = terminal.page(report, width=80)
        jobs = {v.job for v in report.verdicts}
        rows = page.count("\n")
        if len(jobs) <= 1 and rows > MOST_ROWS + _GRID_ROWS * ("acknowledged after" in page):
            long.append((rows, scope))
        twice += [(scope, words) for words in said_twice(page)]
        in_story = {code for verdict in report.verdicts for code in verdict.chain}
        grave = {f.code for f in report.found if f.severity.value == "critical"} - in_story
        cut += [(scope, code) for code in grave if code not in page and len(report.found) <= 5]
        wide = [line for line in page.splitlines() if len(line) > 100 and max(map(len, line.split())) < 60]  # a path is not broken
        assert all(line.startswith("  check") for line in wide), (scope, wide)
    assert (sorted(long, reverse=True), twice, cut) == ([], [], [])
