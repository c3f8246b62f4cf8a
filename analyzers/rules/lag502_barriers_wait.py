"""LAG502: tasks work so long at a time that barriers wait for them, though checkpoints complete."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.tables.processes import FLINK
from analyzers.vocabulary.aggregates import agreed
from analyzers.vocabulary.findings import beside, exemplars
from analyzers.vocabulary.rule import rule


@rule(
    "LAG502",
    title="A task is busy for so long that barriers wait for it",
    stage="lag",
    severity=Severity.WARNING,
    logs_of=FLINK,
    signatures=("checkpoint-start-delayed",),
    says="Barriers waited up to {worst_seconds} s for a busy task, {delays} time(s)[[ between {since} and {until} UTC]], while "
    "checkpoints completed: the job is overloaded or calls something slow in its processing thread",
    missing="which task it is: the line carries no task name; the web UI or GET /jobs/<job>/vertices/<vertex>/backpressure has it",
)
def barriers_wait(
    log_events: DataFrame, jobs_seen: DataFrame, *, enough: int = 3
) -> DataFrame:  # one long garbage collection makes one or two
    """Per job, "Time from receiving all checkpoint barriers/RPC to executing it exceeded threshold" (Flink 1.12+, above 30 s)."""
    waited = log_events.groupBy("scope", "job").agg(
        F.count("*").alias("delays"),
        F.round(F.max("duration_ms") / 1000).cast("long").alias("worst_seconds"),
        F.min("at").alias("since"),
        F.max("at").alias("until"),
        agreed("host"),
        exemplars(),
    )
    done = jobs_seen.select("scope", "job", "checkpoints_completed")
    return (
        beside(waited.where(F.col("delays") >= enough), done, "job")
        .where(F.col("checkpoints_completed") > 0)
        .withColumn("reason", F.lit("overload"))
        .drop("checkpoints_completed")
    )
