"""SPL102: two readers of one attempt got the same partition."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.tables import Row
from analyzers.tables.processes import FLINK
from analyzers.vocabulary.aggregates import distinct, numbered
from analyzers.vocabulary.rule import rule

FAILOVER = (
    "task-failed",
    "global-failover",
    "failover-region",
    "failover-tasks",
    "tasks-restarting",
    "reader-removed",
    "source-subtask-recovered",
    "adaptive-restarting",
)
"""After one of these a partition is dealt again by right."""

WORKER_GIVEN_UP = "jobmanager-disconnected"
"""A worker that is given up while it stands still goes on with its old tasks for a moment, until its own log says this: the splits of both
attempts are said in it one after the other."""


def _again(rows: Sequence[Row], _thresholds: Mapping[str, Any]) -> bool:
    """A split that one attempt deals to several subtasks, or that is read more than once in it."""
    claims = defaultdict(set)
    for row in rows:
        if row["attempt"] is not None:
            dealt = row["how"] == "assigned"
            claim = row["subtask"] if dealt else (row["how"], row["subtask"], row["offset"], row["at"], row["text"])
            claims[row["scope"], row["job"], row["attempt"], row["split"], dealt].add(claim)
    return any(len(several) > 1 for several in claims.values())


@rule(
    "SPL102",
    title="A partition has two readers in one attempt",
    cause="duplicate-split",
    stage="failure",
    severity=Severity.CRITICAL,
    logs_of=FLINK,
    signatures=("enumerator-started", "task-deploying", "task-transition", "task-received", WORKER_GIVEN_UP, *FAILOVER),
    says="{split_count} partition(s) got two readers in attempt {attempt} of the job: {split}[[ (subtasks {subtasks})]][[, since "
    "{since} UTC]]; their records are read twice",
    next_command="diag checkpoint-inspect CHECKPOINT_DIRECTORY   # which splits sit in two subtasks",
    needs=_again,
)
def split_claimed_twice(
    split_claims: DataFrame,
    log_events: DataFrame,
) -> DataFrame:
    """Per job and attempt, the partitions with more readers than the job has sources.

    A job may read a topic with two sources, so claims beyond the number of sources count; copies of one line in two files count once.
    """
    known = split_claims.where(F.col("attempt").isNotNull() & F.col("job").isNotNull() & F.col("topic").isNotNull())
    once = known.dropDuplicates(["scope", "job", "attempt", "how", "split", "subtask", "offset", "at", "text"])
    kind = F.when(F.col("how") == "assigned", F.lit("dealt")).otherwise(F.lit("read"))
    per_split = once.groupBy("scope", "job", "attempt", "topic", "partition", "split", kind.alias("kind")).agg(
        F.count("*").alias("claims"),
        F.countDistinct("subtask").alias("readers"),
        distinct("subtask", "owners"),
        F.collect_set("file").alias("files"),
        F.min("at").alias("since"),
        F.max("at").alias("until"),
        F.slice(F.array_sort(F.collect_set(F.struct("at", "file", "line", F.lit("split_claims").alias("table"), "text"))), 1, 3).alias(
            "evidence"
        ),
    )
    named = F.when(F.col("signature") == "enumerator-started", F.col("task")).when(F.startswith("task", F.lit("Source: ")), F.col("task"))
    of_task = F.regexp_replace(named, r"^(Source: [^>]*?)(?: -> .*)?$", "$1")
    sources = log_events.groupBy("scope", "job").agg(F.countDistinct(of_task).alias("sources")).where(F.col("sources") > 0)
    readers = F.when(F.col("kind") == "dealt", F.col("readers")).otherwise(F.col("claims"))
    twice = per_split.join(sources, ["scope", "job"]).where(readers > F.col("sources"))
    failovers = log_events.where(F.col("signature").isin(*FAILOVER)).select(
        F.col("scope").alias("_scope"), F.col("job").alias("_job"), F.col("at").alias("failed_at")
    )
    between = (
        (F.col("scope") == F.col("_scope"))
        & (F.col("_job").isNull() | (F.col("job") == F.col("_job")))
        & (F.col("failed_at") > F.col("since"))
        & (F.col("failed_at") <= F.col("until"))
    )
    given_up = log_events.where(F.col("signature") == WORKER_GIVEN_UP).select(
        F.col("scope").alias("_scope"), F.col("file").alias("_file"), F.col("at").alias("given_up_at")
    )
    of_a_zombie = (
        (F.col("scope") == F.col("_scope"))
        & (F.col("kind") == "read")
        & (F.array_contains("files", F.col("_file")))
        & (F.col("given_up_at") > F.col("since"))
        & (F.col("given_up_at") <= F.col("until"))
    )
    return _per_job(twice.join(failovers, between, "left_anti").join(given_up, of_a_zombie, "left_anti"))


def _per_job(twice: DataFrame) -> DataFrame:
    per_job = twice.groupBy("scope", "job").agg(
        F.min("attempt").alias("attempt"),
        F.countDistinct("split").alias("split_count"),
        numbered("split", "split"),
        F.when(F.min("topic") == F.max("topic"), F.max("topic")).alias("topic"),
        F.when(F.countDistinct("split") == 1, F.max("partition")).alias("partition"),
        F.array_sort(F.array_distinct(F.flatten(F.collect_list("owners")))).alias("subtasks"),
        F.min("since").alias("since"),
        F.max("until").alias("until"),
        F.slice(F.flatten(F.collect_list("evidence")), 1, 8).alias("evidence"),
    )
    return per_job.withColumns(
        {
            "reason": F.lit("two-readers"),
            "subtasks": F.when(F.size("subtasks") > 0, F.col("subtasks")),
            "confidence": F.lit(0.9),  # one of two legs: a checkpoint that holds the split twice would be the other
        }
    )
