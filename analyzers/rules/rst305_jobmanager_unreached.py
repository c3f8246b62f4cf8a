"""RST305: a TaskManager does not get through to the JobManager."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.tables.processes import FLINK
from analyzers.vocabulary.aggregates import agreed, distinct, seconds
from analyzers.vocabulary.findings import exemplars
from analyzers.vocabulary.rule import has, rule

_TRIES = ("resourcemanager-unresolved", "resourcemanager-registered", "registration-timed-out")
_MISADDRESSED = "rpc-misaddressed"


@rule(
    "RST305",
    title="A TaskManager does not reach the JobManager",
    cause="jobmanager-lost",
    stage="failure",
    severity=Severity.CRITICAL,
    logs_of=FLINK,
    signatures=(*_TRIES, _MISADDRESSED, "host-unknown"),
    says={
        "other-name": "The process that listens as {address} drops what is sent to it as {dialled}[[, since {since} UTC]]: whoever dials "
        "that name never joins the cluster",
        "name-unknown": "{workers} TaskManager(s) cannot resolve the name of the JobManager[[ ({address})]]: tried in vain for {minutes} "
        "minutes[[, since {since} UTC]], to the end of the log",
        "": "{workers} TaskManager(s) do not reach the JobManager[[ at {address}]]: tried in vain for {minutes} minutes[[, since {since} "
        "UTC]], to the end of the log",
    },
    missing="[[{unsaid}]]",
    needs=has(signature=("resourcemanager-unresolved", _MISADDRESSED)),
)
def jobmanager_unreached(
    log_events: DataFrame,
    *,
    lasting: int = 120,  # seconds; a JobManager that starts, or fails over, is there by then
    enough: int = 3,  # messages to a wrong name; one may be meant for the process that had this address before
) -> DataFrame:
    """Per scope: TaskManagers whose tries never succeeded up to the end of their log, and processes that are dialled by another name.

    RST304 tells where the TaskManager ended itself of it. Source: Flink's TaskExecutor, RegisteredRpcConnection; akka's EndpointWriter.
    """
    per_log = log_events.groupBy("scope", "file").agg(
        *(_last(name).alias(name.partition("-")[2]) for name in _TRIES),
        F.min(F.when(F.col("signature") == _TRIES[0], F.col("at"))).alias("first_at"),
        F.max(F.when(F.col("signature") == _TRIES[0], F.col("at"))).alias("last_at"),
        agreed(F.when(F.col("signature") == _TRIES[0], F.col("address")), "address"),
        F.max(F.col("signature") == "host-unknown").alias("unknown"),
        exemplars(where=F.col("signature") == _TRIES[0]),
    )
    never = F.col("registered").isNull() | (F.col("registered") < F.col("unresolved"))
    cut_off = per_log.where(never & F.col("timed-out").isNull() & (seconds("first_at", "last_at") >= lasting))
    tried = cut_off.groupBy("scope").agg(
        F.when(F.min("unknown"), F.lit("name-unknown")).otherwise(F.lit("not-answering")).alias("reason"),
        F.count("*").alias("workers"),
        agreed("address"),
        F.lit(None).cast("string").alias("dialled"),
        F.min("first_at").alias("since"),
        F.max("last_at").alias("until"),
        F.flatten(F.collect_list("evidence")).alias("evidence"),
        F.lit("critical").alias("severity"),
        F.lit("why it does not answer: the JobManager's own log has it").alias("unsaid"),
    )
    dropped = (
        log_events.where(F.col("signature") == _MISADDRESSED)
        .groupBy("scope")
        .agg(
            F.lit("other-name").alias("reason"),
            F.lit(None).cast("long").alias("workers"),
            F.array_join(distinct("address", "address"), ", ").alias("address"),
            F.array_join(distinct(F.col("detail")["dialled"], "dialled"), ", ").alias("dialled"),
            F.min("at").alias("since"),
            F.max("at").alias("until"),
            exemplars(),
            F.when(F.count("*") >= enough, F.lit("critical")).otherwise(F.lit("warning")).alias("severity"),
            F.lit(None).cast("string").alias("unsaid"),
        )
    )
    found = tried.unionByName(dropped)
    return found.withColumns({"job": F.lit(None).cast("string"), "minutes": F.round(seconds("since", "until") / 60).cast("long")})


def _last(signature: str) -> Column:
    """The last line of a log with this signature."""
    return F.max(F.when(F.col("signature") == signature, F.col("line")))
