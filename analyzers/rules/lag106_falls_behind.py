"""LAG106: a group reads, and more is written than it reads."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.vocabulary.lag import EXPLAINED, OWN_RULE, per_group, with_status
from analyzers.vocabulary.rule import rule


@rule(
    "LAG106",
    title="A group reads slower than is written",
    cause="no-progress",
    stage="lag",
    severity=Severity.WARNING,
    says="Group {group} falls further behind on {places} partition(s) ({named}): {records} records by now[[, {written}/s written and "
    "{read}/s read]]. At these rates it never catches up. {worst}: {worst_says}",
    next_command="diag triage --flink-rest http://JOBMANAGER:8081   # which operator holds the others back",
)
def falls_behind(lag_truth: DataFrame, lag_status: DataFrame) -> DataFrame:
    """Per group, partitions with status warn that no other truth explains, and that are not read faster than written."""
    slower = F.coalesce(F.col("consumed_per_second") < F.col("produced_per_second"), F.lit(True))  # unknown where nothing moved
    rows = with_status(lag_truth, lag_status).where((F.col("status") == "warn") & ~F.col("truth").isin(*EXPLAINED, *OWN_RULE) & slower)
    return per_group(
        rows.withColumn("reason", F.lit("overload")),
        F.format_number(F.sum("produced_per_second"), 0).alias("written"),
        F.format_number(F.sum("consumed_per_second"), 0).alias("read"),
        says="because",
        table="lag_status",
    )
