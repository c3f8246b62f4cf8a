"""LAG108: there is lag, and nothing is wrong: what it is made of."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.vocabulary.lag import per_group
from analyzers.vocabulary.rule import rule


@rule(
    "LAG108",
    title="Lag that is none",
    stage="lag",
    severity=Severity.INFO,
    says={
        "saw-tooth": "The lag of group {group} on {places} partition(s) ({named}) is the time since its last commit, not a stall: offsets "
        "are committed when a checkpoint completes. {worst}: {worst_says}",
        "transaction-markers": "The lag of group {group} on {places} partition(s) ({named}) can never become 0: behind the commit are no "
        "records, only transaction markers or offsets that compaction removed. {worst}: {worst_says}",
    },
    next_command="diag lag-report --bootstrap-server HOST:PORT --group {group} --samples 10 --every 10s",
)
def lag_explained(lag_truth: DataFrame) -> DataFrame:
    """Per group and kind, partitions whose lag needs no repair."""
    explained = F.col("truth").isin("saw-tooth", "transaction-markers")
    return per_group(lag_truth.where(explained & (F.col("lag_records") > 0)).withColumn("reason", F.col("truth")))
