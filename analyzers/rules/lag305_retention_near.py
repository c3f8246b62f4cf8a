"""LAG305: retention is about to delete records that a group has not read."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.vocabulary.lag import EXPLAINED, per_group, with_status
from analyzers.vocabulary.rule import rule
from analyzers.vocabulary.snapshots import newest_look


@rule(
    "LAG305",
    title="Retention is about to delete unread records",
    stage="risk",
    severity=Severity.WARNING,
    says={
        "size": "Kafka deletes what group {group} has not committed yet in about {minutes_left} min on {places} partition(s) ({named}): "
        "{worst_topic} keeps {kept_mib} MiB a partition (retention.bytes), and the log start is {to_start} records behind the commit. "
        "{worst}: {worst_says}",
        "": "Kafka deletes what group {group} has not committed yet in {minutes_left} min on {places} partition(s) ({named}): its next "
        "record there is {age_hours} h old, retention.ms is {retention_hours} h[[; {sooner}]]. {worst}: {worst_says}",
    },
    inferred={
        "size": "That the log start moves on as fast as records are written is inferred: the topic was cut before. Whole segments are "
        "deleted at once.",
        "": "Whole segments are deleted, when their newest record is older than retention.ms: it may take longer, not less.",
    },
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
    rows = with_status(lag_truth, lag_status).where((F.col("lag_records") > 0) & ~F.col("truth").isin(*EXPLAINED))
    # a topic that is cut by size and was cut before loses at its start what is written at its end
    to_start, written = F.col("committed") - F.col("log_start"), F.col("produced_per_second")
    cut = (F.col("kept_bytes") > 0) & (F.col("log_start") > 0) & (written > 0)
    almost = cut & (to_start >= 0) & (to_start < part * (F.col("high_watermark") - F.col("log_start")))
    left = F.col("retention") - F.col("time_lag_seconds")
    by_age = (F.col("retention") > 0) & (left > 0) & (left < part * F.col("retention"))
    near = (
        rows.join(_kept(topic_configs), ["scope", "topic"])
        .withColumn("reason", F.when(by_age, "age").when(almost, "size"))
        .where(F.col("reason").isNotNull())
        .withColumn("to_start", to_start)
        .withColumn("left", F.when(by_age, left).otherwise(to_start / written))
        # a group that catches up before then needs nobody
        .where(~F.coalesce(F.col("catch_up_seconds") < F.col("left"), F.lit(False)))
    )
    by_size = F.col("reason") == "size"
    found = per_group(
        near,
        F.bool_or((F.coalesce("members", F.lit(0)) > 0) | F.col("position").isNotNull()).alias("lives"),
        F.round(F.min("left") / 60, 0).cast("long").alias("minutes_left"),
        F.round(F.max("time_lag_seconds") / 3600, 1).alias("age_hours"),
        F.round(F.max_by("retention", "time_lag_seconds") / 3600, 1).alias("retention_hours"),
        F.round(F.max("kept_bytes") / (1 << 20), 0).cast("long").alias("kept_mib"),
        F.format_number(F.min("to_start"), 0).alias("to_start"),
        F.when(~by_size & (F.max("kept_bytes") > 0), "retention.bytes is set, too, and may delete them sooner").alias("sooner"),
        F.when(by_size, F.max("kept_bytes") * 2).otherwise(F.max("retention") * 2000).cast("long").alias("raised"),
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


def _kept(topic_configs: DataFrame) -> DataFrame:
    """Per topic that deletes: retention (seconds) and kept_bytes; not above 0 where there is no such limit."""
    keys = {"retention.ms": "retention_ms", "retention.bytes": "kept_bytes", "cleanup.policy": "policy"}
    per_topic = topic_configs.groupBy("scope", "topic").pivot("key", list(keys)).agg(F.max("value")).withColumnsRenamed(keys)
    return per_topic.where(F.col("policy").contains("delete")).select(
        "scope",
        "topic",
        (F.coalesce(F.col("retention_ms").cast("long"), F.lit(-1)) / 1000).alias("retention"),
        F.coalesce(F.col("kept_bytes").cast("long"), F.lit(-1)).alias("kept_bytes"),
    )
