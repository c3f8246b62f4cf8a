"""What each format says of the same report. The golden texts are what an engineer reads; look at them when they change.

``DIAG_GOLDEN=write pytest tests/test_renderers.py`` writes them anew.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import sys
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import jsonschema
import pytest

from analyzers.report.finding import Evidence, NotChecked, Severity
from analyzers.report.report import Moment, Report, Source
from analyzers.report.schema import report_schema
from cli.renderers import card, html, markdown, plain, terminal
from cli.renderers import json as as_json
from cli.renderers.evidence import telling
from cli.renderers.picture import ticks
from cli.renderers.wording import all_clear, file_name, printable, subject_words

HERE = Path(__file__).parent


def _samples() -> ModuleType:
    """tests/ is no package: pytest imports its files each on its own."""
    spec = importlib.util.spec_from_file_location("report_samples", HERE / "report_samples.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


samples: Any = _samples()
incident, well, finding, verdict, report = samples.incident, samples.well, samples.finding, samples.verdict, samples.report


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("incident.terminal.txt", terminal.render(replace(incident(), facts={}), width=80)),
        ("incident.plain.txt", plain.render(incident())),
        ("incident.json", as_json.render(incident())),
        ("well.terminal.txt", terminal.render(well(), width=80)),
        ("well.plain.txt", plain.render(well())),
        ("incident.md", markdown.render(replace(incident(), facts={}))),
        ("well.md", markdown.render(well())),
    ],
)
def test_golden(name: str, text: str) -> None:
    place = HERE / "golden" / name
    if os.environ.get("DIAG_GOLDEN") == "write":
        place.write_text(text, encoding="utf-8")
    assert text == place.read_text(encoding="utf-8")


def test_the_most_important_finding_is_told_in_full_and_nothing_is_cut_that_stands_nowhere_else() -> None:
    long = "The disk of the worker is full: " + "and so " * 30 + "nothing is written"
    two = "The broker left. It came back after a minute, with an empty disk, as another one"
    moment = Moment(None, "RST101", "The broker left")
    first, second = verdict(code="BRK101", says="x"), verdict(code="RST407", job="other", says="y", timeline=(moment,))
    findings = [finding(says=long), finding(code="RST407", job="other", says=long), finding(code="RST101", job="other", says=two)]
    said = terminal.render(report(verdicts=[first, second], findings=findings), width=80).partition("y\n")[0]
    listed = " ".join(said.partition("\nFindings\n")[2].partition("\n\n")[0].split())
    assert listed.count("nothing is written") == 1, "that of the first verdict; the other stands below"
    assert two in listed


@pytest.mark.parametrize("width", [60, 80, 120])
def test_facts_keep_a_row_each_and_show_every_chosen_value(width: int) -> None:
    lines = terminal.render(report(facts=incident().facts), width=width).splitlines()
    rows = [line for line in lines if line.lstrip().startswith("kafka-")]
    assert [line.split()[:2] for line in rows] == [["kafka-1:9092", "alive"], ["kafka-5:9092", "black-hole"]]
    assert "bootstrap servers (2 rows)" in lines


def test_codes_in_a_row_are_one_range_for_people_and_each_named_for_pipes() -> None:
    codes = ["BRK111", "BRK112", "BRK113", "BRK115", "BRK116", "LAG117", "SPK118"]
    one = report(not_checked=[NotChecked(code, "no broker was asked") for code in codes])
    line = "no broker was asked: BRK111–113, BRK115, BRK116, LAG117, SPK118"
    for told in (terminal.render(one), markdown.render(one), html.render(one)):
        assert line in told
    assert ",".join(codes) in plain.render(one)


def test_what_several_sources_lack_alike_is_said_once() -> None:
    why = "positions of the sources are incomplete: state file {} is not here"
    lacking = [Source(f"/ck/chk-{n}/_metadata", "checkpoint", "partial", why.format(n)) for n in (1, 2, 3)]
    one = report(sources=[Source("/ck", "checkpoint", "partial", "3 of the things below it could not be read whole"), *lacking])
    for text in (terminal.render(one, width=200), markdown.render(one).replace("\\", ""), html.render(one)):
        assert "/ck/chk-3/_metadata: positions of the sources are incomplete: state file 3 is not here; the same of 2 more" in text
        assert "below it" not in text
    assert plain.render(one).count("partial") == 4


def test_what_a_source_says_of_itself_may_end_in_a_full_stop() -> None:
    dead = [Source(name, "kafka", "failed", "the bootstrap server cannot be asked: refused.") for name in ("groups", "topics")]
    assert "cannot be asked: refused; the same of 1 more" in terminal.render(report(sources=dead), width=200)


def validate(text: str) -> None:
    jsonschema.Draft202012Validator(report_schema(), format_checker=jsonschema.FormatChecker()).validate(json.loads(text))


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(report_schema())


@pytest.mark.parametrize("made", [incident, well, lambda: report(), lambda: report(as_of=None, window=(None, None))])
def test_json_keeps_its_contract(made: Any) -> None:
    validate(as_json.render(made()))


@pytest.mark.parametrize(
    "broken",
    [
        lambda said: said.pop("verdict"),
        lambda said: said.update(format=2),
        lambda said: said["verdicts"][0].update(cause="gremlins"),
        lambda said: said["findings"][0]["subject"].update(subtask="1"),
        lambda said: said["findings"][0]["subject"].update(mood="glum"),
        lambda said: said["findings"][0].update(since="2026-11-21 09:35:19"),
        lambda said: said["findings"][0].update(confidence=1.5),
        lambda said: said["findings"][0].update(evidence=said["findings"][0]["evidence"] * 11),
        lambda said: said["facts"]["bootstrap_servers"][0].update(broker="1"),
    ],
)
def test_the_schema_refuses_what_breaks_the_contract(broken: Any) -> None:
    said = json.loads(as_json.render(incident()))
    broken(said)
    with pytest.raises(jsonschema.ValidationError):
        validate(json.dumps(said))


def test_json_sorts_findings_and_hides_what_is_no_contract() -> None:
    low, high = (
        finding("AAA101", Severity.INFO),
        finding("ZZZ101", Severity.CRITICAL, detail={"secret": 1}, subject={"mood": 1, "topic": "t"}),
    )
    said = as_json.document(report(findings=[low, high]))
    assert [f["code"] for f in said["findings"]] == ["ZZZ101", "AAA101"]
    assert said["findings"][0]["subject"] == {"topic": "t"}
    assert "secret" not in json.dumps(said)


def test_json_is_the_same_whatever_order_the_rules_ended_in() -> None:
    one = incident()
    other = replace(one, findings=one.findings[::-1], clean=one.clean[::-1], not_checked=one.not_checked[::-1], defects=one.defects[::-1])
    assert as_json.render(one) == as_json.render(other)


def test_json_survives_undecodable_file_names_and_numbers_that_are_none() -> None:
    said = as_json.render(report(sources=[Source("\udcff.log", "logs", "ok")], facts={"x": [{"ratio": float("nan")}]}))
    said.encode("utf-8")
    assert json.loads(said)["facts"] == {"x": [{"ratio": None}]}


@pytest.mark.parametrize("render", [plain.render, terminal.render])
def test_a_log_line_cannot_drive_the_terminal(render: Any) -> None:
    hostile = "\x1b]0;owned\x07\x1b[2J\rall is well\u202e"
    said = render(report(findings=[finding(says=hostile)], verdicts=[verdict(says=hostile, fix=hostile, trigger=hostile)], clean=["X"]))
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e]", said)


def test_brackets_are_text_and_not_markup() -> None:
    assert "[bold]not bold[/bold] [/]" in terminal.render(report(verdicts=[verdict(says="[bold]not bold[/bold] [/]")]))


@pytest.mark.parametrize("width", [40, 80, 120])
def test_no_line_is_wider_than_the_terminal_but_the_command_to_copy(width: int) -> None:
    wide = [line for line in terminal.render(incident(), width=width).splitlines() if len(line) > width]
    assert [line.split()[0] for line in wide] == ["NEXT"] * len(wide)


def test_colours_only_when_wanted() -> None:
    assert "\x1b[" not in terminal.render(incident())
    assert "\x1b[" in terminal.render(incident(), colour=True)


def test_the_most_important_verdict_comes_last() -> None:
    for said in (terminal.render(incident()), plain.render(incident())):
        assert said.rindex("poison-record") < said.rindex("Remove kafka-5:9092")
    assert terminal.render(incident()).splitlines()[-1].startswith("NEXT")


@pytest.mark.parametrize("render", [terminal.render, plain.render, markdown.render, html.render])
def test_a_finding_that_no_verdict_is_about_says_what_to_do(render: Any) -> None:
    alone = finding("BRK213", fix="Bring broker 2 back", detail={"next_command": "kafka-topics.sh --describe"})
    risk = finding("CFG101", Severity.WARNING, fix="Set a directory", detail={})
    said = render(report(findings=[alone, replace(alone, says="in another topic"), risk]))
    assert said.count("Bring broker 2 back") == said.count("kafka-topics.sh --describe") == said.count("Set a directory") == 1
    about = render(report(findings=[alone, risk], verdicts=[verdict(code="BRK213", job=alone.job, chain=("BRK213",), fix="x")]))
    assert "Bring broker 2 back" not in about
    assert "Set a directory" not in about, "what stops the job comes first"
    beside = render(report(findings=[alone], verdicts=[verdict(code="RST401", chain=("RST401",), fix="x")]))
    assert "Bring broker 2 back" in beside


@pytest.mark.parametrize("render", [terminal.render, markdown.render, html.render])
def test_the_job_has_its_name(render: Any) -> None:
    text = render(report(verdicts=[verdict(job="4f2a")], job_names={"4f2a": "orders-totals"}))
    assert "orders-totals" in text
    assert "job 4f2a" in text


@pytest.mark.parametrize(
    ("subject", "name"),
    [
        ({"connector": "pay-sink", "connector_task": 0, "topic": "pay"}, "connector pay-sink, task 0"),
        ({"group": "billing", "topic": "pay"}, "consumer group billing"),
        ({"broker": [3, 5]}, "brokers 3, 5"),
        ({}, "no job is named"),
    ],
)
def test_without_a_job_the_state_line_names_what_the_fault_is_about(subject: dict[str, Any], name: str) -> None:
    alone = report(verdicts=[verdict(job=None, subject=subject)], job_state=[], as_of=None, window=(None, None))
    one = card.cards(alone)[0]
    assert (one.name, one.times) == (name, ""), "no time is shown, so no clock is named"


def test_the_trigger_is_said_once() -> None:
    trigger = "tm-1 was lost"
    assert "TRIGGER" in terminal.render(report(verdicts=[verdict(trigger=trigger)]))
    assert "TRIGGER" not in terminal.render(
        report(verdicts=[verdict(trigger=trigger, says=f"Restarted because {trigger}; cannot come back because …")])
    )


def test_plain_is_one_line_per_finding_with_fixed_fields() -> None:
    lines = [line.split("\t") for line in plain.render(incident(), tables=True).splitlines()]
    findings = [fields for fields in lines if fields[0] in ("critical", "warning", "info")]
    assert [len(fields) for fields in findings] == [6, 6]
    assert findings[0][:4] == ["critical", "BRK101", samples.JOB, "2026-11-21T09:35:19.130Z"]
    table = [fields for fields in lines if fields[0] in ("#table", "bootstrap_servers")]
    assert len({len(fields) for fields in table}) == 1


def test_plain_has_the_tables_when_asked_and_where_nothing_was_judged() -> None:
    assert "#table" not in plain.render(incident())
    assert "#table" in plain.render(report(facts=incident().facts))


@pytest.mark.parametrize(
    ("subject", "words"),
    [
        ({"task": "enrich", "subtask": 1, "parallelism": 4}, ["task enrich (2/4)"]),
        ({"task": "enrich", "subtask": 1}, ["task enrich #1 (counted from 0)"]),
        ({"topic": "orders", "partition": 0, "offset": 0}, ["topic orders partition 0 offset 0"]),
        ({"broker": [5, 6]}, ["broker 5, 6"]),
        ({"exit_code": 137}, ["exit code 137"]),
        ({}, []),
        ({"task": None, "subtask": None}, []),
    ],
)
def test_subject_as_an_engineer_says_it(subject: dict[str, Any], words: list[str]) -> None:
    assert subject_words(subject) == words


def test_printable_keeps_what_people_write() -> None:
    assert printable("größer – 100 %\n\tZeile") == "größer – 100 % Zeile"


class TestAllClear:
    """Never more than what was looked at."""

    def test_says_what_was_checked_and_what_not(self) -> None:
        said = all_clear(well())
        assert said.startswith("3 rules, 7 files, 2 jobs: nothing wrong found")
        assert "ordered" in said
        assert "2 rules not checked (no checkpoint directory was read)" in said

    def test_no_rule_could_judge(self) -> None:
        said = all_clear(report(not_checked=[NotChecked("CKP301", "no logs were given")]))
        assert "nothing wrong" not in said
        assert "no rule could judge" in said

    def test_a_source_that_failed_is_said(self) -> None:
        assert "1 source could not be read" in all_clear(report(clean=["A"], sources=[Source("x", "logs", "failed", "gone")]))

    def test_facts_alone_are_no_judgement(self) -> None:
        assert "nothing wrong" not in all_clear(report(facts={"brokers": []}))

    def test_risks_are_no_verdict_and_not_nothing(self) -> None:
        said = all_clear(report(clean=["A"], findings=[finding(severity=Severity.WARNING)]))
        assert "nothing wrong" not in said
        assert "1 finding above (1 warning)" in said

    def test_plain_says_clear_only_when_it_is(self) -> None:
        def first_words(made: Report) -> list[str]:
            return [line.split("\t")[0] for line in plain.render(made).splitlines()]

        assert "clear" in first_words(well())
        assert "clear" not in first_words(report(clean=["A"], sources=[Source("x", "logs", "failed", "gone")]))
        assert "clear" not in first_words(report(not_checked=[NotChecked("A", "b")]))


def _hostile() -> Report:
    """Evidence that would be markup, were it not escaped."""
    bad = "<script>alert(1)</script> | `code` ``` **bold** [x](http://evil)"
    hurt = replace(verdict(), says=bad, fix=bad, next_command="echo `date`", trigger=None)
    told = replace(finding(), says=bad, evidence=(replace(finding().evidence[0], text=bad + "\n```\nmore"),))
    whole: Report = replace(incident(), verdicts=[hurt], findings=[told], facts={"groups": [{"group": bad, "type": "classic"}]})
    return whole


def test_a_line_is_quoted_once_and_in_the_order_of_time() -> None:
    def row(table: str, second: int, line: int, text: str) -> Evidence:
        return Evidence(table, "jobmanager.log", line, datetime(2026, 11, 21, 9, 35, second, tzinfo=timezone.utc), text)

    told = verdict()
    own = replace(finding(), code=told.code, job=told.job, evidence=(row("log_events", 8, 9, "b"), row("log_events", 9, 12, "c")))
    failed = replace(finding(), code="RST101", job=told.job, evidence=(row("attempts", 8, 9, "attempt 0 failed"),))
    earlier = replace(finding(), code="RST102", job=told.job, evidence=(row("log_events", 2, 3, "a"),))
    shown = telling(replace(told, chain=(own.code, "RST101", "RST102")), [own, failed, earlier], 4)
    assert [(e.line, e.text) for e in shown] == [(3, "a"), (9, "b"), (12, "c")]


def test_nothing_of_the_evidence_is_markup_in_html() -> None:
    page = html.render(_hostile())
    assert page.count("<script") == 1, "our own"
    assert page.count("&lt;script&gt;alert(1)&lt;/script&gt;") >= 4
    assert "http:" not in page.replace("http://evil", "")  # nothing is loaded from anywhere
    assert not re.search(r"<[a-z]+[^>]*\bon\w+=", page)


def test_nothing_of_the_evidence_is_markup_in_markdown() -> None:
    text = markdown.render(_hostile())
    outside = re.sub(r"(?ms)^(`{3,})text$.*?^\1$", "", text)
    assert "<script" not in outside.replace("\\<script", "")
    assert r"\*\*bold\*\*" in outside
    assert "`` echo `date` ``" in outside
    fence = re.search(r"(?m)^(`{3,})text$", text)
    assert fence is not None
    assert len(fence[1]) > 3  # longer than any run of backticks inside
    rows = [line for line in outside.splitlines() if line.startswith("| critical")]
    assert len(re.findall(r"(?<!\\)\|", rows[0])) == 5


@pytest.mark.parametrize("form", ["markdown", "html"])
def test_every_verdict_and_table_stands_in_the_documents(form: str) -> None:
    whole = incident()
    text = {"markdown": markdown, "html": html}[form].render(whole)
    for one in whole.verdicts:
        assert one.cause in text
        assert one.code in text
    for name in whole.facts:
        assert re.sub(r"[_\\]", " ", name) in re.sub(r"[_\\]+", " ", text)


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("/logs/taskmanager-2.log", "taskmanager-2.log"),
        ("/tickets/incident.tar.xz!raw/kafka/broker-5-server.log", "broker-5-server.log"),
        ("bundle.zip!inner.tgz!tm/taskmanager.log.gz", "taskmanager.log.gz"),
        ("export.json!orders-7f9c-x2vqn", "export.json"),
        ("", ""),
    ],
)
def test_lines_are_counted_in_the_member_of_an_archive_and_in_an_export(file: str, name: str) -> None:
    assert file_name(file) == name


@pytest.mark.parametrize("days", [0.0001, 0.01, 0.5, 3, 24, 400, 9000])
def test_labels_of_the_axis_stand_apart(days: float) -> None:
    begin = datetime(2026, 3, 9, 0, 10, tzinfo=timezone.utc)
    span = timedelta(days=days)
    least = span / 68 * 12
    times = [at for at, _ in ticks(begin, begin + span, least)]
    assert times
    assert all(later - earlier >= least for earlier, later in pairwise(times))
