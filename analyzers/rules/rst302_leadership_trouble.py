"""RST302: jobs are suspended again and again because the JobManager loses its leadership."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.tables.processes import JOBMANAGER
from analyzers.vocabulary.checkpoints import in_order
from analyzers.vocabulary.findings import exemplars
from analyzers.vocabulary.rule import has, rule
from analyzers.vocabulary.zookeeper import slow_disk

_REGAINED = ("leadership-granted", "zookeeper-reconnected", "curator-state")
SESSION_TIMEOUT = "high-availability.zookeeper.client.session-timeout"
LOST = ("job-suspended", "job-leader-revoked", "leadership-revoked", "zookeeper-connection-lost", "curator-state", "kubernetes-leader-lost")

_UNTOLD = f"{SESSION_TIMEOUT}, not shown in these logs; ZooKeeper grants at most its maxSessionTimeout, 40 s unless set"
"""Source: ZooKeeper's QuorumPeer, 20 times a tickTime of 2 s; Flink asks for 60 s (HighAvailabilityOptions)."""


@rule(
    "RST302",
    title="The JobManager loses its leadership again and again",
    cause="jobmanager-lost",
    stage="restart",
    severity=Severity.CRITICAL,
    logs_of=JOBMANAGER,
    signatures=(
        "job-state",
        "checkpoint-completed",
        "configuration-property",
        "leadership-granted",
        "zookeeper-reconnected",
        "zookeeper-sync-slow",
        *LOST,
    ),
    faults=("leadership-lost",),
    says="The JobManager lost its leadership {times} time(s)[[, first at {since} UTC]][[ and last at {until} UTC]], and each time its "
    "jobs were suspended[[: {through_shown}]][[; {state_now}]][[. {disk}]]",
    missing="why the leader election service did not answer: {its_log} and the JobManager's GC log have it",
    needs=has(signature=LOST),
)
def leadership_trouble(
    log_events: DataFrame,
    faults: DataFrame | None,
    log_files: DataFrame | None,
    *,
    enough: int = 3,  # once is a fail-over that worked, twice may be a rolling restart of ZooKeeper
    fragment: int = 60,  # lines: in so short an excerpt one lost lease is all there will be
    apart: int = 30,  # seconds; the lines of one loss come together
) -> DataFrame:
    """Per scope: how many separate times leadership went; a warning where the jobs run again and complete checkpoints."""
    back_again = (F.col("signature") == "curator-state") & F.col("to_state").isin("RECONNECTED", "CONNECTED")
    lost = log_events.where(F.col("signature").isin(*LOST) & ~back_again)
    slot = F.floor(F.unix_seconds("at") / apart)
    text = F.coalesce("text", F.lit(""))
    zookeeper = F.col("signature").isin("zookeeper-connection-lost", "curator-state") | F.rlike(text, F.lit("ZooKeeper|Zookeeper|Curator"))
    kubernetes = (F.col("signature") == "kubernetes-leader-lost") | F.rlike(text, F.lit("Kubernetes|ConfigMap|fabric8"))
    suspends = F.col("signature").isin("job-suspended", "job-leader-revoked", "leadership-revoked", "kubernetes-leader-lost")
    per_scope = lost.groupBy("scope").agg(
        F.countDistinct(F.when(suspends, F.coalesce(slot, F.col("line")))).alias("times"),
        F.count_if(zookeeper).alias("by_zookeeper"),
        F.count_if(kubernetes).alias("by_kubernetes"),
        F.when(F.min("job") == F.max("job"), F.max("job")).alias("job"),
        F.min(F.when(suspends, F.col("at"))).alias("since"),
        F.max(F.when(suspends, F.col("at"))).alias("until"),
        F.max(F.when(suspends, in_order())).alias("last_lost"),
        F.max(F.coalesce(F.rlike(F.col("detail")["what"], F.lit("enew deadline")), F.lit(False))).alias("lease_lost"),
        F.max(in_order()).alias("last_word"),
        exemplars(),
    )
    after = (
        log_events.where(F.col("signature").isin("job-state", "checkpoint-completed", *_REGAINED))
        .groupBy("scope")
        .agg(
            F.max(F.when(F.col("signature").isin("leadership-granted", "zookeeper-reconnected") | back_again, in_order())).alias(
                "regained"
            ),
            F.max_by("to_state", F.when(F.col("signature") == "job-state", in_order())).alias("state"),
            F.max(F.when(F.col("signature") == "checkpoint-completed", in_order())).alias("completed"),
        )
    )
    runs = (F.col("state") == "RUNNING") & (F.col("completed") > F.col("last_lost"))
    in_the_dark = (F.col("times") >= 1) & (F.col("regained").isNull() | (F.col("regained") < F.col("last_word")))
    through = F.when(F.col("by_zookeeper") > 0, F.lit("zookeeper")).when(F.col("by_kubernetes") > 0, F.lit("kubernetes"))
    return (
        per_scope.join(after, "scope", "left")
        .join(_files(log_files, per_scope), "scope", "left")
        .join(_session_timeout(log_events), "scope", "left")
        .join(slow_disk(log_events, lost.select("scope", "at"), within=60), "scope", "left")
        .withColumns({"runs": F.coalesce(runs, F.lit(False)), "through": through})
        .where(
            (F.col("times") >= enough)
            | ((F.col("times") >= 1) & ~F.col("runs") & F.col("state").isin("SUSPENDED", "FAILED"))
            | ((F.col("lease_lost") | in_the_dark) & F.col("state").isNull() & (F.col("lines") <= fragment))
        )
        .withColumns(
            {
                "severity": F.when(F.col("runs"), F.lit("warning")).otherwise(F.lit("critical")),
                "reason": F.coalesce("through", F.lit("leadership")),
                "through_shown": F.when(F.col("through") == "zookeeper", F.lit("the connection to ZooKeeper went")).when(
                    F.col("through") == "kubernetes", F.lit("the Kubernetes leader lease was not renewed")
                ),
                "state_now": F.when(F.col("runs"), F.lit("the job runs again now")).when(
                    F.col("state").isNotNull(), F.concat(F.lit("the job's last state is "), F.col("state"))
                ),
                "its_log": F.when(
                    (F.col("through") == "zookeeper") & F.col("zookeeper_logs").isNotNull(),
                    F.concat(F.lit("ZooKeeper's own log around these times ("), "zookeeper_logs", F.lit(": given)")),
                ).otherwise(F.lit("its own log (ZooKeeper, the Kubernetes API server)")),
                "session_timeout": F.coalesce("session_timeout", F.lit(_UNTOLD)),
                "fault_ids": F.array(F.lit("leadership-lost")),
                # wanted: three losses, and through which service
                "confidence": (F.least("times", F.lit(3)) + F.col("through").isNotNull().cast("int")) / 4,
            }
        )
        .drop(
            "by_zookeeper",
            "by_kubernetes",
            "last_lost",
            "lease_lost",
            "last_word",
            "regained",
            "lines",
            "zookeeper_logs",
            "state",
            "completed",
            "runs",
            "through",
        )
    )


def _files(log_files: DataFrame | None, like: DataFrame) -> DataFrame:
    """Per scope how long the logs are, and which of them are ZooKeeper's own: scope, lines, zookeeper_logs."""
    if log_files is None:
        unknown = {"lines": F.lit(None).cast("long"), "zookeeper_logs": F.lit(None).cast("string")}
        return like.select("scope").withColumns(unknown)
    own = F.when(F.startswith("layout", F.lit("zookeeper")), F.regexp_extract("file", r"([^/]*)$", 1))
    logs = F.nullif(F.array_join(F.slice(F.array_sort(F.collect_set(own)), 1, 3), ", "), F.lit(""))
    return log_files.groupBy("scope").agg(F.sum("lines").alias("lines"), logs.alias("zookeeper_logs"))


def _session_timeout(log_events: DataFrame) -> DataFrame:
    """Per scope the session time-out that the JobManager was started with last, in words: scope, session_timeout."""
    named = (F.col("signature") == "configuration-property") & (F.col("detail")["key"] == SESSION_TIMEOUT)
    value = F.trim(F.col("detail")["value"])
    bare = F.concat((value.try_cast("long") / 1000).cast("string"), F.lit(" s"))  # a number alone is milliseconds
    shown = F.concat(F.lit(f"{SESSION_TIMEOUT}: "), F.coalesce(F.regexp_replace(bare, r"\.0 s$", " s"), value))
    return log_events.where(named).groupBy("scope").agg(F.max_by(shown, in_order()).alias("session_timeout"))
