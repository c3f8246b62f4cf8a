"""LAG109: the commits stand still because no checkpoint completes."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.vocabulary.aggregates import seconds
from analyzers.vocabulary.lag import per_group
from analyzers.vocabulary.rule import rule


@rule(
    "LAG109",
    title="Commits stand still because no checkpoint completes",
    cause="barrier-unacknowledged",
    stage="checkpoint",
    severity=Severity.CRITICAL,
    says="[[Checkpoint {checkpoint} was the last to complete, {age} ago; ]]they should come every {interval} s. Group {group} commits "
    "with its checkpoints, so its {places} partition(s) stand still since: {records} records behind ({named})[[, {unread} of them unread]]",
    inferred="[[{unsure}]]",
    next_command="diag triage --flink-rest http://JOBMANAGER:8081   # which subtask holds the barrier",
)
def no_checkpoint_no_commit(lag_truth: DataFrame) -> DataFrame:
    """Per job and group whose newest checkpoint is overdue, with records behind its commits."""
    rows = lag_truth.where((F.col("truth") == "checkpoint-overdue") & (F.col("lag_records") > 0)).withColumn("reason", F.lit("overdue"))
    found = per_group(
        rows,
        F.max("newest_checkpoint").alias("checkpoint"),
        F.max("newest_checkpoint_at").alias("since"),
        F.round(F.max("interval_seconds"), 0).cast("long").alias("interval"),
        F.max(seconds("newest_checkpoint_at", "as_of")).alias("age_seconds"),
        F.when(F.count("behind_records") == F.count("*"), F.format_number(F.sum("behind_records"), 0)).alias("unread"),
        (F.count("position") > 0).alias("runs"),
    )
    unsure = "Whether the job runs at all is not known from a checkpoint directory: --flink-rest tells."
    return found.withColumns(
        {
            "age": F.when(
                F.col("age_seconds") < 120, F.concat(F.round("age_seconds", 0).cast("long").cast("string"), F.lit(" s"))
            ).otherwise(F.concat(F.round(F.col("age_seconds") / 60, 0).cast("long").cast("string"), F.lit(" min"))),
            "confidence": F.when(F.col("runs"), F.lit(0.9)).otherwise(F.lit(0.7)),
            "unsure": F.when(~F.col("runs"), unsure),
        }
    )
