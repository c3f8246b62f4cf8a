"""BRK215: a reachable broker leads few of the partitions whose preferred leader it is, so the others carry its load."""

from analyzers.vocabulary import INFO, DataFrame, F, distinct, found, newest_snapshot, none, rule
from analyzers.vocabulary.brokers import which_brokers


@rule("BRK215", title="Partitions are not led by their preferred leaders", stage="risk", severity=INFO, reason="leader-skew",
    says="{named}. Other brokers carry that load, as is typical after a restart",
    next_command="kafka-leader-election.sh --bootstrap-server HOST:PORT --election-type preferred --all-topic-partitions",
)  # fmt: skip
def leaders_unbalanced(
    brokers: DataFrame,
    *,
    enough: int = 10,  # preferred partitions; a few mean nothing
    share: float = 0.5,  # leader.imbalance.per.broker.percentage is 10, and it acts every five minutes: this is far beyond
) -> DataFrame:
    """Per scope, reachable brokers that lead less than `share` of the partitions whose preferred leader they are."""
    alive = newest_snapshot(brokers).where((F.col("state") == "alive") & (F.col("preferred") >= enough))
    idle = alive.where(F.col("leaders") < F.col("preferred") * share)
    numbers = (F.col(name) for name in ("broker", "leaders", "preferred"))
    shown = F.format_string("Broker %d leads %d partitions and is the preferred leader of %d", *numbers)
    return found(
        idle,
        at="as_of",
        table="brokers",
        shown=shown,
        since=none("timestamp"),
        broker=distinct("broker", "broker"),
        idle=which_brokers(distinct("broker", "broker")),
        named=F.array_join(distinct(shown, "named"), "; "),
    )
