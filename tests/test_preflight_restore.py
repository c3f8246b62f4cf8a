"""`diag preflight restore` on savepoints that a real job wrote, and how a run ends where it is asked about something else."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from analyzers.bundle.read import read_bundle
from analyzers.checkpoints.cursor import DamagedBytes
from analyzers.checkpoints.handles import NamedState
from analyzers.checkpoints.sink_committables import COMMITTER_STATE, Transaction, transactions
from analyzers.derived.planned.restore.questions import restore_answers
from analyzers.readers.checkpoint_files import read_checkpoints
from tests.command_line import diag

FIXTURES = Path(__file__).parent.parent / "fixtures"
RECORDED = FIXTURES / "checkpoints" / "recorded" / "lab-restore"
SAVEPOINT = RECORDED / "savepoint-d4d858-0598a407de3b"
EXACTLY_ONCE = RECORDED / "savepoint-4aa847-8ad2880fa3e0"
WITHOUT_WINDOWS = RECORDED / "339a9c4568d393320d4c54df351ecf25"
WINDOW = "b0c747864a81e9c205c611733c13bddb"
NOWHERE = "127.0.0.1:1"


def _asked(*arguments: str) -> dict[str, dict[str, Any]]:
    """Rows of ``preflight`` by question; the worst where there are two."""
    _, out, err = diag("preflight", "restore", *arguments, "--facts-only", "-o", "json")
    assert out, err
    return {row["question"]: row for row in reversed(json.loads(out)["facts"]["preflight"])}


def test_a_savepoint_against_a_checkpoint_of_a_program_without_one_operator() -> None:
    said = _asked(str(SAVEPOINT), "--against", str(WITHOUT_WINDOWS), "--to", "2.3")
    assert {question: row["answer"] for question, row in said.items()} == {
        "complete": "goes", "state-files": "goes", "operators": "breaks", "new-operators": "goes", "max-parallelism": "unknown",
        "version": "goes", "claim-mode": "goes", "offsets": "unknown",
    }  # fmt: skip
    assert said["operators"]["operators"] == ["newest-order"]
    assert WINDOW in said["operators"]["says"]


@pytest.mark.parametrize(
    ("plan", "question", "answer", "words"),
    [
        ("plan.json", "operators", "unknown", "2 operators are chained behind"),
        ("plan-without-windows.json", "operators", "unknown", "newest-order"),
        ("plan-without-windows-unchained.json", "operators", "breaks", WINDOW),
        ("plan-other-uid-unchained.json", "operators", "breaks", "totals"),
        ("plan-200-subtasks.json", "max-parallelism", "breaks", "200 subtasks"),
    ],
)
def test_a_savepoint_against_a_plan(plan: str, question: str, answer: str, words: str) -> None:
    row = _asked(str(SAVEPOINT), "--job-graph", str(RECORDED / plan))[question]
    assert (row["answer"], words in row["says"]) == (answer, True), row["says"]


def test_the_uid_that_was_changed_is_to_be_given_back() -> None:
    row = _asked(str(SAVEPOINT), "--job-graph", str(RECORDED / "plan-other-uid-unchained.json"))["operators"]
    assert row["todo"].startswith('Give totals its old id back: uid("totals")')


def test_a_state_file_that_was_deleted(tmp_path: Path) -> None:
    copy = tmp_path / SAVEPOINT.name
    shutil.copytree(SAVEPOINT, copy)
    victim = next(path for path in sorted(copy.iterdir()) if path.name != "_metadata")
    size = victim.stat().st_size
    victim.unlink()
    row = _asked(str(copy))["state-files"]
    assert (row["answer"], row["files"], row["operators"]) == ("breaks", [victim.name], ["Source: orders"])
    victim.write_bytes(b"x" * (size - 1))
    assert _asked(str(copy))["state-files"]["answer"] == "breaks"
    victim.write_bytes(b"x" * size)
    assert _asked(str(copy))["state-files"]["answer"] == "goes"


def test_a_metadata_that_was_cut(tmp_path: Path) -> None:
    whole = (SAVEPOINT / "_metadata").read_bytes()
    (tmp_path / "_metadata").write_bytes(whole[:1500])
    said = _asked(str(tmp_path), "--against", str(SAVEPOINT))
    assert {row["answer"] for question, row in said.items() if question == "complete"} == {"breaks"}
    assert "goes" not in {row["answer"] for row in said.values()}


# the program as a JobManager has it ---------------------------------------------------------------------------------------

JOBMANAGER = RECORDED / "jobmanager"
JOB = "d4d85828474a8fc4c07e4da7d1b2c3c2"


def test_a_savepoint_against_the_job_that_runs() -> None:
    said = _asked(str(SAVEPOINT), "--flink-rest", str(JOBMANAGER))
    assert {question: said[question]["answer"] for question in ("max-parallelism", "version", "operators", "claim-mode")} == {
        "max-parallelism": "goes", "version": "goes", "operators": "unknown", "claim-mode": "goes",
    }  # fmt: skip
    assert "enrich-profile" in said["operators"]["says"]


def test_a_checkpoint_of_a_job_that_runs_is_deleted_by_it() -> None:
    row = _asked(str(RECORDED / JOB), "--flink-rest", str(JOBMANAGER), "--job", "orders-enrichment")["claim-mode"]
    assert (row["answer"], f"job {JOB}, which is RUNNING" in row["says"]) == ("breaks", True)


def _jobmanager(place: Path, jobs: list[dict[str, Any]]) -> str:
    shutil.copytree(JOBMANAGER, place)
    (place / "jobs_overview.json").write_text(json.dumps({"jobs": jobs}))
    return str(place)


def test_which_job_is_meant_is_to_be_said_where_several_run(tmp_path: Path) -> None:
    jobs = [{"jid": JOB, "name": "orders", "state": "RUNNING"}, {"jid": "1" * 32, "name": "billing", "state": "RUNNING"}]
    rest = _jobmanager(tmp_path / "two", jobs)
    code, _, err = diag("preflight", "restore", str(SAVEPOINT), "--flink-rest", rest, "--facts-only")
    assert (code, "2 jobs are at" in err, "billing, orders" in err) == (2, True, True), err
    assert _asked(str(SAVEPOINT), "--flink-rest", rest, "--job", "orders")["max-parallelism"]["answer"] == "goes"
    code, out, _ = diag("preflight", "restore", str(SAVEPOINT), "--flink-rest", rest, "--job", "billing", "--facts-only")
    assert (code, "does not show job" in out) == (3, True), out
    code, _, err = diag("preflight", "restore", str(SAVEPOINT), "--flink-rest", rest, "--job", "payments", "--facts-only")
    assert (code, "knows no job payments" in err) == (2, True), err


def test_a_job_that_ended_is_no_other_than_the_one_that_runs(tmp_path: Path) -> None:
    jobs = [{"jid": JOB, "name": "orders", "state": "RUNNING"}, {"jid": "1" * 32, "name": "orders", "state": "FAILED"}]
    assert _asked(str(SAVEPOINT), "--flink-rest", _jobmanager(tmp_path / "two", jobs))["max-parallelism"]["answer"] == "goes"


# what a sink's committer holds --------------------------------------------------------------------------------------------


def test_the_transactions_of_a_savepoint() -> None:
    rows = read_checkpoints([str(EXACTLY_ONCE)])["pending_transactions"]
    found = [(row["subtask"], row["transactional_id"], row["producer"], row["producer_epoch"], row["of_checkpoint"]) for row in rows]
    assert found == [(0, "orders-enrichment-0-4", 6, 0, 4), (1, "orders-enrichment-1-4", 7, 0, 4)]


def test_a_committer_whose_file_is_away_is_said(tmp_path: Path) -> None:
    shutil.copy(EXACTLY_ONCE / "_metadata", tmp_path)
    rows = read_checkpoints([str(tmp_path)])["pending_transactions"]
    assert [row["transactional_id"] for row in rows] == [None, None]
    assert all("is not here" in row["unread"] for row in rows)
    row = _asked(str(tmp_path))["transactions"]
    assert (row["answer"], "cannot be read" in row["says"]) == ("unknown", True)


def _stream() -> tuple[bytes, NamedState]:
    """The state of one committer, as CommitterOperator wrote it, and where its element begins."""
    for path in sorted(EXACTLY_ONCE.iterdir()):
        held = path.read_bytes()
        if path.name != "_metadata" and COMMITTER_STATE.encode() in held:
            at = held.index(bytes.fromhex("b91f252c")) - 12
            return held, NamedState(COMMITTER_STATE, "split-distribute", (at,))
    raise AssertionError("no committer's state is recorded")


def test_committables_of_one_subtask() -> None:
    held, state = _stream()
    (found,) = transactions(held, [state])
    assert found in (Transaction(4, "orders-enrichment-0-4", 6, 0), Transaction(4, "orders-enrichment-1-4", 7, 0))


def test_flink_1_wrote_no_numbers_of_subtasks() -> None:
    """CommittableCollectorSerializer before 2.0: both inner lists have version 0, and their items begin with what follows the numbers."""
    held, state = _stream()
    (found,) = transactions(held, [state])
    request = held[held.index(bytes.fromhex("00000001" + "00000021")) : -8]  # the committable, its retries and its state

    def listed(version: int, item: bytes) -> bytes:
        return version.to_bytes(4, "big") + (1).to_bytes(4, "big") + len(item).to_bytes(4, "big") + item

    subtask = listed(0, request) + (1).to_bytes(4, "big") + bytes(8)
    body = bytes.fromhex("b91f252c") + listed(0, (4).to_bytes(8, "big") + listed(0, subtask))
    element = (2).to_bytes(4, "big") + len(body).to_bytes(4, "big") + body
    stream = (5).to_bytes(4, "big") + len(element).to_bytes(4, "big") + element
    assert transactions(stream, [state._replace(offsets=(4,))]) == [found]


@pytest.mark.parametrize("cut", [1, 9, 40, 80])
def test_committables_that_are_cut_are_damaged(cut: int) -> None:
    held, state = _stream()
    with pytest.raises(DamagedBytes):
        transactions(held[:-cut], [state])


@pytest.mark.parametrize("at", [4, 8, 12, 20])
def test_other_committables_are_not_taken_for_transactions(at: int) -> None:
    """A version, a length or the magic number that is another one."""
    held, state = _stream()
    (start,) = state.offsets
    changed = bytearray(held)
    changed[start + at] ^= 0x41
    with pytest.raises(DamagedBytes):
        transactions(bytes(changed), [state])


# how a run ends -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ([], 2, "nothing to look at"),
        (["/nowhere/savepoint-1"], 2, "no such file or directory"),
        ([str(FIXTURES / "README.md")], 3, "neither a _metadata file nor a tar archive"),
        ([str(FIXTURES / "lab")], 3, "no checkpoint"),
        ([str(FIXTURES / "checkpoints/recorded/spark-poison-batch")], 3, "Spark Structured Streaming"),
        ([str(FIXTURES / "checkpoints/recorded/broker-shrink-restart-loop")], 2, "3 checkpoints are at"),
        ([str(SAVEPOINT), "--job-graph", str(FIXTURES / "README.md")], 2, "it is no JSON"),
        ([str(SAVEPOINT), "--job-graph", str(FIXTURES)], 2, "it is a directory"),
        ([str(SAVEPOINT), "--job-graph", str(FIXTURES / "lab" / "healing.json")], 2, "no nodes of a Flink program"),
        ([str(SAVEPOINT), "--job", "orders"], 2, "--flink-rest"),
        ([str(SAVEPOINT), "--flink-rest", "ftp://x"], 2, ""),
        ([str(SAVEPOINT), "--flink-rest", f"http://{NOWHERE}"], 3, "refuses the connection"),
        ([str(SAVEPOINT), "-b", NOWHERE, "--timeout", "2s"], 3, "refused"),
        ([str(SAVEPOINT), "--against", str(FIXTURES / "README.md")], 3, "neither a _metadata file"),
        ([str(SAVEPOINT), "--against", "/nowhere"], 2, "no such file or directory"),
        ([str(SAVEPOINT), "--bundle", str(FIXTURES / "PRE102" / "quiet")], 2, "a bundle is judged by itself"),
        ([str(SAVEPOINT), "--rebase", "x"], 2, "OLD=NEW"),
        ([str(SAVEPOINT), "--to", "newest"], 2, "--to newest is no version"),
        ([str(SAVEPOINT), "--beam-version", "2"], 2, "--beam-version 2 is no version"),
        ([str(SAVEPOINT), "--max-parallelism", "0"], 2, ""),
        ([str(SAVEPOINT), "--claim-mode", "mine"], 2, ""),
    ],
)
def test_what_cannot_be_asked(arguments: list[str], code: int, words: str) -> None:
    ended, out, err = diag("preflight", "restore", *arguments, "--facts-only", "-o", "json")
    assert (ended, words in out + err, "defect" in err) == (code, True, False), out + err


def test_a_directory_without_the_right_to_read_it(tmp_path: Path) -> None:
    """As root the right is not missing; then the directory is what is not there."""
    place = tmp_path / "chk-7"
    place.mkdir()
    said = _asked(str(place))["complete"]
    assert (said["answer"], "no _metadata" in said["says"]) == ("breaks", True)


def test_a_dead_broker_leaves_the_other_answers() -> None:
    _, out, _ = diag("preflight", "restore", str(SAVEPOINT), "-b", NOWHERE, "--timeout", "2s", "--facts-only", "-o", "json")
    said = {row["question"]: row for row in json.loads(out)["facts"]["preflight"]}
    assert said["complete"]["answer"] == "goes"
    assert (said["offsets"]["answer"], "has answered" in said["offsets"]["says"]) == ("unknown", True)


def test_a_redacted_bundle_gives_the_same_answers(tmp_path: Path) -> None:
    own = ("--to", "2.3", "--max-parallelism", "128")
    live = _asked(str(SAVEPOINT), "--against", str(WITHOUT_WINDOWS), *own, "--save", str(tmp_path / "saved"))
    kept = _asked("--bundle", str(tmp_path / "saved"), *own)
    assert {question: row["answer"] for question, row in kept.items()} == {question: row["answer"] for question, row in live.items()}
    assert str(RECORDED) not in "".join(path.read_text() for path in (tmp_path / "saved").glob("*.jsonl"))


@pytest.mark.jvm
@pytest.mark.parametrize(("bundle", "code"), [("PRE102/fires-played-operator-removed", 1), ("PRE102/quiet-played-same-program", 0)])
def test_what_breaks_makes_the_exit_code_1(bundle: str, code: int) -> None:
    """Only the rules of this question judge: those of brokers that go are not called clean."""
    ended, out, err = diag("preflight", "restore", "--bundle", str(FIXTURES / bundle), "-o", "json")
    assert ended == code, err
    report = json.loads(out)
    assert {finding["code"] for finding in report["findings"]} == {"PRE102", "PRE902"} if code else {"PRE902"}
    assert set(report["clean"]) | {finding["code"] for finding in report["findings"]} == {"PRE102", "PRE902"}
    assert report["command"] == "preflight restore"


# what was played ----------------------------------------------------------------------------------------------------------

TRIALS = json.loads((FIXTURES / "lab" / "restore_trials.json").read_text(encoding="utf-8"))["trials"]
PLAYED = {trial["name"]: trial for trial in TRIALS}
_RESTORED = [trial for trial in TRIALS if trial["flink"] or trial["came_up"]]


@pytest.mark.parametrize("trial", _RESTORED, ids=lambda trial: str(trial["name"]))
def test_what_was_said_before_is_what_flink_said(trial: dict[str, Any]) -> None:
    """The answer was given before the restore was made: it breaks where Flink failed or records were lost, and nowhere else."""
    failed = not trial["came_up"] or bool(trial["lost"]) or "out of range" in trial["flink"]
    assert ("breaks" in trial["answers"].values()) == failed, trial


@pytest.mark.parametrize(
    ("name", "question", "flink"),
    [
        ("checkpoint-of-a-running-job", "claim-mode", "Cannot find checkpoint or savepoint file/directory"),
        ("changelog-no-claim", "claim-mode", "does not support enforcing a full snapshot"),
        ("operator-removed", "operators", "because the operator is not available in the new program"),
        ("uid-changed", "operators", "because the operator is not available in the new program"),
        ("max-parallelism-set", "max-parallelism", "Max parallelism mismatch between checkpoint/savepoint state and new program"),
        ("parallelism-above-max", "max-parallelism", "is lower than the configured parallelism (200)"),
        ("state-file-deleted", "state-files", "FileNotFoundException"),
        ("metadata-truncated", "complete", "Exception"),
        ("metadata-missing", "complete", "_metadata"),
        ("incremental-without-shared", "state-files", "FileNotFoundException"),
        ("offsets-deleted", "offsets", "is out of range for partition orders-"),
        ("topic-recreated", "offsets", "is out of range for partition orders-"),
    ],
)
def test_it_broke_for_the_reason_that_was_named(name: str, question: str, flink: str) -> None:
    trial = PLAYED[name]
    assert trial["answers"][question] == "breaks"
    assert flink in trial["flink"], trial["flink"]
    for operator in {word for word in trial["flink"].replace(".", " ").split() if len(word) == 32 and not word.strip("0123456789abcdef")}:
        assert question != "operators" or operator in trial["says"][question]


HEALED = (
    "same-program", "claim-mode-legacy", "operator-removed-allowed", "uid-given-back", "max-parallelism-as-it-was",
    "state-file-copied-back", "incremental", "partitions-added", "transactions-committed", "changelog-claim",
)  # fmt: skip


@pytest.mark.parametrize("name", HEALED)
def test_what_was_healed_goes(name: str) -> None:
    assert "breaks" not in PLAYED[name]["answers"].values()
    assert PLAYED[name]["came_up"]
    assert not PLAYED[name]["lost"]


def test_transactions_were_open_then_aborted_and_their_records_lost() -> None:
    assert "open still" in PLAYED["transactions-open"]["says"]["transactions"]
    assert PLAYED["transactions-aborted"]["answers"]["transactions"] == "breaks"
    assert PLAYED["transactions-aborted"]["came_up"]  # Flink does not fail: nothing but the missing records shows it
    assert PLAYED["transactions-aborted"]["lost"] > 0


_KEPT = sorted(path for code in ("PRE102", "PRE902") for path in (FIXTURES / code).glob("*-played-*"))


@pytest.mark.parametrize("bundle", _KEPT, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_the_kept_evidence_gives_the_answers_of_then(bundle: Path) -> None:
    """The bundles that were saved before each step, judged by the code of today."""
    name = bundle.name.partition("-played-")[2]
    answers = {row["question"]: row["answer"] for row in reversed(restore_answers(read_bundle(bundle).tables))}
    assert answers == PLAYED[name]["answers"]


def test_the_evidence_of_some_steps_is_kept() -> None:
    assert len(_KEPT) >= 8
