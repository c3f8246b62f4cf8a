"""BRK201: brokers left the cluster and did not return: a symptom, unless these are logs of brokers alone and one of them was lost."""

from analyzers.derived.failures.failure_signs import BROKER_LIFE
from analyzers.vocabulary import BROKER, WARNING, DataFrame, F, IfGiven, Window, distinct, event, first_of, found, rule
from analyzers.vocabulary.brokers import departed, which_brokers

IN_ORDER = ("broker-shutdown-granted", "broker-shutting-down", "broker-transition")
ALONE = ("kafka-broker", "zookeeper")
_LEFT = "{who}[[ ({address})]] left the cluster[[ at {since} UTC]] and did not return before the end of these broker logs"


@rule("BRK201", title="Brokers left the cluster and did not return", stage="access", severity=WARNING,
    logs_of=BROKER, signatures=BROKER_LIFE,
    says={"lost": f"{_LEFT}: its session ended without a shutdown", "": _LEFT},
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
) -> DataFrame:
    """Per scope, the brokers that left by their own log or the controller's, with no line of a return.

    One that left without a shutdown is a fault by itself where only brokers' logs are there: a job's log shows what it suffers from.
    """
    each = Window.partitionBy("scope", "broker")
    in_order = F.max(event(*IN_ORDER).cast("int")).over(each) == 1
    # ZooKeeper's controller logs the end of a session for a broker that stopped in order, too
    timed_out = F.max(F.contains("text", F.lit("its session has timed out")).cast("int")).over(each) == 1
    gone = departed(log_events, gone_for=gone_for).withColumn("_lost", timed_out & ~in_order)
    lost = F.when(F.col("_lost"), F.col("broker"))
    alone = log_files.groupBy("scope").agg(F.bool_and(F.coalesce("role", F.lit("")).isin(*ALONE)).alias("_alone"))
    per_scope = found(
        gone,
        broker=distinct("broker", "broker"),
        _which=which_brokers(distinct("broker", "broker")),
        _which_lost=which_brokers(distinct(lost, "broker")),
        address=distinct("broker_address", "address"),
        since=F.min("left_at"),
        _all_lost=F.bool_and("_lost"),
    ).join(alone, "scope", "left")
    fault = F.coalesce(F.col("_alone") & F.col("_all_lost"), F.lit(False))
    which = F.when(fault, F.col("_which_lost")).otherwise(F.col("_which"))
    return per_scope.withColumns(
        {
            "reason": first_of(("lost", fault), otherwise="left"),
            "severity": first_of(("critical", fault), otherwise="warning"),
            "cause": first_of(("broker-unreachable", fault)),
            "which": which,
            "who": F.initcap(which),
            # what brokers or clients say about the reason comes first
            "confidence": first_of((0.5, fault), otherwise=1.0),
        }
    )
