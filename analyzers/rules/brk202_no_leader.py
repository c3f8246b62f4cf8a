"""BRK202: partitions of a topic that a client uses have had no leader for minutes."""

from analyzers.vocabulary import CRITICAL, DataFrame, F, agreed, count, detail, distinct, event, first_of, found, goes_on, rule, seconds

LEADERLESS = "LEADER_NOT_AVAILABLE|NOT_LEADER|LISTENER_NOT_FOUND"


@rule("BRK202", title="Partitions have no leader that the client can use", cause="broker-unreachable", stage="access", severity=CRITICAL,
    reason="leader-missing", signatures=("metadata-error", "produce-error", "listener-missing", "not-enough-replicas"),
    says="Partitions[[ of {topics}]] have had no usable leader for {minutes} minute(s) ({errors} {kind}[[ between {since} and {until} "
    "UTC]]): nothing is read from or written to them",
    next_command="diag broker-health --bootstrap-server HOST:PORT,…",
)  # fmt: skip
def no_leader(
    log_events: DataFrame,
    *,
    enough: int = 10,  # an election makes a few
    lasting: int = 120,  # seconds; an election, or the restart of a broker, is over by then
    fresh: int = 60,  # seconds before the end of the log: errors that stopped earlier have healed
) -> DataFrame:
    """Per job, the topics for which metadata or writes fail for want of a leader, up to the end of the log."""
    leaderless = event("listener-missing") | detail("error").rlike(LEADERLESS)
    per_job = found(
        log_events.where(leaderless & (F.coalesce("role", F.lit("")) != "kafka-broker")),
        "job",
        errors=count(),
        topics=distinct("topic", "topics"),
        topic=agreed("topic"),
        group=agreed("group"),
        end=F.max("as_of"),
        kind=first_of(("refused writes", F.bool_and(event("produce-error"))), otherwise="metadata errors"),
    )
    lasts = goes_on("errors", enough=enough, lasting=lasting, fresh=fresh)
    return per_job.where(lasts).withColumn("minutes", F.round(seconds("since", "until") / 60).cast("long"))
