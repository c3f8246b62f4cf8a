"""CKP101: checkpoints expire again and again, because some subtask does not answer the barrier."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.tables.processes import JOBMANAGER
from analyzers.vocabulary.aggregates import settled
from analyzers.vocabulary.checkpoints import (
    CHECKPOINT_LIFE,
    barrier_record,
    completed_since,
    expiries_in_all,
    has_expired,
    how_many_expired,
    newest_in_a_row,
)
from analyzers.vocabulary.findings import exemplars
from analyzers.vocabulary.rule import has, rule

NAMING = ("barrier-overtaken", "barrier-abandoned", "task-stuck-cancelling", "checkpoint-late-ack")
"""Lines that name a subtask; without them the culprit is not in the logs."""

TOLD = (
    "scope", "job", "severity", "reason", "since", "until", "confidence", "evidence", "expired", "seen", "timeout_seconds", "how_many",
    "apart", "newest_in_a_row", "ended_at", "last_completed", "last_completed_at", "therefore", "for_now", "fault_ids", "unnamed",
    "holding", "opened", "unanswered",
)  # fmt: skip


@rule(
    "CKP101",
    title="Checkpoints expire before they complete",
    cause="barrier-unacknowledged",
    stage="checkpoint",
    severity=Severity.CRITICAL,
    logs_of=JOBMANAGER,
    signatures=(*CHECKPOINT_LIFE, *NAMING, "checkpoint-tolerance-exceeded", "node-request-timeout"),
    says="{how_many} expired[[ after {timeout_seconds} s]][[, {apart}]][[, the last {newest_in_a_row} in a row]]"
    "[[, the first at {since} UTC]][[, the last at {ended_at} UTC]]"
    "[[; the last one that completed is {last_completed} ({last_completed_at} UTC)]]: {therefore}",
    inferred="[[{unanswered}]]",
    missing="[[{unnamed}]]",
    next_command="[[diag triage --flink-rest http://JOBMANAGER:8081 --job {holding}   # which subtask holds the barrier, and where its "
    "thread stands]][[{opened} {shown_at}   # the lines that show it, and what stands around them]]",
    needs=has(signature=("checkpoint-expired", "checkpoint-failed")),
)
def checkpoints_expire(
    log_events: DataFrame,
    log_counts: DataFrame | None,
    *,
    last: int = 10,  # counted: a fixed hour would never see three of a job that checkpoints every 30 minutes
    enough: int = 3,  # one or two happen around a redeploy, a rebalance, a slow restore
    in_a_row: int = 2,  # with none completed after them, two already mean that the job stands still for two time-outs
    often: int = 5,  # each by itself is no incident, and five of an afternoon are no chance
    often_within: int = 18_000,  # seconds
) -> DataFrame:
    """Jobs whose checkpoints expire: critical while the newest do; a warning for one at a log's end, and for spells that ended."""
    record = barrier_record(log_events, log_counts, last=last).join(
        expiries_in_all(log_events, log_counts, often=often), ["scope", "job"], "left"
    )
    failed_for_it = F.count_if(F.col("signature") == "checkpoint-tolerance-exceeded") > 0
    told = log_events.groupBy("scope", "job").agg(
        F.count_if(F.col("signature").isin(*NAMING)).alias("naming"), failed_for_it.alias("failed_for_it")
    )
    repeated = ((F.col("expired") >= enough) & F.col("still")) | (F.col("in_a_row") >= in_a_row)
    nothing_else = (F.col("in_a_row") >= 1) & (F.col("completed") == 0) & ~F.col("ended")  # a fragment: the expiry is all there is
    spell = F.coalesce(F.col("spell") >= enough, F.lit(False))
    scattered = F.coalesce(F.col("within") <= often_within, F.lit(False)) & ~F.col("failed_for_it")  # else CKP104 tells
    worth_a_word = (F.col("expired") >= enough) | ((F.col("in_a_row") >= 1) & ~F.col("ended"))
    kind = (
        F.when(repeated | nothing_else, F.lit("now"))
        .when(spell, F.lit("spell"))
        .when(scattered, F.lit("scattered"))
        .when(worth_a_word & (F.col("in_a_row") == 0), F.lit("over"))
        .when(worth_a_word, F.lit("newest"))
    )
    chosen = record.join(told, ["scope", "job"]).withColumn("kind", kind).where(F.col("kind").isNotNull())
    shown = _shown(settled(chosen), log_events, log_counts)
    return _said(shown.join(_unanswered(shown, log_events), ["scope", "job"], "left"), enough=enough)


def _unanswered(shown: DataFrame, log_events: DataFrame, *, enough: int = 2, late: int = 60) -> DataFrame:
    """In words, which broker left requests of the jobs' Kafka clients unanswered while checkpoints expired: their time-out (30 s) ends
    later than that of a checkpoint may."""
    of_client = (F.col("signature") == "node-request-timeout") & (F.coalesce("role", F.lit("")) != "kafka-broker")
    waits = log_events.where(of_client & (F.col("broker") >= 0)).select(
        F.col("scope").alias("_scope"), F.col("job").alias("_job"), F.col("at").alias("_at"), F.col("broker").alias("_broker")
    )
    same = (F.col("scope") == F.col("_scope")) & (F.coalesce("_job", "job") == F.col("job"))
    began = F.unix_seconds("since") - F.coalesce("timeout_seconds", F.lit(0))
    meanwhile = F.unix_seconds("_at").between(began, F.unix_seconds("until") + late)
    per_job = (
        shown.join(waits, same & meanwhile)
        .groupBy("scope", "job")
        .agg(
            F.count("*").alias("_requests"),
            F.array_join(F.array_sort(F.collect_set(F.col("_broker").cast("string"))), ", ").alias("_brokers"),
            F.date_format(F.min("_at"), "yyyy-MM-dd HH:mm:ss").alias("_first"),
        )
    )
    words = F.format_string(
        "Meanwhile %,d requests of Kafka clients got no answer from broker %s in time, the first known at %s UTC: it may be that a sink "
        "waits for it and so holds the barrier. See to that broker first.",
        "_requests",
        "_brokers",
        "_first",
    )
    return per_job.where(F.col("_requests") >= enough).select("scope", "job", words.alias("unanswered"))


def _shown(chosen: DataFrame, log_events: DataFrame, log_counts: DataFrame | None) -> DataFrame:
    """`chosen` with the time of what is told, the lines that show it, and how many checkpoints completed since."""
    kind = F.col("kind")
    timed = chosen.withColumns(
        {
            "since": F.when(kind == "spell", F.col("spell_since")).when(kind == "scattered", F.col("first_at")).otherwise(F.col("since")),
            "until": F.when(kind == "spell", F.col("spell_until")).otherwise(F.col("until")),
        }
    )
    of_it = timed.select("scope", "job", F.col("since").alias("_since"), F.col("until").alias("_until"))
    within = F.coalesce(F.col("at").between(F.col("_since"), F.col("_until") + F.expr("INTERVAL 1 SECOND")), F.lit(True))
    lines = log_events.where(has_expired()).join(of_it, ["scope", "job"]).where(within).groupBy("scope", "job").agg(exemplars())
    return completed_since(timed, log_events, log_counts).join(lines, ["scope", "job"])


def _said(shown: DataFrame, *, enough: int) -> DataFrame:
    kind = F.col("kind")
    passed = kind.isin("spell", "over")
    before = kind.isin("spell", "scattered", "over")
    least = F.when(F.col("given_up"), F.lit("At least ")).otherwise(F.lit(""))
    unnamed = F.lit(
        "which subtask does not answer: no line of these logs names it; the checkpoint's details in the REST API or web UI and a thread "
        "dump do"
    )
    has_passed = F.format_string(
        "some subtask did not acknowledge the barrier, and until it did no source offset was committed. It has passed: %,d checkpoints "
        "were completed since",
        "since_then",
    )
    each_time = "each time some subtask did not acknowledge the barrier in time, and meanwhile no source offset was committed"
    lasts = (
        "some subtask does not acknowledge the barrier, and until it does no source offset is committed and a restart repeats everything "
        "since then"
    )
    return shown.withColumns(
        {
            "severity": F.when(kind == "now", F.lit("critical")).otherwise(F.lit("warning")),
            "reason": F.lit("expired"),
            "how_many": F.when(kind == "spell", F.format_string("%s%,d checkpoints in a row", least, "spell"))
            .when(kind == "scattered", F.format_string("%s%,d of %,d checkpoints", least, "in_all", "of_all"))
            .otherwise(how_many_expired()),
            "apart": F.when(kind == "scattered", F.when(F.col("longest") == 1, "each by itself").otherwise("never more than two in a row")),
            "newest_in_a_row": F.when(~before, newest_in_a_row()),
            "ended_at": F.when(before & (F.col("until") > F.col("since")), F.col("until")),
            "last_completed": F.when(~before, F.col("last_completed")),
            "therefore": F.when(passed & (F.col("since_then") > 1), has_passed)
            .when(kind == "scattered", F.lit(each_time))
            .otherwise(F.lit(lasts)),
            "holding": F.when(~passed, F.col("job")),  # of what has passed a live JobManager tells nothing any more
            "opened": F.when(passed, F.lit("zless")),
            "for_now": F.when(passed, F.lit("Nothing for now: the job runs. Should it come back: ")),
            "fault_ids": F.array(F.lit("tolerance-expired")),
            "unnamed": F.when(F.col("naming") == 0, unnamed),
            # wanted: so many expiries, and the name of the culprit, which this rule never has
            "confidence": F.least(F.greatest("expired", F.coalesce("in_all", F.lit(0))), F.lit(enough)) / (enough + 1),
        }
    ).select(*TOLD)
