"""A number that is counted from fewer rows than there were lines says so: of one incident there are not two numbers of failures."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from analyzers.diagnosis.diagnose import judge
from analyzers.logs.signatures import SIGNATURES
from analyzers.readers.log_scan import plan, scan

if TYPE_CHECKING:
    from cli.engine.spark import Engine

FIXTURES = Path(__file__).parent.parent / "fixtures"
POISON = FIXTURES / "incidents" / "ill" / "poison-record-deserialiser" / "raw"
IN_A_ROW = FIXTURES / "CKP101" / "fires-in-a-row" / "raw"
SCATTERED = FIXTURES / "CKP101" / "fires-scattered" / "raw"


@pytest.mark.parametrize(
    ("fewer", "keep", "said"),
    [
        ("", (0, 0), {"RST101": "failed 9 times", "RST202": "; 9 failures in 9 attempts"}),
        ("task-failed", (3, 1), {"RST101": "failed 9 times", "RST202": "; 9 failures in 9 attempts"}),  # the counts tell the rest
        ("job-state", (6, 1), {"RST101": "failed at least "}),
    ],
)
def test_what_was_counted_from_a_part_says_so(fewer: str, keep: tuple[int, int], said: dict[str, str], engine: Engine) -> None:
    few = [replace(signature, keep=keep) if signature.id == fewer else signature for signature in SIGNATURES]
    found = scan(plan([str(POISON)]), None, few)
    report = judge(found, engine.session, command="triage", version="test")
    told = {finding.code: finding.says for finding in report.findings}
    for code, words in said.items():
        assert words in told[code]


def test_of_unkept_failures_that_were_another_fault_nothing_is_said(tmp_path: Path, engine: Engine) -> None:
    """The fifth failure, whose lines are not kept, was a refused connection: eight records of a kind were counted, not nine."""
    cause = "java.io.IOException: Failed to deserialize consumer record due to"
    for log in POISON.iterdir():
        parts = log.read_text().split(cause)
        (tmp_path / log.name).write_text(
            cause.join(parts[:5]) + "java.net.ConnectException: refused" * (len(parts) > 5) + cause.join(parts[5:])
        )
    few = [replace(signature, keep=(3, 1)) if signature.id == "task-failed" else signature for signature in SIGNATURES]
    report = judge(scan(plan([str(tmp_path)]), None, few), engine.session, command="triage", version="test")
    told = {finding.code: finding.says for finding in report.findings}
    assert "failed 9 times" in told["RST101"]
    assert "; at least 4 failures in at least 4 attempts" in told["RST202"]


@pytest.mark.parametrize(
    ("fewer", "keep", "said"),
    [
        ({"checkpoint-expired", "checkpoint-failed"}, (2, 1), "17 checkpoints in a row expired"),  # 18 in all: the counts tell when
        ({"checkpoint-expired", "checkpoint-failed"}, (8, 5), "At least 12 checkpoints in a row"),  # --since may cut a minute apart
        ({"checkpoint-failed"}, (2, 1), "17 checkpoints in a row expired"),
    ],
)
def test_checkpoints_in_a_row_are_counted_where_they_are_no_rows(fewer: set[str], keep: tuple[int, int], said: str, engine: Engine) -> None:
    few = [replace(signature, keep=keep) if signature.id in fewer else signature for signature in SIGNATURES]
    report = judge(scan(plan([str(IN_A_ROW)]), None, few), engine.session, command="triage", version="test")
    (finding,) = (f for f in report.findings if f.code == "CKP101")
    assert finding.says.startswith(said)
    assert "the first at 2026-11-20 20:29:26 UTC" in finding.says or said.startswith("At least 12")


def test_checkpoints_that_completed_between_count_where_they_are_no_rows(engine: Engine) -> None:
    few = [replace(signature, keep=(1, 12)) if signature.id == "checkpoint-completed" else signature for signature in SIGNATURES]
    report = judge(scan(plan([str(SCATTERED)]), None, few), engine.session, command="triage", version="test")
    (finding,) = (f for f in report.findings if f.code == "CKP101")
    assert finding.says.startswith("7 of 57 checkpoints expired after 600 s, each by itself")
