"""BRK201: brokers left the cluster and did not return: a symptom, unless these are logs of brokers alone and one of them was lost."""

from collections.abc import Mapping, Sequence
from typing import Any

from analyzers.derived.failures.failure_signs import BROKER_LIFE
from analyzers.tables import Row
from analyzers.vocabulary import BROKER, WARNING, DataFrame, F, IfGiven, Window, distinct, event, first_of, found, rule, seconds
from analyzers.vocabulary.brokers import departed, some_left, tried_address, which_brokers
from analyzers.vocabulary.quick_looks import grouped, lasted

IN_ORDER = ("broker-shutdown-granted", "broker-shutting-down", "broker-transition")
ALONE = ("kafka-broker", "zookeeper")
UNREACHED = ("connection-failed", "node-connect-error", "node-setup-timeout", "replica-fetch-failed")
_LEFT = "{who}[[ ({address})]] left the cluster[[ at {since} UTC]] and did not return before the end of these broker logs"


def _some_left_or_unreached(rows: Sequence[Row], thresholds: Mapping[str, Any]) -> bool:
    """Whether a broker left, or followers failed to connect to their leader for long."""
    of_followers = grouped(row for row in rows if row["signature"] in UNREACHED and "[ReplicaFetcher " in (row["text"] or ""))
    return some_left(rows, gone_for=thresholds["gone_for"]) or any(
        len(same) >= 3 and lasted(same) >= thresholds["unreached_for"] for same in of_followers.values()
    )


@rule("BRK201", title="Brokers left the cluster and did not return", stage="access", severity=WARNING,
    logs_of=BROKER, signatures=(*BROKER_LIFE, *UNREACHED), needs=_some_left_or_unreached,
    says={
        "lost": "{who}[[ ({address})]] {went}[[ {since} UTC]] and did not return before the end of these broker logs: {how}",
        "": _LEFT,
    },
    inferred={
        "lost": "The logs show that it was lost, not why: it crashed, froze, or was cut off.",
        "": "The logs show that they left, not why.",
    },
    next_command="diag broker-health --bootstrap-server HOST:PORT,…",
)  # fmt: skip
def brokers_left(
    log_events: DataFrame,
    log_files: IfGiven,
    *,
    gone_for: int = 60,  # seconds; a broker of a rolling restart is back by then
    unreached_for: int = 180,  # seconds; followers say nothing of a controller that knows the broker, and a start may take minutes
) -> DataFrame:
    """Per scope, the brokers that left by their own log or the controller's, with no line of a return, or that followers do not reach.

    One that left without a shutdown is a fault by itself where only brokers' logs are there: a job's log shows what it suffers from.
    """
    each = Window.partitionBy("scope", "broker")
    in_order = F.max(event(*IN_ORDER).cast("int")).over(each) == 1
    # ZooKeeper's controller logs the end of a session for a broker that stopped in order, too
    timed_out = F.max(F.contains("text", F.lit("its session has timed out")).cast("int")).over(each) == 1
    gone = departed(log_events, gone_for=gone_for).withColumn("_lost", timed_out & ~in_order)
    both = gone.unionByName(_unreached(log_events, lasting=unreached_for), allowMissingColumns=True)
    both = both.withColumn("_left", F.max(F.col("_unreached").isNull()).over(each))
    lost = F.when(F.col("_lost"), F.col("broker"))
    alone = log_files.groupBy("scope").agg(
        F.bool_and(F.coalesce("role", F.lit("")).isin(*ALONE)).alias("_alone"),
        F.bool_and(F.coalesce("role", F.lit(ALONE[0])).isin(*ALONE)).alias("_no_job"),  # a follower's lines are a broker's, role or not
    )
    per_scope = found(
        both.where(F.col("_unreached").isNull() | ~F.col("_left")),  # of a broker that left, followers add nothing
        broker=distinct("broker", "broker"),
        _which=which_brokers(distinct("broker", "broker")),
        _which_lost=which_brokers(distinct(lost, "broker")),
        address=distinct("broker_address", "address"),
        since=F.min("left_at"),
        _all_lost=F.bool_and("_lost"),
        _followers=F.coalesce(F.bool_and("_unreached"), F.lit(False)),
        _some=F.coalesce(F.bool_or("_unreached"), F.lit(False)),
    ).join(alone, "scope", "left")
    # what a job's log has of such a broker says more than its followers
    per_scope = per_scope.where(~F.col("_some") | F.coalesce("_no_job", F.lit(False)))
    fault = F.coalesce((F.col("_alone") | F.col("_followers")) & F.col("_all_lost"), F.lit(False))
    which = F.when(fault, F.col("_which_lost")).otherwise(F.col("_which"))
    return per_scope.withColumns(
        {
            "reason": first_of(("lost", fault), otherwise="left"),
            "severity": first_of(("critical", fault), otherwise="warning"),
            "cause": first_of(("broker-unreachable", fault)),
            "which": which,
            "who": F.initcap(which),
            "went": first_of(("cannot be reached by its followers since", F.col("_followers")), otherwise="left the cluster at"),
            "how": first_of(("each of their connections fails", F.col("_followers")), otherwise="its session ended without a shutdown"),
            "so": first_of(("unreachable for its followers", F.col("_followers")), otherwise="without a shutdown"),
            # what brokers or clients say about the reason comes first
            "confidence": first_of((0.5, fault), otherwise=1.0),
        }
    )


def _unreached(log_events: DataFrame, *, lasting: int) -> DataFrame:
    """Lines of followers that fail to connect to a leader for `lasting` seconds and up to the end.

    A follower is moved to another leader within seconds of an election, so it goes on only while there is none. Source: Kafka's
    ReplicaFetcherThread, whose NetworkClient prints the connection.
    """
    leader = F.nullif(F.regexp_extract("text", r"^[^\n]*?\[ReplicaFetcher [^\]\n]*\bleaderId=(\d+)", 1), F.lit("")).cast("long")
    fails = event(*UNREACHED) & (
        ~event("replica-fetch-failed") | F.rlike("text", F.lit(r"Connection to \S+ [^\n]*(?:failed|disconnected)"))
    )
    each = Window.partitionBy("scope", leader)
    tried = log_events.where(fails).withColumns(
        {
            "broker": leader,
            "left_at": F.min("at").over(each),
            "_last": F.max("at").over(each),
            "_times": F.count("*").over(each),
            "broker_address": F.coalesce(
                tried_address(), F.nullif(F.regexp_extract("text", r"Connection to (\S+:\d+) \(id: ", 1), F.lit(""))
            ),
            "_lost": F.lit(True),
            "_unreached": F.lit(True),
        }
    )  # fmt: skip
    goes_on = (seconds("left_at", "_last") >= lasting) & (seconds("_last", "as_of") <= 60) & (F.col("_times") >= 3)
    return tried.where(F.col("broker").isNotNull() & goes_on)
