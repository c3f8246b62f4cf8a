"""LAG105: the commits of a group do not move although there is something to read, or they went back."""

from analyzers.derived.lag.lag_status import MEMBER_SECONDS, MEMBER_STILL_SECONDS
from analyzers.vocabulary import CRITICAL, DataFrame, F, IfGiven, agreed, first_of, newest, newest_snapshot, rule
from analyzers.vocabulary.connect import of_no_paused_sink
from analyzers.vocabulary.lag import HEALTHY, OWN_RULE, PLACE, classified, per_group, with_status

_OWN_POSITION = (
    "The group has no member: a job that keeps its positions itself (Flink, Spark, Beam) reads on where it is; only a reader that starts "
    "from the committed offset reads the records between again."
)


@rule(
    "LAG105", title="A group stands still, or went back", cause="no-progress", stage="lag", severity=CRITICAL,
    says={
        "stall": "Group {group} stands still on {places} partition(s): {named}. {worst}: {worst_says}",
        "beside": "Group {group} stands still on {places} partition(s), while their member(s) commit {moving} others: {named}. {worst}: "
        "{worst_says}",
        "left": "All members of group {group} have left, and none reads {named}. {worst}: {worst_says}",
        "stop": "Nothing is committed for group {group} on {places} partition(s) any more: {named}. {worst}: {worst_says}",
        "rewind": "Group {group} went back on {places} partition(s): {named}. {worst}: {worst_says}[[. {read_again}]]",
    },
    inferred={
        "beside": "The member works and skips this partition: the record at its commit fails each time, or the call that handles it does "
        "not return.",
        "left": "A job that was stopped on purpose, that runs now and then, or that has taken to assign its partitions itself (Flink, "
        "Spark, Beam) under this group id looks the same from here.",
        "rewind": "[[{own_position}]]",
        "stop": "A job that runs and only no longer commits looks the same from here: its position is unknown.",
    },
    next_command="diag lag-report --bootstrap-server HOST:PORT --group {group} --flink-rest http://JOBMANAGER:8081",
)  # fmt: skip
def group_stands(
    lag_truth: DataFrame,
    lag_status: DataFrame,
    committed_offsets: IfGiven,
    groups: IfGiven,
    connector_tasks: IfGiven,
    *,
    sure: int = 600,  # seconds: some consumers commit every few minutes only, and markers of transactions look like unread records
    abandoned: int = 86400,  # seconds that a record may wait for a group that was not asked for: clusters are full of forgotten ones
) -> DataFrame:
    """Per group, partitions with status stall, stop or rewind that no other classification explains.

    A stall is critical when it was sampled for `sure` seconds, or when the next record has waited for as long and the samples span long
    enough to exclude a member that commits rarely; so is a group that was asked for, whose members have all left for as long.
    """
    status = F.col("status")
    asked = newest_snapshot(groups).groupBy("scope", "group").agg(F.bool_or(F.coalesce("asked", F.lit(False))).alias("_asked"))
    both = of_no_paused_sink(with_status(lag_truth, lag_status), connector_tasks)
    rows = both.where(status.isin("stall", "stop", "rewind") & ~classified(*HEALTHY, *OWN_RULE))
    rows = rows.join(asked, ["scope", "group"], "left").withColumn("_asked", F.coalesce("_asked", F.lit(False)))
    left = (status == "stop") & classified("real") & (F.col("members") == 0)
    briefly = left & (F.col("window_seconds") < F.col("wanted_seconds"))
    forgotten = briefly & ~F.col("_asked") & F.coalesce(F.col("time_lag_seconds") > abandoned, F.lit(True))
    rows = rows.where(~forgotten)
    owners = committed_offsets.groupBy(*PLACE).agg(newest("client").alias("client"), newest("host").alias("host"))
    waited = F.coalesce(F.col("time_lag_seconds") >= sure, F.lit(False))
    exact = (F.col("wanted_seconds") != MEMBER_SECONDS) | (F.col("window_seconds") >= MEMBER_STILL_SECONDS)
    reason = first_of(("left", left), ("beside", F.col("beside_moved").isNotNull()), otherwise=status)
    stands = per_group(
        rows.withColumn("reason", reason).join(owners, list(PLACE), "left"),
        table="lag_status",
        says="because",
        moving=F.max("beside_moved"),
        client=agreed("client"),
        host=agreed("host"),
        severity=first_of(
            (
                "critical",
                F.bool_or((status == "stall") & ((F.col("window_seconds") >= sure) | (waited & exact)))
                | F.bool_or((F.col("reason") == "left") & F.col("_asked") & waited),
            ),
            otherwise="warning",
        ),
        cause=first_of(("offset-reset", F.bool_or(status == "rewind")), otherwise="no-progress"),
        _members=F.max("members"),
    )
    back, joined = F.col("reason") == "rewind", F.coalesce("_members", F.lit(0)) > 0
    return stands.withColumns(
        {
            "read_again": first_of(("The records between are read again", back & joined)),
            "own_position": first_of((_OWN_POSITION, back & ~joined)),
        }
    )
