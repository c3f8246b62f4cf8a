"""LAG103: a group has never committed an offset, or its coordinator does not return its offsets."""

from analyzers.vocabulary import WARNING, DataFrame, F, IfGiven, Window, count, newest_snapshot, observed, rule, text
from analyzers.vocabulary.lag import partition_name, the_partition


@rule(
    "LAG103", title="A group's position is unknown: never committed, or not readable", stage="commit", severity=WARNING,
    says={
        "never-committed": "Group {group} has {members} member(s) on {places} partition(s) with {waiting_records} records and has not "
        "committed a single offset: Kafka does not know how far it is",
        "partitions": "Group {group} has no member and no commit on {places} partition(s) of topics that it has commits of, with "
        "{waiting_records} records: {named}",
        "": "The committed offsets of group {group} are unknown: {why}",
    },
    inferred={
        "partitions": "Nothing was ever committed there: the partitions were added later and are not discovered, or nobody reads them, or "
        "their reader began at the log end offset and has had no record since.",
    },
    next_command="diag broker-health --bootstrap-server HOST:PORT",
)  # fmt: skip
def commits_unknown(groups: DataFrame, committed_offsets: IfGiven) -> DataFrame:
    """Per group. Groups with neither members nor commits are left out: they are not in use.

    A group without members that has commits of a topic, and none of some partitions of it that hold records, is worth knowing and no fault.
    """
    asked, failed = newest_snapshot(groups), F.col("error").isNotNull()
    unknown = observed(
        asked.where(failed), "group", table="groups", shown=text("group {group}: {error}"), why=F.min("error"), reason=F.lit("unknown")
    )
    live = asked.where(~failed & (F.col("members") > 0)).select("scope", "group", "members")
    never = observed(
        newest_snapshot(committed_offsets).join(live, ["scope", "group"]),
        "group", at="at", table="committed_offsets",
        shown=text("group {group}, {topic}-{partition}: no commit, log {log_start} to {high_watermark}"),
        members=F.max("members"),
        places=count(),
        waiting_records=F.sum(F.col("high_watermark") - F.col("log_start")),
        reason=F.lit("never-committed"),
        _known=F.count("committed") + F.count("error"),
    ).where((F.col("_known") == 0) & (F.col("waiting_records") > 0))  # fmt: skip
    left = asked.where(~failed & (F.col("members") == 0) & F.coalesce("asked", F.lit(False))).select("scope", "group")
    topic = Window.partitionBy("scope", "group", "topic")
    held = newest_snapshot(committed_offsets).join(left, ["scope", "group"]).withColumn("_of_topic", F.count("committed").over(topic))
    bare = F.col("committed").isNull() & F.col("error").isNull() & (F.col("high_watermark") > F.col("log_start"))
    partitions = observed(
        held.where(bare & (F.col("_of_topic") > 0)).withColumn("_name", partition_name()),
        "group", at="at", table="committed_offsets",
        shown=text("group {group}, {topic}-{partition}: no commit, log {log_start} to {high_watermark}"),
        places=count(),
        named=F.sort_array(F.collect_set("_name")),
        waiting_records=F.sum(F.col("high_watermark") - F.col("log_start")),
        reason=F.lit("partitions"),
        severity=F.lit("info"),
        **the_partition(),
    )  # fmt: skip
    both = unknown.unionByName(never, allowMissingColumns=True)
    return both.unionByName(partitions, allowMissingColumns=True).withColumn("severity", F.coalesce("severity", F.lit("warning")))
