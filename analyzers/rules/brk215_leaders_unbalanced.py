"""BRK215: a living broker leads almost nothing of what it should: load sits on the others."""

from analyzers.vocabulary import INFO, DataFrame, F, distinct, found, newest_look, none, rule


@rule("BRK215", title="Leaders are not where they belong", stage="risk", severity=INFO, reason="leader-skew",
    says="{named}: other brokers lead these partitions and carry their load. Typical after a restart",
    next_command="kafka-leader-election.sh --bootstrap-server HOST:PORT --election-type preferred --all-topic-partitions",
)  # fmt: skip
def leaders_unbalanced(
    brokers: DataFrame,
    *,
    enough: int = 10,  # preferred partitions; a few mean nothing
    share: float = 0.5,  # leader.imbalance.per.broker.percentage is 10, and it acts every five minutes: this is far beyond
) -> DataFrame:
    """Per scope, living brokers that lead less than `share` of the partitions whose preferred leader they are."""
    alive = newest_look(brokers).where((F.col("state") == "alive") & (F.col("preferred") >= enough))
    idle = alive.where(F.col("leaders") < F.col("preferred") * share)
    numbers = (F.col(name) for name in ("broker", "leaders", "preferred"))
    shown = F.format_string("broker %d leads %d partitions and is the preferred leader of %d", *numbers)
    return found(
        idle,
        at="as_of",
        table="brokers",
        shown=shown,
        since=none("timestamp"),
        broker=distinct("broker", "broker"),
        named=F.array_join(distinct(shown, "named"), "; "),
    )
