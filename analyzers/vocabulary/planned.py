"""Answers about a planned change (`analyzers/derived/planned/`)."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.vocabulary.findings import found


def of_answer(preflight: DataFrame, change: str, answer: str) -> DataFrame:
    """One finding per question about `change` that has this `answer`; the question is its reason."""
    rows = preflight.where((F.col("answer") == answer) & (F.col("change") == change)).withColumn("reason", F.col("question"))
    one_topic = F.when(F.size(F.coalesce("topics", F.array())) == 1, F.get("topics", F.lit(0)))
    return found(
        rows.withColumn("what", F.col("says")), "reason", "what", at="as_of", table="preflight", shown=F.col("says"),
        todo=F.max("todo"), group=F.max("group"), number=F.max("number"), leaving=F.max(F.array_join("brokers", ", ")),
        leaving_ids=F.max(F.array_join("brokers", ",")), topic=F.max(one_topic), path=F.max("path"),
        operators=F.max(F.array_join("operators", ", ")), job=F.max("job"), release=F.max("release"),
        settings=F.max(F.array_join("settings", ", ")),
    )  # fmt: skip
