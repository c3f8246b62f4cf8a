"""LAG402: a consumer loses its partitions before it can commit: a rebalance loop."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.tables import Row
from analyzers.tables.processes import BROKER, CLIENTS
from analyzers.vocabulary.aggregates import agreed, counted, distinct
from analyzers.vocabulary.findings import beside, exemplars
from analyzers.vocabulary.offset_commits import OF_FLINK, refusal, refusal_of
from analyzers.vocabulary.rule import rule

LEFT = "(?i)LeaveGroup|heartbeat expiration|removing member|session (?:timeout|expired)|poll timeout"
ON_BROKER = ("group-rebalance-on-broker", "group-member-failed")
SPARKS_OWN = "^spark-kafka-(source|relation)-|-driver-[0-9]+$"
"""Groups of a query's driver, which looks up offsets at each trigger and never commits: one that leaves its group between two triggers
loses nothing (KafkaOffsetReaderConsumer; executors assign partitions and are no members)."""
LOST = ("commit-after-rebalance", "poll-timeout-expired", "group-member-expelled")


def _members_in_trouble(rows: Sequence[Row], _thresholds: Mapping[str, Any]) -> bool:
    return any(
        row["signature"] in (*LOST, *ON_BROKER) or refusal_of(row) == "members"
        for row in rows
        if not re.search(SPARKS_OWN, row["group"] or "")
    )


@rule(
    "LAG402",
    title="The group rebalances again and again and commits are refused",
    cause="offset-commit",
    stage="commit",
    severity=Severity.CRITICAL,
    logs_of=(*CLIENTS, *BROKER),
    signatures=(
        *LOST,
        *OF_FLINK,
        "partition-commit-failed",
        "offsets-commit-failed",
        "group-rebalancing",
        "group-joining",
        "instance-fenced",
        *ON_BROKER,
    ),
    faults=("commit-failed",),
    says={
        "members": "Somebody else[[ ({strangers})]] is a member of {group_or_own}, and a group with members refuses the commits of a job "
        "that assigns its partitions itself: {signs}[[ since {since} UTC]]. The job reads on; committed offsets and the lag that monitors "
        "show are not its own",
        "": "{whose_group} takes the partitions away from its consumers before they have committed: {signs}[[ since {since} UTC]]; the "
        "same records are read again after each",
    },
    inferred="[[{whose}]]",
    next_command="diag lag-report --bootstrap-server HOST:PORT,…[[ --group {group}]]",
    needs=_members_in_trouble,
)
def rebalance_loop(
    log_events: DataFrame,
    faults: DataFrame | None,
    log_files: DataFrame | None,
    members: DataFrame | None,
    *,
    enough: int = 3,  # one refused commit happens at every deployment of a plain consumer
    within: int = 3600,  # seconds: max.poll.interval.ms is 5 min; what comes once a day is a deployment
    fragment: int = 60,  # lines: in so short an excerpt one refusal is all there will be
) -> DataFrame:
    """Per job and group: commits refused after a rebalance, polls that came too late, members that were expelled."""
    refused = (F.col("signature") == "commit-after-rebalance") | F.coalesce(refusal() == "members", F.lit(False))
    of_flink = F.col("signature").isin(*OF_FLINK) & (refusal() == "members")
    of_members = log_events.where(~F.coalesce(F.col("group").rlike(SPARKS_OWN), F.lit(False)))
    events = of_members.dropDuplicates(["scope", "file", "line", "signature"]).withColumn("refused", refused)
    sign = F.col("refused") | F.col("signature").isin(*LOST, *ON_BROKER)
    events = events.withColumn("together", _together(F.col("refused") | (F.col("signature") == "poll-timeout-expired"), within))
    once = F.countDistinct(F.when(F.col("refused"), F.struct("file", "line")))
    per_job = events.groupBy("scope", "job").agg(
        once.alias("refused"),
        F.coalesce(F.bool_or(of_flink), F.lit(False)).alias("of_flink"),
        F.count_if(F.col("signature") == "poll-timeout-expired").alias("late"),
        F.count_if(F.col("signature").isin("group-rebalancing", "group-rebalance-on-broker")).alias("joins"),
        F.count_if(F.col("signature").isin("group-member-expelled", "group-member-failed")).alias("expelled"),
        F.max("together").alias("together"),
        agreed("group"),
        agreed("client"),
        F.count_if((F.col("signature") == "group-rebalance-on-broker") & F.col("detail")["because"].rlike(LEFT)).alias("leaves"),
        distinct(F.when(F.col("refused"), F.col("topic")), "topics"),
        agreed(F.when(F.col("refused"), F.col("topic")), "topic"),
        agreed(F.when(F.col("refused"), F.col("partition")), "partition"),
        F.coalesce(F.min(F.when(sign, F.col("at"))), F.min("at")).alias("since"),
        F.max("at").alias("until"),
        exemplars(where=sign),
    )
    per_job = _who(per_job, members)
    per_job = beside(per_job.join(_lines(log_files, per_job), "scope", "left"), _fatal(faults, per_job), "job")
    signs = F.col("refused") + F.col("late")
    loop = (
        (signs >= enough)
        | (F.col("leaves") + F.col("expelled") > enough)
        | ((signs >= 1) & ((F.col("lines") <= fragment) | F.col("fatal")))
    )
    # a Flink job commits once in a checkpoint interval, which may be long
    sparse = (signs >= enough) & (F.col("together") < enough) & ~F.col("of_flink") & ~F.coalesce("fatal", F.lit(False))
    return (
        per_job.where(loop)
        .withColumns(
            {
                "reason": F.when(F.col("of_flink"), "members").otherwise("rebalance"),
                "group_or_own": F.coalesce(F.concat(F.lit("group "), "group"), F.lit("the job's group")),
                "group_named": F.coalesce("group", F.lit("GROUP")),
                "whose_group": F.coalesce(F.concat(F.lit("Group "), "group"), F.lit("The group")),
                # brokers alone cannot tell a loop from a deployment that replaces its consumers one by one, nor can a few signs in days
                "severity": F.when((signs == 0) | sparse, "warning").otherwise("critical"),
                "signs": F.concat_ws(
                    ", ",
                    _times("refused", "refused commit"),
                    _times("late", "poll", " later than max.poll.interval.ms"),
                    F.when(~F.col("of_flink"), _times("expelled", "expelled member")),
                    _times("leaves", "departure"),
                    _times("joins", "rebalance"),
                ),
                "fault_ids": F.array(F.lit("commit-failed")),
                "whose": F.when(
                    ~F.col("of_flink") & F.col("job").rlike("^[0-9a-f]{32}$"),
                    F.lit(
                        "Flink and Beam assign partitions themselves and never join a "
                        "group: the member that rebalances is another consumer with the same group id."
                    ),
                ),
                "stranger": F.when(
                    F.col("job").rlike("^[0-9a-f]{32}$"),
                    F.lit("Find the other consumer of this group id first (kafka-consumer-groups.sh --describe --members). "),
                ).otherwise(F.lit("")),
            }
        )
        .drop("lines", "fatal", "together", "expelled", "leaves", "topics", "of_flink")
    )


def _together(sign: Column, within: int) -> Column:
    """How many of `sign` came in the `within` seconds before each event; where events have no times, all of them."""
    recent = Window.partitionBy("scope", "job").orderBy(F.unix_seconds("at")).rangeBetween(-within, 0)
    return F.count_if(sign).over(recent)


def _who(found: DataFrame, members: DataFrame | None) -> DataFrame:
    """Adds strangers: who was seen in the group, by client and host; null where nobody looked."""
    if members is None:
        return found.withColumn("strangers", F.lit(None).cast("array<string>"))
    one = F.concat_ws(" ", F.lit("client"), "client", F.lit("at"), "host")
    return found.join(members.groupBy("scope", "group").agg(distinct(one, "strangers")), ["scope", "group"], "left")


def _lines(log_files: DataFrame | None, like: DataFrame) -> DataFrame:
    if log_files is None:
        return like.select("scope").distinct().withColumn("lines", F.lit(None).cast("long"))
    return log_files.groupBy("scope").agg(F.sum("lines").alias("lines"))


def _fatal(faults: DataFrame | None, like: DataFrame) -> DataFrame:
    if faults is None:
        return like.select("scope", "job").distinct().withColumn("fatal", F.lit(False))
    return faults.groupBy("scope", "job").agg(F.max("fatal").alias("fatal"))


def _times(count: str, what: str, how: str = "") -> Column:
    return F.when(F.col(count) > 0, F.concat(counted(count, what), F.lit(how)))
