"""LAG308: the source no longer keeps the job's position: a table's snapshots, a stream's shards, an event hub's events."""

from analyzers.vocabulary import CRITICAL, FAILING, DataFrame, F, failures, first_of, rule


@rule(
    "LAG308", title="The source no longer has the job's position", cause="offset-reset", stage="access", severity=CRITICAL,
    faults=("source-history-gone",), needs=FAILING,
    says="The source no longer has what the job wants to read next[[ in {task}]]: {what}; {failures} failure(s)[[ in {attempts} "
    "attempt(s)]][[, first at {since} UTC]]. Every restart from the same checkpoint fails the same way",
)  # fmt: skip
def source_history_gone(faults: DataFrame) -> DataFrame:
    """Fatal faults per job. Source: Iceberg's SparkMicroBatchStream and SnapshotUtil, Delta's DeltaErrors, the AWS SDK."""
    text = F.concat_ws("\n", "what", "_message")
    reason = first_of(
        ("iceberg", text.rlike("snapshot")),
        ("delta", text.rlike("Delta table|DELTA_")),
        ("kinesis", text.rlike("Shard |TrimmedDataAccess")),
        otherwise="source-history",
    )
    return failures(faults, F.max("root_message").alias("_message")).withColumn("reason", reason)
