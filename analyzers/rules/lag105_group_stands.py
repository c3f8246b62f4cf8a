"""LAG105: a group does not move although there is something to read, or it went back."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.derived.lag.lag_status import MEMBER_SECONDS, MEMBER_STILL_SECONDS
from analyzers.report.finding import Severity
from analyzers.vocabulary.lag import EXPLAINED, OWN_RULE, per_group, with_status
from analyzers.vocabulary.rule import rule


@rule(
    "LAG105",
    title="A group stands still, or went back",
    cause="no-progress",
    stage="lag",
    severity=Severity.CRITICAL,
    says={
        "stall": "Group {group} stands on {places} partition(s): {named}. {worst}: {worst_says}",
        "stop": "Nothing is committed for group {group} on {places} partition(s) any more: {named}. {worst}: {worst_says}",
        "rewind": "Group {group} went back on {places} partition(s): {named}. {worst}: {worst_says}. What lies between is read again",
    },
    inferred="[[{unsure}]]",
    next_command="diag lag-report --bootstrap-server HOST:PORT --group {group} --flink-rest http://JOBMANAGER:8081",
)
def group_stands(
    lag_truth: DataFrame,
    lag_status: DataFrame,
    committed_offsets: DataFrame | None,
    *,
    sure: int = 600,  # seconds: some consumers commit every few minutes only, and markers of transactions look like unread records
) -> DataFrame:
    """Per group, partitions with status stall, stop or rewind that no other truth explains.

    A stall is critical when it was watched for `sure` seconds, or when the record that is next has waited for as long and it was watched
    long enough to tell a member that commits rarely.
    """
    rows = with_status(lag_truth, lag_status).where(
        F.col("status").isin("stall", "stop", "rewind") & ~F.col("truth").isin(*EXPLAINED, *OWN_RULE)
    )
    if committed_offsets is None:
        held = rows.withColumns({name: F.lit(None).cast("string") for name in ("client", "host")})
    else:
        owners = committed_offsets.groupBy("scope", "group", "topic", "partition").agg(
            F.max_by("client", "at").alias("client"), F.max_by("host", "at").alias("host")
        )
        held = rows.join(owners, ["scope", "group", "topic", "partition"], "left")
    watched = F.col("window_seconds") >= MEMBER_STILL_SECONDS
    found = per_group(
        held.withColumn("reason", F.col("status")),
        F.when(F.min("client") == F.max("client"), F.max("client")).alias("client"),
        F.when(F.min("host") == F.max("host"), F.max("host")).alias("host"),
        F.max(
            (F.col("window_seconds") >= sure)
            | ((F.coalesce("time_lag_seconds", F.lit(0.0)) >= sure) & ((F.col("wanted_seconds") != MEMBER_SECONDS) | watched))
        ).alias("long"),
        says="because",
        table="lag_status",
    )
    stall, back = F.col("reason") == "stall", F.col("reason") == "rewind"
    unsure = "A job that only does not commit any more looks the same from here: its position is unknown."
    return found.withColumns(
        {
            "severity": F.when(stall & F.col("long"), "critical").otherwise("warning"),
            "cause": F.when(back, "offset-reset").otherwise("no-progress"),
            "unsure": F.when(F.col("reason") == "stop", unsure),
        }
    ).drop("long")
