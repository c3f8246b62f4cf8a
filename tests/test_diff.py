"""`diag diff`: what two looks at one job have in common, what only one has, and what cannot be compared."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from analyzers.comparison.difference import Difference, compare, difference_schema, document
from analyzers.comparison.sides import NotComparable, Side, side_of
from analyzers.report.finding import Finding, NotChecked, Severity
from analyzers.report.report import Source
from analyzers.tables import TABLES
from cli.engine.spark import Engine
from cli.options.shared import RunOptions, code_filters
from cli.renderers import difference
from cli.renderers.json import document as report_document
from cli.renderers.json_rows import plain_values
from cli.runs.collect import write_evidence
from cli.runs.diff import difference as kept_difference
from cli.runs.diff import exit_code, run
from cli.shell.exits import CannotLook
from tests.command_line import diag
from tests.report_samples import JOB, finding, minutes, report

INCIDENTS = Path(__file__).parent.parent / "fixtures" / "incidents"
ILL = INCIDENTS / "ill" / "broker-shrink-restart-loop" / "raw"
NAMED = {"scope": "", "job": JOB, "name": "orders-totals", "state": "RUNNING", "loops": False}


def look(
    *findings: Finding, clean: tuple[str, ...] = ("BRK101", "CKP104", "RST101"), name: str = "orders-totals", **more: Any
) -> dict[str, Any]:
    """The document of a report with these findings, of one job."""
    judged = [code for code in clean if code not in {each.code for each in findings}]
    values: dict[str, Any] = {
        "findings": list(findings),
        "clean": judged,
        "job_state": [{**NAMED, "name": name}],
        "log_roles": {"jobmanager": 1},
    }
    return report_document(report(**{**values, **more}))


def side(said: dict[str, Any], tables: dict[str, Any] | None = None, name: str = "look") -> Side:
    return replace(side_of(name, json.loads(json.dumps(said))), evidence=tables)


def compared(before: dict[str, Any], after: dict[str, Any], **options: Any) -> Difference:
    return compare(side(before, name="before"), side(after, name="after"), **options)


def changes(found: Difference) -> list[tuple[str, str, str | None]]:
    return [(each.change, each.code, each.because or each.was) for each in found.findings]


TOTALS = finding(subject={"task": "totals"})


def test_a_finding_is_new_gone_or_still_there() -> None:
    warning = finding("CKP104", Severity.WARNING, subject={})
    assert changes(compared(look(TOTALS), look(TOTALS))) == [("still", "BRK101", None)]
    assert changes(compared(look(TOTALS), look(warning))) == [("new", "CKP104", None), ("gone", "BRK101", None)]


def test_times_ids_attempts_and_the_place_of_the_files_are_no_difference() -> None:
    again = finding(subject={"task": "totals", "attempt": 9}, job="00000000000000000000000000000001", since=minutes(900), evidence=())
    after = look(again, job_state=[{**NAMED, "job": "00000000000000000000000000000001"}])
    assert changes(compared(look(TOTALS), after)) == [("still", "BRK101", None)]


@pytest.mark.parametrize(
    ("after", "because"),
    [
        (look(clean=("RST101",), not_checked=[NotChecked("BRK101", "no log was given")]), "B did not judge it: no log was given"),
        (look(clean=("RST101",)), "B did not judge it: diag 1.2.3 did not judge BRK101 there"),
        (look(fragment="2 lines, 1 process"), "in B there was too little to read: 2 lines, 1 process"),
        (look(log_roles={"jobmanager": 1, "kafka-broker": 2}), None),
        (look(finding(severity=Severity.UNDECIDED, says="The logs end 3 s after it.")), "undecided in B: The logs end 3 s after it."),
        (look(job_state=[]), "B shows nothing of its job"),
    ],
)  # fmt: skip
def test_it_is_gone_only_where_the_other_look_could_see_it(after: dict[str, Any], because: str | None) -> None:
    found = [each for each in compared(look(TOTALS), after).findings if each.code == "BRK101"]
    assert [(each.change, each.because) for each in found] == [("unknown", because) if because else ("gone", None)]


def test_it_is_gone_only_where_there_are_logs_of_the_process_that_showed_it() -> None:
    files = {"log_files": [{"file": "taskmanager-2.log", "role": "taskmanager"}, {"file": "jobmanager.log", "role": "jobmanager"}]}
    before = side(look(TOTALS, log_roles={"jobmanager": 1, "taskmanager": 1}), files)
    found = compare(before, side(look(log_roles={"jobmanager": 1}), files))
    assert changes(found) == [("unknown", "BRK101", "B has no log of a taskmanager")]
    assert changes(compare(before, side(look(log_roles={"jobmanager": 1, "taskmanager": 3}), files))) == [("gone", "BRK101", None)]


def test_what_the_earlier_look_did_not_judge_is_not_called_new_and_fails_a_run_all_the_same() -> None:
    before = look(clean=("RST101",), not_checked=[NotChecked("BRK101", "no Flink log was given")])
    found = compared(before, look(TOTALS))
    assert changes(found) == [("unknown", "BRK101", "A did not judge it: no Flink log was given")]
    assert exit_code(found, "critical") == 1


def test_worse_is_graver_or_back_again() -> None:
    mild = replace(TOTALS, severity=Severity.WARNING)
    over = replace(TOTALS, passed=True)
    assert changes(compared(look(mild), look(TOTALS))) == [("worse", "BRK101", "it was warning, now critical")]
    assert changes(compared(look(over), look(TOTALS))) == [("worse", "BRK101", "it was over")]
    assert changes(compared(look(TOTALS), look(mild))) == [("still", "BRK101", "it was critical, now warning")]
    assert changes(compared(look(TOTALS), look(over))) == [("still", "BRK101", "it is over now")]


def test_a_fault_of_more_things_is_worse_not_a_new_one_beside_one_that_is_gone() -> None:
    one, two, other = (finding(subject={"broker": brokers}) for brokers in ([5], [5, 6], [7]))
    assert changes(compared(look(one), look(two))) == [("worse", "BRK101", "it was about broker 5")]
    assert changes(compared(look(two), look(one))) == [("still", "BRK101", "it was about broker 5, 6")]
    assert changes(compared(look(one), look(other))) == [("new", "BRK101", None), ("gone", "BRK101", None)]


def test_a_fault_that_names_its_task_now_is_the_same_and_not_that_of_another_task() -> None:
    nameless, named, other = (finding(subject=subject) for subject in ({}, {"task": "totals"}, {"task": "enrich"}))
    assert [each.change for each in compared(look(nameless), look(named)).findings] == ["still"]
    assert sorted(each.change for each in compared(look(named), look(other)).findings) == ["gone", "new"]


def test_two_jobs_are_not_compared_and_a_job_without_a_name_is_with_a_word_of_doubt() -> None:
    with pytest.raises(NotComparable, match=r"of job orders-totals, B .* of job payments"):
        compared(look(TOTALS), look(name="payments"))
    renamed = look(job_state=[{**NAMED, "job": "0" * 32, "name": "payments"}])
    assert changes(compared(look(TOTALS), renamed, any_job=True)) == [("gone", "BRK101", None)]
    assert "B names no job: whether both are of one job is not known" in compared(look(TOTALS), look(TOTALS, job_state=[])).remarks
    assert compared(look(TOTALS, name="orders-20261121"), look(TOTALS, name="orders-20261122")).count["still"] == 1


def test_logs_of_other_processes_are_not_compared() -> None:
    with pytest.raises(NotComparable, match=r"logs of jobmanager, B .* of spark-driver"):
        compared(look(TOTALS), look(log_roles={"spark-driver": 1}))


def test_names_of_one_redacted_side_are_no_difference() -> None:
    hidden = "task topic-00a1b2c3 on host-0a1b2c3d of w-1234abcd, group-77777777"
    redacted = look(finding(subject={"task": "topic-00a1b2c3"}, says=hidden), name="job-0a0a0a0a")
    found = compared(look(TOTALS), redacted)
    assert changes(found) == [("still", "BRK101", None)]
    assert any(words.startswith("names are tokens on one side") for words in found.remarks)
    assert compared(redacted, redacted).remarks == compared(look(TOTALS), look(TOTALS)).remarks, "tokens of one key are names"


def test_what_times_and_missing_logs_take_from_gone_is_said() -> None:
    long, short = look(TOTALS, window=(minutes(-60), minutes(6))), look(window=(minutes(0), minutes(1)), as_of=minutes(1))
    remarks = " ".join(compared(long, short).remarks)
    assert "B covers 60 s, A 66 min" in remarks
    assert "B ends before A" in remarks
    fewer = compared(look(TOTALS, log_roles={"jobmanager": 2}), look(log_roles={"jobmanager": 1}))
    assert any("1 of jobmanager (A: 2)" in words for words in fewer.remarks)


def setting(role: str, key: str, value: str) -> dict[str, Any]:
    return {"signature": "configuration-property", "role": role, "detail": {"key": key, "value": value}}


def completed(duration_ms: int) -> dict[str, Any]:
    return {"signature": "checkpoint-completed", "duration_ms": duration_ms, "detail": {}}


def facts(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> list[tuple[str, str, Any, Any]]:
    sides = [side(look(), {"log_events": rows}) for rows in (before, after)]
    return [(each.kind, each.about, each.before, each.after) for each in compare(*sides).facts]


def test_settings_that_changed() -> None:
    before = [setting("jobmanager", "state.backend.type", "hashmap"), setting("jobmanager", "jobmanager.rpc.address", "10.0.0.1")]
    after = [setting("jobmanager", "state.backend.type", "rocksdb"), setting("jobmanager", "jobmanager.rpc.address", "10.0.0.9")]
    assert facts(before, after) == [("setting", "jobmanager: state.backend.type", "hashmap", "rocksdb")], "an address is drawn anew"
    more = [*before, setting("jobmanager", "heartbeat.timeout", "4000")]
    assert facts(before, more) == [("setting", "jobmanager: heartbeat.timeout", None, "4000")]
    assert facts(before, [*before, setting("taskmanager", "heartbeat.timeout", "4000")]) == [], "A has no log of a taskmanager"
    secret = [setting("jobmanager", "s3.secret-key", word) for word in ("AKIAhunter2hunter2", "AKIAhunter3hunter3")]
    assert "hunter" not in str(facts(secret[:1], secret[1:]))


def test_a_measured_number_changed_where_it_doubled_and_the_step_is_worth_a_word() -> None:
    about = ("checkpoint duration", "the job")
    usual = [completed(number) for number in (900, 1_000, 1_100)]
    assert facts(usual, [completed(number) for number in (4_000, 4_100, 4_200)]) == [(*about, 1_000.0, 4_100.0)]
    assert facts(usual, [completed(1_900)] * 3) == [], "less than double"
    assert facts([completed(10)] * 3, [completed(300)] * 3) == [], "not a second"
    assert facts(usual, [completed(9_000)] * 2) == [], "of two checkpoints the usual one is not known"


def noticed(signature: str, says: str, **more: Any) -> dict[str, Any]:
    place = {"table": "log_events", "file": "jobmanager.log", "line": 7, "at": None, "text": f"{says}\nmore"}
    return {"signature": signature, "says": says, "level": "WARN", "count": 2, "evidence": [place], **more}


def test_kinds_of_lines_that_only_the_later_look_has() -> None:
    old, new = look(), look()
    old["noticed"] = [noticed("error-logged", "cannot open file 17")]
    new["noticed"] = [
        noticed("error-logged", "cannot open file 18"),
        noticed("error-logged", "disk is slow"),
        noticed("connection-reset", "connection reset", normal=True),
        noticed("task-failed", "task failed", explained_by="RST101"),
    ]
    found = compared(old, new)
    assert [(each.signature, each.says, each.count, each.line) for each in found.shapes] == [("error-logged", "disk is slow", 2, 7)]
    assert "only in B WARN disk is slow  jobmanager.log:7 ×2" in difference.page(found)


def test_the_document_is_what_the_schema_says() -> None:
    schema = difference_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    tables = {"log_events": [setting("jobmanager", "state.backend.type", "hashmap")]}
    other = {"log_events": [setting("jobmanager", "state.backend.type", "rocksdb")]}
    found = compare(side(look(TOTALS), tables), side(look(finding("CKP104", Severity.WARNING, subject={})), other))
    said = document(found, plain_values)
    jsonschema.validate(said, schema)
    assert {*said["counts"]} == {each["change"] for each in said["findings"]} | {"worse", "unknown", "still"}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**said, "findings": [{**said["findings"][0], "change": "better"}]}, schema)
    assert json.loads(diag("schema", "--diff")[1]) == schema


def test_what_is_left_out_is_left_out_of_both_and_counted() -> None:
    options = RunOptions(ignore=code_filters(["BRK101=totals"], ["BRK101"]))
    found = kept_difference(side(look(TOTALS)), side(look(TOTALS)), options)
    assert found.findings == ()
    assert found.remarks[-2:] == ("1 finding of A left out (BRK101)", "1 finding of B left out (BRK101)")


def written(folder: Path, name: str, said: Any) -> str:
    place = folder / name
    place.write_text(said if isinstance(said, str) else json.dumps(said))
    return str(place)


def test_two_saved_reports_need_no_jvm(tmp_path: Path) -> None:
    before, after = written(tmp_path, "before.json", look()), written(tmp_path, "after.json", look(TOTALS))
    code, out, err = diag("diff", before, after, "-o", "plain")
    assert (code, out.split("\t")[:3]) == (1, ["new", "critical", "BRK101"]), err
    assert diag("diff", before, after, "--fail-on", "never")[0] == 0
    assert diag("diff", after, before)[0] == 0, "what is gone is no finding"
    assert diag("diff", after, after, "-o", "terminal")[1].count("✓ Nothing differs in what both show. 1 finding is in both.") == 1


@pytest.mark.parametrize(
    ("said", "says", "code"),
    [
        (json.dumps(look(), indent=2)[:400], "is a damaged report", 3),
        ({**look(), "format": 9}, "was written by diag 1.2.3 in format 9; this diag reads format 1", 3),
        ({**look(), "findings": [{"code": 1}]}, "is a damaged report: findings is not what diag writes there", 3),
        ({**look(), "clean": None}, "is a damaged report: clean is not what diag writes there", 3),
        ({**look(), "command": "fleet"}, "is a report of diag fleet", 3),
        (look(clean=(), not_checked=[NotChecked("BRK101", "no log was given")]), "no rule judged A", 3),
        (look(name="payments"), "is of job payments, B", 3),
    ],
)
def test_what_cannot_be_compared_is_a_sentence(tmp_path: Path, said: Any, says: str, code: int) -> None:
    got, out, err = diag("diff", written(tmp_path, "a.json", said), written(tmp_path, "b.json", look()))
    assert (got, out) == (code, "")
    assert says in err
    assert "Traceback" not in err


def test_wrong_usage(tmp_path: Path) -> None:
    report_file = written(tmp_path, "a.json", look())
    assert diag("diff", str(tmp_path / "nowhere"), report_file)[0] == 2
    assert diag("diff", report_file, report_file, "-o", "html")[0] == 2
    assert diag("diff", report_file, report_file, "-o", "json", "-o", "plain")[0] == 2
    assert diag("schema", "--diff", "--fleet")[0] == 2
    assert diag("diff", "-", report_file)[0] == 2


def test_a_report_is_one_by_what_it_holds(tmp_path: Path) -> None:
    """Rewritten by jq -S, and without an ending that says so."""
    sorted_keys = written(tmp_path, "saved", json.dumps(look(TOTALS), sort_keys=True))
    assert diag("diff", sorted_keys, sorted_keys)[0] == 0


def test_lines_are_no_wider_than_the_terminal_and_say_nothing_twice() -> None:
    found = compared(
        look(TOTALS, finding("RST101", subject={})),
        look(finding("CKP104", says="one checkpoint expired " * 8, subject={}), finding("RST101", subject={})),
    )
    text = difference.page(found, width=80)
    assert max(map(len, text.splitlines())) <= 80
    lines = [line for line in text.splitlines() if line.strip()]
    assert len(lines) == len(set(lines))
    assert difference.markdown(found).count("CKP104") == 1


def test_lists_of_brokers_say_what_left_and_what_came() -> None:
    def client(bootstrap: str) -> dict[str, Any]:
        return {"log_events": [{"signature": "kafka-client-config", "detail": {"config_of": "Consumer", "bootstrap": bootstrap}}]}

    found = compare(side(look(), client("k1:9092,k2:9092")), side(look(), client("k2:9092,k3:9092")))
    assert "bootstrap servers of Consumer: k1:9092 removed; k3:9092 added" in difference.page(found, width=100)


def of_places(before: Path, after: Path, engine: Engine, **options: Any) -> Difference:
    return run((str(before), str(after)), RunOptions(**options), version="test", engine=lambda: nullcontext(engine))  # type: ignore[arg-type, return-value]  # it is left running


def test_the_same_logs_twice_do_not_differ(engine: Engine) -> None:
    for healthy in ("lab-healthy-kafka-rescaled", "healthy-spark-query"):
        place = INCIDENTS / "healthy" / healthy / "raw"
        found = of_places(place, place, engine)
        assert found.is_empty
        assert found.findings == ()
        assert found.rules.both > 50


def test_an_incident_and_its_redacted_bundle_have_the_same_findings(engine: Engine, tmp_path: Path) -> None:
    bundle = tmp_path / "incident.tar.gz"
    write_evidence([str(ILL)], RunOptions(save=bundle, redaction_key=_key(tmp_path)), version="test")
    found = of_places(ILL, bundle, engine)
    assert {each.change for each in found.findings} == {"still"}
    assert found.shapes == ()
    assert [each.kind for each in found.facts] == []
    assert of_places(bundle, bundle, engine).is_empty


def _key(folder: Path) -> Path:
    (folder / "key").write_text("0123456789abcdef" * 4)
    return folder / "key"


def test_a_part_of_the_logs_makes_nothing_gone(engine: Engine) -> None:
    found = of_places(ILL, ILL / "kafka", engine)
    assert {each.change for each in found.findings} == {"still", "unknown"}


def test_a_directory_without_logs_is_a_sentence(engine: Engine, tmp_path: Path) -> None:
    with pytest.raises(CannotLook, match="there is no log in"):
        of_places(ILL, tmp_path, engine)


def test_what_the_later_look_leaves_open_is_said() -> None:
    said = "The logs end 3 s after a checkpoint was triggered."
    found = compared(look(), look(finding("CKP104", Severity.UNDECIDED, says=said)))
    assert found.findings == ()
    assert f"undecided in B: {said} [CKP104]" in found.remarks


def test_node_ids_are_in_the_order_of_numbers() -> None:
    tables = [{"brokers": [{"broker": number, "in_metadata": True} for number in ids]} for ids in ((2, 9), (2, 10, 9, 1))]
    found = compare(*(side(look(), each) for each in tables))
    assert [(each.before, each.after) for each in found.facts] == [("2, 9", "1, 2, 9, 10")]
    assert "brokers of the cluster: 1, 10 added" in difference.page(found)


JUNK = (None, True, -1, 10**400, float("nan"), "", "x", [], [[]], {}, {"a": {"b": []}}, [None], json.loads("[" * 400 + "]" * 400))


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to each value of a document."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in items:
        yield (*path, key)
        yield from places(each, (*path, key))


def with_junk(said: dict[str, Any], path: tuple[Any, ...], junk: Any) -> dict[str, Any]:
    changed = json.loads(json.dumps(said))
    of = changed
    for key in path[:-1]:
        of = of[key]
    of[path[-1]] = junk
    return dict(changed)


def test_a_report_that_was_changed_by_somebody_is_a_sentence_or_another_report() -> None:
    """At each of its places some kinds of values; a row of each table that facts are read from."""
    said = look(TOTALS, sources=[Source("a.log", "logs", "partial", "cut")], not_checked=[NotChecked("LAG101", "no broker")])
    said["noticed"] = [noticed("error-logged", "disk is slow")]
    said["baseline"] = None
    rows = {name: TABLES[name].row({}) for name in ("jobs", "vertices", "checkpoints", "lag_status", "partitions", "brokers", "job_config")}
    said["facts"] = {
        name: [{**row, "job": JOB, "name": "orders-totals", "topic": "t", "status": "COMPLETED"}] for name, row in rows.items()
    }
    whole = side(look(TOTALS))
    refused = 0
    for number, path in enumerate(places(said)):
        for junk in (JUNK[(number + step) % len(JUNK)] for step in range(0, len(JUNK), 3)):
            changed = with_junk(said, path, junk)
            try:
                other = side_of("changed.json", changed)
                for found in (compare(whole, other), compare(other, whole)):
                    difference.page(found)
                    difference.as_json(found)
            except NotComparable:
                refused += 1
    assert refused > len(JUNK), "the needed parts are needed"


def test_a_directory_that_is_not_there_makes_nothing_gone() -> None:
    def of(*scopes: str) -> dict[str, Any]:
        states = [{**NAMED, "scope": scope} for scope in ("a", "b") if scope in scopes]
        return look(*(replace(TOTALS, scope=scope) for scope in scopes), job_state=states)

    both, one, none = of("a", "b"), of("a"), look(job_state=[{**NAMED, "scope": scope} for scope in ("a", "b")])
    assert sorted(changes(compared(both, one))) == [("still", "BRK101", None), ("unknown", "BRK101", "B has nothing of b")]
    assert [each.change for each in compared(both, none).findings] == ["gone", "gone"]
