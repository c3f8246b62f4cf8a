"""How each checkpoint of a job ended, as log lines tell it."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from analyzers.derived.failures.progress import FEW
from analyzers.vocabulary.aggregates import seconds, settled

CHECKPOINT_LIFE = ("checkpoint-triggered", "checkpoint-completed", "checkpoint-expired", "checkpoint-failed", "job-state")
"""Signatures that `checkpoint_endings` and `barrier_record` read."""

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


def barrier_record(log_events: DataFrame, log_counts: DataFrame | None, *, last: int) -> DataFrame:
    """Per job, how its checkpoints end.

    Columns: scope, job, expired and seen (of the newest `last` endings), in_a_row (expired since the last that completed), more (these may
    be more), given_up (there were lines of expiries that are no rows), still (one of the newest three expired), completed (how many in
    all), last_completed (id), last_completed_at, since (first expiry of the newest `last`, or of the spell that lasts), until (last
    expiry), timeout_seconds (shortest time from trigger to expiry), ended (the job was cancelled or suspended after the last expiry).
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
    whole = record.join(ends, ["scope", "job"], "left").withColumn("ended", ended).drop("end_order", "last_expired_order")
    return _counted(settled(whole), log_events, log_counts)


def _counted(record: DataFrame, log_events: DataFrame, log_counts: DataFrame | None) -> DataFrame:
    """`record` with `in_a_row` as it was counted, where lines of it were counted and are no rows any more; and `more`."""
    if log_counts is None:
        return record.withColumns({"more": F.lit(False), "given_up": F.lit(False)})
    expiry, failure = F.col("signature") == "checkpoint-expired", F.col("signature") == "checkpoint-failed"
    rows = log_events.groupBy("scope", "job").agg(F.count_if(expiry).alias("_expiries"), F.count_if(failure).alias("_failures"))
    done = F.col("last_completed_at")
    later = done.isNull() | (F.col("first_at") > done)
    since_then = F.when(later, F.col("events")).when(F.col("last_at") > done, F.lit(1))
    around = (F.col("first_at") <= done) & (F.col("last_at") > done) & (F.col("events") > 1)
    counts = minutes_of(log_counts, "checkpoint-expired", "checkpoint-failed").join(record, ["scope", "job"])
    told = counts.groupBy("scope", "job").agg(
        F.sum(F.when(expiry, F.col("events")).otherwise(0)).alias("_told"),
        F.sum(F.when(failure, F.col("events")).otherwise(0)).alias("_told_failures"),
        F.sum(F.when(expiry, since_then).otherwise(0)).alias("_since_then"),
        F.min(F.when(expiry & later, F.col("first_at"))).alias("_first_at"),
        F.coalesce(F.max(expiry & around), F.lit(False)).alias("_around"),
    )
    missing = F.greatest(F.col("_told") - F.col("_expiries"), F.col("_told_failures") - F.col("_failures"))
    given_up = F.coalesce(missing > 0, F.lit(False))
    lasts = given_up & (F.col("in_a_row") > 0)
    countable = lasts & (missing >= FEW)
    return (
        record.join(rows, ["scope", "job"], "left")
        .join(told, ["scope", "job"], "left")
        .withColumns(
            {
                "given_up": given_up,
                "more": lasts & (~countable | (F.col("_since_then") < F.col("in_a_row")) | F.col("_around")),
                "in_a_row": F.when(countable, F.greatest("in_a_row", "_since_then")).otherwise(F.col("in_a_row")),
                "since": F.coalesce(F.when(countable & (F.col("_since_then") >= F.col("expired")), F.col("_first_at")), "since"),
            }
        )
        .drop("_expiries", "_failures", "_told", "_told_failures", "_since_then", "_first_at", "_around")
    )


def expiries_in_all(log_events: DataFrame, log_counts: DataFrame | None, *, often: int) -> DataFrame:
    """Per job, all its expired checkpoints, by their times. Few of many that completed are rows: `log_counts` tell of the others.

    Columns: scope, job, in_all (expired), of_all (these and the completed ones), first_at, last_at, longest (most in a row), within
    (fewest seconds in which `often` expired), and of the longest spell that ended, as others completed after it: spell (how many expired
    one after the other), spell_since, spell_until.
    """
    endings = settled(checkpoint_endings(log_events).withColumnRenamed("ended_at", "at").where(F.col("at").isNotNull()))
    marks = endings.select("scope", "job", "at", "expired")
    completed = endings.where(~F.col("expired")).groupBy("scope", "job").agg(F.count("*").alias("completed"))
    if log_counts is not None:
        minutes = minutes_of(log_counts, "checkpoint-completed").where(F.col("job").isNotNull())
        times = minutes.select("scope", "job", F.explode(F.array("first_at", "last_at")).alias("at"), F.lit(False).alias("expired"))
        marks = marks.unionByName(times.where(F.col("at").isNotNull()))
        completed = minutes.groupBy("scope", "job").agg(F.sum("events").alias("completed"))
    of_job = Window.partitionBy("scope", "job")
    spells = (
        marks.withColumns(
            {
                "after": F.max(F.when(~F.col("expired"), F.col("at"))).over(of_job.orderBy("at")),
                "newest": F.max(F.when(~F.col("expired"), F.col("at"))).over(of_job),
                "took": seconds(F.lag("at", often - 1).over(Window.partitionBy("scope", "job", "expired").orderBy("at")), "at"),
            }
        )
        .where("expired")
        .groupBy("scope", "job", "after")
        .agg(
            F.count("*").alias("spell"),
            F.min("at").alias("spell_since"),
            F.max("at").alias("spell_until"),
            F.max("newest").alias("newest"),
            F.min("took").alias("took"),
        )
    )
    ended = F.when(F.col("spell_until") < F.col("newest"), F.struct("spell", "spell_since", "spell_until"))
    per_job = spells.groupBy("scope", "job").agg(
        F.sum("spell").alias("in_all"),
        F.min("spell_since").alias("first_at"),
        F.max("spell_until").alias("last_at"),
        F.max("spell").alias("longest"),
        F.min("took").alias("within"),
        F.max(ended).alias("of_ended"),
    )
    of_all = (F.col("in_all") + F.coalesce("completed", F.lit(0))).alias("of_all")
    return per_job.join(completed, ["scope", "job"], "left").select(
        "scope", "job", "in_all", of_all, "first_at", "last_at", "longest", "within", "of_ended.*"
    )


def completed_since(found: DataFrame, log_events: DataFrame, log_counts: DataFrame | None) -> DataFrame:
    """`found` with `since_then`: how many checkpoints of the job completed after `until`."""
    if log_counts is None:
        rows = log_events.where(F.col("signature") == "checkpoint-completed").dropDuplicates(["scope", "job", "checkpoint", "at"])
        done = rows.select("scope", "job", F.col("at").alias("done_at"), F.lit(1).alias("events"))
    else:
        done = minutes_of(log_counts, "checkpoint-completed").select("scope", "job", F.col("last_at").alias("done_at"), "events")
    later = found.select("scope", "job", "until").join(done, ["scope", "job"]).where(F.col("done_at") > F.col("until"))
    return found.join(later.groupBy("scope", "job").agg(F.sum("events").alias("since_then")), ["scope", "job"], "left")


def minutes_of(log_counts: DataFrame, *signatures: str) -> DataFrame:
    """The counts of these signatures, minute by minute; what a copy of a log counts again, once."""
    mine = log_counts.where(F.col("signature").isin(*signatures))
    return mine.dropDuplicates(["scope", "job", "signature", "task", "minute", "first_at", "last_at", "events"])


def how_many_expired() -> Column:
    """Of a `barrier_record`: ``17 checkpoints in a row``; ``4 of the last 10 checkpoints`` where others completed among them."""
    least = F.when(F.col("more"), F.lit("At least ")).otherwise(F.lit(""))
    return (
        F.when(
            (F.col("in_a_row") >= F.col("expired")) & (F.col("in_a_row") > 1),
            F.format_string("%s%,d checkpoints in a row", least, "in_a_row"),
        )
        .when(F.col("seen") == 1, F.lit("A checkpoint"))
        .otherwise(F.format_string("%d of the last %d checkpoints", "expired", "seen"))
    )


def newest_in_a_row() -> Column:
    """Of a `barrier_record`: how many of the newest expired in a row, where `how_many_expired` does not say so."""
    return F.when((F.col("in_a_row") > 1) & (F.col("in_a_row") < F.col("expired")), F.col("in_a_row"))
