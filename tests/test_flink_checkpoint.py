"""The doors to the checkpoint reader: in this process, dealt to Spark tasks, and as a data source. All give the same rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from analyzers.readers import checkpoint_scan
from analyzers.readers.checkpoint_files import read_checkpoints
from analyzers.readers.checkpoint_scan import plan_checkpoints, rows_of
from analyzers.tables import Row

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RECORDED = Path(__file__).parent.parent / "fixtures" / "checkpoints" / "recorded"


def plain(rows: list[Row], *left_out: str) -> list[tuple[Any, ...]]:
    return sorted(tuple((key, str(value)) for key, value in row.items() if key not in left_out) for row in rows)


def test_a_plan_keeps_jobs_together_and_packs_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint_scan, "_PLACES_AT_ONCE", 4)
    plan = plan_checkpoints([str(RECORDED), str(RECORDED)])
    assert sum(len(pack) for pack in plan.packs) == len({path for pack in plan.packs for path in pack})
    assert max(len(pack) for pack in plan.packs) == 4
    assert len(plan.packs) > 5


def test_dealt_out_rows_are_those_read_in_one_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint_scan, "_PLACES_AT_ONCE", 8)
    whole = read_checkpoints([str(RECORDED)])
    plan = plan_checkpoints([str(RECORDED)])
    assert len(plan.packs) > 1
    for table in whole:
        if table != "sources":
            dealt = [row for pack in plan.packs for row in rows_of(pack, plan.rebase, table)]
            assert plain(dealt, "as_of") == plain(whole[table], "as_of"), table


def test_the_data_source_gives_the_same_rows(spark: SparkSession) -> None:
    from analyzers.readers.flink_checkpoint import register

    register(spark)
    whole = read_checkpoints([str(RECORDED)])
    for table in ("checkpoint_files", "splits", "batches"):
        frame = spark.read.format("flink_checkpoint").option("table", table).load(str(RECORDED))
        assert frame.count() == len(whole[table])
    found = spark.read.format("flink_checkpoint").option("table", "splits").load(str(RECORDED)).where("role = 'reader'").collect()
    assert {(row["path"], row["identity"], row["subtask"], row["offset"]) for row in found} == {
        (row["path"], row["identity"], row["subtask"], row["offset"]) for row in whole["splits"] if row["role"] == "reader"
    }


def test_nothing_there_is_planned_as_nothing_with_the_reason(tmp_path: Path) -> None:
    plan = plan_checkpoints([str(tmp_path), str(tmp_path / "no")])
    assert plan.packs == ()
    assert [path for path, _ in plan.asked] == [str(tmp_path), str(tmp_path / "no")]
    assert plan.asked[1][1] is not None


def test_an_unknown_table_is_refused_with_those_there_are() -> None:
    from analyzers.readers.flink_checkpoint import FlinkCheckpoint

    with pytest.raises(ValueError, match="checkpoint_files"):
        FlinkCheckpoint({"path": "/x", "table": "nonsense"}).schema()
