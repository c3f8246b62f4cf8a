"""Rules about what the evidence cannot show: a row of ``open_ends`` is a finding of its own."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F


def still_open(open_ends: DataFrame, *kinds: str) -> DataFrame:
    """The rows of these kinds, each with its kind as the reason and its line as the evidence."""
    line = F.struct("at", "file", "line", F.lit("open_ends").alias("table"), "text")
    return open_ends.where(F.col("kind").isin(*kinds)).withColumns(
        {"reason": F.col("kind"), "since": F.col("at"), "evidence": F.array(line)}
    )
