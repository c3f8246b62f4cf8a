"""LAG308: the source no longer keeps what comes next for the job: a table's snapshots, a stream's shards, an event hub's events."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.vocabulary.aggregates import failures
from analyzers.vocabulary.rule import FAILING, rule

_SOURCES = {
    "iceberg": "snapshot",
    "delta": "Delta table|DELTA_",
    "kinesis": "Shard |TrimmedDataAccess",
}
"""Reasons by what the exception says. Source: Iceberg's SparkMicroBatchStream and SnapshotUtil, Delta's DeltaErrors, the AWS SDK."""

_START = (
    "Start the query on a new checkpoint directory (Flink: a new uid for the source), where its source begins at a position that it has; "
    "what lay between has to be loaded from its origin. "
)


@rule(
    "LAG308",
    title="The source no longer has the job's position",
    cause="offset-reset",
    stage="access",
    severity=Severity.CRITICAL,
    faults=("source-history-gone",),
    says="The source no longer has what the job wants to read next[[ in {task}]]: {what}; {failures} failure(s)[[ in {attempts} "
    "attempt(s)]][[, first at {since} UTC]]. Every restart from the same checkpoint fails the same way",
    needs=FAILING,
)
def source_history_gone(faults: DataFrame) -> DataFrame:
    """Fatal faults per job."""
    text = F.concat_ws("\n", "what", "root_message")
    found = failures(faults, F.max("root_message").alias("root_message"))
    reason = F.coalesce(*(F.when(F.rlike(text, F.lit(words)), F.lit(name)) for name, words in _SOURCES.items()), F.lit("source-history"))
    return found.withColumn("reason", reason).drop("root_message")
