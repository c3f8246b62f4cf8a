"""LAG201: one partition gets most of the records, or holds most of the lag."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.vocabulary.lag import per_group
from analyzers.vocabulary.rule import rule


@rule(
    "LAG201",
    title="A hot partition",
    stage="risk",
    severity=Severity.WARNING,
    says={
        "written": "Topic {topic} is written unevenly: partition {partition} gets {share} % of its records, {times} times as many as its "
        "median partition. The reader of this partition decides how fast group {group} is",
        "behind": "Partition {partition} of {topic} holds {share} % of the lag of group {group} ({records} records), the other "
        "{others} partitions next to none: one reader is slow, not all of them",
    },
    next_command="diag lag-report --bootstrap-server HOST:PORT --group {group} --topic {topic}",
)
def hot_partition(
    lag_status: DataFrame,
    *,
    least: int = 4,  # partitions: with fewer an uneven split is no surprise
    much: float = 5.0,  # times the median partition
    per_second: float = 10.0,  # records written: below, a few keys decide by chance
    share: float = 0.8,  # of the whole lag on one partition
    records: int = 10_000,  # lag that is worth a word
) -> DataFrame:
    """Per group and topic: one partition far above the others, in what is written to it or in what is behind."""
    topic = Window.partitionBy("scope", "group", "topic")
    rows = lag_status.withColumns(
        {
            "partitions": F.count("*").over(topic),
            "median": F.percentile("produced_per_second", 0.5).over(topic),
            "written": F.sum("produced_per_second").over(topic),
            "lag": F.sum("lag_records").over(topic),
        }
    ).where(F.col("partitions") >= least)
    hot = (F.col("produced_per_second") >= per_second) & (F.col("produced_per_second") > much * F.col("median"))
    slow = (F.col("lag_records") >= records) & (F.col("lag_records") > share * F.col("lag"))
    part = F.when(F.col("reason") == "written", F.col("produced_per_second") / F.col("written")).otherwise(
        F.col("lag_records") / F.col("lag")
    )
    found = rows.withColumn("reason", F.when(hot, "written").when(slow, "behind")).where(F.col("reason").isNotNull())
    ratio = F.col("produced_per_second") / F.greatest(F.col("median"), F.lit(0.1))
    return per_group(
        found.withColumn("part", part),
        F.round(F.max("part") * 100, 0).cast("long").alias("share"),
        F.round(F.max(ratio), 0).cast("long").alias("times"),
        (F.max("partitions") - 1).alias("others"),
        says="because",
        table="lag_status",
    )
