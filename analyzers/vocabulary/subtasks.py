"""Which subtask an execution id stands for and where each attempt of it was deployed, as log lines name them."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from analyzers.vocabulary.aggregates import agreed

PLACED = ("task-deploying", "task-transition", "task-received", "task-failed")
"""Signatures that name a task beside its execution id."""


def named_executions(log_events: DataFrame) -> DataFrame:
    """What each execution id stands for: scope, execution, task, subtask, parallelism (rows whose lines disagree are left out)."""
    named = log_events.where(F.col("signature").isin(*PLACED) & F.col("execution").isNotNull() & F.col("task").isNotNull())
    per_id = named.groupBy("scope", "execution").agg(
        F.min("task").alias("task"),
        F.max("task").alias("_other"),
        F.max("subtask").alias("subtask"),
        F.max("parallelism").alias("parallelism"),
    )
    return per_id.where(F.col("task") == F.col("_other")).drop("_other")


def deployed_to(log_events: DataFrame) -> DataFrame:
    """Where each attempt of a subtask was deployed: scope, job, task, subtask, attempt, placed (``tm-2 @ 10.0.2.12``; only where all lines
    agree: a JobManager that starts anew counts attempts from 0 again)."""
    deployed = log_events.where((F.col("signature") == "task-deploying") & F.col("resource").isNotNull() & F.col("subtask").isNotNull())
    address = F.nullif(F.col("detail")["named_host"], F.col("resource"))
    return (
        deployed.withColumn("placed", F.concat_ws(" @ ", "resource", address))
        .groupBy("scope", "job", "task", "subtask", "attempt")
        .agg(agreed("placed"))
    )


def subtask_name(task: Column, subtask: Column, parallelism: Column) -> Column:
    """``task (2/4)`` as Flink's logs write it, from a subtask counted from 0."""
    number = F.concat(F.lit(" ("), (subtask + 1).cast("string"), F.lit("/"), parallelism.cast("string"), F.lit(")"))
    return F.concat(task, F.coalesce(number, F.lit("")))
