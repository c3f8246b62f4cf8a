"""Rules of a user's own: the language and what it refuses, and the way of a finding through every command."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from analyzers.own_rules import rules_of
from analyzers.own_rules.language import KEEP, MOST_AT_LEAST, MOST_RULES, OwnRules, read, together
from analyzers.own_rules.patterns import Refused, understood
from analyzers.readers import log_rounds
from analyzers.readers.log_scan import LogOptions, plan, scan
from analyzers.report.codes import FAMILIES, is_own
from analyzers.report.report import Report
from analyzers.rules.catalogue import rule_codes
from cli.engine.spark import Engine
from cli.options.own_rules import own_rules
from cli.options.shared import CodeFilter, RunOptions
from cli.renderers import html, junit, markdown, plain, sarif, terminal
from cli.renderers import json as json_report
from cli.renderers.results import of_report
from cli.runs import diff as diffs
from cli.runs import fleet as fleets
from cli.runs.collect import write_evidence
from cli.runs.fleet_evidence import Gathering
from cli.runs.rules_check import Trial, check, tried
from cli.runs.triage import run
from cli.shell.exits import UsageError
from tests.bundles import FIXTURES
from tests.command_line import diag
from tests.test_tools import ask, calls_on

WELL = FIXTURES / "incidents" / "healthy" / "lab-healthy-savepoint-upgrade" / "raw"
UNKNOWN = FIXTURES / "RST001" / "fires" / "raw"
HEAD = "2026-11-21 12:53:%02d,700 %s  com.acme.LedgerClient [] - LedgerClient: vault lease "
RULE = {
    "code": "ACME101",
    "pattern": r"vault lease renewal refused for (?P<application>[\w-]{1,60})(?: \((?P<answer>[^)]{1,80})\))?",
    "clears": r"vault lease renewed for (?P<application>[\w-]{1,60})",
    "subject": ["application"],
    "at_least": 2,
    "severity": "critical",
    "cause": "external-system",
    "headline": "Vault refuses the lease of {application}[[ ({answer})]]",
    "steps": ["Renew it: `vault token renew -accessor {application}`", "Ask #platform for a longer TTL"],
    "example": "\n".join(
        f"2024-12-03 09:3{minute}:00,101 WARN  com.acme.LedgerClient [] - vault lease renewal refused for orders (403)" for minute in (0, 1)
    ),
    "counter_example": "2024-12-03 09:30:00,101 WARN  com.acme.LedgerClient [] - vault lease renewal refused for orders (403)",
}


def toml(*rules: dict[str, Any]) -> str:
    """Rules as a file has them; JSON's texts, numbers and lists are TOML's."""
    return "\n".join("[[rule]]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in rule.items()) for rule in rules)


def changed(**values: Any) -> dict[str, Any]:
    """The rule with other values; None leaves a key out."""
    return {key: value for key, value in {**RULE, **values}.items() if value is not None}


def own(*rules: dict[str, Any]) -> OwnRules:
    found, faults = read(toml(*(rules or (RULE,))), "rules.toml")
    assert faults == []
    return together(found)[0]


def refused(second: int, who: str = "orders", level: str = "WARN") -> str:
    return HEAD % (second, level) + f"renewal refused for {who} (403 permission denied)\n"


def renewed(second: int, who: str = "orders") -> str:
    return HEAD % (second, "INFO") + f"renewed for {who}\n"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A recording of a job that is well, with the failure that only its team knows in the log of a TaskManager."""
    shutil.copytree(WELL, tmp_path / "logs")
    with (tmp_path / "logs" / "taskmanager-1.log").open("a") as log:
        log.write(refused(42) + refused(47) + refused(55))
    return tmp_path / "logs"


def judged(home: Path, engine: Engine, *rules: dict[str, Any], **options: Any) -> Report:
    return run([str(home)], RunOptions(own=own(*rules), **options), version="1", engine=engine)


# --- what is refused ---


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[[rule", "is no TOML"),
        ("x = " + "[" * 5000, "is no TOML"),
        ("", "holds no rule"),
        ("rule = 3", "holds no rule"),
        ("rule = [3]", "a rule is no table"),
        ("[[rule]]\ncode = 'ACME101'\n[extra]\n", "'extra' is not known"),
        (toml(*[RULE] * (MOST_RULES + 1)), "rules, and 200 are allowed"),
        (toml(RULE, RULE), "ACME101 is taken by"),
        (toml(changed(codee="x")), "'codee' is not known"),
        *((toml(changed(**{key: None})), f"has no {key}") for key in ("code", "headline", "steps", "example", "counter_example")),
        (toml(changed(example="  ")), "example is no text"),
        (toml(changed(code="acme101")), "'acme101' is no code"),
        (toml(changed(code=101)), "code is no text"),
        (toml(changed(code="BRK101")), "BRK101 has the letters of diag's own rules"),
        (toml(changed(code="CKP999")), "CKP999 has the letters of diag's own rules"),
        (toml(changed(pattern=None)), "a pattern or a signature"),
        (toml(changed(signature="connection-failed")), "a pattern or a signature"),
        (toml(changed(pattern=None, clears=None, subject=None, signature="no-such")), "diag has no signature no-such"),
        (toml(changed(pattern="vault lease.*")), "without an upper bound"),
        (toml(changed(clears="vault lease.*")), "clears has a repeat without an upper bound"),
        (toml(changed(pattern=r"vault lease (?P<thread>\w{1,9})", subject=None)), "no group may be called thread"),
        (toml(changed(pattern=r"vault lease (?P<times>\w{1,9})", subject=None)), "no group may be called times"),
        (toml(changed(pattern=r"vault lease (?P<Name>\w{1,9})", subject=None)), "no group may be called Name"),
        (toml(changed(pattern=r"vault lease (?P<subtask>\d)(?P<subtask1>\d)", subject=None)), "one of the two"),
        (toml(changed(where="file")), "where 'file' is not known"),
        (toml(changed(subject=["answer"])), "subject: 'answer' is no field that a subject may have"),
        (toml(changed(subject="application")), "subject is no list of texts"),
        (toml(changed(at_least=0)), "at_least is no number from 1 to 100"),
        (toml(changed(at_least=True)), "at_least is no number from 1 to 100"),
        (toml(changed(at_least="3")), "at_least is no number from 1 to 100"),
        (toml(changed(at_least=None, within_minutes=5)), "at_least is 1"),
        (
            toml(changed(pattern=None, signature="connection-failed", subject=None, clears=None, headline="x", steps=["y"], at_least=50)),
            "lines are kept",
        ),
        (toml(changed(logs_of=["mainframe"])), "'mainframe' is no process"),
        (toml(changed(severity="fatal")), "severity 'fatal' is not known"),
        (toml(changed(cause="gremlins")), "cause 'gremlins' is not known"),
        (toml(changed(cause=None)), "what is critical needs a cause"),
        (toml(changed(headline="{application} and {who}")), "{who}, which the pattern does not capture"),
        (toml(changed(headline="a {brace")), "a brace that encloses no field"),
        (toml(changed(headline="{application.__class__}")), "a brace that encloses no field"),
        (toml(changed(headline="{application!r}")), "a brace that encloses no field"),
        (toml(changed(headline="lost [[{answer}")), "no pairs"),
        (toml(changed(headline="lost ]]{answer}[[")), "no pairs"),
        (toml(changed(headline="two\nlines")), "headline has several lines"),
        (toml(changed(headline="red \u001b[31m")), "a control character (U+001B)"),
        (toml(changed(headline="turned \u202e round")), "a control character (U+202E)"),
        (toml(changed(headline="<script>alert(1)</script>")), "headline has markup (<script>)"),
        (toml(changed(title="<b>big</b>")), "title has markup (<b>)"),
        (toml(changed(headline="word " * 26)), "headline has 26 words"),
        (toml(changed(headline="x" * 500)), "headline has 500 characters"),
        (toml(changed(steps=["a", "b", "c", "d"])), "there are 4 steps"),
        (toml(changed(steps=["run `kubectl"])), "a back-tick without its pair"),
        (toml(changed(steps="do it")), "steps is no list of texts"),
        (toml(changed(steps=["{owner}"])), "steps names {owner}"),
        (toml(changed(example="x" * 100_000)), "example has 100,000 characters"),
    ],
)
def test_what_is_no_rule_is_said_in_a_sentence_before_anything_starts(text: str, says: str, tmp_path: Path) -> None:
    place = tmp_path / "rules.toml"
    place.write_text(text)
    code, out, err = diag("triage", str(WELL), "--rules", str(place))
    assert (code, out) == (2, "")
    assert says in err
    assert "Traceback" not in err
    assert len(err) < 4_000


def test_a_fault_names_the_line_of_its_key_and_others_follow(tmp_path: Path) -> None:
    place = tmp_path / "rules.toml"
    place.write_text(toml(changed(), changed(code="ACME102", at_least=0), changed(code="ACME103", cause="gremlins")))
    with pytest.raises(UsageError) as error:
        own_rules([place])
    lines = place.read_text().split("\n")
    assert error.value.message == f"{place}:{lines.index('at_least = 0') + 1}: ACME102: at_least is no number from 1 to 100"
    at = next(number for number, line in enumerate(lines, 1) if "gremlins" in line)
    assert f"{place}:{at}: ACME103: cause 'gremlins' is not known" in (error.value.hint or "")


def _fifo(place: Path) -> None:
    os.mkfifo(place)


FILES = {
    "is not there": (lambda place: None, "No such file"),
    "an empty directory": (Path.mkdir, "no file there ends in .toml"),
    "bytes": (lambda place: place.write_bytes(bytes(range(256))), "is not UTF-8"),
    "UTF-16": (lambda place: place.write_bytes(toml(RULE).encode("utf-16")), "is not UTF-8"),
    "huge": (lambda place: place.write_text("#" * (2 << 20)), "larger than"),
    "a link to nowhere": (lambda place: place.symlink_to("nowhere"), "No such file"),
    "a link to itself": (lambda place: place.symlink_to(place), "symbolic links"),
    "a pipe without a writer": (_fifo, "it gave nothing within"),
}


@pytest.mark.parametrize("kind", FILES)
def test_a_file_that_cannot_be_read_is_said(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("analyzers.bundle.small_files.PIPE_SECONDS", 0.1)
    make, says = FILES[kind]
    make(tmp_path / "rules.toml")
    for command in (["triage", str(WELL), "--rules"], ["rules", "check"], ["explain", "ACME101", "--rules"]):
        code, out, err = diag(*command, str(tmp_path / "rules.toml"))
        assert (code, out, says in err) == (2, "", True), err


def test_a_directory_is_all_of_its_files_and_codes_are_apart(tmp_path: Path) -> None:
    (tmp_path / "b.toml").write_text(toml(changed(code="ACME102")))
    (tmp_path / "a.toml").write_text(toml(changed(code="ACME103")))
    (tmp_path / "notes.md").write_text("no rules")
    found = own_rules([tmp_path])
    assert found is not None
    assert found.codes == ["ACME102", "ACME103"]
    assert len(found.signatures) == 2  # what two rules look for alike is looked for once
    assert own_rules(None) is None
    (tmp_path / "c.toml").write_text(toml(changed(code="ACME102")))
    with pytest.raises(UsageError, match=r"ACME102 is taken by .*b\.toml:1"):
        own_rules([tmp_path])


@pytest.mark.parametrize(
    ("pattern", "says"),
    [
        ("vault lease .*", "without an upper bound"),
        ("vault lease .+?x", "without an upper bound"),
        ("vault lease .{3,}", "without an upper bound"),
        ("vault lease .{0,501}", "repeats up to 501 times"),
        ("vault lease (?:a{1,9}){1,9}", "repeats more than one character"),
        ("vault lease (?:xa?a?){1,30}y", "repeats more than one character"),
        (".{0,99}.{0,99}vault lease", "more than 1,000 ways"),
        ("x?" * 12 + "vault lease", "more than 1,000 ways"),
        (r"(\w{1,9}) vault lease \1", "a reference back"),
        (r"(?P<a>\w)(?P=a) vault lease", "a reference back"),
        ("(a)?vault lease(?(1)b|c)", "a condition on a group"),
        ("vault lease(?=x)", "a look ahead"),
        ("vault lease(?<!x)", "a look ahead or behind"),
        ("(?i)vault lease", "flags"),
        ("(?s:vault lease)", "flags"),
        ("(?:a|)vault lease", "may be nothing"),
        (r"\w{1,9}", "no fixed text of 6 characters"),
        ("vault", "no fixed text of 6 characters"),
        ("(?:vault lease|x)y", "no fixed text of 6 characters"),
        ("vault\nlease", "no fixed text of 6 characters"),
        ("vault lease [", "is no regular expression"),
        ("vault lease " * 100, "1,200 characters"),
    ],
)
def test_a_pattern_that_could_run_away_is_refused(pattern: str, says: str) -> None:
    with pytest.raises(Refused, match=says):
        understood(pattern)


@pytest.mark.parametrize(
    ("pattern", "literals"),
    [
        (r"vault lease of (?P<a>[\w-]{1,60}) refused: (?P<b>.{1,200})", ("vault lease of ",)),
        (r"k=[a-z]{1,80} v=[a-z]{1,80} of the ledger", (" of the ledger",)),
        ("(?:refused by vault|denied by ledger) now", ("refused by vault", "denied by ledger")),
        ("vault lease(?: of (?P<a>[^ ]{1,80}))? refused", ("vault lease",)),
        (r"^\[ledger\] .{0,300}refused", ("[ledger] ",)),
        ("lease[^,]{1,500}, Größe überschritten", (", Größe überschritten",)),
    ],
)
def test_a_pattern_that_ends_is_looked_for_by_what_never_changes(pattern: str, literals: tuple[str, ...]) -> None:
    assert understood(pattern).literals == literals


def test_letters_of_diag_are_no_ones_else() -> None:
    assert {code[:3] for code in rule_codes()} <= FAMILIES
    assert not any(map(is_own, rule_codes()))
    assert is_own("ACME101")
    assert min(KEEP) >= MOST_AT_LEAST  # a rule that counts so many sees so many


# --- the examples ---


def _tried(engine: Engine, example: str, counter: str = "nothing\n", **values: Any) -> Trial:
    (trial,) = tried(own(changed(example=example, counter_example=counter, **values)), engine.session)
    return trial


def test_examples_go_through_the_engine(engine: Engine, tmp_path: Path) -> None:
    good = changed()
    lines, code = check(own(good), RunOptions(), engine)
    assert (lines, code) == (["ok\tACME101\trules.toml:1\tVault refuses the lease of orders (403)"], 0)
    bad = [
        changed(code="ACME102", example="a log without it\n"),
        changed(code="ACME103", counter_example=RULE["example"]),
        changed(code="ACME104", headline="Vault refuses {answer}", example=refused(1).replace(" (403 permission denied)", "") * 2),
    ]
    lines, code = check(own(good, *bad), RunOptions(), engine)
    assert code == 1
    assert [line.split("\t")[:2] for line in lines] == [["ok", "ACME101"], ["wrong", "ACME102"], ["wrong", "ACME103"], ["wrong", "ACME104"]]
    assert "it does not have 'vault lease renewal refused for '" in lines[1]
    assert "its counter_example shows it, in line 1: 2024-12-03" in lines[2]
    assert "its headline names what the example does not hold: Vault refuses (unknown)" in lines[3]


@pytest.mark.parametrize(
    ("example", "values", "says"),
    [
        (refused(1), {}, "1 line match, and at_least is 2"),
        (refused(1) + refused(2, "payments"), {}, "no 2 lines of one application match"),
        (refused(1) + refused(2) + renewed(3), {}, "a line behind them clears them"),
        (refused(1) * 2, {"pattern": "renewal refused for payments", "subject": None, "headline": "x", "steps": ["y"]}, "it does not have"),
        (refused(1) * 2, {"pattern": "refused for [0-9]{1,9}", "subject": None, "headline": "x", "steps": ["y"]}, "searched in a line"),
        (refused(1) * 2, {"where": "message", "pattern": "^com.acme.{0,80}vault lease", "subject": None, "headline": "x", "steps": ["y"]},
         "behind time, level and logger"),
        ("vault lease renewal refused for orders\n" * 2, {"within_minutes": 5}, "no time that diag reads"),
        (refused(1) + refused(1).replace("12:53", "13:53"), {"within_minutes": 5}, "no 2 lines of one application match within 5 minutes"),
    ],
)  # fmt: skip
def test_why_an_example_does_not_fire_is_said(example: str, values: dict[str, Any], says: str, engine: Engine) -> None:
    trial = _tried(engine, example, **values)
    assert trial.found == ()
    assert says in trial.faults[0]


def test_what_was_cleared_is_no_finding_and_what_came_back_is_one(engine: Engine) -> None:
    assert _tried(engine, refused(1) + refused(2) + renewed(3) + refused(4) + refused(5)).found[0].since.second == 4  # type: ignore[union-attr]
    assert _tried(engine, refused(1) + refused(2) + renewed(3, "payments")).found != ()  # of another application
    named = {"clears": r"vault lease renewed(?: of (?P<job>[0-9a-f]{32}))? for (?P<application>[\w-]{1,60})"}
    of_job = HEAD % (3, "INFO") + "renewed of 2f4c6a8e0b1d3f5a7c9e2b4d6f8a0c1e for orders\n"
    assert _tried(engine, refused(1) + refused(2) + of_job, **named).found == ()  # whose job is not known, any clears
    once = _tried(engine, refused(1) + refused(2) + renewed(3), clears="vault lease renewed")
    assert once.found == ()  # which says of no application


def test_lines_count_within_minutes(engine: Engine) -> None:
    late = refused(1).replace("12:53", "14:10")
    (found,) = _tried(engine, refused(1) + refused(2).replace("12:53", "13:20") + late + late, within_minutes=3).found
    assert (found.since, found.since and found.since.hour) == (found.until, 14)
    assert "2 lines show it" in found.says


def test_of_very_many_lines_the_number_is_what_was_counted_or_at_least_so(engine: Engine) -> None:
    many = "".join(refused(second % 60) for second in range(400))
    (found,) = _tried(engine, many, clears=None).found
    assert "400 lines show it" in found.says
    (found,) = _tried(engine, many).found
    assert "at least 200 lines show it" in found.says
    assert _tried(engine, many + renewed(59)).found == ()
    names = "".join(refused(second % 60, f"app-{second % 30:02d}") for second in range(60))
    found_of = _tried(engine, names).found
    assert len(found_of) == 20
    assert "10 more findings of this rule" in found_of[0].says


def test_a_signature_of_diag_can_be_named(engine: Engine) -> None:
    rule = changed(
        pattern=None, clears=None, subject=None, signature="offset-out-of-range", headline="Positions are gone on {topic}", at_least=1,
        steps=["Ask the owner of {topic}"], code="ACME201",
        example="2024-12-03 09:30:00,101 INFO  org.apache.kafka.clients.consumer.internals.AbstractFetch [] - [Consumer clientId=c-1, "
        "groupId=g] Fetch position FetchPosition{offset=390, offsetEpoch=Optional[0], currentLeader=LeaderAndEpoch{"
        "leader=Optional[kafka-1:9092 (id: 1 rack: null)], epoch=0}} is out of range for partition orders-1, resetting offset",
    )  # fmt: skip
    (trial,) = tried(own(rule), engine.session)
    assert trial.faults == ()
    assert trial.found[0].headline == "Positions are gone on orders"
    assert own(rule).signatures == ()


def test_the_example_of_the_readme_is_one_that_works(engine: Engine) -> None:
    text = (FIXTURES.parent / "tests" / "data" / "own_rules.toml").read_text()
    assert f"```toml\n{text}```" in (FIXTURES.parent / "README.md").read_text()
    found, faults = read(text, "own_rules.toml")
    assert faults == []
    lines, code = check(together(found)[0], RunOptions(), engine)
    assert (lines, code) == (
        ["ok\tACME101\town_rules.toml:1\tVault refuses to renew the lease of orders (403 permission denied)"],
        0,
    )


# --- a run ---


def test_a_finding_of_ones_own_is_the_card_in_every_format(home: Path, engine: Engine) -> None:
    report = judged(home, engine)
    (verdict,) = report.verdicts
    assert (verdict.code, verdict.headline) == ("ACME101", "Vault refuses the lease of orders (403 permission denied)")
    assert verdict.steps == ("Renew it: `vault token renew -accessor orders`", "Ask #platform for a longer TTL")
    assert verdict.since is not None
    assert f"{verdict.since:%H:%M:%S}" == "12:53:42"
    (finding,) = (each for each in report.found if each.code == "ACME101")
    assert [each.line for each in finding.evidence] == [524, 525, 526]
    assert finding.subject == {"application": "orders"}
    known = of_report(report)
    shown = {
        "terminal": terminal.render(report, width=120, colour=False),
        "plain": plain.render(report),
        "markdown": markdown.render(report),
        "html": html.render(report),
        "junit": junit.render(known),
        "sarif": sarif.render(known),
        "json": json_report.render(report),
    }
    assert {name: "Vault refuses the lease of orders" in text for name, text in shown.items()} == dict.fromkeys(shown, True)
    said = json.loads(shown["json"])
    assert said["own_rules"] == [{"code": "ACME101", "title": "Vault refuses the lease of APPLICATION (ANSWER)"}]
    described = json.loads(shown["sarif"])["runs"][0]["tool"]["driver"]["rules"]
    assert [each["shortDescription"]["text"] for each in described if each["id"] == "ACME101"] == [said["own_rules"][0]["title"]]


def test_without_the_option_a_report_is_what_it_was(home: Path, engine: Engine) -> None:
    report = run([str(home)], RunOptions(), version="1", engine=engine)
    assert "own_rules" not in json.loads(json_report.render(report))
    assert "ACME101" not in {*report.clean, *(each.code for each in report.not_checked)}
    assert rules_of(None) == rules_of(OwnRules())


def test_below_its_threshold_it_is_noticed_and_clean(home: Path, engine: Engine) -> None:
    report = judged(home, engine, changed(at_least=4))
    assert "ACME101" in report.clean
    (row,) = (each for each in report.noticed if each.code == "ACME101")
    assert (row.count, row.means, row.explained_by) == (3, "Vault refuses the lease of APPLICATION (ANSWER)", None)


@pytest.mark.parametrize("name", ["lab-poison-user-code", "broker-shrink-restart-loop", "lab-registry-503"])
def test_a_rule_that_finds_nothing_changes_nothing_else(name: str, engine: Engine) -> None:
    """Of a pattern for the very lines that verdicts of diag stand on."""
    raw = FIXTURES / "incidents" / "ill" / name / "raw"
    rule = changed(
        pattern=r"(?:xception|switched from RUNNING to) [^ ]{1,80}|xception: ", clears=None, subject=None, at_least=100, headline="x",
        steps=["y"], logs_of=["zookeeper"],
    )  # fmt: skip
    alone, beside = (json.loads(json_report.render(run([str(raw)], options, version="1", engine=engine)))
                     for options in (RunOptions(), RunOptions(own=own(rule))))  # fmt: skip
    assert [each["code"] for each in beside.pop("own_rules")] == ["ACME101"]
    assert any(each["code"] == "ACME101" for each in beside["noticed"])
    for report in (alone, beside):
        for part in ("clean", "not_checked", "noticed"):
            report[part] = [each for each in report[part] if "ACME101" not in (each if isinstance(each, str) else each["code"] or "")]
    assert beside == alone


def test_it_is_left_out_and_chosen_as_any_other(home: Path, engine: Engine, tmp_path: Path) -> None:
    assert judged(home, engine, ignore=(CodeFilter("ACME101", "orders"),)).found == []
    only = judged(home, engine, only=(CodeFilter("ACME101"),))
    assert [each.code for each in only.found] == ["ACME101"]
    assert only.clean == []
    (tmp_path / "rules.toml").write_text(toml(RULE))
    (tmp_path / "known.toml").write_text('[[ignore]]\ncode = "ACME101"\nreason = "OPS-12"\n')
    given = ("--rules", str(tmp_path / "rules.toml"), "--ignore-file", str(tmp_path / "known.toml"), "--facts-only", "-o", "json")
    code, out, err = diag("triage", str(home), *given)
    assert (code, "leaves out ACME101" in err) == (0, True), err
    assert json.loads(out)["facts"]["scanned_patterns"]
    code, _, err = diag("triage", str(home), "--only", "ACME101")
    assert (code, "no rule has the code ACME101" in err) == (2, True)


def test_what_a_user_knows_comes_before_an_unknown_failure(tmp_path: Path, engine: Engine) -> None:
    shutil.copytree(UNKNOWN, tmp_path / "logs")
    before = run([str(tmp_path / "logs")], RunOptions(), version="1", engine=engine)
    assert before.verdicts[0].cause == "other"
    log = next((tmp_path / "logs").glob("*.log"))
    with log.open("a") as stream:
        stream.write(refused(1).replace("2026-11-21 12:53", "2024-03-11 02:13") * 2)
    after = run([str(tmp_path / "logs")], RunOptions(own=own()), version="1", engine=engine)
    assert (after.verdicts[0].code, after.verdicts[0].headline) == (
        "ACME101",
        "Vault refuses the lease of orders (403 permission denied)",
    )


def test_only_logs_of_its_processes_speak(home: Path, engine: Engine) -> None:
    assert [each.code for each in judged(home, engine, changed(logs_of=["taskmanager"])).found] == ["ACME101"]
    (missing,) = (each for each in judged(home, engine, changed(logs_of=["kafka-broker"])).not_checked if each.code == "ACME101")
    assert missing.because == "no log of a Kafka broker was given"


def test_any_log_can_show_it(tmp_path: Path, engine: Engine) -> None:
    """Of a program that is none of the products: what diag's rules cannot say of it, a rule of its owners can."""
    (tmp_path / "app.log").write_text("".join(f"2026-11-21 12:00:{n:02d} INFO payments - booked {n}\n" for n in range(40)))
    report = run([str(tmp_path)], RunOptions(own=own()), version="1", engine=engine)
    assert report.clean == ["ACME101"]
    with (tmp_path / "app.log").open("a") as log:
        log.write(refused(1) + refused(2))
    assert [each.code for each in run([str(tmp_path)], RunOptions(own=own()), version="1", engine=engine).verdicts] == ["ACME101"]


# --- the other ways ---


def test_workers_scan_for_it_too(tmp_path: Path, engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    line = "2026-11-21 12:00:00,000 INFO  org.apache.flink.runtime.taskmanager.Task [] - nothing of interest here\n"
    (tmp_path / "taskmanager.log").write_text(line * 4_000 + refused(1) * 3 + line * 4_000)
    monkeypatch.setattr(log_rounds, "LIGHT_BYTES", 0)
    monkeypatch.setattr(log_rounds, "WORTH_SECONDS", -1.0)
    made = plan([str(tmp_path)], LogOptions(own=own().signatures, split_bytes=100_000))
    assert len(made.tasks) > 2
    on_workers = scan(made, engine)
    here = scan(plan([str(tmp_path)], LogOptions(own=own().signatures)))
    assert [row["signature"] for row in on_workers["log_events"]] == [own().rules[0].fires.id] * 3
    assert on_workers["log_events"] == here["log_events"]
    assert on_workers["scanned_patterns"] == here["scanned_patterns"] != []


@pytest.mark.parametrize("large", [1, 1 << 30], ids=["split", "whole"])
def test_each_job_of_a_fleet_is_judged_by_it(large: int, home: Path, engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    from analyzers.fleet import judging

    monkeypatch.setattr(judging.judge_fleet, "__kwdefaults__", {**judging.judge_fleet.__kwdefaults__, "large": large})
    fleet = home.parent / "fleet"
    shutil.copytree(home, fleet / "ill")
    shutil.copytree(WELL, fleet / "well")
    engine.allow_pandas()
    options = RunOptions(own=own())
    report = fleets.run([str(fleet)], options, gather=Gathering(options=options), version="1", engine=engine).report
    assert {row.scope: [each.code for each in row.verdicts] for row in report.jobs} == {"ill": ["ACME101"], "well": []}


def test_a_bundle_is_judged_for_what_it_was_scanned_for(home: Path, engine: Engine, tmp_path: Path) -> None:
    options = RunOptions(own=own())
    write_evidence([str(home)], replace(options, save=tmp_path / "with"), version="1")
    write_evidence([str(home)], RunOptions(save=tmp_path / "without"), version="1")
    assert "ACME" not in (tmp_path / "with" / "scanned_patterns.jsonl").read_text()
    judge = {name: run([], replace(options, bundle=tmp_path / name), version="1", engine=engine) for name in ("with", "without")}
    (verdict,) = judge["with"].verdicts
    assert (verdict.code, "orders" in (verdict.headline or "")) == ("ACME101", False)  # a token
    (missing,) = (each for each in judge["without"].not_checked if each.code == "ACME101")
    assert missing.because == "these logs were not scanned for its pattern (collect them again with --rules)"
    narrower = own(changed(pattern="vault lease renewal refused for (?P<application>[a-z]{1,60})(?P<answer> )?"))
    other = run([], RunOptions(bundle=tmp_path / "with", own=narrower), version="1", engine=engine)
    assert [each.code for each in other.not_checked if each.code == "ACME101"] == ["ACME101"]
    unasked = run([], RunOptions(bundle=tmp_path / "with"), version="1", engine=engine)
    assert [each.means for each in unasked.noticed if each.signature.startswith("own-")] == [
        "A rule of your own looks for it, which this run was not given (--rules)."
    ]


def test_two_looks_differ_by_it(home: Path, engine: Engine) -> None:
    from contextlib import nullcontext

    found = diffs.run((str(WELL), str(home)), RunOptions(own=own()), version="1", engine=lambda: nullcontext(engine))  # type: ignore[arg-type, return-value]
    assert [(each.change, each.code) for each in found.findings] == [("new", "ACME101")]


def test_its_page_and_its_line_in_the_list(tmp_path: Path) -> None:
    place = tmp_path / "rules.toml"
    place.write_text(toml(changed(why="Leases last an hour.", within_minutes=10)))
    code, out, _ = diag("explain", "acme101", "--rules", str(place))
    assert code == 0
    assert out.startswith("# ACME101: Vault refuses the lease of APPLICATION (ANSWER)\n")
    assert "1. Renew it: `vault token renew -accessor APPLICATION`" in out
    assert "at least 2 lines of one application within 10 minutes" in out
    for part in ("Leases last an hour.", "## Not this when", str(place)):
        assert part in out
    for typed in (("rules", "ACME"), ("rules", "list", "ACME")):
        code, out, _ = diag(*typed, "--rules", str(place), "-o", "plain")
        assert (code, out) == (0, "ACME101\tcritical\taccess\texternal-system\tVault refuses the lease of APPLICATION (ANSWER)\n")
    code, _, err = diag("explain", "ACME101")
    assert (code, "--rules" in err) == (2, True)


def test_a_program_may_read_its_page(tmp_path: Path) -> None:
    from cli.tools.calls import Calls
    from cli.tools.permitted import Permitted

    calls = Calls(Permitted(None), RunOptions(own=own()), "1")
    text, failed = calls.call("explain", {"code": "ACME101"})
    assert not failed
    assert "Vault refuses the lease" in json.loads(text)["text"]
    assert calls.call("explain", {"code": "ACME102"})[1]


def test_a_program_gets_it_as_any_verdict(home: Path, engine: Engine) -> None:
    answer = ask(calls_on(engine, home, own=own()), "triage", paths=[str(home)])
    assert (answer["outcome"], answer["exit_code"], answer["verdict"]["code"]) == ("verdict", 1, "ACME101")
    assert answer["verdict"]["title"] == "Vault refuses the lease of APPLICATION (ANSWER)"
    assert "Vault refuses the lease of orders" in answer["quoted"]["headline"]


def test_what_a_log_says_is_quoted_in_a_command(engine: Engine) -> None:
    rule = {
        "pattern": "vault lease denied: (?P<answer>.{1,80})",
        "clears": None,
        "subject": None,
        "at_least": None,
        "headline": "Denied: {answer}",
    }
    said = HEAD.replace("vault lease ", "") % (1, "WARN") + "vault lease denied: $(reboot) `x`; \u001b[31m\n"
    (found,) = _tried(engine, said, steps=["Ask: `vault why {answer}`"], **rule).found
    (step,) = found.steps
    assert "vault why '$(reboot)" in step
    assert step.count("`") == 2


def test_secrets_in_what_it_captures_are_cut_out(tmp_path: Path, engine: Engine) -> None:
    line = "2026-11-21 12:00:01,700 WARN  com.acme.LedgerClient [] - vault lease denied, url=jdbc:pg://u:hunter2secret@db:5432/x end\n"
    (tmp_path / "taskmanager.log").write_text(line * 3)
    rule = changed(
        pattern="vault lease denied, (?P<answer>.{1,200}) end", clears=None, subject=None, headline="Denied: {answer}", steps=["Look"]
    )
    from analyzers.report.without_secrets import without_secrets

    report = without_secrets(run([str(tmp_path)], RunOptions(own=own(rule)), version="1", engine=engine))
    text = json_report.render(report)
    assert "Denied: url=jdbc" in text
    assert "hunter2secret" not in text
