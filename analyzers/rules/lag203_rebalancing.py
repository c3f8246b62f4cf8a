"""LAG203: the members of a group change from look to look: it rebalances instead of reading."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.vocabulary.aggregates import seconds
from analyzers.vocabulary.findings import evidence
from analyzers.vocabulary.rule import rule
from analyzers.vocabulary.snapshots import no_job


@rule(
    "LAG203",
    title="The group rebalances while it is watched",
    cause="offset-commit",
    stage="commit",
    severity=Severity.CRITICAL,
    says="Group {group} rebalanced {times} times in {looks} looks within {watched} s: other members, other partitions, or state "
    "{states}. Each time all its members stop reading, and what they had not committed is read again",
    missing="why members leave: their logs say it (poll timeout, session timeout, a crash); diag triage reads them",
    next_command="diag triage LOG_DIRECTORY",
)
def rebalancing(
    groups: DataFrame,
    members: DataFrame | None,
    *,
    enough: int = 3,  # rebalances; a deployment of one member makes two. One that lasts is seen in many looks and is one
    within: int = 600,  # seconds between two looks: members of looks further apart change for good reasons
) -> DataFrame:
    """Per group: looks in which it was rebalancing or had other members, or they other partitions, than in the look before."""
    unsettled = F.lower("state").isin("preparingrebalance", "completingrebalance", "assigning", "reconciling")
    looks = groups.where(F.col("error").isNull()).select("scope", "group", "as_of", "state", unsettled.alias("unsettled"))
    if members is None:
        held = looks.select("scope", "group", "as_of").withColumns({"who": F.lit(""), "ids": F.array().cast("array<string>")})
    else:
        # with a partition more or less assigned the same member is another holder
        one = F.concat_ws("=", "member", F.concat_ws(",", F.array_sort("assigned")))
        held = members.groupBy("scope", "group", "as_of").agg(
            F.concat_ws(";", F.array_sort(F.collect_list(one))).alias("who"), F.collect_set("member").alias("ids")
        )
    each = Window.partitionBy("scope", "group").orderBy("as_of")
    seen = looks.join(held, ["scope", "group", "as_of"], "left").withColumn("who", F.coalesce("who", F.lit("")))
    told = seen.withColumns(
        {
            "before": F.lag("who").over(each),
            "ids_before": F.lag("ids").over(each),
            "unsettled_before": F.coalesce(F.lag("unsettled").over(each), F.lit(False)),
            "gap": seconds(F.lag("as_of").over(each), "as_of"),
        }
    )
    moved = F.coalesce((F.col("who") != F.col("before")) & (F.col("gap") <= within), F.lit(False))
    # what a rebalance ends with is no other one, and a group that starts up gains members look by look
    left = F.size(F.array_except("ids_before", "ids")) > 0
    begins = F.col("restless") & (~F.col("unsettled_before") | F.coalesce(left, F.lit(False)))
    text = F.concat(
        F.lit("group "), "group", F.lit(" was "), F.coalesce("state", F.lit("unknown")), F.lit(" at "), F.date_format("as_of", "HH:mm:ss")
    )
    found = (
        told.withColumn("restless", F.col("unsettled") | moved)
        .withColumn("begins", begins)
        .groupBy("scope", "group")
        .agg(
            F.count_if("restless").alias("restless"),
            F.count_if("begins").alias("times"),
            F.count("*").alias("looks"),
            F.round(seconds(F.min("as_of"), F.max("as_of")), 0).cast("long").alias("watched"),
            F.array_sort(F.collect_set("state")).alias("states"),
            F.min(F.when(F.col("restless"), F.col("as_of"))).alias("since"),
            F.max("as_of").alias("until"),
            evidence("groups", text),
        )
    )
    # half of the looks: an autoscaler that changes one member an hour is no loop
    loop = (F.col("times") >= enough) & (F.col("restless") * 2 >= F.col("looks"))
    return no_job(found.where(loop).withColumn("reason", F.lit("rebalance-loop")))
