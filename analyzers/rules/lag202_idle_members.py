"""LAG202: members of a group that hold no partition, or partitions that no member holds."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.vocabulary.findings import evidence
from analyzers.vocabulary.rule import rule
from analyzers.vocabulary.snapshots import newest_look, no_job


@rule(
    "LAG202",
    title="Members without partitions, or partitions without a member",
    stage="risk",
    severity=Severity.WARNING,
    says={
        "idle-members": "{idle} of the {members} members of group {group} hold no partition: there are {partitions} partitions to read, "
        "more members than that have nothing to do[[ ({named})]]",
        "unheld": "{unheld} partition(s) that group {group} has committed to are held by none of its {members} member(s): {named}",
    },
    next_command="kafka-consumer-groups.sh --bootstrap-server HOST:PORT --describe --group {group} --members --verbose",
)
def idle_members(groups: DataFrame, members: DataFrame, committed_offsets: DataFrame | None) -> DataFrame:
    """Per stable group with members: those without partitions, and committed partitions with lag that nobody holds."""
    # while a group rebalances nobody holds anything
    stable = newest_look(groups).where((F.lower("state") == "stable") & (F.col("members") > 0)).select("scope", "group", "members")
    own = newest_look(members).join(stable.drop("members"), ["scope", "group"])
    text = F.concat(F.lit("group "), "group", F.lit(": "), F.coalesce("client", "member"), F.lit(" on "), F.coalesce("host", F.lit("?")))
    idle = F.coalesce(F.size("assigned"), F.lit(0)) <= 0
    # a member whose assignment is not of the consumer protocol (Kafka Connect) shows none: only groups where somebody shows one count
    found = (
        own.groupBy("scope", "group")
        .agg(
            F.count_if(idle).alias("idle"),
            F.size(F.array_distinct(F.flatten(F.collect_list("assigned")))).cast("long").alias("partitions"),
            F.array_sort(F.collect_set(F.when(idle, F.coalesce("client", "member")))).alias("named"),
            F.max("as_of").alias("until"),
            evidence("members", F.when(idle, text)),
        )
        .where((F.col("idle") > 0) & (F.col("partitions") > 0))
        .join(stable, ["scope", "group"])
        .withColumns({"reason": F.lit("idle-members"), "unheld": F.lit(None).cast("long"), "severity": F.lit("info")})
    )
    if committed_offsets is None:
        return no_job(found)
    shown = own.where(~idle).select("scope", "group").distinct()
    place = F.concat_ws("-", "topic", "partition")
    lonely = newest_look(committed_offsets).where(F.col("member").isNull() & (F.col("lag_records") > 0) & F.col("error").isNull())
    unheld = (
        lonely.join(shown, ["scope", "group"])
        .groupBy("scope", "group")
        .agg(
            F.count("*").alias("unheld"),
            F.array_sort(F.collect_set(place)).alias("named"),
            F.max("as_of").alias("until"),
            evidence("committed_offsets", F.concat(F.lit("group "), "group", F.lit(": "), place, F.lit(", lag "), "lag_records")),
        )
        .join(stable, ["scope", "group"])
        .withColumns(
            {
                "reason": F.lit("unheld"), "severity": F.lit("warning"), "idle": F.lit(None).cast("long"),
                "partitions": F.lit(None).cast("long"),
            }
        )
    )  # fmt: skip
    return no_job(found.unionByName(unheld))
