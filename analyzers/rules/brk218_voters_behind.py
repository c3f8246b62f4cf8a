"""BRK218: voters of the KRaft quorum do not keep up with its leader, so fewer losses than planned stop the cluster's metadata."""

from analyzers.vocabulary import WARNING, DataFrame, F, Window, count, distinct, newest_snapshot, rule
from analyzers.vocabulary.snapshots import observed


@rule("BRK218", title="Voters of the metadata quorum are behind", stage="risk", severity=WARNING, reason="voters-behind",
    says="{behind} of {voters} voters of the metadata quorum are behind its leader: {named}. {rest}",
    next_command="kafka-metadata-quorum.sh --bootstrap-server HOST:PORT describe --replication",
)  # fmt: skip
def voters_behind(
    metadata_quorum: DataFrame,
    *,
    seconds: float = 60.0,  # a voter that restarts is back sooner; it fetches twice a second
) -> DataFrame:
    """Per scope, voters that caught up more than `seconds` ago by the leader's clock, or never. Source: Kafka's LeaderState."""
    of_scope = Window.partitionBy("scope")
    silent = F.col("log_end_offset").isNull()
    late = F.coalesce(F.col("behind_seconds") > seconds, silent)
    voters = (
        newest_snapshot(metadata_quorum)
        .where(F.col("role") != "observer")
        .withColumns({"_late": late, "voters": F.count("*").over(of_scope), "_led": F.max(F.col("role") == "leader").over(of_scope)})
    )
    how = F.when(silent, F.lit("has not fetched from this leader")).otherwise(
        F.format_string("caught up %.0f s ago", F.coalesce("behind_seconds", F.lit(0.0)))
    )
    shown = F.format_string("voter %d %s", F.col("node"), how)
    found = observed(
        voters.where(F.col("_led") & F.col("_late")),
        "voters",
        table="metadata_quorum",
        shown=shown,
        behind=count(),
        nodes=F.array_join(distinct("node", "nodes"), ", "),
        named=F.array_join(distinct(shown, "named"), "; "),
    )
    spare = F.col("voters") - F.col("behind") - (F.floor(F.col("voters") / 2) + 1)
    stops = F.lit("The loss of one more stops it: then no broker can join and no partition can change its leader")
    return found.withColumn("rest", F.when(spare <= 0, stops).otherwise(F.format_string("It bears the loss of %d more", spare)))
