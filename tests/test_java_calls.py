"""The JVM lets go of frames and transfers that nobody in Python has any more, and lists are handed over in one call."""

from __future__ import annotations

import gc
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from py4j.clientserver import ClientServerConnection
from pyspark import SparkContext
from pyspark.core import rdd
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.classic.dataframe import DataFrame

from analyzers.derived import derive
from analyzers.diagnosis.run_rules import run_rules
from analyzers.readers.log_plan import plan
from analyzers.readers.log_scan import scan
from analyzers.rules.catalogue import load_rules

PATIENCE_SECONDS = 30
ROOT = Path(__file__).resolve().parent.parent


def gone(spark: SparkSession, held: Any) -> bool:
    """Whether what a Java WeakReference stands for is let go, once the JVM looked. To ask for it would hold it."""
    until = time.monotonic() + PATIENCE_SECONDS
    while not held.refersTo(None) and time.monotonic() < until:
        gc.collect()
        spark._jvm.System.gc()
        time.sleep(0.2)
    return bool(held.refersTo(None))


def test_frames_go_when_nobody_has_them_any_more(spark: SparkSession) -> None:
    weak = spark._jvm.java.lang.ref.WeakReference
    frame = spark.createDataFrame(pa.table({"a": [1, 2, 2]}))
    counted = frame.groupBy("a").agg(F.count("*").alias("n"))
    held = [weak(frame._jdf), weak(counted._jdf)]
    assert sorted(counted.toArrow().to_pylist(), key=str) == [{"a": 1, "n": 1}, {"a": 2, "n": 2}]
    spark._jvm.System.gc()
    assert not any(one.refersTo(None) for one in held)
    del frame, counted
    assert [gone(spark, one) for one in held] == [True, True]


def test_collected_rows_go_when_they_have_come(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    weak, held = spark._jvm.java.lang.ref.WeakReference, []
    load = rdd._load_from_socket

    def watched(transfer: Any, *rest: Any) -> Any:
        held.append(weak(transfer[2]))  # the server, which has the rows
        return load(transfer, *rest)

    monkeypatch.setattr(rdd, "_load_from_socket", watched)
    assert spark.sparkContext.parallelize([b"a", b"b"], 1).mapPartitions(iter).collect() == [b"a", b"b"]
    assert [gone(spark, one) for one in held] == [True]


def test_rows_that_were_handed_over_are_not_held_twice(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    weak, held = spark._jvm.java.lang.ref.WeakReference, []
    hand_over = SparkContext._serialize_to_jvm

    def watched(*arguments: Any) -> Any:
        batches = hand_over(*arguments)
        held.append(weak(batches))
        return batches

    monkeypatch.setattr(SparkContext, "_serialize_to_jvm", watched)
    frame = spark.createDataFrame(pa.table({"a": [1, 2, 2]}))
    assert [gone(spark, one) for one in held] == [True]
    assert frame.toArrow().to_pylist() == [{"a": 1}, {"a": 2}, {"a": 2}]


def test_frames_of_a_rule_that_has_judged_go_with_the_next_collection(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its frames are parts of cycles, which Python would look for at some time."""
    weak, held = spark._jvm.java.lang.ref.WeakReference, []
    arrive = DataFrame.toArrow

    def watched(self: DataFrame) -> pa.Table:
        held.append(weak(self._jdf))
        return arrive(self)

    monkeypatch.setattr(DataFrame, "toArrow", watched)
    tables = derive(scan(plan([str(ROOT / "fixtures" / "RST101" / "fires" / "raw")])))
    gc.collect()
    gc.disable()
    try:
        outcome = run_rules([rule for rule in load_rules() if rule.code == "RST101"], tables, lambda: spark)
        assert ([finding.code for finding in outcome.findings], outcome.defects) == (["RST101"], [])
        assert [gone(spark, one) for one in held] == [True]
    finally:
        gc.enable()


def test_a_run_does_not_import_pandas() -> None:
    code = "import sys; from cli.main import run; code = run(sys.argv[1:]); print(code, 'pyarrow' in sys.modules, 'pandas' in sys.modules)"
    logs = ROOT / "fixtures" / "BRK207" / "fires" / "raw"
    done = subprocess.run(
        [sys.executable, "-c", code, "triage", str(logs)], capture_output=True, text=True, cwd=ROOT, timeout=280, check=True
    )
    assert done.stdout.splitlines()[-1] == "1 True False", done.stderr


@pytest.mark.parametrize(
    "elements", [[], ["a"], ["a", 1, 2.5], list("abcdefghij"), list("abcdefghijk"), ["a", None], [["a"], ["b"]], ("a", "b")]
)
def test_lists_arrive_whole(spark: SparkSession, elements: list[Any]) -> None:
    plain = [list(each) if isinstance(each, list) else each for each in elements]
    assert [list(each) if hasattr(each, "size") else each for each in spark._jvm.java.util.ArrayList(elements)] == plain


def test_a_short_list_is_one_call(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = spark.createDataFrame(pa.table({name: [1] for name in "abcdefgh"}))
    sent: list[str] = []
    send = ClientServerConnection.send_command

    def counted(self: Any, command: str, *rest: Any, **more: Any) -> Any:
        sent.append(command)
        return send(self, command, *rest, **more)

    columns = [F.col(name) for name in "abcdefgh"]
    monkeypatch.setattr(ClientServerConnection, "send_command", counted)
    assert F.array(*columns) is not None
    assert frame.drop(*"abcdefgh").columns == []
    adds = [command for command in sent if command.startswith("c\n") and command.split("\n")[2] == "add"]
    assert (adds, sum(command.split("\n")[2] == "of" for command in sent if command.startswith("c\n"))) == ([], 2)
