"""BRK215: a living broker leads almost nothing of what it should: load sits on the others."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.vocabulary.findings import evidence
from analyzers.vocabulary.rule import rule
from analyzers.vocabulary.snapshots import newest_look, no_job


@rule(
    "BRK215",
    title="Leaders are not where they belong",
    stage="risk",
    severity=Severity.INFO,
    says="{named}: other brokers lead these partitions and carry their load. Typical after a restart",
    next_command="kafka-leader-election.sh --bootstrap-server HOST:PORT --election-type preferred --all-topic-partitions",
)
def leaders_unbalanced(
    brokers: DataFrame,
    *,
    enough: int = 10,  # preferred partitions; a few mean nothing
    share: float = 0.5,  # leader.imbalance.per.broker.percentage is 10, and it acts every five minutes: this is far beyond
) -> DataFrame:
    """Per scope, living brokers that lead less than `share` of the partitions whose preferred leader they are."""
    alive = newest_look(brokers).where((F.col("state") == "alive") & (F.col("preferred") >= enough))
    idle = alive.where(F.col("leaders") < F.col("preferred") * share)
    text = F.concat(
        F.lit("broker "), "broker", F.lit(" leads "), "leaders", F.lit(" partitions and is the preferred leader of "), "preferred"
    )
    found = idle.groupBy("scope").agg(
        F.array_sort(F.collect_set("broker")).alias("broker"),
        F.array_join(F.array_sort(F.collect_set(text)), "; ").alias("named"),
        F.max("as_of").alias("until"),
        evidence("brokers", text),
    )
    return no_job(found).withColumn("reason", F.lit("leader-skew"))
