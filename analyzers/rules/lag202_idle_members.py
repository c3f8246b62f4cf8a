"""LAG202: members of a group hold no partition, or partitions are held by no member."""

from analyzers.vocabulary import WARNING, DataFrame, F, IfGiven, count, newest_snapshot, observed, rule, text
from analyzers.vocabulary.lag import partition_name


@rule(
    "LAG202", title="Members without partitions, or partitions without a member", stage="risk", severity=WARNING,
    says={
        "idle-members": "{idle} of the {members} members of group {group} hold no partition: there are {partitions} partitions to read, "
        "more members than that have nothing to do[[ ({named})]]",
        "unheld": "{unheld} partition(s) that group {group} has committed to are held by none of its {members} member(s): {named}",
    },
    next_command="kafka-consumer-groups.sh --bootstrap-server HOST:PORT --describe --group {group} --members --verbose",
)  # fmt: skip
def idle_members(groups: DataFrame, members: DataFrame, committed_offsets: IfGiven) -> DataFrame:
    """Per stable group (while it rebalances no member holds anything): members without partitions, and partitions with lag that no member
    holds. Only groups with a member that shows its partitions: assignments of other protocols (Kafka Connect) are unreadable."""
    alone = F.coalesce(F.col("type") != "share", F.lit(True))  # members of a share group read the same partitions
    stable = newest_snapshot(groups).where((F.lower("state") == "stable") & (F.col("members") > 0) & alone)
    stable = stable.select("scope", "group", "members")
    own = newest_snapshot(members).join(stable, ["scope", "group"])
    idle, name = F.coalesce(F.size("assigned"), F.lit(0)) <= 0, F.coalesce("client", "member")
    without = observed(
        own.withColumns({"_name": name, "_host": F.coalesce("host", F.lit("?"))}),
        "group", "members", table="members", shown=F.when(idle, text("group {group}: {_name} on {_host}")),
        idle=count(idle),
        partitions=F.size(F.array_distinct(F.flatten(F.collect_list("assigned")))).cast("long"),
        named=F.sort_array(F.collect_set(F.when(idle, name))),
        reason=F.lit("idle-members"),
        severity=F.lit("info"),
    ).where((F.col("idle") > 0) & (F.col("partitions") > 0))  # fmt: skip
    lonely = newest_snapshot(committed_offsets).where(F.col("member").isNull() & (F.col("lag_records") > 0) & F.col("error").isNull())
    unheld = observed(
        lonely.join(own.where(~idle).select("scope", "group", "members").distinct(), ["scope", "group"]),
        "group", "members", table="committed_offsets", shown=text("group {group}: {topic}-{partition}, lag {lag_records}"),
        unheld=count(),
        named=F.sort_array(F.collect_set(partition_name())),
        reason=F.lit("unheld"),
        severity=F.lit("warning"),
    )  # fmt: skip
    return without.unionByName(unheld, allowMissingColumns=True)
