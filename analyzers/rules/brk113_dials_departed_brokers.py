"""BRK113: the job's clients still dial a broker that the cluster no longer lists."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.derived.failures.failure_signs import FAILED_TO_CONNECT
from analyzers.report.finding import Severity
from analyzers.vocabulary.aggregates import agreed, distinct
from analyzers.vocabulary.brokers import tried_address
from analyzers.vocabulary.findings import exemplars
from analyzers.vocabulary.rule import rule
from analyzers.vocabulary.snapshots import newest_look


@rule(
    "BRK113",
    title="The job dials brokers that left the cluster",
    stage="access",
    severity=Severity.WARNING,
    signatures=FAILED_TO_CONNECT,
    says="The job's Kafka clients cannot connect to broker {named}[[ ({address})]], which is not among the {known} brokers that the "
    "cluster lists now ({listed}): {tries} failed connection(s)[[ between {since} and {until} UTC]]",
    inferred="A positive node id in a connection line is a broker of the client's last metadata; the cluster was asked later than that.",
    next_command="diag broker-health --bootstrap-server HOST:PORT,…",
)
def dials_departed_brokers(
    log_events: DataFrame,
    brokers: DataFrame,
    *,
    enough: int = 2,  # one failed connection happens in every restart of a broker
) -> DataFrame:
    """Per job, node ids that connections failed to and that the newest metadata do not hold."""
    live = newest_look(brokers).where(F.col("in_metadata"))
    known = live.groupBy("scope").agg(F.array_sort(F.collect_set("broker")).alias("_ids"), F.countDistinct("broker").alias("known"))
    of_client = F.coalesce("role", F.lit("")) != "kafka-broker"
    failed = log_events.where(of_client & (F.col("broker") >= 0)).withColumn("tried", tried_address()).join(known, "scope")
    gone = failed.where(~F.array_contains("_ids", F.col("broker")))
    found = gone.groupBy("scope", "job").agg(
        F.count("*").alias("tries"),
        F.array_sort(F.collect_set("broker")).alias("named"),
        agreed("broker"),
        distinct("tried", "address"),
        F.any_value("known").alias("known"),
        F.array_join(F.any_value("_ids"), ", ").alias("listed"),
        F.min("at").alias("since"),
        F.max("at").alias("until"),
        exemplars(),
    )
    return found.where(F.col("tries") >= enough).withColumn("reason", F.lit("left-the-cluster"))
