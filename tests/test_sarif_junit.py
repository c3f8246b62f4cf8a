"""Formats of other tools: SARIF 2.1.0 and JUnit's XML, held against the schemas of those who read them."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from analyzers.comparison.difference import compare
from analyzers.comparison.sides import side_of
from analyzers.report.baseline import Baseline, Missed
from analyzers.report.finding import Evidence, Severity
from analyzers.report.frames import finding_rows
from analyzers.report.report import Report, Source
from cli.renderers import junit, sarif
from cli.renderers.json import document
from cli.renderers.results import of_difference, of_fleet, of_report
from cli.shell.output import emit, exit_code
from tests.command_line import diag, environment
from tests.fleet_samples import fleet
from tests.report_samples import finding, incident, report, well

SCHEMAS = Path(__file__).parent / "data" / "schemas"
XS = "{http://www.w3.org/2001/XMLSchema}"
HOSTILE = "a]]> <b> & \x00\x07\x1b[31m\x85\u2028\ufffe\uffff\ud800 \N{RIGHT-TO-LEFT OVERRIDE}end"


@lru_cache(1)
def sarif_schema() -> jsonschema.Draft4Validator:
    return jsonschema.Draft4Validator(json.loads((SCHEMAS / "sarif-2.1.0.json").read_text("utf-8")))


def as_sarif(shown: Report) -> dict[str, Any]:
    """The one run of the document, which is valid."""
    said = json.loads(sarif.render(of_report(shown)))
    assert [f"{error.json_path}: {error.message[:200]}" for error in sarif_schema().iter_errors(said)] == []
    (run,) = said["runs"]
    return dict(run)


class Xsd:
    """As much of XML Schema as junit-10.xsd has: named elements with attributes, in a sequence or a choice; patterns of simple types."""

    def __init__(self, place: Path) -> None:
        root = ET.parse(place).getroot()
        self._elements = {each.attrib["name"]: each for each in root.findall(f"{XS}element")}
        types = root.findall(f"{XS}simpleType")
        self._patterns = {each.attrib["name"]: pattern.attrib["value"] for each in types for pattern in each.iter(f"{XS}pattern")}

    def faults(self, element: ET.Element) -> Iterator[str]:
        declared = self._elements.get(element.tag)
        if declared is None:
            yield f"{element.tag} is not known"
            return
        known = {each.attrib["name"]: each for each in declared.iter(f"{XS}attribute")}
        yield from (f"{element.tag} has {name}" for name in element.attrib if name not in known)
        for name, each in known.items():
            if name not in element.attrib:
                if each.get("use") == "required":
                    yield f"{element.tag} has no {name}"
            elif (pattern := self._patterns.get(each.get("type", ""))) and not re.fullmatch(pattern, element.attrib[name]):
                yield f"{element.tag}: {name} is {element.attrib[name]!r}"
        groups = [each for each in declared.iter() if each.tag in (f"{XS}sequence", f"{XS}choice")]
        order = [each.attrib["ref"] for group in groups for each in group.findall(f"{XS}element")]
        if wrong := [child.tag for child in element if child.tag not in order]:
            yield f"{element.tag} holds {wrong}"
        elif any(group.tag == f"{XS}sequence" for group in groups):
            places = [order.index(child.tag) for child in element]
            if places != sorted(places):
                yield f"{element.tag} is out of order"
        for child in element:
            yield from self.faults(child)


JENKINS = Xsd(SCHEMAS / "junit-10.xsd")
ANT = {"name", "timestamp", "hostname", "tests", "failures", "errors", "time", "package", "id"}
"""Attributes that Ant's schema wants of a suite; of its parts it wants all, in this order."""
ANT_PARTS = ["properties", "system-out", "system-err"]


def as_junit(shown: Report, fail_on: str = "critical") -> ET.Element:
    """The one suite of the document, which both schemas allow."""
    suites = ET.fromstring(junit.render(of_report(shown), fail_on))
    assert list(JENKINS.faults(suites)) == []
    (suite,) = suites
    assert set(suite.attrib) >= ANT
    assert [child.tag for child in suite if child.tag != "testcase"] == ANT_PARTS
    assert all(len(case) <= 1 for case in suite.iter("testcase"))
    return suite


def test_the_check_of_junit_finds_faults() -> None:
    case = '<testcase classname="c"><passed/></testcase>'
    wrong = f'<testsuites><testsuite name="x" tests="1" errors="0" failures="0">{case}</testsuite></testsuites>'
    assert list(JENKINS.faults(ET.fromstring(wrong))) == ["testcase has no name", "testcase holds ['passed']", "passed is not known"]
    assert list(JENKINS.faults(ET.fromstring('<testsuites><testsuite name="x" size="1"/></testsuites>')))


@pytest.mark.parametrize("shown", [incident(), well(), report()], ids=["incident", "well", "nothing"])
def test_each_report_is_valid(shown: Report) -> None:
    as_sarif(shown)
    suite = as_junit(shown)
    counted = {kind: len(list(suite.iter(tag))) for kind, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped"))}
    assert {kind: int(suite.attrib[kind]) for kind in counted} == counted
    assert int(suite.attrib["tests"]) == len(list(suite.iter("testcase")))


def test_what_a_sarif_says_of_an_incident() -> None:
    run = as_sarif(incident())
    first, second = run["results"]
    assert (first["ruleId"], first["level"], second["level"]) == ("BRK101", "error", "warning")
    assert run["tool"]["driver"]["rules"][first["ruleIndex"]]["id"] == "BRK101"
    place = first["locations"][0]["physicalLocation"]
    assert (place["artifactLocation"]["uri"], place["region"]["startLine"]) == ("taskmanager-2.log", 332)
    assert [each["physicalLocation"]["region"]["startLine"] for each in first["relatedLocations"]] == [487]
    assert second["locations"][0]["logicalLocations"], "without evidence it is somewhere all the same"
    assert "Fix: Remove kafka-5:9092" in first["message"]["text"]
    assert "baselineState" not in first
    (invocation,) = run["invocations"]
    assert invocation["executionSuccessful"] is False, "a rule crashed"
    kinds = [each["descriptor"]["id"] for each in invocation["toolExecutionNotifications"]]
    assert kinds == ["partial", "defect", "not-checked", "not-checked", "note"]
    assert first["partialFingerprints"]["diagFinding/v1"] == document(incident())["findings"][0]["id"]


@pytest.mark.parametrize(
    ("file", "uri"),
    [
        ("/var/log/task manager#1.log", "file:///var/log/task%20manager%231.log"),
        ("logs.tar.gz!a/b%c.log", "logs.tar.gz!a/b%25c.log"),
        ("s3://lake/a b.log", "s3://lake/a%20b.log"),
        ("caf\udce9.log", "caf%E9.log"),
    ],
)
def test_a_path_is_a_uri(file: str, uri: str) -> None:
    shown = report(findings=[finding(evidence=(Evidence("log_events", file, 3, None, "text"),))])
    (result,) = as_sarif(shown)["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == uri


def baselined() -> Report:
    missed = tuple(
        Missed(change, code, "warning", None, {}, "It was so", because)
        for change, code, because in (("gone", "RST101", None), ("unknown", "BRK201", "no log of a broker"))
    )
    findings = [
        replace(finding(code), change=change)
        for code, change in (("BRK101", "new"), ("CKP101", "still"), ("CKP104", "worse"), ("LAG101", "unknown"))
    ]
    return report(findings=findings, clean=["RST101"], baseline=Baseline("b.json", "1", None, {}, missed, ("this run covers 9 s",)))


def test_a_baseline_in_sarif() -> None:
    run = as_sarif(baselined())
    states = {each["ruleId"]: each["baselineState"] for each in run["results"]}
    assert states == {"BRK101": "new", "CKP101": "unchanged", "CKP104": "updated", "LAG101": "new", "RST101": "absent"}
    said = [each["message"]["text"] for each in run["invocations"][0]["toolExecutionNotifications"]]
    assert "It was so [BRK201]: no log of a broker" in said, "neither there nor absent"
    assert "this run covers 9 s" in said


def test_a_baseline_in_junit() -> None:
    shown = baselined()
    suite = as_junit(shown)
    failed = [case.attrib["name"].split()[0] for case in suite.iter("testcase") if case.find("failure") is not None]
    assert failed == ["BRK101", "CKP104", "LAG101"]
    skipped = {case.attrib["name"].split()[0]: each.attrib["message"] for case in suite.iter("testcase") for each in case.iter("skipped")}
    assert skipped["BRK201"] == "no log of a broker"
    assert skipped["CKP101"].startswith("still there since the baseline")


@pytest.mark.parametrize("fail_on", ["info", "warning", "critical", "never"])
@pytest.mark.parametrize("severity", [Severity.INFO, Severity.WARNING, Severity.CRITICAL])
@pytest.mark.parametrize("change", [None, "new", "still"])
def test_a_case_fails_where_the_exit_code_is_1(fail_on: str, severity: Severity, change: str | None) -> None:
    shown = report(findings=[replace(finding(severity=severity), change=change)], clean=["RST101"])
    assert (int(as_junit(shown, fail_on).attrib["failures"]) > 0) is (exit_code(shown, fail_on) == 1)


def test_what_could_not_be_read_is_an_error() -> None:
    suite = as_junit(report(sources=[Source("kafka-9:9092", "kafka", "failed", "refused"), Source("a.gz", "logs", "partial", "cut")]))
    (error,) = suite.iter("error")
    assert (error.attrib["message"], suite.attrib["errors"]) == ("refused", "1")
    assert "partly read: a.gz: cut" in (suite.findtext("system-out") or "")


def test_cases_of_one_rule_have_names_of_their_own_that_last() -> None:
    def names(attempt: int) -> list[str]:
        found = [finding(subject={"task": task, "attempt": attempt}) for task in ("totals", "enrich", "enrich")]
        return [case.attrib["name"] for case in as_junit(report(findings=found)).iter("testcase")]

    assert names(1) == names(7)
    assert len(set(names(1))) == 3


def test_what_no_xml_may_hold_is_not_in_it() -> None:
    shown = report(
        findings=[
            finding(
                says=HOSTILE, headline=HOSTILE, subject={"task": HOSTILE}, evidence=(Evidence("log_events", HOSTILE, 1, None, HOSTILE),)
            )
        ],
        notes=[HOSTILE],
        sources=[Source(HOSTILE, "logs", "failed", HOSTILE)],
        version=HOSTILE,
    )
    text = junit.render(of_report(shown))
    text.encode()
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\ufffe\uffff\ud800-\udfff]", text)
    suite = as_junit(shown)
    assert (suite.findtext(".//failure") or "").startswith("a]]> <b> &")
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u202e\ud800-\udfff]", sarif.render(of_report(shown)))
    as_sarif(shown)


def test_a_secret_of_the_evidence_is_in_neither(tmp_path: Path) -> None:
    line = "sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required username=u password=hunter2hunter2;"
    shown = report(findings=[finding(says=line, evidence=(Evidence("log_events", "a.log", 1, None, line),))])
    outputs = [f"sarif={tmp_path / 'a.sarif'}", f"junit={tmp_path / 'a.xml'}"]
    assert emit(shown, outputs, environment=environment()) == 1
    for name in ("a.sarif", "a.xml"):
        assert "hunter2" not in (tmp_path / name).read_text("utf-8")
        assert "sasl.jaas.config" in (tmp_path / name).read_text("utf-8")


def test_two_looks_in_both_formats(tmp_path: Path) -> None:
    old, new = (report(findings=[finding(code, job=None)], clean=[other]) for code, other in (("BRK101", "CKP104"), ("CKP104", "BRK101")))
    found = compare(side_of("a", document(old)), side_of("b", document(new)))
    said = json.loads(sarif.render(of_difference(found)))
    assert not list(sarif_schema().iter_errors(said))
    assert {each["ruleId"]: each["baselineState"] for each in said["runs"][0]["results"]} == {"BRK101": "absent", "CKP104": "new"}
    suites = ET.fromstring(junit.render(of_difference(found)))
    assert list(JENKINS.faults(suites)) == []
    assert suites[0].attrib["failures"] == "1"
    for name, shown in (("a", old), ("b", new)):
        (tmp_path / f"{name}.json").write_text(json.dumps(document(shown)))
    code, out, _ = diag("diff", str(tmp_path / "a.json"), str(tmp_path / "b.json"), "-o", "junit")
    assert code == 1
    assert out.startswith('<?xml version="1.0" encoding="UTF-8"?>')


def test_a_fleet_in_both_formats() -> None:
    jobs = fleet(30)
    next(row for row in jobs.jobs if row.outcome == "clear").outcome = "unread"
    suites = ET.fromstring(junit.jobs(jobs))
    assert list(JENKINS.faults(suites)) == []
    outcomes = Counter(row.outcome for row in jobs.jobs)
    assert {"ill", "clear"} <= set(outcomes)
    counted = {kind: int(suites[0].attrib[kind]) for kind in ("failures", "errors", "tests")}
    assert counted == {
        "failures": sum(row.severity == "critical" for row in jobs.jobs),
        "errors": outcomes["unread"],
        "tests": len(jobs.jobs),
    }
    assert ET.fromstring(junit.jobs(jobs, "never"))[0].attrib["failures"] == "0"
    rows = [row for row in finding_rows("job-1", incident()) if row["code"] == "BRK101"]
    said = json.loads(sarif.render(of_fleet(jobs, rows)))
    assert not list(sarif_schema().iter_errors(said))
    (result,) = said["runs"][0]["results"]
    assert result["locations"][0]["logicalLocations"][0]["fullyQualifiedName"].startswith("job-1 / ")
    assert said["runs"][0]["invocations"][0]["executionSuccessful"] is False


def test_a_command_that_reads_nothing_says_so_in_both(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    code, _, err = diag("triage", str(tmp_path / "empty"), "-o", f"sarif={tmp_path / 'a.sarif'}", "-o", f"junit={tmp_path / 'a.xml'}")
    assert code == 3, err
    suite = ET.parse(tmp_path / "a.xml").getroot()[0]
    assert suite.attrib["errors"] == "1"
    (run,) = json.loads((tmp_path / "a.sarif").read_text())["runs"]
    assert run["invocations"][0]["executionSuccessful"] is False
