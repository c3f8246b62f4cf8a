"""SPK108: the offsets of a Structured Streaming query lie outside of what the brokers have."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.vocabulary.findings import evidence
from analyzers.vocabulary.rule import rule


@rule(
    "SPK108",
    title="The query's offsets lie outside of the topic's log",
    cause="offset-reset",
    stage="lag",
    severity=Severity.CRITICAL,
    says={
        "below": "The query goes on at offsets that the brokers have already deleted, in {partitions_lost} partition(s) of {topic}: "
        "{what}. {records} record(s) are lost",
        "beyond": "The query goes on at offsets beyond the end of the log, in {partitions_lost} partition(s) of {topic}: {what}. The topic "
        "was deleted and made again, or this is another cluster",
    },
    next_command="diag lag-report --bootstrap-server ADDRESS",
)
def offsets_outside_log(batch_offsets: DataFrame, batches: DataFrame, log_offsets: DataFrame) -> DataFrame:
    """Per topic, for the newest committed batch (end offsets are where the next one begins). Spark commits nothing to a group."""
    done = batches.where("committed").groupBy("scope", "path").agg(F.max("batch").alias("batch"))
    ends = batch_offsets.where(F.col("topic").isNotNull() & F.col("offset").isNotNull()).join(done, ["scope", "path", "batch"])
    newest = log_offsets.groupBy("scope", "topic", "partition").agg(
        F.max_by("log_start", "as_of").alias("log_start"), F.max_by("high_watermark", "as_of").alias("high_watermark")
    )
    both = ends.join(newest, ["scope", "topic", "partition"]).withColumn(
        "reason",
        F.when(F.col("offset") < F.col("log_start"), "below").when(F.col("offset") > F.col("high_watermark"), "beyond"),
    )
    rows = both.where(F.col("reason").isNotNull())
    wanted = F.concat(F.lit("partition "), "partition", F.lit(" at "), "offset")
    has = F.concat(F.lit(", the log has "), "log_start", F.lit(" to "), "high_watermark")
    text = F.concat(wanted, has)
    return rows.groupBy("scope", "path", "topic", "reason").agg(
        F.first("job", ignorenulls=True).alias("job"),
        F.first("job", ignorenulls=True).alias("query"),
        F.max("batch").alias("batch"),
        F.countDistinct("partition").alias("partitions_lost"),
        F.when(F.count("*") == 1, F.max("partition")).alias("partition"),
        F.sum(F.greatest(F.col("log_start") - F.col("offset"), F.lit(0))).alias("records"),
        F.array_join(F.slice(F.array_sort(F.collect_set(text)), 1, 3), "; ").alias("what"),
        F.max("as_of").alias("until"),
        evidence("batch_offsets", text, file=F.col("path")),
    )
