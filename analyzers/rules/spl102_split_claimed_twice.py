"""SPL102: two readers of one attempt got the same partition."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from analyzers.tables import Row
from analyzers.vocabulary import CRITICAL, FLINK, DataFrame, F, count, event, first_of, found, number_of, numbered, rule

FAILOVER = (
    "task-failed", "global-failover", "failover-region", "failover-tasks", "tasks-restarting", "reader-removed",
    "source-subtask-recovered", "adaptive-restarting",
)  # fmt: skip
"""After one of these a partition is dealt again by right."""

GIVEN_UP = "jobmanager-disconnected"
"""A worker that was given up while it stood still goes on with its old tasks for a moment, until its own log has this line: the splits of
both attempts are in that log one after the other."""


def _again(rows: Sequence[Row], _thresholds: Mapping[str, Any]) -> bool:
    """Whether an attempt deals a split to several subtasks, or a split is read more than once in it."""
    claims = defaultdict(set)
    for row in rows:
        if row["attempt"] is not None:
            dealt = row["how"] == "assigned"
            claim = row["subtask"] if dealt else (row["how"], row["subtask"], row["offset"], row["at"], row["text"])
            claims[row["scope"], row["job"], row["attempt"], row["split"], dealt].add(claim)
    return any(len(several) > 1 for several in claims.values())


@rule(
    "SPL102", title="A partition has two readers in one attempt", cause="duplicate-split", stage="failure", severity=CRITICAL,
    reason="two-readers", logs_of=FLINK,
    signatures=("enumerator-started", "job-state", "task-deploying", "task-transition", "task-received", GIVEN_UP, *FAILOVER),
    says="{split_count} partition(s) got two readers in attempt {attempt} of the job: {split}[[ (subtasks {subtasks})]][[, since {since} "
    "UTC]]; records are read twice",
    next_command="diag checkpoint-inspect CHECKPOINT_DIRECTORY   # which splits sit in two subtasks",
    needs=_again,
)  # fmt: skip
def split_claimed_twice(split_claims: DataFrame, log_events: DataFrame) -> DataFrame:
    """Per job and attempt, the partitions with more readers than the job has sources.

    A job may read a topic with two sources, so claims beyond the number of sources count; copies of one line in two files count once.
    """
    known = split_claims.where(F.col("attempt").isNotNull() & F.col("job").isNotNull() & F.col("topic").isNotNull())
    once = known.dropDuplicates(["scope", "job", "attempt", "how", "split", "subtask", "offset", "at", "text"])
    per_split = found(
        once.withColumn("_dealt", F.col("how") == "assigned"), "job", "attempt", "topic", "partition", "split", "_dealt",
        table="split_claims", most=3,
        _claims=count(), _readers=number_of("subtask"), _owners=F.collect_set("subtask"), _files=F.collect_set("file"),
    )  # fmt: skip
    named = F.when(event("enumerator-started") | F.startswith("task", F.lit("Source: ")), F.col("task"))
    of_task = F.regexp_replace(named, r"^(Source: [^>]*?)(?: -> .*)?$", "$1")
    # a log that begins later may name some of the sources only
    begins = event("enumerator-started") | (event("job-state") & (F.col("from_state") == "CREATED"))
    begun = log_events.groupBy("scope", "job").agg(number_of(of_task).alias("_sources"), count(begins).alias("_begins"))
    sources = begun.where((F.col("_sources") > 0) & (F.col("_begins") > 0))
    readers = first_of((F.col("_readers"), F.col("_dealt")), otherwise=F.col("_claims"))
    twice = per_split.join(sources, ["scope", "job"]).where(readers > F.col("_sources"))

    ends = log_events.where(event(*FAILOVER, GIVEN_UP)).select(
        F.col("scope").alias("_scope"), F.col("job").alias("_job"), F.col("file").alias("_file"), F.col("at").alias("_at"),
        event(GIVEN_UP).alias("_given_up"),
    )  # fmt: skip
    of_job = ~F.col("_given_up") & (F.col("_job").isNull() | (F.col("job") == F.col("_job")))
    of_worker = F.col("_given_up") & ~F.col("_dealt") & F.array_contains("_files", F.col("_file"))
    between = (F.col("scope") == F.col("_scope")) & (F.col("_at") > F.col("since")) & (F.col("_at") <= F.col("until"))
    again = twice.join(ends, between & (of_job | of_worker), "left_anti")
    in_order = F.sort_array(F.collect_list(F.struct("since", "split", "evidence")))
    return again.groupBy("scope", "job").agg(
        F.min("attempt").alias("attempt"),
        number_of("split").alias("split_count"),
        numbered("split", "split"),
        F.when(F.min("topic") == F.max("topic"), F.max("topic")).alias("topic"),
        F.when(number_of("split") == 1, F.max("partition")).alias("partition"),
        F.sort_array(F.array_distinct(F.flatten(F.collect_list("_owners")))).alias("subtasks"),
        F.min("since").alias("since"),
        F.max("until").alias("until"),
        F.slice(F.array_distinct(F.flatten(in_order["evidence"])), 1, 8).alias("evidence"),  # both readers of a partition side by side
        F.lit(0.9).alias("confidence"),  # one of two witnesses: a checkpoint that holds the split twice would be the other
    )
