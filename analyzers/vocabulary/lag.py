"""What the rules about lag share: many partitions of one group become one finding."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from analyzers.vocabulary.aggregates import agreed
from analyzers.vocabulary.findings import evidence

EXPLAINED = ("caught-up", "saw-tooth", "transaction-markers", "in-transaction")
"""Truths of a lag that needs no repair."""
OWN_RULE = ("checkpoint-overdue", "commits-broken", "blocked", "foreign-committer", "beyond-end", "never-committed")
"""Truths that a rule of their own speaks of."""

_WHERE = ("scope", "group", "topic", "partition")


def per_group(rows: DataFrame, *more: Column, table: str = "lag_truth", says: str = "says", weight: str = "lag_records") -> DataFrame:
    """`rows` (one per partition) by scope, job, group and reason, where there is one.

    Columns: places, named, worst (name), worst_says, records (sum of lag), topic, partition, offset (where it is one), until, evidence,
    and `more`. The worst is the one with the greatest `weight`.
    """
    named = rows.withColumn("name", F.concat_ws("-", "topic", "partition"))
    by = ["scope", "job", "group", *(["reason"] if "reason" in rows.columns else [])]
    heaviest = F.struct(F.coalesce(F.col(weight), F.lit(0)), F.col("name"))
    one = F.countDistinct("topic", "partition") == 1
    text = F.concat(F.lit("group "), "group", F.lit(", "), "name", F.lit(": "), F.col(says))
    offset = [F.when(one, F.max("committed")).alias("offset")] if "committed" in rows.columns else []
    return named.groupBy(*by).agg(
        F.count("*").alias("places"),
        F.array_sort(F.collect_set("name")).alias("named"),
        F.max_by("name", heaviest).alias("worst"),
        F.max_by("topic", heaviest).alias("worst_topic"),
        F.max_by("partition", heaviest).alias("worst_partition"),
        F.max_by(says, heaviest).alias("worst_says"),
        F.format_number(F.sum("lag_records"), 0).alias("records"),
        agreed("topic"),
        F.when(one, F.max("partition")).alias("partition"),
        *offset,
        F.max("as_of").alias("until"),
        evidence(table, text),
        *more,
    )


def with_status(truth: DataFrame, status: DataFrame) -> DataFrame:
    """Rows of ``lag_truth`` with the columns that only ``lag_status`` has."""
    more = [name for name in status.columns if name not in truth.columns]
    return truth.join(status.select(*_WHERE, *more), list(_WHERE))
