"""BRK202: partitions of a topic that is read have no leader for minutes."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.vocabulary.aggregates import agreed, distinct, goes_on, seconds
from analyzers.vocabulary.findings import exemplars
from analyzers.vocabulary.rule import rule

LEADERLESS = "LEADER_NOT_AVAILABLE|NOT_LEADER|LISTENER_NOT_FOUND"


@rule(
    "BRK202",
    title="Partitions have no leader that the client can use",
    cause="broker-unreachable",
    stage="access",
    severity=Severity.CRITICAL,
    signatures=("metadata-error", "produce-error", "listener-missing", "not-enough-replicas"),
    says="Partitions of {topics_or_some} have had no usable leader for {minutes} minute(s) ({errors} {kind}[[ between {since} "
    "and {until} UTC]]): nothing is read from or written to them",
    next_command="diag broker-health --bootstrap-server HOST:PORT,…",
)
def no_leader(
    log_events: DataFrame,
    *,
    enough: int = 10,  # an election makes a few
    lasting: int = 120,  # seconds; an election, or the restart of a broker, is over by then
    fresh: int = 60,  # seconds before the end of the log: errors that stopped earlier have healed
) -> DataFrame:
    """Per job, topics whose metadata errors or refused writes say that there is no leader, up to the end of the log."""
    leaderless = (F.col("signature") == "listener-missing") | F.col("detail")["error"].rlike(LEADERLESS)
    rows = log_events.where(leaderless & (F.coalesce("role", F.lit("")) != "kafka-broker"))
    per_job = rows.groupBy("scope", "job").agg(
        F.count("*").alias("errors"),
        distinct("topic", "topics"),
        agreed("topic"),
        F.min("at").alias("since"),
        F.max("at").alias("until"),
        F.max("as_of").alias("end"),
        F.bool_and(F.col("signature") == "produce-error").alias("of_writes"),
        agreed("group"),
        exemplars(),
    )
    lasts = goes_on("errors", enough=enough, lasting=lasting, fresh=fresh)
    return (
        per_job.where(lasts)
        .withColumns(
            {
                "minutes": F.round(seconds("since", "until") / 60).cast("long"),
                "topics_or_some": F.coalesce(F.array_join("topics", ", "), F.lit("a topic")),
                "kind": F.when(F.col("of_writes"), F.lit("refused writes")).otherwise(F.lit("metadata errors")),
                "reason": F.lit("leader-missing"),
            }
        )
        .drop("end", "of_writes")
    )
