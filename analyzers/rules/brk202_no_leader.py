"""BRK202: partitions of a topic that a client uses have had no leader for minutes."""

from analyzers.derived.failures.failure_signs import BROKER_LIFE
from analyzers.logs.signatures import protocol_errors

from analyzers.vocabulary import (  # isort: skip
    CRITICAL, DataFrame, F, Window, agreed, count, detail, distinct, either, event, first_of, found, goes_on, has,
    matching, rule, seconds,
)  # fmt: skip
from analyzers.vocabulary.brokers import departed, which_brokers
from analyzers.vocabulary.columns import none

IN_ORDER = "Preferred|ControlledShutdown|Reassign"
"""Strategies of elections in which the leader that there is goes on if no other is found."""

LEADERLESS = f"LEADER_NOT_AVAILABLE|NOT_LEADER|LISTENER_NOT_FOUND|{protocol_errors.words(protocol_errors.LEADERLESS)}"


@rule("BRK202", title="Partitions have no leader that the client can use", cause="broker-unreachable", stage="access", severity=CRITICAL,
    signatures=(
        "metadata-error", "produce-error", "binding-error-passing", "listener-missing", "not-enough-replicas", "partition-unelectable",
        *BROKER_LIFE,
    ),
    needs=either(has(signature=("listener-missing", "partition-unelectable")), matching(LEADERLESS, "error", at_least="enough")),
    says={
        "no-eligible-leader": "The controller finds no leader for {named}[[ since {since} UTC]]: no in-sync replica is on a broker that is "
        "up[[; {gone} left the cluster at {gone_since} UTC]]. They can be neither read nor written",
        "": "Partitions[[ of {topics}]] have had no usable leader for {minutes} minute(s) ({errors} {kind}[[ between {since} and {until} "
        "UTC]]): nothing is read from or written to them",
    },
    next_command="diag broker-health --bootstrap-server HOST:PORT,…",
)  # fmt: skip
def no_leader(
    log_events: DataFrame,
    *,
    enough: int = 10,  # an election makes a few
    lasting: int = 120,  # seconds; an election, or the restart of a broker, is over by then
    fresh: int = 60,  # seconds before the end of the log: errors that stopped earlier have healed
    waiting: int = 60,  # seconds; a broker that restarts is back by then
    apart: int = 300,  # seconds between two errors, at the median: a client that lacks a leader asks again at once
) -> DataFrame:
    """Per job, the topics for which metadata or writes fail for want of a leader, up to the end of the log."""
    leaderless = event("listener-missing") | detail("error").rlike(LEADERLESS)
    before = F.lag("at").over(Window.partitionBy("scope", "job").orderBy("at", "seq"))
    per_job = found(
        log_events.where(leaderless & (F.coalesce("role", F.lit("")) != "kafka-broker")).withColumn("_pause", seconds(before, "at")),
        "job",
        pause=F.percentile_approx("_pause", 0.5),
        errors=count(),
        topics=distinct("topic", "topics"),
        topic=agreed("topic"),
        group=agreed("group"),
        end=F.max("as_of"),
        kind=first_of(
            ("refused writes", F.bool_and(event("produce-error"))),
            ("answers of brokers", F.bool_or(event("binding-error-passing"))),
            otherwise="metadata errors",
        ),
    )
    lasts = goes_on("errors", enough=enough, lasting=lasting, fresh=fresh)
    of_clients = per_job.where(lasts & (F.coalesce("pause", F.lit(0)) <= apart)).drop("pause").withColumn("reason", F.lit("leader-missing"))
    both = of_clients.unionByName(_unelectable(log_events, waiting=waiting), allowMissingColumns=True)
    return both.withColumn("minutes", F.round(seconds("since", "until") / 60).cast("long"))


def _unelectable(log_events: DataFrame, *, waiting: int) -> DataFrame:
    """Per scope, partitions for which the controller elected no leader, and no broker came after. Source: PartitionStateMachine."""
    came = F.max(F.when(event("broker-startup-callback", "broker-started"), F.col("at"))).over(Window.partitionBy("scope"))
    harmless = F.coalesce(detail("strategy").rlike(IN_ORDER), F.lit(False))
    rows = log_events.withColumn("_came", came).where(event("partition-unelectable") & ~harmless)
    name = F.concat_ws("-", "topic", "partition")
    per_scope = found(
        rows.where(F.col("_came").isNull() | (F.col("_came") <= F.col("at"))),
        errors=count(),
        named=F.array_join(F.sort_array(F.collect_set(name)), ", "),
        topic=agreed("topic"),
        partition=agreed("partition"),
        topics=distinct("topic", "topics"),
        end=F.max("as_of"),
    )
    gone = departed(log_events, gone_for=0).groupBy("scope").agg(distinct("broker", "_gone"), F.min("left_at").alias("gone_since"))
    open_still = per_scope.where(seconds("since", "end") >= waiting).join(gone, "scope", "left")
    return open_still.withColumns({"reason": F.lit("no-eligible-leader"), "gone": which_brokers(F.col("_gone")), "job": none()})
