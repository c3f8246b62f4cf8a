"""The grid: every rule on its own `fires` and `quiet` bundles, every rule quiet on every healthy bundle. A new rule needs no edit here."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

import jsonschema
import pytest

from analyzers.components.terms import unknown_to
from analyzers.derived import derive
from analyzers.diagnosis.frames import Chosen
from analyzers.diagnosis.programs import Programs
from analyzers.diagnosis.run_rules import can_find, run_rules
from analyzers.report.finding import Severity
from analyzers.report.report import Report
from analyzers.report.schema import report_schema
from analyzers.rules.catalogue import load_rules
from analyzers.tables import TABLES, Row
from analyzers.vocabulary.rule import Rule
from cli.renderers import json as as_json
from tests.bundles import ALL, FIRES, FIXTURES, HEALTHY, INCIDENTS, QUIET, RULE, Case, looks_at
from tests.copies import FEW_ROWS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EXPECTED = {
    "code",
    "cause",
    "reason",
    "job",
    "subject",
    "not_in_subject",
    "severity",
    "verdict",
    "healthy",
    "why",
    "says",
    "fix",
    "missing",
    "next",
    "unsaid",
    "inferred",
}


@pytest.mark.parametrize("case", FIRES, ids=[c.scope for c in FIRES])
def test_rule_fires(case: Case, grid: Report) -> None:
    expect = case.expect
    assert expect, f"{case.scope}: no expect.json"
    mine = [f for f in grid.findings if f.scope == case.scope and f.code == case.code]
    assert mine, f"{case.code} is silent on {case.scope}; others said {sorted(f.code for f in grid.findings if f.scope == case.scope)}"
    finding = mine[0]
    for key in ("cause", "reason", "job"):
        if key in expect:
            assert getattr(finding, key) == expect[key], key
    assert finding.severity.value == expect.get("severity", finding.severity.value)
    for key, value in expect.get("subject", {}).items():
        assert finding.subject.get(key) == value, f"subject {key}: {finding.subject}"
    for key in expect.get("not_in_subject", []):
        assert key not in finding.subject, f"{key} is guessed: {finding.subject}"
    assert not re.search(r"\{[a-z_]*\}", finding.says + finding.fix), "a template field was not filled"
    assert "(unknown)" not in finding.says + finding.fix, f"a fact is missing in the words: {finding.says} / {finding.fix}"
    assert finding.evidence, "no evidence"
    wanted = next(rule.next_command for rule in load_rules() if rule.code == case.code) or ""
    wanted = wanted if isinstance(wanted, str) else wanted.get(finding.reason or "", wanted.get("", ""))
    always = re.sub(r"\[\[.*?]]", "", wanted)
    assert finding.detail.get("next_command") or not always, "what to run next"
    assert wanted or (finding.detail.get("next_command") or "zless ").startswith("zless "), "else it is to read the lines"
    assert "(unknown)" not in (finding.detail.get("next_command") or "")
    for key in ("says", "fix", "inferred", "missing"):
        for words in expect.get(key, []):
            assert words in getattr(finding, key), key
    for words in expect.get("next", []):
        assert words in finding.detail["next_command"]
    for words in expect.get("unsaid", []):
        assert words not in finding.says + finding.fix
    if "verdict" in expect:
        verdicts = [v for v in grid.verdicts if v.scope == case.scope]
        assert (bool(verdicts) and verdicts[0].code == case.code) is expect["verdict"], [(v.cause, v.code) for v in verdicts]


def test_jobs_are_known_by_name(grid: Report) -> None:
    job = next(v.job for v in grid.verdicts if v.scope == "incidents/ill/lab-poison-sink")
    assert grid.job_names[job or ""] == "orders-enrichment"


def test_queries_are_known_by_name(grid: Report) -> None:
    verdict = next(v for v in grid.verdicts if v.scope == "SPK101/fires")
    assert grid.job_names[verdict.job or ""] == "meters"


def test_only_a_source_of_files_has_a_list_of_them(grid: Report) -> None:
    said = {f.scope: f.missing or "" for f in grid.findings if f.code == "SPK101"}
    assert "sources/0" in said["incidents/ill/spark-poison-batch"]
    assert "KafkaV2[" in said["SPK101/fires"]
    assert "sources/0" not in said["SPK101/fires"]


def test_a_command_within_the_advice_has_its_brokers(grid: Report) -> None:
    (verdict,) = (v for v in grid.verdicts if v.scope == "incidents/ill/lab-commits-below-min-isr")
    brokers = "127.0.0.1:60677,127.0.0.2:41037,127.0.0.3:48177"
    for told in (verdict, *(f for f in grid.findings if (f.scope, f.code) == (verdict.scope, verdict.code))):
        assert f"kafka-topics.sh --bootstrap-server {brokers} --describe" in told.fix


def test_words_that_are_cut_show_it(grid: Report) -> None:
    (said,) = (f.says for f in grid.findings if (f.scope, f.code) == ("incidents/ill/lab-too-few-slots", "RST404"))
    assert re.search(r"managedMemory=\S*…; 6 time", said), said


@pytest.mark.parametrize("case", QUIET, ids=[c.scope for c in QUIET])
def test_rule_is_quiet(case: Case, grid: Report) -> None:
    mine = [f.says for f in grid.findings if f.scope == case.scope and f.code == case.code]
    assert not mine


@pytest.mark.parametrize("case", HEALTHY, ids=[c.scope for c in HEALTHY])
def test_healthy_bundle_is_healthy(case: Case, grid: Report) -> None:
    assert not [(v.cause, v.says) for v in grid.verdicts if v.scope == case.scope]
    assert not [(f.code, f.says) for f in grid.findings if f.scope == case.scope and f.severity is Severity.CRITICAL]


@pytest.mark.parametrize("case", INCIDENTS, ids=[c.scope for c in INCIDENTS])
def test_recorded_incident_gets_its_cause(case: Case, grid: Report) -> None:
    expect = case.expect
    verdicts = [v for v in grid.verdicts if v.scope == case.scope]
    if expect.get("healthy"):
        assert not verdicts
        return
    assert verdicts, "no verdict"
    assert verdicts[0].cause == expect["cause"], [(v.cause, v.code) for v in verdicts]
    for key, value in expect.get("subject", {}).items():
        assert verdicts[0].subject.get(key) == value, f"{key}: {verdicts[0].subject}"
    for key in expect.get("not_in_subject", []):
        assert key not in verdicts[0].subject, f"{key} is guessed: {verdicts[0].subject}"
    for key in ("says", "fix"):
        for words in expect.get(key, []):
            assert words in getattr(verdicts[0], key), key


@pytest.mark.skipif(RULE is not None, reason="one rule is asked for")
def test_incidents_keep_their_causes_where_few_of_their_rows_are_kept(few_rows: list[str], judgement: Report) -> None:
    """As of logs a hundred times as long."""
    assert len(few_rows) > 10
    said = {v.scope: v.cause for v in reversed(judgement.verdicts)}
    wanted = {case.scope + FEW_ROWS: case.expect.get("cause", "healthy") for case in INCIDENTS}
    assert {scope: (said.get(scope, "healthy"), wanted[scope]) for scope in few_rows if said.get(scope, "healthy") != wanted[scope]} == {}


def test_recordings_lie_where_they_belong() -> None:
    for case in INCIDENTS:
        assert case.code == ("healthy" if case.expect.get("healthy") else "ill"), case.scope


def test_nothing_is_expected_in_vain() -> None:
    """A key that no test here reads would be believed and never held."""
    assert {c.scope: unread for c in ALL if (unread := set(c.expect) - EXPECTED)} == {}
    assert [c.scope for c in ALL if not c.expect.get("why")] == [], "one sentence each: what does this bundle show?"
    assert [c.scope for c in ALL if not c.recorded and c.expect.get("code", c.code) != c.code] == []


def test_no_rule_is_passed_over_where_it_finds_something(grid: Report, evidence: dict[str, list[Row]]) -> None:
    """A rule's `needs` holds wherever the rule fires: alone, each bundle would be judged as it was among all."""
    of_scope: dict[str, dict[str, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for name, rows in derive(evidence).items():
        for row in rows:
            of_scope[row["scope"]][name].append(row)
    rules = {r.code: r for r in load_rules()}
    assert sum(r.needs is not None for r in rules.values()) > 20
    for finding in grid.findings:
        fired = rules[finding.code]
        assert can_find(fired, Chosen(of_scope[finding.scope]), {}), (fired.code, finding.scope)


def test_spark_is_not_asked_where_a_rule_can_find_nothing(evidence: dict[str, list[Row]]) -> None:
    def no_session() -> SparkSession:
        raise AssertionError("Spark was asked")

    needy = [r for r in load_rules() if r.needs is not None and r.tables == ("attempts",)]
    ended = next(row for row in derive(evidence)["attempts"] if row["ended"] != "failed")
    outcome = run_rules(needy, {"attempts": [ended] * 5}, no_session)
    assert (outcome.clean, outcome.findings) == ([r.code for r in needy], [])
    failed = Chosen({"attempts": [ended | {"ended": "failed"}] * 5})
    assert all(can_find(r, failed, {}) and not can_find(r, failed, {"enough": 6}) for r in needy)


def test_a_need_that_fails_silences_no_rule(evidence: dict[str, list[Row]]) -> None:
    def fails(rows: object, thresholds: object) -> bool:
        raise TypeError("a row as none was before")

    asked = next(each for each in load_rules() if each.needs is not None and can_find(each, Chosen(evidence), {}))
    assert can_find(replace(asked, needs=fails), Chosen(evidence), {})


@pytest.mark.parametrize(
    ("incident", "codes"),
    {
        "healthy/healthy-rolling-broker-restart": ("BRK202", "BRK205", "BRK216"),  # brokers come back, nobody is refused anything
        "ill/broker-shrink-restart-loop": ("CFG103", "RST501"),  # Flink 1 knows `filesystem`; one call failed, and was repeated
        "ill/lab-spark-failing-batch": ("RST001", "SPK111"),  # its batch is known to fail, and its driver says so
        "ill/poison-record-deserialiser": ("RST201", "SPK101"),  # no line names the record, and Flink has no batches
        "ill/lab-retention-overtakes": ("LAG302",),  # the topic is there
    }.items(),
    ids=str,
)
def test_a_rule_is_passed_over_where_a_condition_of_it_is_not_met(incident: str, codes: tuple[str, ...]) -> None:
    case = Case(FIXTURES / "incidents" / incident)
    assert [rule.code for rule in load_rules() if rule.code in codes and looks_at(rule, case)] == []


def test_a_line_is_quoted_with_its_own_time(grid: Report, evidence: dict[str, list[Row]]) -> None:
    """One failure is printed by several processes, seconds apart: a report that names a line beside another line's time is not believed."""
    times = {(event["scope"], event["file"], event["line"]): event["at"] for event in evidence["log_events"]}
    quoted = [(f.scope, f.code, e) for f in grid.findings for e in f.evidence if (f.scope, e.file, e.line) in times]
    wrong = [(scope, code, e.file, e.line, e.at) for scope, code, e in quoted if e.at != times[scope, e.file, e.line]]
    assert quoted
    assert not wrong


def test_every_reason_has_a_bundle_that_gives_it(grid: Report) -> None:
    given = defaultdict(set)
    for finding in grid.findings:
        given[finding.code].add(finding.reason)
    never = []
    for rule in load_rules():
        if rule.code == (RULE or rule.code):
            texts = (rule.says, rule.fix, rule.headline, rule.no_help, rule.danger, rule.inferred, rule.missing, rule.next_command)
            reasons = {reason for text in texts if not isinstance(text, str) for reason in text or () if reason}
            never += [f"{rule.code} {reason}" for reason in sorted(reasons - given[rule.code])]
    assert never == []


def test_headlines_and_steps_are_short(grid: Report) -> None:
    """What is read at 3 a.m. in fifteen seconds."""
    long = [f"{f.code} {f.reason}: {f.headline}" for f in grid.findings if f.headline is None or len(f.headline.split()) > 25]
    many = [f"{f.code} {f.reason}: {step}" for f in grid.findings for step in f.steps if len(step.split()) > 30]
    none = sorted({f"{f.code} {f.reason}" for f in grid.findings if not f.steps})
    assert (long, many, none) == ([], [], [])
    assert not [f.code for f in grid.findings if "(unknown)" in " ".join((f.headline or "", *f.steps, f.no_help or "", f.danger or ""))]


def test_every_finding_keeps_the_contract(grid: Report) -> None:
    """What `-o json` prints of all bundles is valid by what `diag schema` prints."""
    document = as_json.document(grid)
    schema = jsonschema.Draft202012Validator(report_schema(), format_checker=jsonschema.FormatChecker())
    assert len(document["findings"]) == len(grid.findings) > 0
    broken = [(list(error.absolute_path), error.message[:200]) for error in schema.iter_errors(document)]
    named = [(document[path[0]][path[1]]["code"], path[2:], why) for path, why in broken if path[0] in ("findings", "verdicts")]
    assert not broken, named or broken


def test_tables_that_may_be_missing_are_not_required() -> None:
    """All bundles together have every table: alone, a rule with an optional one that is taken for required would never be checked."""
    rules = {rule.code: rule for rule in load_rules()}
    assert (rules["SPK107"].tables, rules["SPK107"].emptied) == (("batches",), frozenset({"attempts"}))
    assert rules["BRK101"].tables == ("faults",)
    assert sum(bool(rule.emptied) for rule in rules.values()) > 20


def test_no_rule_crashes(grid: Report) -> None:
    assert not grid.defects


def test_every_missing_table_is_not_checked(grid: Report) -> None:
    silent = {f.code for f in grid.findings} | set(grid.clean) | {n.code for n in grid.not_checked}
    assert silent == {r.code for r in load_rules()}


@pytest.mark.parametrize("rule", load_rules(), ids=[r.code for r in load_rules()])
def test_rule_is_whole(rule: Rule) -> None:
    """A rule has bundles; what stands on its page is tested with the texts."""
    assert any(c.code == rule.code for c in FIRES), "no fires bundle"
    assert any(c.code == rule.code for c in QUIET), "no quiet bundle"
    assert all(name in TABLES for name in rule.tables)


def test_no_step_names_what_its_program_does_not_know(grid: Report, evidence: dict[str, list[Row]]) -> None:
    """A setting of another engine or client costs more than no advice: it is tried at 3 a.m."""
    programs = Programs(evidence, grid.findings)
    by_reason = {(f.scope, f.code, f.reason): programs.of(f) for f in grid.findings}
    told = [(each, by_reason[each.scope, each.code, each.reason]) for each in (*grid.findings, *grid.verdicts)]
    own = [(each, program, step) for each, program in told for step in each.steps if "(the product's own words)" not in step]
    assert {(v.scope, v.code, step): unknown_to(program, step) for v, program, step in own if unknown_to(program, step)} == {}
    assert sum(bool(program) for _, program, _ in own) > len(own) / 2, "most are known"
