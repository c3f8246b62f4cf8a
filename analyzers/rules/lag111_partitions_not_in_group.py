"""LAG111: Tables of a consumer group and of its topic show partitions that hold records and that the group does not read."""

from typing import Any

from analyzers.derived.lag.group_moments import UNSETTLED
from analyzers.vocabulary import CRITICAL, DataFrame, F, Window, first_of, found, rule


@rule(
    "LAG111", title="A group reads only a part of its topic's partitions", cause="no-progress", stage="lag", severity=CRITICAL,
    says="Group {group} has offsets of {read} partition(s) of {topic}, which has {existing}: {unread} are not read, {named}"
    "[[; they hold records up to offset {end}]][[; the topic keeps them for {kept}]]",
    missing="since when they exist, and what decides which partitions are read: a list in a configuration, or a subscription that was not"
    " renewed",
    next_command="kafka-get-offsets.sh --bootstrap-server HOST:PORT --topic {topic} # twice: do the unread partitions grow?",
)  # fmt: skip
def partitions_not_in_group(
    pasted_offsets: DataFrame, pasted_groups: DataFrame, pasted_partitions: DataFrame, topic_configs: DataFrame
) -> DataFrame:
    """Per group and topic. A partition that the table lists without a commit counts where it holds records and others have commits.

    An empty partition holds nothing to lose. A warning where no log ends are known. A group that rebalances has not been given them yet.
    """
    moving = pasted_groups.where(F.col("state").isin(*UNSETTLED)).select("scope", "group")
    place = ["scope", "topic", "partition"]
    newest = pasted_offsets.withColumn("_newest", F.max("moment").over(Window.partitionBy("scope", "group", "topic")))
    table = newest.where(F.col("moment") == F.col("_newest")).join(moving, ["scope", "group"], "left_anti")
    taken = F.col("committed").isNotNull() | F.col("member").isNotNull()
    groups = table.groupBy("scope", "group", "topic").agg(
        F.collect_set(F.when(taken, F.col("partition"))).alias("_read"), F.max("at").alias("at")
    ).where(F.size("_read") > 0)  # fmt: skip
    listed = table.select("scope", "topic", "partition", F.col("high_watermark"), F.lit(None).cast("string").alias("file"),
                          F.lit(None).cast("long").alias("line"))  # fmt: skip
    shown = pasted_partitions.select("scope", "topic", "partition", "high_watermark", "file", "line")
    existing = shown.unionByName(listed).groupBy(*place).agg(
        F.max("high_watermark").alias("end"), F.max_by("file", F.coalesce("line", F.lit(-1))).alias("file"), F.max("line").alias("line"),
    )  # fmt: skip
    kept = topic_configs.where(F.col("key") == "retention.ms").select("scope", "topic", F.col("value").cast("double").alias("_kept"))
    every = existing.join(groups, ["scope", "topic"]).join(kept, ["scope", "topic"], "left")
    number = Window.partitionBy("scope", "group", "topic")
    rows = every.withColumn("_all", F.count(F.lit(1)).over(number)).where(~F.array_contains("_read", F.col("partition")))
    rows = rows.where(F.coalesce(F.col("end") > 0, F.lit(True)))
    days = F.max("_kept") / 86_400_000
    facts: dict[str, Any] = {
        "existing": F.max("_all"), "read": F.max(F.size("_read")), "unread": F.count(F.lit(1)), "end": F.max("end"),
        "_names": F.array_sort(F.collect_set("partition")),
        "kept": F.when(days > 0, F.concat(F.round(days, 1), F.lit(" days"))),
    }  # fmt: skip
    text = F.concat_ws(" ", F.concat(F.lit("partition "), "partition"), F.concat(F.lit("log end "), "end"))
    made = found(rows, "group", "topic", table="pasted_partitions", shown=text, file=F.col("file"), **facts)
    first, last = F.element_at("_names", 1), F.element_at("_names", -1)
    row = (F.size("_names") > 2) & (last - first + 1 == F.size("_names"))
    return made.withColumns(
        {
            "named": F.when(row, F.concat(first, F.lit("–"), last)).otherwise(F.array_join(F.slice("_names", 1, 12), ", ")),
            "severity": first_of(("critical", F.col("end").isNotNull()), otherwise="warning"),
            "confidence": first_of((0.9, F.col("end").isNotNull()), otherwise=0.6),
        }
    )
