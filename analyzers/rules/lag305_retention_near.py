"""LAG305: retention is about to delete records that a group has not read."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.finding import Severity
from analyzers.lag import EXPLAINED, per_group, with_status
from analyzers.rule import rule
from analyzers.samples import newest_look


@rule(
    "LAG305",
    title="Retention is about to delete unread records",
    stage="risk",
    severity=Severity.WARNING,
    says="Kafka deletes what group {group} has not committed yet in {minutes_left} min on {places} partition(s) ({named}): its next "
    "record there is {age_hours} h old, retention.ms is {retention_hours} h. {worst}: {worst_says}",
    fix="Raise retention.ms of {topics} before that (kafka-configs.sh --alter --entity-type topics --entity-name {worst_topic} "
    "--add-config retention.ms={raised}), then make the reader faster or start it again. What is deleted does not come back.",
    inferred="Whole segments are deleted, when their newest record is older than retention.ms: it may take longer, not less.",
    next_command="kafka-configs.sh --bootstrap-server HOST:PORT --describe --entity-type topics --entity-name {worst_topic}",
)
def retention_near(
    lag_truth: DataFrame,
    lag_status: DataFrame,
    topic_configs: DataFrame,
    groups: DataFrame | None,
    *,
    part: float = 0.2,  # of the retention time that is left
    soon: int = 3600,  # seconds: then nobody should wait for the morning
) -> DataFrame:
    """Per group, partitions whose record at the commit is almost as old as the topic keeps records.

    Critical only for a group that lives (it has members, or a job is known to read) or was asked for by name: every group that was left
    behind comes by this point once.
    """
    kept = (
        topic_configs.groupBy("scope", "topic")
        .pivot("key", ["retention.ms", "cleanup.policy"])
        .agg(F.max("value"))
        .withColumnsRenamed({"retention.ms": "retention_ms", "cleanup.policy": "policy"})
        .where(F.col("policy").contains("delete") & (F.col("retention_ms").cast("long") > 0))
        .select("scope", "topic", (F.col("retention_ms").cast("long") / 1000).alias("retention"))
    )
    rows = with_status(lag_truth, lag_status).where((F.col("lag_records") > 0) & F.col("time_lag_seconds").isNotNull())
    # a group that catches up before then needs nobody
    saved = F.coalesce(F.col("catch_up_seconds") < F.col("left"), F.lit(False)) | F.col("truth").isin(*EXPLAINED)
    near = (
        rows.join(kept, ["scope", "topic"])
        .withColumn("left", F.col("retention") - F.col("time_lag_seconds"))
        .where((F.col("left") < part * F.col("retention")) & (F.col("left") > 0) & ~saved)
    )
    found = per_group(
        near,
        F.bool_or((F.coalesce("members", F.lit(0)) > 0) | F.col("position").isNotNull()).alias("lives"),
        F.round(F.min("left") / 60, 0).cast("long").alias("minutes_left"),
        F.round(F.max("time_lag_seconds") / 3600, 1).alias("age_hours"),
        F.round(F.max_by("retention", "time_lag_seconds") / 3600, 1).alias("retention_hours"),
        (F.max("retention") * 2000).cast("long").alias("raised"),
        F.array_sort(F.collect_set("topic")).alias("topics"),
        F.min("left").alias("_left"),
    )
    if groups is not None:
        asked = newest_look(groups).where("asked").select("scope", "group", F.lit(True).alias("asked")).distinct()
        found = found.join(asked, ["scope", "group"], "left")
    else:
        found = found.withColumn("asked", F.lit(False))
    used = F.col("lives") | F.coalesce("asked", F.lit(False))
    return found.withColumn("severity", F.when(used & (F.col("_left") < soon), "critical").otherwise("warning")).drop(
        "_left", "lives", "asked"
    )
