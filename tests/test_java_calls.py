"""What is given back to the JVM, and what is not: frames hold the rows of their tables, columns are many and small."""

from __future__ import annotations

import gc
import time
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

PATIENCE_SECONDS = 30


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
