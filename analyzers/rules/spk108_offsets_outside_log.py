"""SPK108: The offsets of a Structured Streaming query lie outside of the log that the brokers have."""

from analyzers.vocabulary import CRITICAL, DataFrame, F, first_of, newest, number_of, observed, rule, text
from analyzers.vocabulary.aggregates import listed


@rule(
    "SPK108", title="The query's offsets lie outside of the topic's log", cause="offset-reset", stage="lag", severity=CRITICAL,
    says={
        "below": "The query continues at offsets that the brokers have already deleted, in {partitions_lost} partition(s) of {topic}: "
        "{what}. {records} record(s) are lost",
        "beyond": "The query continues at offsets beyond the log end offset, in {partitions_lost} partition(s) of {topic}: {what}. The "
        "topic was deleted and created again, or this is another cluster",
    },
    next_command="diag lag-report --bootstrap-server ADDRESS",
)  # fmt: skip
def offsets_outside_log(batch_offsets: DataFrame, batches: DataFrame, log_offsets: DataFrame) -> DataFrame:
    """Per topic, for the newest committed batch (end offsets are where the next one begins). Spark commits nothing to a group."""
    done = batches.where("committed").groupBy("scope", "path").agg(F.max("batch").alias("batch"))
    ends = batch_offsets.where(F.col("topic").isNotNull() & F.col("offset").isNotNull()).join(done, ["scope", "path", "batch"])
    bounds = (newest(name, by="as_of").alias(name) for name in ("log_start", "high_watermark"))
    both = ends.join(log_offsets.groupBy("scope", "topic", "partition").agg(*bounds), ["scope", "topic", "partition"])
    below, beyond = F.col("offset") < F.col("log_start"), F.col("offset") > F.col("high_watermark")
    shown = text("partition {partition} at {offset}, the log has {log_start} to {high_watermark}")
    return observed(
        both.where(below | beyond).withColumn("reason", first_of(("below", below), ("beyond", beyond))),
        *("path", "topic", "reason"),
        table="batch_offsets",
        shown=shown,
        file=F.col("path"),
        job=F.first("job", ignorenulls=True),
        query=F.first("job", ignorenulls=True),
        batch=F.max("batch"),
        partitions_lost=number_of("partition"),
        partition=F.when(F.count("*") == 1, F.max("partition")),
        records=F.sum(F.greatest(F.col("log_start") - F.col("offset"), F.lit(0))),
        what=listed(shown),
    )
