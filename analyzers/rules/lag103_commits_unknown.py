"""LAG103: a group has never committed, or what it committed cannot be told."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.vocabulary.findings import evidence
from analyzers.vocabulary.rule import rule
from analyzers.vocabulary.snapshots import newest_look, no_job


@rule(
    "LAG103",
    title="A group's position is unknown: never committed, or not told",
    stage="commit",
    severity=Severity.WARNING,
    says={
        "never-committed": "Group {group} has {members} member(s) on {places} partition(s) with {waiting_records} records and has not "
        "committed a single offset: how far it is cannot be told from Kafka",
        "": "What group {group} has committed is unknown: {why}",
    },
    next_command="diag broker-health --bootstrap-server HOST:PORT",
)
def commits_unknown(groups: DataFrame, committed_offsets: DataFrame | None) -> DataFrame:
    """Per scope and group. Groups without members and without commits are silent: nobody reads with them."""
    seen = newest_look(groups)
    unknown = (
        seen.where(F.col("error").isNotNull())
        .groupBy("scope", "group")
        .agg(
            F.lit("unknown").alias("reason"),
            F.any_value("error").alias("why"),
            F.max("as_of").alias("until"),
            evidence("groups", F.concat(F.lit("group "), "group", F.lit(": "), "error")),
        )
        .withColumns({name: F.lit(None).cast("long") for name in ("members", "places", "waiting_records")})
    )
    if committed_offsets is None:
        return no_job(unknown)
    alive = seen.where(F.col("error").isNull() & (F.col("members") > 0)).select("scope", "group", "members")
    text = F.concat(
        F.lit("group "), "group", F.lit(", "), F.concat_ws("-", "topic", "partition"), F.lit(": no commit, log "), "log_start",
        F.lit(" to "), "high_watermark",
    )  # fmt: skip
    never = (
        newest_look(committed_offsets)
        .join(alive, ["scope", "group"])
        .groupBy("scope", "group")
        .agg(
            F.lit("never-committed").alias("reason"),
            F.lit(None).cast("string").alias("why"),
            F.max("at").alias("until"),
            evidence("committed_offsets", text),
            F.max("members").alias("members"),
            F.count("*").alias("places"),
            F.sum(F.col("high_watermark") - F.col("log_start")).alias("waiting_records"),
            F.count("committed").alias("commits"),
            F.count("error").alias("errors"),
        )
        .where((F.col("commits") == 0) & (F.col("errors") == 0) & (F.col("waiting_records") > 0))
        .drop("commits", "errors")
    )
    return no_job(unknown.unionByName(never))
