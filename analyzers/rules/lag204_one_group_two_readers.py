"""LAG204: two readers under one group id: two jobs, or a job that assigns its partitions beside members that subscribed."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.vocabulary.findings import evidence
from analyzers.vocabulary.rule import rule
from analyzers.vocabulary.snapshots import newest_look


@rule(
    "LAG204",
    title="Two jobs read the same partitions",
    cause="duplicate-split",
    stage="lag",
    severity=Severity.CRITICAL,
    says="{jobs} running jobs read the same {places} partition(s) of {topics} now: {named}. Each record is processed that many times",
    inferred="[[{maybe}]]",
    next_command="flink list -r",
)
def two_jobs(metrics: DataFrame, jobs: DataFrame | None) -> DataFrame:
    """Partitions for which the source readers of several running jobs of one name tell a position."""
    read = newest_look(metrics).where((F.col("name") == "currentOffset") & (F.col("exact") >= 0) & F.col("topic").isNotNull())
    own = read.select("scope", "job", "topic", "partition", "exact", "as_of").distinct()
    if jobs is None:
        named = own.withColumn("called", F.col("job"))
    else:
        running = newest_look(jobs).where(F.col("state") == "RUNNING").select("scope", "job", F.col("name").alias("called"))
        named = own.join(running, ["scope", "job"])
    # two pipelines may read one topic for good reasons; two of one name are one that was started twice
    place = F.concat_ws("-", "topic", "partition")
    twice = (
        named.groupBy("scope", "called", "topic", "partition")
        .agg(F.array_sort(F.collect_set("job")).alias("of"), F.max("as_of").alias("as_of"))
        .where(F.size("of") > 1)
        .withColumn("name", place)
    )
    text = F.concat("name", F.lit(" is read by "), F.concat_ws(" and ", "of"))
    found = twice.groupBy("scope", "called").agg(
        F.max(F.size("of")).cast("long").alias("jobs"),
        F.count("*").alias("places"),
        F.array_sort(F.collect_set("topic")).alias("topics"),
        F.array_sort(F.collect_set("name")).alias("named"),
        F.max(F.element_at("of", 1)).alias("job"),
        F.max("as_of").alias("until"),
        evidence("metrics", text),
    )
    return found.withColumns({"reason": F.lit("two-jobs"), "maybe": F.lit("They have the same name: one pipeline that was started twice.")})
