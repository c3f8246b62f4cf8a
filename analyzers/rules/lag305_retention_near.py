"""LAG305: retention is about to delete records that a group has not read."""

from analyzers.vocabulary import WARNING, DataFrame, F, IfGiven, first_of, rule
from analyzers.vocabulary.lag import HEALTHY, classified, in_use, per_group, with_status


@rule(
    "LAG305", title="Retention is about to delete unread records", stage="risk", severity=WARNING,
    says={
        "size": "In about {minutes_left} min Kafka starts to delete what group {group} has not committed, on {places} partition(s) "
        "({named}): {worst_topic} keeps {kept_mib} MiB a partition (retention.bytes), and the log start is {to_start} records behind the "
        "commit. {worst}: {worst_says}",
        "": "In {minutes_left} min Kafka starts to delete what group {group} has not committed, on {places} partition(s) ({named}): its "
        "next record there is {age_hours} h old, retention.ms is {retention_hours} h[[; {sooner}]]. {worst}: {worst_says}",
    },
    inferred={
        "size": "That the log start advances as fast as records are written is inferred: size retention has deleted from the topic before. "
        "Whole segments are deleted at once.",
        "": "Whole segments are deleted, when their newest record is older than retention.ms: it may take longer, not less.",
    },
    next_command="kafka-configs.sh --bootstrap-server HOST:PORT --describe --entity-type topics --entity-name {worst_topic}",
)  # fmt: skip
def retention_near(
    lag_truth: DataFrame,
    lag_status: DataFrame,
    topic_configs: DataFrame,
    groups: IfGiven,
    *,
    part: float = 0.2,  # of the retention time that is left
    soon: int = 3600,  # seconds: too late in the morning
) -> DataFrame:
    """Per group, partitions with a record at the commit that is almost as old as the topic keeps records.

    Critical only for a group that is in use (or that a job is seen to read with): every abandoned group comes by this point once.
    """
    rows = with_status(lag_truth, lag_status).where((F.col("lag_records") > 0) & ~classified(*HEALTHY))
    rows = rows.join(_kept(topic_configs), ["scope", "topic"]).withColumn("_to_start", F.col("committed") - F.col("log_start"))
    kept, age, bound = F.col("_kept_seconds"), F.col("time_lag_seconds"), F.col("_kept_bytes")
    written, to_start = F.col("produced_per_second"), F.col("_to_start")
    by_age = (kept > age) & (kept - age < part * kept)
    # size retention that has deleted before removes at the log start what is written at the end
    deletes = (bound > 0) & (F.col("log_start") > 0) & (written > 0)
    by_size = deletes & (to_start >= 0) & (to_start < part * (F.col("high_watermark") - F.col("log_start")))
    rows = rows.withColumns(
        {"reason": first_of(("age", by_age), ("size", by_size)), "_left": F.when(by_age, kept - age).otherwise(to_start / written)}
    )
    in_time = F.coalesce(F.col("catch_up_seconds") < F.col("_left"), F.lit(False))
    sized = F.col("reason") == "size"
    found = per_group(
        rows.where(F.col("reason").isNotNull() & ~in_time),
        minutes_left=F.round(F.min("_left") / 60, 0).cast("long"),
        age_hours=F.round(F.max(age) / 3600, 1),
        retention_hours=F.round(F.max_by(kept, age) / 3600, 1),
        kept_mib=F.round(F.max(bound) / (1 << 20), 0).cast("long"),
        to_start=F.format_number(F.min("_to_start"), 0),
        sooner=F.when(~sized & (F.max(bound) > 0), "retention.bytes is also set and may delete them sooner"),
        raised=F.when(sized, F.max(bound) * 2).otherwise(F.max(kept) * 2000).cast("long"),
        topics=F.sort_array(F.collect_set("topic")),
        _read=F.bool_or((F.coalesce("members", F.lit(0)) > 0) | F.col("position").isNotNull()),
        _first=F.min("_left"),
    )
    urgent = (F.col("_read") | F.col("_in_use")) & (F.col("_first") < soon)
    return in_use(found, groups).withColumn("severity", first_of(("critical", urgent), otherwise="warning"))


def _kept(topic_configs: DataFrame) -> DataFrame:
    """Per topic that deletes, its limits in seconds and bytes; not above 0 where it has no such limit."""
    keys = ("retention.ms", "retention.bytes", "cleanup.policy")
    per_topic = topic_configs.groupBy("scope", "topic").pivot("key", list(keys)).agg(F.max("value"))
    ms, size = (F.coalesce(F.col(f"`{key}`").cast("long"), F.lit(-1)) for key in keys[:2])
    limits = ("scope", "topic", (ms / 1000).alias("_kept_seconds"), size.alias("_kept_bytes"))
    return per_topic.where(F.col("`cleanup.policy`").contains("delete")).select(*limits)
