"""RST101: the job fails, restarts and fails again."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.vocabulary.aggregates import seconds
from analyzers.vocabulary.rule import has, rule


@rule(
    "RST101",
    title="The job is in a restart loop",
    stage="restart",
    severity=Severity.WARNING,
    says="Job {job} failed {failures} time(s)[[ in {span}]][[, last at {until} UTC]][[; {done} completed in between: {checkpoints}]]",
    needs=has(ended=("failed",), at_least="enough"),
)
def restart_loop(
    attempts: DataFrame,
    *,
    enough: int = 3,  # one failure is an incident, two may be a failed deployment; three that end alike are a loop
) -> DataFrame:
    """Failed attempts per job; restarts that somebody ordered do not count."""
    failed = F.col("ended") == "failed"
    shown = F.struct(
        F.coalesce("line_at", "ended_at").alias("at"),
        F.col("file"),
        F.col("line"),
        F.lit("attempts").alias("table"),
        F.concat(
            F.lit("attempt "),
            F.col("attempt").cast("string"),
            F.lit(" failed: "),
            F.coalesce("trigger_says", F.lit("no reason in these logs")),
        ).alias("text"),
    )
    each = Window.partitionBy("scope", "job")
    first, last = (F.min(F.when(failed, F.col("attempt"))).over(each), F.max(F.when(failed, F.col("attempt"))).over(each))
    between = (F.col("attempt") > first) & (F.col("attempt") <= last)
    per_job = (
        attempts.withColumn("between", between)
        .groupBy("scope", "job")
        .agg(
            F.count_if(failed).alias("failures"),
            F.sum(F.when(F.col("between"), F.col("checkpoints_completed"))).alias("checkpoints"),
            F.when(F.count("run") > 0, "batches").otherwise("checkpoints").alias("done"),  # only a query of Spark has runs
            F.min(F.when(failed, F.col("ended_at"))).alias("since"),
            F.max(F.when(failed, F.col("ended_at"))).alias("until"),
            F.slice(F.array_sort(F.collect_set(F.when(failed, shown))), 1, 5).alias("evidence"),
        )
    )
    loop = per_job.where(F.col("failures") >= enough)
    took = seconds("since", "until")
    whole = F.round(took).cast("long")
    exact = F.concat_ws(" ", F.floor(whole / 60).cast("string"), F.lit("min"), (whole % 60).cast("string"), F.lit("s"))
    minutes = F.when(took < 600, exact).otherwise(F.concat(F.round(took / 60).cast("long").cast("string"), F.lit(" min")))
    return loop.withColumn("span", F.when(took >= 120, minutes).otherwise(F.concat(F.round(took).cast("long").cast("string"), F.lit(" s"))))
