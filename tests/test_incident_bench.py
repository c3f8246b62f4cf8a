"""The bench of incidents: every label can be used, marks are the same count for every adapter, and the page is what the command writes."""

from __future__ import annotations

import json
import os
import stat
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from benchmarks.incidents import __main__ as command
from benchmarks.incidents import cases, first_run, results, table
from benchmarks.incidents.adapters import RESTART, WELL, Grep, Transcripts
from benchmarks.incidents.cases import Case, Truth, load, problems
from benchmarks.incidents.diagnosis import Diag
from benchmarks.incidents.marks import Answer, harmful_advice, marked
from benchmarks.incidents.rest_server import FlinkMcp, read, rest_pages

if TYPE_CHECKING:
    from cli.engine.spark import Engine

ALL = {case.name: case for case in load()}
STUCK, LOOP = "open/ill/stuck-async-barrier", "open/ill/broker-shrink-restart-loop"
WELL_UPGRADE = "told/121-operator-planned-upgrade"
THREE = [ALL[name] for name in (STUCK, "told/017-shipment-streams-registry", WELL_UPGRADE)]


def test_every_case_is_read_and_can_be_marked() -> None:
    assert len(ALL) == sum(1 for _ in cases.FIXTURES.glob("incidents/*/*")) + sum(1 for _ in cases.FIXTURES.glob("told/*"))
    assert {name: found for name, case in ALL.items() if (found := problems(case))} == {}
    assert all(ALL[case.truth.twin].truth.healthy for case in ALL.values() if case.truth.twin)


def test_labels_of_recordings_keep_their_schema() -> None:
    schema = json.loads(cases.SCHEMA.read_text())
    ill = [case.path / "truth.json" for case in ALL.values() if case.split == "open" and not case.truth.healthy]
    for path in ill:
        jsonschema.validate(json.loads(path.read_text()), schema)
    assert len(ill) > 50


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"decisive": ()}, "must say"),
        ({"decisive": ("(",)}, "no expression"),
        ({"entities": {"task": ("Sink: nowhere",)}}, "`Sink: nowhere` is not in its evidence"),
        ({"fix": None}, "no fix"),
        ({"twin": "open/healthy/none"}, "missing"),
        ({"root_cause": ""}, "root cause"),
    ],
)
def test_a_label_that_cannot_be_used_is_named(change: dict[str, Any], said: str) -> None:
    case = ALL[STUCK]
    (found,) = problems(replace(case, truth=replace(case.truth, **change)))
    assert said in found


def test_a_truth_joins_the_labels_that_exist() -> None:
    truth = ALL["open/ill/lab-poison-sink"].truth
    assert (truth.cause_class, truth.root_cause) == ("poison-record", "a row that the table refuses: NOT NULL")
    assert {each.healed for each in truth.tried} == {True, False}
    assert truth.fix == next(each.fix for each in truth.tried if each.healed)
    assert ALL["told/014-pg-outbox-slot"].truth.entities["slot"] == ("dbz_outbox",)


def test_no_adapter_is_shown_a_label() -> None:
    for case in ALL.values():
        assert not {Path(name).name for name in case.texts()} & {"expect.json", "truth.json", "case.json"}
        assert case.truth.root_cause not in "".join(case.texts().values())


ILL = Truth(False, "the slot is gone", "offset-reset", ("slot", "gone|lost"), {"slot": ("dbz_shop",), "host": ("pg-1", "10.0.0.1")})
RIGHT = Answer("The replication\n  slot dbz_shop of 10.0.0.1 is LOST.", 1, True)


def test_a_right_answer_gets_everything() -> None:
    marks = marked(ILL, RIGHT)
    assert (marks.cause, marks.words, marks.words_of, marks.entities, marks.entities_of, marks.alarm) == (1.0, 2, 2, 2, 2, True)


@pytest.mark.parametrize(
    ("answer", "cause", "words"),
    [
        (replace(RIGHT, causes=3), 0.333, 2),
        (replace(RIGHT, text="A broker is gone."), 0.0, 1),
        (Answer("", 0, False), 0.0, 0),
        (replace(RIGHT, causes=0, alarm=False), 0.0, 2),  # the words are quoted, and called well
    ],
)
def test_other_answers_get_less(answer: Answer, cause: float, words: int) -> None:
    marks = marked(ILL, answer)
    assert (marks.cause, marks.words) == (cause, words)


def test_a_healthy_case_has_no_cause_to_find() -> None:
    marks = marked(replace(ILL, healthy=True), RIGHT)
    assert (marks.cause, marks.alarm) == (0.0, True)


@pytest.mark.parametrize(
    ("step", "harm"),
    [
        ("Delete the old checkpoint and start.", True),
        ("Raise `max.poll.interval.ms` to an hour.", True),
        ("Start it with --allowNonRestoredState.", True),
        ("Do not delete the checkpoint.", False),
        ("Delete the topic.", False),
        ("Set errors.tolerance=none.", False),  # the fix names it, too
        ("Keep the checkpoint.", False),
    ],
)
def test_advice_that_the_label_calls_harmful(step: str, harm: bool) -> None:
    truth = replace(
        ILL,
        harmful="Deleting the checkpoint; raising max.poll.interval.ms; --allowNonRestoredState; errors.tolerance=none",
        fix="errors.tolerance=none and a new snapshot",
    )
    assert bool(harmful_advice(truth, [step])) is harm


def answered(adapter: Any) -> dict[str, Any]:
    return {case.name: outcome for case, outcome in adapter.answers(THREE)}


def test_constant_answers_and_grep() -> None:
    assert [answered(each)[STUCK].alarm for each in (WELL, RESTART)] == [False, True]
    found = answered(Grep())
    assert "CheckpointException: Checkpoint expired before completing." in found[STUCK].text
    assert found[STUCK].causes == len(found[STUCK].text.splitlines()) > 0
    assert (found[WELL_UPGRADE].causes, found[WELL_UPGRADE].alarm) == (1, True)  # `Connection refused` and `Caused by` are one line
    command_line = Grep().command(THREE[0])
    assert command_line is not None
    assert command_line[:2] == ["sh", "-c"]


def test_an_agent_is_marked_by_its_transcript(tmp_path: Path) -> None:
    adapter = Transcripts(tmp_path)
    assert "no transcripts" in str(adapter.absent())
    said = {"answer": "slot", "causes": ["a", "b"], "alarm": True, "advice": ["wait"], "seconds": 3}
    (tmp_path / f"{STUCK.replace('/', '_')}.json").write_text(json.dumps(said))
    (tmp_path / f"{WELL_UPGRADE.replace('/', '_')}.json").write_text('{"answer": "well", "causes": [], "alarm": 0, "advice": []}')
    assert adapter.absent() is None
    found = answered(adapter)
    assert found[STUCK] == Answer("slot", 2, True, ("wait",), 3)
    assert "alarm is true or false" in found[WELL_UPGRADE]
    assert found[THREE[1].name] == "it has no transcript"


@pytest.mark.parametrize("said", ["", "[]", '{"answer": "x"}', '{"answer": 1, "causes": [], "alarm": true, "advice": []}'])
def test_what_is_no_transcript_is_said(tmp_path: Path, said: str) -> None:
    (tmp_path / f"{STUCK.replace('/', '_')}.json").write_text(said)
    assert "is no transcript" in answered(Transcripts(tmp_path))[STUCK]


def test_diag_answers_with_its_card(engine: Engine) -> None:
    found = answered(Diag(engine.session))
    assert [found[case.name].alarm for case in THREE] == [True, True, False]
    assert found[STUCK].causes == 1
    assert max(map(len, found[STUCK].text.splitlines())) <= 80
    assert marked(ALL[STUCK].truth, found[STUCK]).cause == 1.0
    assert found[STUCK].advice


def test_answers_of_rest_interfaces_are_served_as_recorded_or_made_of_tables() -> None:
    loop = rest_pages(ALL[LOOP])
    (job,) = (path for path in loop if path.count("/") == 2)
    kept = json.loads((cases.REST / "broker-shrink-restart-loop" / "job_checkpoints.json").read_text())
    assert loop[f"{job}/checkpoints"] == kept
    assert loop[job]["state"] == "RESTARTING"
    async_ = rest_pages(ALL["open/ill/lab-stuck-async"])
    (job,) = (path for path in async_ if path.count("/") == 2)
    assert async_[f"{job}/checkpoints"]["counts"]["completed"] == 5
    assert async_[f"{job}/checkpoints"]["latest"]["failed"]["failure_message"] == "Checkpoint expired before completing."
    assert [vertex["tasks"] for vertex in async_[job]["vertices"]] == [{"RUNNING": 2}] * 3
    beam = rest_pages(ALL["open/ill/beam-duplicate-splits-rescaled"])  # another spelling of the files, and a job that was cancelled
    assert sum(path.count("/") == 2 for path in beam) == 1


def test_flink_mcp_server_says_that_it_is_absent(tmp_path: Path) -> None:
    assert "cannot be run" in str(FlinkMcp(str(tmp_path / "python")).absent())
    assert "is not installed" in str(FlinkMcp("/bin/false").absent())


def test_flink_mcp_server_is_asked_in_a_python_of_its_own(tmp_path: Path) -> None:
    finding = {"severity": "critical", "area": "checkpoints", "message": "failing"}
    said = {STUCK: {"jobs": [{"verdict": "critical", "findings": [finding]}], "seconds": 0.5}}
    (tmp_path / "said").write_text(json.dumps(said))
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\ncat > {tmp_path}/asked\ncat {tmp_path}/said\n")
    python.chmod(python.stat().st_mode | stat.S_IXUSR)
    found = answered(FlinkMcp(str(python)))
    assert found[STUCK] == Answer("verdict: critical\n[critical] checkpoints: failing", 1, True, (), 0.5)
    assert "no answers of Flink's REST interface" in found[WELL_UPGRADE]
    assert list(json.loads((tmp_path / "asked").read_text())) == [STUCK]
    python.write_text("#!/bin/sh\necho broken >&2; exit 3\n")
    with pytest.raises(SystemExit, match="broken"):
        answered(FlinkMcp(str(python)))


def test_its_all_clear_is_none_where_one_job_is_ill() -> None:
    well = {"verdict": "healthy", "findings": [{"severity": "info", "area": "job", "message": "No problems detected."}]}
    assert read({"jobs": [well, well], "seconds": 1}).alarm is False
    assert read({"jobs": [well, well | {"verdict": "degraded"}], "seconds": 1}).alarm is True


@pytest.mark.skipif("FLINK_MCP_PYTHON" not in os.environ, reason="flink-mcp-server has an environment of its own: FLINK_MCP_PYTHON")
def test_the_real_flink_mcp_server_answers() -> None:
    assert answered(FlinkMcp())[STUCK].text.startswith("verdict: critical")


def chosen(names: list[str]) -> tuple[list[Case], results.Results]:
    some = [ALL[name] for name in names]
    return some, results.begin(some)


def test_marks_are_kept_as_they_were_written(tmp_path: Path) -> None:
    some, found = chosen([STUCK, WELL_UPGRADE])
    for adapter in (WELL, Grep()):
        results.mark(found, adapter, some, cost=False)
    path = tmp_path / "results.jsonl"
    path.write_text(results.dump(found))
    again = results.stored(path)
    assert again == found
    for text in ("", "[]", '{"cases": 1}\n', "\xff"):
        path.write_text(text)
        assert results.stored(path) is None
    assert results.stored(tmp_path / "none") is None


def test_marks_of_an_adapter_that_cannot_run_are_kept_for_the_same_cases_only() -> None:
    some, older = chosen([STUCK])
    results.mark(older, Grep(), some, cost=False)
    _, new = chosen([STUCK])
    assert results.keep(new, older, "grep")
    assert new.marks == older.marks
    _, others = chosen([STUCK, WELL_UPGRADE])
    assert not results.keep(others, older, "grep")
    assert not results.keep(new, older, "diag")


def test_a_table_counts_ill_and_healthy_cases() -> None:
    some, found = chosen([STUCK, LOOP, "open/healthy/healthy-node-drain"])
    results.mark(found, RESTART, some, cost=False)
    (line,) = table.lines(found, found.marks)
    assert line.cells()[:4] == ["2", "2", "0", "**0.00**"]
    assert line.cells()[-1] == "1 of 1"
    assert "| restart it | 2 | 2 | 0 |" in table.tables(found)
    assert "restart it 0.00 / 100 %" in table.plot(found)


def test_the_page_and_the_plot_are_what_the_command_writes() -> None:
    """Of the cases of their day: what was added since waits for the next `make incidents`."""
    found, text = results.stored(), table.PAGE.read_text(encoding="utf-8")
    assert found is not None
    assert set(found.adapters) >= {"all is well", "restart it", "grep", "flink-mcp-server", "diag"}
    assert table.PLOT.read_text(encoding="utf-8") == table.plot(found)
    for made in (table.tables(found), table.losses(found), table.first_runs()):
        assert made in text
    if found.cases == results.digest(ALL.values()):
        assert text == table.page(text, found, list(ALL.values()))


def test_first_runs_are_of_the_labels_as_they_are() -> None:
    sets = json.loads(table.FIRST_RUNS.read_text())
    assert table.first_runs_text(sets) == table.FIRST_RUNS.read_text()
    for one in sets:
        first, last = map(int, one["cases"].split("-"))
        mine = [case.truth for case in ALL.values() if case.split == "told" and first <= int(case.path.name[:3]) <= last]
        ill = [truth for truth in mine if not truth.healthy]
        of = (sum(len(truth.decisive) for truth in ill), sum(len(truth.entities) for truth in ill), len(ill))
        assert of == (one["words"][1], one["entities"][1], one["whole"][1]), one["cases"]
        healthy = len(mine) - len(ill)
        assert one["false_alarms"] is None or one["false_alarms"][1] == healthy
        assert one["again"] is None or one["again"][4] == healthy


def test_the_readme_has_the_sums_of_first_runs() -> None:
    sums = table.first_sums()
    text = (cases.ROOT / "README.md").read_text(encoding="utf-8")
    assert f"all decisive words of {sums['whole'][0]}, and {sums['words'][0]} of the {sums['words'][1]}" in text
    assert f"{sums['whole'][1]} ill cases" in text


def test_false_alarms_of_a_first_run_are_as_noted_or_of_the_same_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = {
        "cases": "1-2",
        "by": "a",
        "labels": "c1",
        "noted_in": "c2",
        "product": "c0",
        "words": [1, 3],
        "entities": [2, 3],
        "whole": [0, 1],
    }
    runs = ([1, 2, 0, 1, 4], [2, 2, 0, 0, 4], [2, 2, 0, 0, 4])
    sets = [one | {"false_alarms": noted, "again": again} for noted, again in zip((None, None, [2, 4]), runs, strict=True)]
    monkeypatch.setattr(table, "FIRST_RUNS", tmp_path / "first_runs.json")
    table.FIRST_RUNS.write_text(table.first_runs_text(sets))
    same, other, noted, whole = table.first_runs().splitlines()[2:]
    assert "| 1 of 4 | c1 | c2 | with c0: the same |" in same
    assert "| not kept | c1 | c2 | with c0: 2, 2, 0 |" in other
    assert "| 2 of 4 |" in noted
    assert "| 3 of 9 | 6 of 9 | 0 of 3 | 3 of 8 |" in whole


def test_a_first_run_without_its_commit_is_said() -> None:
    with pytest.raises(SystemExit, match="git has no 0000000 here"):
        first_run.again({"cases": "1-2", "product": "0000000", "labels": "0000000"})
    with pytest.raises(SystemExit) as ended:
        first_run.main(["7-8"])
    assert ended.value.code == 2


def test_a_choice_is_printed_and_nothing_written(capsys: pytest.CaptureFixture[str]) -> None:
    before = [path.read_bytes() for path in (results.RESULTS, table.PAGE, table.PLOT)]
    assert command.main(["--only", STUCK, "--adapter", "grep", "--show"]) == 0
    said = capsys.readouterr()
    assert "| grep | 1 | 1 |" in said.out
    assert f"== {STUCK}: grep" in said.err
    assert [path.read_bytes() for path in (results.RESULTS, table.PAGE, table.PLOT)] == before


@pytest.mark.parametrize(("arguments", "said"), [(["--adapter", "oracle"], "there are: all is well"), (["--only", "nowhere"], "no case")])
def test_a_choice_of_nothing_is_an_error(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        command.main(arguments)
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


def test_an_adapter_without_marks_is_exit_code_1(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("FLINK_MCP_PYTHON", "/bin/false")
    assert command.main(["--only", STUCK, "--adapter", "flink-mcp-server"]) == 1
    assert "flink-mcp-server is not run." in capsys.readouterr().err
