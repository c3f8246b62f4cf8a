"""Errors that no signature knows: said beside an all-clear, and few are kept of each file where there are many files."""

from __future__ import annotations

from pathlib import Path

import pytest

from analyzers.diagnosis.diagnose import judge
from analyzers.logs.scan.selection import EDGE_KEEP, EDGE_ROWS, edge_keep
from analyzers.readers.log_scan import plan, scan

LINE = "2026-11-01 10:00:{second:02d},000 ERROR com.acme.Validator [] - Order {order} has no price list\n"


def _no_session() -> object:
    raise AssertionError("Spark was asked")


def test_errors_of_one_shape_are_noticed_as_one(tmp_path: Path) -> None:
    (tmp_path / "taskmanager.log").write_text("".join(LINE.format(second=second, order=second) for second in range(40)))
    report = judge(scan(plan([str(tmp_path)])), _no_session, command="triage", version="0")  # type: ignore[arg-type]
    (row,) = report.noticed
    assert not report.findings
    assert (row.signature, row.count, row.says, row.is_open) == ("error-logged", 40, "Order # has no price list", True)
    assert (row.first, row.last) == (row.evidence[0].at, row.evidence[-1].at)
    assert [one.line for one in row.evidence] == [1, 2, 3, 4, 40]


def test_where_no_error_is_none_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "taskmanager.log").write_text(LINE.format(second=1, order=2).replace("ERROR", "INFO"))
    report = judge(scan(plan([str(tmp_path)])), _no_session, command="triage", version="0")  # type: ignore[arg-type]
    assert report.noticed == []


def test_an_error_below_the_threshold_of_its_rule_is_noticed(tmp_path: Path) -> None:
    """One refused write is no fault yet; the report has to have it all the same."""
    (tmp_path / "server.log").write_text(
        "[2026-11-01 10:00:00,000] ERROR [ReplicaManager broker=1] Error processing append operation on partition orders-0"
        " (kafka.server.ReplicaManager)\norg.apache.kafka.common.errors.NotEnoughReplicasException: The size of the current ISR Set(1) is"
        " insufficient to satisfy the min.isr requirement of 2 for partition orders-0\n"
    )
    report = judge(scan(plan([str(tmp_path)])), _no_session, command="triage", version="0", rules=[])  # type: ignore[arg-type]
    (row,) = report.noticed
    assert (row.signature, row.code, row.level, row.is_open) == ("not-enough-replicas", "BRK216", "ERROR", True)
    assert (row.subject["topic"], row.subject["partition"]) == ("orders", 0)


@pytest.mark.parametrize(
    ("line", "foreign"),
    [
        ("2026-11-01 10:00:00,000 ERROR org.apache.flink.kubernetes.Watcher [] - went wrong\n", False),
        ("2026-11-01 10:00:00,000 ERROR com.acme.Watcher [] - went wrong\n", True),
    ],
)
def test_a_logger_of_ours_is_recognised_whatever_it_says(line: str, foreign: bool, tmp_path: Path) -> None:
    (tmp_path / "app.log").write_text(line)
    report = judge(scan(plan([str(tmp_path)])), _no_session, command="triage", version="0", rules=[])  # type: ignore[arg-type]
    assert any("none of the files looks like" in note for note in report.notes) is foreign


@pytest.mark.parametrize(
    ("files", "kept"), [(0, EDGE_KEEP), (1, EDGE_KEEP), (24, EDGE_KEEP), (100, (48, 12)), (1000, (4, 2)), (100_000, (4, 1))]
)
def test_of_many_files_few_errors_each_are_kept(files: int, kept: tuple[int, int]) -> None:
    assert edge_keep(files) == kept
    assert files >= 1200 or files * sum(kept) <= EDGE_ROWS


def test_rows_do_not_grow_with_the_number_of_files(tmp_path: Path) -> None:
    each, files = 300, 300
    for file in range(files):
        lines = (LINE.replace("Order {order}", f"Order {chr(97 + n % 26)}{n // 26}x{file}").format(second=n % 60) for n in range(each))
        (tmp_path / f"taskmanager-{file}.log").write_text("".join(lines))
    found = scan(plan([str(tmp_path)]))
    assert sum(row["events"] for row in found["log_counts"]) == files * each
    assert len(found["log_events"]) <= EDGE_ROWS + 2000 * 3
    first = {row["file"] for row in found["log_events"] if row["line"] == 1}
    last = {row["file"] for row in found["log_events"] if row["line"] == each}
    assert len(first) == len(last) == files
