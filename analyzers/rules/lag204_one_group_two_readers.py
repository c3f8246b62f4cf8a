"""LAG204: two running jobs of one name read the same partitions: a pipeline that was started twice."""

from analyzers.vocabulary import CRITICAL, DataFrame, F, count, newest_snapshot, observed, rule
from analyzers.vocabulary.lag import partition_name


@rule(
    "LAG204", title="Two jobs read the same partitions", cause="duplicate-split", reason="two-jobs", stage="lag", severity=CRITICAL,
    says="{jobs} running jobs read the same {places} partition(s) of {topics} now: {named}. Each record is processed {jobs} times",
    inferred="They have the same name: one pipeline that was started twice.",
    next_command="flink list -r",
)  # fmt: skip
def two_jobs(metrics: DataFrame, jobs: DataFrame | None) -> DataFrame:
    """Partitions for which the source readers of several running jobs of one name report a position; without a list of jobs, of any job."""
    read = newest_snapshot(metrics).where((F.col("name") == "currentOffset") & (F.col("exact") >= 0) & F.col("topic").isNotNull())
    read = read.select("scope", "job", "topic", "partition", "as_of").distinct().withColumn("_name", partition_name())
    if jobs is None:
        running = read.withColumn("called", F.col("job"))
    else:
        named = newest_snapshot(jobs).where(F.col("state") == "RUNNING").select("scope", "job", F.col("name").alias("called"))
        running = read.join(named, ["scope", "job"])
    # two pipelines may read one topic for good reasons; two of one name are one that was started twice
    twice = running.groupBy("scope", "called", "topic", "_name").agg(
        F.sort_array(F.collect_set("job")).alias("_of"), F.max("as_of").alias("as_of")
    )
    return observed(
        twice.where(F.size("_of") > 1), "called",
        table="metrics", shown=F.concat("_name", F.lit(" is read by "), F.concat_ws(" and ", "_of")),
        job=F.max(F.element_at("_of", 1)),
        jobs=F.max(F.size("_of")).cast("long"),
        places=count(),
        topics=F.sort_array(F.collect_set("topic")),
        named=F.sort_array(F.collect_set("_name")),
    )  # fmt: skip
