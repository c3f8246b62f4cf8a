"""LAG103: a group has never committed an offset, or its coordinator does not return its offsets."""

from analyzers.vocabulary import WARNING, DataFrame, F, IfGiven, count, newest_snapshot, observed, rule, text


@rule(
    "LAG103", title="A group's position is unknown: never committed, or not readable", stage="commit", severity=WARNING,
    says={
        "never-committed": "Group {group} has {members} member(s) on {places} partition(s) with {waiting_records} records and has not "
        "committed a single offset: Kafka does not know how far it is",
        "": "The committed offsets of group {group} are unknown: {why}",
    },
    next_command="diag broker-health --bootstrap-server HOST:PORT",
)  # fmt: skip
def commits_unknown(groups: DataFrame, committed_offsets: IfGiven) -> DataFrame:
    """Per group. Groups with neither members nor commits are left out: they are not in use."""
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
    return unknown.unionByName(never, allowMissingColumns=True)
