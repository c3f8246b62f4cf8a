"""SPL106: two copies of one job run at the same time and read the same partitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.tables import Row
from analyzers.tables.processes import JOBMANAGER
from analyzers.vocabulary.aggregates import numbered
from analyzers.vocabulary.jobmanagers import series
from analyzers.vocabulary.rule import rule

UNNAMED = ("Flink Streaming Job", "Flink Batch Job")
"""What Flink calls a job that nobody named (StreamGraphGenerator): two of them need not be copies."""
ENDED = ("FAILED", "CANCELLING", "CANCELED", "FINISHED", "SUSPENDED")


def _two_jobs(rows: Sequence[Row], _thresholds: Mapping[str, Any]) -> bool:
    return len({row["job"] for row in rows if row["signature"] == "job-state"} - {None}) > 1


@rule(
    "SPL106",
    title="Two copies of one job run at the same time",
    cause="duplicate-split",
    stage="failure",
    severity=Severity.CRITICAL,
    logs_of=JOBMANAGER,
    signatures=("job-state", "checkpoint-completed", "kafka-client-config", "cluster-reached"),
    says="Two copies of the job {job_name} run at the same time[[ since {since} UTC]] ({older} and {job}) and read the same "
    "{split_count} partition(s): {split}; every record is read and written twice",
    next_command="flink list --running",
    needs=_two_jobs,
)
def two_copies(
    log_events: DataFrame,
    split_claims: DataFrame,
    *,
    start: int = 60,  # seconds in which the readers of a started job get their splits; later ones are of a restart
) -> DataFrame:
    """Pairs of jobs of one name that run at once and are dealt the same partitions; not where Kafka or the groups may differ."""
    lives = _lives(log_events)
    older, newer = lives.alias("o"), lives.alias("n")
    at_once = (
        (F.col("o.scope") == F.col("n.scope"))
        & (F.col("o.job_name") == F.col("n.job_name"))
        & (F.col("o.job") != F.col("n.job"))
        & (F.col("o.started_at") <= F.col("n.first_at"))
        & (F.col("o.ended_at").isNull() | (F.col("o.ended_at") > F.col("n.first_at")))
        & (F.col("o.completed_at") > F.col("n.first_at"))
        & F.col("n.completed_at").isNotNull()
    )
    pairs = older.join(newer, at_once).select(
        F.col("o.scope").alias("scope"),
        F.col("n.job").alias("job"),
        F.col("o.job").alias("older"),
        F.col("n.job_name").alias("job_name"),
        F.col("n.first_at").alias("since"),
        F.least("o.completed_at", "n.completed_at").alias("until"),
        (F.col("o.log") == F.col("n.log")).alias("one_log"),
    )
    reads = F.coalesce(F.col("detail")["config_of"], F.col("detail")["client_kind"], F.lit("")) != "Producer"  # a sink may be elsewhere
    lists = F.when(reads, F.regexp_replace(F.col("detail")["bootstrap"], r"\s", ""))
    clusters = F.when(reads, F.col("detail")["cluster"])
    kafka = log_events.groupBy("scope").agg(F.countDistinct(lists).alias("lists"), F.countDistinct(clusters).alias("clusters"))
    both = pairs.join(kafka, "scope")
    # topics of one name lie in many a Kafka cluster: logs of two JobManagers have to show that theirs is the same
    same = (F.col("clusters") == 1) | ((F.col("clusters") == 0) & ((F.col("lists") == 1) | (F.col("one_log") & (F.col("lists") == 0))))
    copies = both.where(same).drop("one_log", "lists", "clusters")
    return _sharing(copies.join(_apart(copies, log_events, start), ["scope", "job", "older"], "left_anti"), split_claims, start)


def _apart(pairs: DataFrame, log_events: DataFrame, start: int) -> DataFrame:
    """Of `pairs`, those whose consumers name other groups: blue and green, or two sinks. Copies have one configuration.

    Clients that name no job are told apart as claims are (`_sharing`).
    """
    told = F.nullif(F.regexp_extract("text", r"\bgroup\.id = (\S+)", 1), F.lit(""))
    group = F.nullif(F.coalesce("group", told), F.lit("null"))
    groups = log_events.select("scope", F.col("job").alias("of"), "at", group.alias("by")).where(F.col("by").isNotNull())
    behind = F.unix_seconds("at") - F.unix_seconds("since")
    newer = F.when(F.col("of").isNotNull(), F.col("of") == F.col("job")).otherwise(behind.between(-1, start))
    older = F.when(F.col("of").isNotNull(), F.col("of") == F.col("older")).otherwise(behind < -1)
    named = (
        pairs.join(groups, "scope")
        .groupBy("scope", "job", "older")
        .agg(F.collect_set(F.when(newer, F.col("by"))).alias("new"), F.collect_set(F.when(older, F.col("by"))).alias("old"))
    )
    return named.where((F.size("new") > 0) & (F.size("old") > 0) & ~F.arrays_overlap("new", "old")).select("scope", "job", "older")


def _lives(log_events: DataFrame) -> DataFrame:
    """Per job: name, first and last switch to RUNNING, end (null while it runs), last completed checkpoint."""
    state, job_switch = F.col("to_state"), F.col("signature") == "job-state"
    return (
        log_events.where(F.col("job").isNotNull())
        .groupBy("scope", "job")
        .agg(
            F.max(F.col("detail")["job_name"]).alias("job_name"),
            F.max(F.when(job_switch, series())).alias("log"),
            F.min(F.when(job_switch & (state == "RUNNING"), F.col("at"))).alias("first_at"),
            F.max(F.when(job_switch & (state == "RUNNING"), F.col("at"))).alias("started_at"),
            F.min(F.when(job_switch & state.isin(*ENDED), F.col("at"))).alias("ended_at"),
            F.max(F.when(F.col("signature") == "checkpoint-completed", F.col("at"))).alias("completed_at"),
        )
        .where(F.col("job_name").isNotNull() & ~F.col("job_name").isin(*UNNAMED) & F.col("first_at").isNotNull())
    )


def _sharing(pairs: DataFrame, split_claims: DataFrame, start: int) -> DataFrame:
    """`pairs` with the partitions that both got in the same way (dealt by the enumerator, or taken by a reader) at their start.

    A claim of no known job is the newer copy's when it comes with its start, the older's when it came before.
    """
    claims = split_claims.where(F.col("topic").isNotNull() & F.col("how").isin("assigned", "reading"))
    claims = claims.select("scope", F.col("job").alias("of"), "how", "topic", "partition", "at", "file", "line", "text")
    both = pairs.join(claims, "scope")
    behind = F.unix_seconds("at") - F.unix_seconds("since")
    newer: Column = F.when(F.col("of").isNotNull(), F.col("of") == F.col("job")).otherwise(behind.between(-1, start))
    older: Column = F.when(F.col("of").isNotNull(), F.col("of") == F.col("older")).otherwise(behind < -1)
    each = ["scope", "job", "older", "job_name", "since", "until", "how", "topic", "partition"]
    shown = F.struct("at", "file", "line", F.lit("split_claims").alias("table"), "text")
    shared = (
        both.groupBy(*each)
        .agg(F.max(newer).alias("newer_has"), F.max(older).alias("older_has"), F.array_sort(F.collect_set(shown)).alias("lines"))
        .where(F.col("newer_has") & F.col("older_has"))
    )
    split = F.concat_ws("-", "topic", F.col("partition").cast("string"))
    found = shared.groupBy("scope", "job", "older", "job_name", "since", "until").agg(
        numbered(split, "split"),
        F.when(F.min("topic") == F.max("topic"), F.max("topic")).alias("topic"),
        F.slice(F.array_sort(F.array_distinct(F.flatten(F.collect_list("lines")))), 1, 6).alias("evidence"),
    )
    one = F.row_number().over(Window.partitionBy("scope", "job").orderBy("older"))
    return (
        found.withColumn("_one", one)
        .where(F.col("_one") == 1)
        .drop("_one")
        .withColumns(
            {
                "split_count": F.size("split"),
                "reason": F.lit("two-copies"),
                "confidence": F.lit(0.9),  # wanted besides: that both write to the same place
            }
        )
    )
