"""`diag checkpoint-inspect` as it is typed: listing, JSON, dump, exit codes; what rules make of it is in test_judging.py."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from analyzers.readers.checkpoint_files import read_checkpoints
from analyzers.tables.evidence import Evidence
from cli.options.shared import CodeFilter, RunOptions
from cli.runs.checkpoint_inspect import CHECKPOINT_INSPECT
from cli.runs.run import Run, nothing_live
from tests import command_line

RECORDED = Path(__file__).parent.parent / "fixtures" / "checkpoints" / "recorded"
JOB = RECORDED / "healthy-rolling-broker-restart" / "101d408fcf85d30d51765a632da32410"
BEAM = RECORDED / "beam-duplicate-splits-rescaled"


def diag(*arguments: str) -> tuple[int, str, str]:
    return command_line.diag("checkpoint-inspect", "--facts-only", *arguments)


def dumped(*arguments: str) -> list[dict[str, Any]]:
    code, out, _ = diag("--dump", *arguments)
    assert code == 0
    return [json.loads(line) for line in out.splitlines()]


def test_dump_of_one_checkpoint() -> None:
    rows = dumped(str(JOB / "chk-17"))
    (file,) = [row for row in rows if row["kind"] == "file"]
    assert {key: file[key] for key in ("version", "checkpoint_id", "bytes", "unread_bytes")} == {
        "version": 6,
        "checkpoint_id": 17,
        "bytes": (JOB / "chk-17" / "_metadata").stat().st_size,
        "unread_bytes": 0,
    }
    operators = {row["name"]: row for row in rows if row["kind"] == "operator"}
    source = operators["Source: orders"]
    assert (source["id"], source["uid"], source["parallelism"], source["max_parallelism"]) == (
        "bc4197a480c92c793190a9f8c0afc54c",
        "orders",
        4,
        128,
    )
    splits = [row for row in rows if row["kind"] == "split" and row["role"] == "reader"]
    assert {(row["operator"], row["subtask"], row["topic"], row["partition"], row["offset"]) for row in splits} == {
        (source["id"], 0, "orders", 1, 2270),
        (source["id"], 1, "orders", 2, 2270),
        (source["id"], 2, "orders", 3, 2271),
        (source["id"], 3, "orders", 0, 2270),
    }
    assert rows[-1]["kind"] == "source"


def test_dump_is_stable_and_exact(tmp_path: Path) -> None:
    path = RECORDED.parent / "written" / "v6"
    assert diag("--dump", str(path)) == diag("--dump", str(path))
    rows = dumped(str(path))
    assert [row["checkpoint_id"] for row in rows if row["kind"] == "file"] == [9223372036854775807]
    names = [row["name"] for row in rows if row["kind"] == "operator"]
    assert names == ["näme😀", None, "done"]
    assert {"kind": "reference", "storage": "file", "name": "hdfs://nn/sp/x", "start": 0, "size": 5_000_000_000}.items() <= next(
        row for row in rows if row["kind"] == "reference" and row["storage"] == "file"
    ).items()


def test_dump_of_structured_streaming() -> None:
    rows = dumped(str(RECORDED / "spark-poison-batch"))
    assert [(row["batch"], row["committed"]) for row in rows if row["kind"] == "batch"][-1] == (4, False)
    inputs = [row["input"] for row in rows if row["kind"] == "input" and row["log_offset"] == 4]
    assert inputs == ["file:///srv/jobs/spark/runs/orders/in/part-003.json"]


def test_every_dump_line_is_json_whatever_the_names(tmp_path: Path) -> None:
    directory = tmp_path / 'quote"back\\slash\nline'
    shutil.copytree(JOB / "chk-17", directory)
    assert {row["path"] for row in dumped(str(directory)) if row["kind"] == "file"} == {f"{directory}/_metadata"}


def test_json_has_the_tables_as_facts() -> None:
    code, out, _ = diag("-o", "json", str(BEAM))
    report = json.loads(out)
    assert code == 0
    assert report["format"] == 1
    assert {"checkpoint_files", "operator_states", "subtask_states", "splits"} <= set(report["facts"])
    assert len(report["facts"]["checkpoint_files"]) == 10


def test_listing_ends_with_the_newest_job_and_the_audit(tmp_path: Path) -> None:
    shutil.copytree(BEAM, tmp_path / "cp")
    for path in tmp_path.glob("cp/*/chk-*/_metadata"):
        moment = 1_700_000_000 + int(path.parent.name.removeprefix("chk-"))
        os.utime(path, (moment, moment))
    code, out, _ = diag("-o", "terminal", str(tmp_path))
    assert code == 0
    assert "10 checkpoints of 2 jobs" in out
    assert out.index("Job e254632b") < out.index("Job 221a4d7d") < out.index("Splits:")
    last = out[out.index("Splits:") :]
    last = " ".join(last.split())
    assert "4 splits of operator b0f2f3cfc2bed1f5f4eec8c92a2e307e held twice in checkpoint 10" in last
    assert "(since 7): splitIndex=2 by subtasks 0 and 2 at 68 and 27" in last


def test_listing_of_a_healthy_job_and_of_a_query() -> None:
    _, out, _ = diag("-o", "terminal", str(JOB))
    assert "orders-3  2394  (3/4)   Source: orders  kafka" in out
    assert "held twice" not in out
    _, out, _ = diag("-o", "terminal", str(RECORDED / "spark-poison-batch"))
    assert "batch 4 was planned and is not committed" in out


def test_listing_fits_80_columns_but_for_paths_and_says_what_to_restore_from() -> None:
    for path in (JOB, BEAM, RECORDED / "spark-poison-batch", RECORDED / "stuck-async-barrier"):
        _, out, _ = diag("-o", "terminal", str(path))
        for line in out.splitlines():
            assert len(line) <= 80 or str(RECORDED) in line, line
    _, out, _ = diag("-o", "terminal", str(JOB))
    assert f"newest whole: 18 (-s {JOB}/chk-18)" in out
    _, out, _ = diag("-o", "terminal", str(RECORDED / "stuck-async-barrier"))
    assert "newest whole: none of these" in out
    assert "positions cannot be shown" in out


def test_many_splits_are_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cli.renderers.checkpoint_listing._MOST_SPLITS", 3)
    _, out, _ = diag("-o", "terminal", str(JOB))
    assert "orders: 4 splits in 4 subtasks of Source: orders, next offsets 2393 to 2394" in " ".join(out.split())


def test_damage_is_shown_and_strict_fails(tmp_path: Path) -> None:
    copy = tmp_path / "chk-17"
    shutil.copytree(JOB / "chk-17", copy)
    (copy / "_metadata").write_bytes((copy / "_metadata").read_bytes()[:25000])
    code, out, _ = diag("-o", "terminal", str(copy))
    assert code == 0
    assert "17 is damaged at byte" in out
    code, _, err = diag("--strict", str(copy))
    assert code == 3
    assert "expected" in err
    assert "--strict" in err


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        ((), 2, "nothing to look at"),
        (("/no/such/place",), 2, "/no/such/place"),
        (("--rebase", "nonsense", str(JOB)), 2, "OLD=NEW"),
        (("-o", "yaml", str(JOB)), 2, "yaml"),
        ((__file__,), 3, ""),
        (("--dump", __file__), 3, ""),
    ],
)
def test_exit_codes(arguments: tuple[str, ...], code: int, says: str) -> None:
    found, _, err = diag(*arguments)
    assert found == code
    assert says in err


def test_no_jvm_and_no_pyspark() -> None:
    program = (
        "import sys; from cli.main import run; "
        f"run(['checkpoint-inspect', '--dump', {str(JOB)!r}]); "
        f"run(['checkpoint-inspect', '--facts-only', '-o', 'terminal', {str(JOB)!r}]); "
        "sys.exit(any(name.split('.')[0] in ('pyspark', 'py4j', 'pandas', 'pyarrow', 'numpy') for name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60, check=False, cwd=Path(__file__).parent.parent)
    assert done.returncode == 0, done.stderr.decode()


@pytest.mark.parametrize(
    ("path", "judged", "left_out"),
    [
        (JOB, {"CKP304", "CKP305", "CKP211", "SPL104", "SPL105", "CKP202"}, {"SPK103", "SPK108", "CKP302", "LAG101"}),
        (RECORDED / "spark-poison-batch", {"SPK103", "SPK104", "SPK107"}, {"CKP304", "CKP202", "SPK108", "SPK101", "SPL104"}),
    ],
)
def test_rules_of_what_was_not_given_are_left_out(path: Path, judged: set[str], left_out: set[str]) -> None:
    found = Evidence(read_checkpoints([str(path)]))
    codes = [rule.code for rule in Run(CHECKPOINT_INSPECT, nothing_live, RunOptions(), "test")._rules(found)]
    assert judged <= set(codes)
    assert not left_out & set(codes)
    asked = Run(CHECKPOINT_INSPECT, nothing_live, RunOptions(only=(CodeFilter("LAG101"),)), "test")._rules(found)
    assert "LAG101" in [rule.code for rule in asked]


def test_with_nothing_found_every_rule_about_checkpoints_says_so() -> None:
    codes = {rule.code for rule in Run(CHECKPOINT_INSPECT, nothing_live, RunOptions(), "test")._rules(Evidence({"sources": []}))}
    assert {"CKP304", "SPK103"} <= codes
