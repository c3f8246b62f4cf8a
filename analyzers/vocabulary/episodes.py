"""Episodes: what happens again after a long pause is another story."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from analyzers.vocabulary.aggregates import seconds


def episodes(rows: DataFrame, *by: str, gap: Column | float) -> DataFrame:
    """`rows` with `episode`, a number per scope and `by`: a new one begins where more than `gap` seconds pass until the next row.

    A column `gap` is the one of the row before the pause (-1: the next row begins a new episode in any case).
    """
    before = Window.partitionBy("scope", *by).orderBy("at", "file", "line")
    pause = seconds(F.lag("at").over(before), "at") > F.lag(gap if isinstance(gap, Column) else F.lit(gap)).over(before)
    return rows.withColumn("_fresh", F.coalesce(pause, F.lit(False)).cast("int")).withColumn("episode", F.sum("_fresh").over(before))
