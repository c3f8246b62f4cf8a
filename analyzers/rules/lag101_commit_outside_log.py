"""LAG101: what a group committed lies outside of the log: deleted by retention, or beyond its end."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.vocabulary.aggregates import agreed
from analyzers.vocabulary.findings import evidence
from analyzers.vocabulary.rule import rule
from analyzers.vocabulary.snapshots import newest_look, no_job


@rule(
    "LAG101",
    title="A committed offset lies outside of the log",
    cause="offset-reset",
    stage="lag",
    severity=Severity.CRITICAL,
    says={
        "retention": "{lost_records} offsets that group {group} has not committed are deleted already, on {places} partition(s): {named}. "
        "The log of the worst ({worst}) begins at {worst_bound}, the commit stands at {worst_committed}; a reader that starts from this "
        "commit skips them or fails (auto.offset.reset)",
        "beyond-end": "Group {group} committed offsets beyond the end of the log on {places} partition(s): {named}. The log of "
        "{worst} ends at "
        "{worst_bound}, the commit stands at {worst_committed}: the topic was deleted and made anew, its newest records were lost, or "
        "somebody set the group's offsets too far",
    },
    inferred="[[{idle}]]",
    next_command="diag lag-report --bootstrap-server HOST:PORT --group {group}",
)
def commit_outside_log(
    committed_offsets: DataFrame,
    groups: DataFrame | None,
    lag_truth: DataFrame | None,
    *,
    markers: int = 10,  # offsets: as many may be the last markers of transactions, which no reader commits, where nothing else is left
) -> DataFrame:
    """Per group, partitions whose commit is below the log start or beyond the high watermark, and whose job is not known to be further.

    Critical only for a group that lives (it has members) or was asked for by name: clusters are full of groups that nobody uses any more.
    """
    gone = F.col("log_start") - F.col("committed")
    ahead = F.col("committed") - F.col("high_watermark")
    rows = newest_look(committed_offsets).withColumn(
        "reason",
        F.when(gone > 0, "retention").when(ahead > 0, "beyond-end"),
    )
    if lag_truth is not None:
        place = ["scope", "group", "topic", "partition"]
        further = lag_truth.where(~F.col("truth").isin("below-retention", "foreign-committer")).select(*place)
        rows = rows.where(F.col("reason") == "beyond-end").unionByName(
            rows.where(F.col("reason") == "retention").join(further, place, "left_anti").select(*rows.columns)
        )
    rows = rows.where(F.col("reason").isNotNull()).withColumns(
        {
            "records": F.when(F.col("reason") == "retention", gone).otherwise(ahead),
            "bound": F.when(F.col("reason") == "retention", F.col("log_start")).otherwise(F.col("high_watermark")),
            "name": F.concat_ws("-", "topic", "partition"),
            "sure": (ahead > 0) | (gone > markers) | (F.col("log_start") < F.col("high_watermark")),
        }
    )
    text = F.concat(
        F.lit("group "), "group", F.lit(", "), "name", F.lit(": committed "), "committed", F.lit(", log "), "log_start", F.lit(" to "),
        "high_watermark",
    )  # fmt: skip
    found = rows.groupBy("scope", "group", "reason").agg(
        F.count("*").alias("places"),
        F.sum("records").alias("lost_records"),
        F.array_sort(F.collect_set("name")).alias("named"),
        F.max_by("name", "records").alias("worst"),
        F.max_by("bound", "records").alias("worst_bound"),
        F.max_by("committed", "records").alias("worst_committed"),
        agreed("topic"),
        F.when(F.count("*") == 1, F.max("partition")).alias("partition"),
        F.when(F.count("*") == 1, F.max("committed")).alias("offset"),
        F.max("at").alias("until"),
        F.bool_or("sure").alias("sure"),
        evidence("committed_offsets", text),
    )
    if groups is None:
        known = found.withColumn("in_use", F.lit(False))
    else:
        used = (F.coalesce("members", F.lit(0)) > 0) | F.coalesce("asked", F.lit(False))
        named = newest_look(groups).groupBy("scope", "group").agg(F.bool_or(used).alias("in_use"))
        known = found.join(named, ["scope", "group"], "left")
    idle = "The group has no members: a job that assigns its partitions itself (Flink, Spark, Beam), or a group that nobody uses any more."
    empty = "Nothing is left in the log: so few offsets may have been markers of transactions, which a reader has no record to commit for."
    used = F.coalesce("in_use", F.lit(False))
    return no_job(
        known.withColumns(
            {
                "severity": F.when(used & F.col("sure"), "critical").otherwise("warning"),
                "idle": F.when(~F.col("sure"), empty).when(~used, idle),
            }
        )
    ).drop("in_use", "sure")
