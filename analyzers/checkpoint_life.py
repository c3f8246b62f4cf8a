"""How each checkpoint of a job ended, as log lines tell it, and which subtask an execution id stands for."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from analyzers.aggregates import seconds

CHECKPOINT_LIFE = ("checkpoint-triggered", "checkpoint-completed", "checkpoint-expired", "checkpoint-failed", "job-state")
"""Signatures that `checkpoint_endings` and `barrier_record` read."""

PLACED = ("task-deploying", "task-transition", "task-received", "task-failed")
"""Signatures that name a task beside its execution id."""

_EXPIRED = "Checkpoint expired before completing"  # CheckpointFailureReason.CHECKPOINT_EXPIRED
_ENDED = ("CANCELLING", "CANCELED", "FINISHED", "SUSPENDED")


def in_order() -> Column:
    """The order of events within a scope: time where known, else file and line."""
    return F.coalesce("seq", F.col("line"))


def has_expired() -> Column:
    """Whether a line says that a checkpoint expired: the coordinator's INFO line, or (1.15+) the failure manager's WARN with this cause."""
    told = F.contains(F.coalesce("root_message", F.lit("")), F.lit(_EXPIRED)) | F.contains(F.coalesce("text", F.lit("")), F.lit(_EXPIRED))
    return (F.col("signature") == "checkpoint-expired") | ((F.col("signature") == "checkpoint-failed") & told)


def checkpoint_endings(log_events: DataFrame) -> DataFrame:
    """One row per checkpoint that completed or expired: scope, job, checkpoint, expired, ended_order, triggered_at, ended_at."""
    expired, completed = has_expired(), F.col("signature") == "checkpoint-completed"
    per_checkpoint = (
        log_events.where(F.col("checkpoint").isNotNull() & F.col("job").isNotNull())
        .groupBy("scope", "job", "checkpoint")
        .agg(
            F.max(F.coalesce(expired, F.lit(False))).alias("expired"),
            F.max(F.when(expired | completed, in_order())).alias("ended_order"),
            F.min(F.when(F.col("signature") == "checkpoint-triggered", F.col("at"))).alias("triggered_at"),
            F.min(F.when(expired | completed, F.col("at"))).alias("ended_at"),
        )
    )
    return per_checkpoint.where(F.col("ended_order").isNotNull())


def barrier_record(log_events: DataFrame, *, last: int) -> DataFrame:
    """Per job, how its checkpoints end.

    Columns: scope, job, expired and seen (of the newest `last` endings), in_a_row (expired since the last that completed), still (one of
    the newest three expired), completed (how many in all), last_completed (id), last_completed_at, since (first expiry of the newest
    `last`, or of the spell that lasts), until (last expiry), timeout_seconds (shortest time from trigger to expiry), ended (the job was
    cancelled or suspended after the last expiry).
    """
    each = Window.partitionBy("scope", "job")
    endings = checkpoint_endings(log_events).withColumns(
        {
            "rank": F.row_number().over(each.orderBy(F.desc("ended_order"), F.desc("checkpoint"))),
            "last_done": F.max(F.when(~F.col("expired"), F.col("ended_order"))).over(each),
        }
    )
    newest, expired = F.col("rank") <= last, F.col("expired")
    ends_later = F.col("triggered_at") <= F.col("ended_at")  # else the line of its trigger is missing, and another run used its number
    after_done = expired & (F.col("ended_order") > F.coalesce("last_done", F.lit(-1)))
    record = endings.groupBy("scope", "job").agg(
        F.count_if(newest & expired).alias("expired"),
        F.count_if(newest).alias("seen"),
        F.count_if(after_done).alias("in_a_row"),
        (F.count_if(expired & (F.col("rank") <= 3)) > 0).alias("still"),
        F.count_if(~expired).alias("completed"),
        F.max_by("checkpoint", F.when(~expired, F.col("ended_order"))).alias("last_completed"),
        F.max_by("ended_at", F.when(~expired, F.col("ended_order"))).alias("last_completed_at"),
        F.min(F.when((newest | after_done) & expired, F.col("ended_at"))).alias("since"),
        F.max(F.when(expired, F.col("ended_at"))).alias("until"),
        F.min(F.when(expired & ends_later, F.round(seconds("triggered_at", "ended_at")).cast("long"))).alias("timeout_seconds"),
        F.max(F.when(expired, F.col("ended_order"))).alias("last_expired_order"),
    )
    switches = log_events.where(F.col("signature") == "job-state").groupBy("scope", "job")
    ends = switches.agg(F.max(F.when(F.col("to_state").isin(*_ENDED), in_order())).alias("end_order"))
    ended = F.coalesce(F.col("end_order") > F.col("last_expired_order"), F.lit(False))
    return record.join(ends, ["scope", "job"], "left").withColumn("ended", ended).drop("end_order", "last_expired_order")


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


def subtask_name(task: Column, subtask: Column, parallelism: Column) -> Column:
    """``task (2/4)`` as Flink's logs write it, from a subtask counted from 0."""
    number = F.concat(F.lit(" ("), (subtask + 1).cast("string"), F.lit("/"), parallelism.cast("string"), F.lit(")"))
    return F.concat(task, F.coalesce(number, F.lit("")))
