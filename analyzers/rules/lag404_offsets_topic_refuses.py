"""LAG404: the group's coordinator lives and takes no commits: its partition of the offsets topic cannot be written."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.tables.processes import CLIENTS
from analyzers.vocabulary.aggregates import agreed
from analyzers.vocabulary.findings import exemplars
from analyzers.vocabulary.offset_commits import lasting_refusal, silent, unwritable
from analyzers.vocabulary.rule import has, rule


@rule(
    "LAG404",
    title="The group's coordinator lives and takes no commits",
    cause="offset-commit",
    stage="commit",
    severity=Severity.CRITICAL,
    logs_of=CLIENTS,
    signatures=(
        "coordinator-unavailable",
        "coordinator-disconnected",
        "request-timed-out",
        "partition-commit-failed",
        "checkpoint-completed",
    ),
    says="Broker {broker}[[ at {address}]], the coordinator[[ of group {group}]], answers and takes no commits ({answers} refusals between "
    "{since} and {until} UTC: The coordinator is not available). Reading is fine, but committed offsets and the lag that monitors show do "
    "not move",
    inferred="That __consumer_offsets cannot be written is inferred: the broker answers, and this is its answer when a commit is not "
    "replicated. Its own log says so (NotEnoughReplicasException).",
    needs=has(signature=("partition-commit-failed",), at_least="enough"),
    next_command="diag broker-health --bootstrap-server HOST:PORT,…",
)
def offsets_topic_refuses(
    log_events: DataFrame,
    log_counts: DataFrame | None,
    *,
    enough: int = 5,  # a coordinator that loads its partition answers so a few times
    lasting: int = 120,  # seconds; nor does it load for so long
) -> DataFrame:
    """Per job: one broker answered "not available" to commits for long, and was not lost since more often than it answered."""
    rows = lasting_refusal(log_events, log_counts, unwritable(), ("partition-commit-failed",), enough=enough, lasting=lasting)
    refused = F.col("mine")
    first = F.min(F.when(refused, F.col("at"))).over(Window.partitionBy("scope", "job"))
    per_job = (
        rows.where("again")
        .withColumn("lost", silent() & (F.col("at") >= first))
        .groupBy("scope", "job")
        .agg(
            F.count_if(refused & (F.col("signature") == "partition-commit-failed")).alias("answers"),
            F.count_if("lost").alias("losses"),
            # the broker stands in the coordinator's line, the text of its answer in the commit's
            agreed(F.when(refused, F.col("broker")), "broker"),
            F.countDistinct(F.when(refused, F.col("broker"))).alias("brokers"),
            agreed(F.when(refused, F.col("address")), "address"),
            agreed(F.when(refused, F.col("group")), "group"),
            F.min(F.when(refused, F.col("at"))).alias("since"),
            F.max(F.when(refused, F.col("at"))).alias("until"),
            exemplars(where=refused),
        )
    )
    found = per_job.where(
        (F.col("answers") > F.col("losses")) & (F.col("brokers") == 1)  # one that moves is a cluster at work
    )
    return found.withColumn("reason", F.lit("offsets-topic")).drop("losses", "brokers")
