"""A fleet at a terminal: aligned at any width, worst first, what matters first; and how far a run is."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from itertools import cycle
from pathlib import Path

import pytest
from rich.cells import cell_len

from analyzers.report.fleet import JobRow
from analyzers.report.report import Name
from cli.renderers import fleet_markdown
from cli.renderers.fleet_table import View, render, team_of
from cli.renderers.fleet_words import age, called, no_root, short
from cli.renderers.markdown import escaped
from cli.runs.fleet_meter import Meter
from cli.runs.fleet_output import view_of
from cli.runs.fleet_tick import tick
from cli.shell.exits import UsageError
from tests.fleet_samples import DATABASE, TEAMS, fleet, job


@pytest.mark.parametrize("width", [60, 80, 109, 110, 140, 200])
@pytest.mark.parametrize("compared", [False, True])
def test_no_line_is_wider_than_the_terminal_and_columns_are_aligned(width: int, compared: bool) -> None:
    lines = render(fleet(100, compared=compared), width).splitlines()
    assert max(map(cell_len, lines)) <= max(80, width)
    head = next(line for line in lines if line.startswith("JOB"))
    assert (("AGE" in head), ("WHAT IS WRONG" in head)) == (width >= 100, width >= 130)
    rows = [line for line in lines if re.match(r"\w+/job-", line)]
    assert len(rows) == 40
    for title, cells in (("STATE", r"(?:RESTARTING|FAILED| {6})"), ("SINCE", r"\d\d-\d\d \d\d:\d\d| {11}"), ("CAUSE", r"[a-z]")):
        assert all(re.match(cells, line[head.index(title) :]) for line in rows), title
    assert ("CHG" in head) == compared


@pytest.mark.parametrize("width", [80, 120, 140, 300])
def test_what_is_wrong_is_cut_behind_a_word(width: int) -> None:
    whole = {row.says for row in fleet(100).jobs if row.verdicts}
    lines = [line[line.index("The service") :] for line in render(fleet(100), width).splitlines() if "The service" in line]
    assert len(lines) == 20
    for line in lines:
        begin = line.removesuffix(" …")
        assert (begin in whole) == (width == 300)
        assert any(each == begin or re.match(rf"{re.escape(begin)}[,;:(-]* ", each) for each in whole), line


def test_the_top_says_how_many_are_ill_of_what_and_what_stands_behind_them() -> None:
    lines = render(fleet(100, compared=True), 110).splitlines()
    assert lines[0] == "100 jobs: 20 ill, 20 undecided, 60 well; verdicts against the run before: 7 new, 13 still, 1 gone"
    assert lines[1] == "  undecided: too little was read, or an error that no rule explains"
    at = lines.index("SHARED ROOTS")
    assert lines[at + 1].split() == ["5", "address", "ledger.shop.internal:5432", "external-system"]
    assert lines[at + 2].startswith("      since 11-21 06:35: search/job-0085, orders/job-0065, ")
    assert lines.index("CAUSES") > at
    causes = [line.split()[:2] for line in lines[lines.index("CAUSES") + 1 :][:4]]
    assert causes == [["5", each] for each in ("broker-unreachable", "checkpoint-storage", "external-system", "poison-record")]
    assert "60 well: -v lists them" in "\n".join(lines)
    assert lines[-1] == "gone  search/job-9: was unreachable"


def test_rows_are_worst_first_sorted_filtered_and_in_groups() -> None:
    def jobs(view: View) -> list[str]:
        return re.findall(r"^(?:\w+/job-\d+|──.*)", render(fleet(30, compared=True), 120, view), re.M)

    assert jobs(View())[:6] == [
        f"{team}/job-00{n}" for team, n in zip(cycle(TEAMS[1:] + TEAMS[:1]), ("25", "20", "15", "10", "05", "00"), strict=False)
    ]
    assert jobs(View(sort="job")) == sorted(jobs(View()))
    assert jobs(View(sort="since"))[0] == "payments/job-0000", "the newest trouble first"
    assert jobs(View(only_new=True, sort="job")) == ["payments/job-0000", "payments/job-0015"]
    grouped = jobs(View(group_by="team"))
    assert [each for each in grouped if each.startswith("─")] == [
        "── orders (10 jobs)", "── payments (10 jobs)", "── search (10 jobs)",
    ]  # fmt: skip
    assert all(each.startswith("orders/") for each in grouped[1 : grouped.index("── payments (10 jobs)")])
    by_root = jobs(View(group_by="root"))
    assert by_root[0] == "── address ledger.shop.internal:5432 (2 jobs)"
    assert [each for each in by_root if each.startswith("─")][-1] == "── no shared root (28 jobs)"
    assert len(jobs(View(whole=True))) == 30


def test_words_that_do_not_fit_go_below_and_why_a_job_cannot_be_read_is_whole() -> None:
    name = "orders-of-the-shop-" * 3 + "connect"
    note = f"{name}: 2 jobs stand in several rows (20cd864e61dc2387eeb209f47fdf1f93, say): --jobs-by job-id joins the logs of each"
    why = "line 7 of /etc/diag/list holds a user name or password, so it was not asked. Write them into a file: --flink-rest-auth FILE."
    unread = JobRow("list:7", None, None, "unread", None, None, None, why)
    report = fleet(100, compared=True)
    report = replace(report, jobs=[unread, *report.jobs], notes=[note])
    for width in (80, 110, 140):
        text = render(report, width)
        assert max(map(len, text.splitlines())) <= width
        whole = " ".join(text.split())
        for words in (note, why, "verdicts against the run before: 7 new, 13 still, 1 gone", "has all of them, to sort and to filter"):
            assert words in whole, width


def test_a_job_that_is_filed_by_its_id_is_called_by_its_name() -> None:
    row = job(0)
    assert called(replace(row, scope=row.job or "", job=row.job), alone=True) == "enrichment-0 (00000000)"
    assert called(replace(row, scope=f"pay/{row.job}"), alone=True) == "pay/enrichment-0 (00000000)"
    assert called(replace(row, scope=f"pay/{row.job}", name=None), alone=True) == f"pay/{row.job}"
    assert called(row, alone=True) == row.scope


def test_that_no_root_is_shown_has_a_reason() -> None:
    report = replace(fleet(100), roots=[])
    assert (no_root(report) or "").startswith("no shared root could be looked for: none of 20 ill jobs names an address, host, ")
    rows = [replace(row, verdicts=[replace(each, names=[Name("address", row.scope)]) for each in row.verdicts]) for row in report.jobs]
    found = replace(report, jobs=rows)
    assert (no_root(found) or "").startswith("no shared root: 20 of 20 ill jobs name an address, ")
    assert "no shared root: 20 of 20 ill jobs" in render(found, 80)
    assert no_root(fleet(100)) is None, "there is one"
    assert no_root(fleet(1)) is None, "one job shares nothing"
    assert "no shared root" not in render(fleet(100), 120)


NOW = datetime(2026, 11, 28, 12, tzinfo=timezone.utc)


@pytest.mark.parametrize(
    ("ago", "shown", "old"),
    [({"seconds": 90}, "11-28 11:58", "90s"), ({"minutes": 5, "seconds": 30}, "11-28 11:54", "5m30s"),
     ({"minutes": 125}, "11-28 09:55", "125m"), ({"hours": 3, "minutes": 20}, "11-28 08:40", "3h20m"),
     ({"hours": 26}, "11-27 10:00", "26h"), ({"days": 3, "hours": 4}, "11-25 08:00", "3d4h"), ({"days": 120}, "07-31 12:00", "120d"),
     ({"days": 380}, "2025-11-13", "380d"), ({"days": 760}, "2024-10-29", "2y30d"), ({"days": 4000}, "2015-12-16", "10y"),
     ({"seconds": -5}, "11-28 12:00", "0s")],
)  # fmt: skip
def test_a_time_has_its_year_where_it_is_another_and_an_age_as_kubectl_says_it(ago: dict[str, int], shown: str, old: str) -> None:
    at = NOW - timedelta(**ago)
    assert (short(at, NOW), age(at, NOW)) == (shown, old)
    assert age(None, NOW) == age(at, None) == short(None, NOW) == ""


def test_markdown_has_the_summary_the_roots_and_a_table() -> None:
    text = fleet_markdown.render(replace(fleet(100, compared=True), made=NOW, notes=["a | b"]))
    lines = text.splitlines()
    assert lines[0].startswith("### 100 jobs: 20 ill, 20 undecided, 60 well")
    assert "- undecided: too little was read, or an error that no rule explains" in lines
    assert any(line.startswith(f"| 5 | **address {escaped(DATABASE)}** | external-system | 11-21 06:35 | ") for line in lines)
    rows = [line for line in lines if re.match(r"\| \w+/job-", line)]
    assert len(rows) == 40
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in rows} == {8}, "as many cells as the head has"
    assert " | 7d" in rows[0]
    assert "60 well: `-o html=fleet.html` has all of them, to sort and to filter" in lines
    assert lines[-1] == r"- note: a \| b"
    grouped = fleet_markdown.render(fleet(30), View(group_by="team"))
    assert "**orders**" in grouped.splitlines()
    assert "340 more and 600 well" in fleet_markdown.render(fleet(1000))


def test_a_long_list_is_cut_and_says_so() -> None:
    text = render(fleet(1000), 140)
    assert len(re.findall(r"^\w+/job-", text, re.M)) == 60
    assert "340 more and 600 well: -v lists them" in text


def test_colours_only_where_they_are_wanted() -> None:
    assert "\x1b" not in render(fleet(20), 120)
    assert re.sub(r"\x1b\[[\d;]*m", "", render(fleet(20), 120, colour=True)) == render(fleet(20), 120)


@pytest.mark.parametrize(("team", "expected"), [("1", "search"), ("2", "no team"), (r"job-\d", "job-0"), (r"^(s)", "s"), ("x", "no team")])
def test_a_team_is_a_level_or_an_expression(team: str, expected: str) -> None:
    assert team_of(job(1), team) == expected


@pytest.mark.parametrize(
    ("sort", "group_by", "team", "only_new", "says"),
    [("best", None, "1", False, "--sort"), ("worst", "colour", "1", False, "--group-by"), ("worst", None, "(", False, "--team"),
     ("worst", None, "1", True, "--only-new")],
)  # fmt: skip
def test_views_that_cannot_be_are_wrong_usage(sort: str, group_by: str | None, team: str, only_new: bool, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        view_of(sort, group_by, team, only_new=only_new, compared=False, whole=False)


def test_the_meter_counts_what_processes_did_and_says_how_long_it_takes(tmp_path: Path) -> None:
    file = tmp_path / "done"
    file.touch()
    now = [0.0]
    meter = Meter(10, str(file), clock=lambda: now[0])
    assert meter.says() == "0 of 10 jobs read"
    for _ in range(5):
        tick(str(file))
    now[0] = 30.0
    assert meter.says() == "5 of 10 jobs read, about 70 s left"
    meter.enter("judged", 4)
    meter.count()
    assert (meter.says() or "").startswith("1 of 4 rules have judged, about ")
    meter.enter("concluded", 10)
    tick(str(file))
    assert (meter.says() or "").startswith("1 of 10 jobs concluded, about ")
    file.unlink()
    tick(str(file))  # the run has ended
    assert Meter(10).says() is None, "executors on other hosts are not heard"
