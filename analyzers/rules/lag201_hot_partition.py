"""LAG201: one partition gets most of the records, or holds most of the lag."""

from analyzers.vocabulary import WARNING, DataFrame, F, Window, first_of, rule
from analyzers.vocabulary.lag import per_group


@rule(
    "LAG201", title="A hot partition", stage="risk", severity=WARNING,
    says={
        "written": "Topic {worst_topic} is written unevenly: partition {worst_partition} gets {share} % of its records, {times} times as "
        "many as its median partition. The reader of this partition limits how fast group {group} is",
        "behind": "Partition {worst_partition} of {worst_topic} holds {share} % of the lag of group {group} ({records} records), the other "
        "{others} partitions next to none: one reader is slow, not all of them",
    },
    next_command="diag lag-report --bootstrap-server HOST:PORT --group {group} --topic {worst_topic}",
)  # fmt: skip
def hot_partition(
    lag_status: DataFrame,
    *,
    least: int = 4,  # partitions: with fewer an uneven split is no surprise
    much: float = 5.0,  # times the median partition
    per_second: float = 10.0,  # records written: below, a few keys decide by chance
    share: float = 0.8,  # of the whole lag on one partition
    records: int = 10_000,  # lag that is worth reporting
) -> DataFrame:
    """Per group and topic, a partition far above the others in records written or in lag."""
    topic, written, lag = Window.partitionBy("scope", "group", "topic"), F.col("produced_per_second"), F.col("lag_records")
    rows = lag_status.withColumns(
        {
            "partitions": F.count("*").over(topic),
            "median": F.percentile(written, 0.5).over(topic),
            "of_written": written / F.sum(written).over(topic),
            "of_lag": lag / F.sum(lag).over(topic),
        }
    )
    hot = (written >= per_second) & (written > much * F.col("median"))
    slow = (lag >= records) & (F.col("of_lag") > share)
    reason = F.when(F.col("partitions") >= least, first_of(("written", hot), ("behind", slow)))
    part = F.when(reason == "written", F.col("of_written")).otherwise(F.col("of_lag"))
    return per_group(
        rows.withColumns({"reason": reason, "_part": part}).where(F.col("reason").isNotNull()),
        table="lag_status",
        says="because",
        weight="_part",
        share=F.round(F.max("_part") * 100, 0).cast("long"),
        times=F.round(F.max(written / F.greatest("median", F.lit(0.1))), 0).cast("long"),
        others=F.max("partitions") - 1,
    )
