"""BRK106: a consumer's requests time out one after another: it hangs on an address that does not answer."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.derived.failures.failure_signs import FAILED_TO_CONNECT
from analyzers.report.finding import Severity
from analyzers.tables.processes import CLIENTS
from analyzers.vocabulary.aggregates import agreed, distinct, seconds
from analyzers.vocabulary.brokers import BROKER_LIFE, bootstrap_lists, departed_brokers, tried_address
from analyzers.vocabulary.findings import exemplars
from analyzers.vocabulary.rule import has, rule


@rule(
    "BRK106",
    title="Kafka leaves a consumer's requests unanswered",
    cause="broker-unreachable",
    stage="access",
    severity=Severity.CRITICAL,
    logs_of=CLIENTS,
    signatures=("request-timed-out", "commit-failed-legacy", "kafka-client-config", *FAILED_TO_CONNECT, *BROKER_LIFE),
    says="{timeouts} request(s) of Kafka consumers[[ (subtasks {subtasks}, from 0)]] got no answer between {since} and {until} UTC: "
    "these clients hang on an "
    "address that does not even refuse. What they read stands still, while the job is RUNNING and its checkpoints complete"
    "[[. Addresses that fail: {address}]][[. Bootstrap list: {bootstrap}]]",
    inferred="[[Brokers {broker_ids} left the cluster at {gone_since} UTC and did not return, and the bootstrap list still names them.]]",
    missing="[[{unnamed}]]",
    next_command="diag broker-health --bootstrap-server {bootstrap_or_placeholder}",
    needs=has(signature=("request-timed-out",), at_least="enough"),
)
def requests_unanswered(
    log_events: DataFrame,
    *,
    enough: int = 3,  # one request is lost with the connection of any broker that restarts
    lasting: int = 20,  # seconds; a broker that restarts refuses, and the client moves on at once
    gone_for: int = 60,  # seconds; a broker of a rolling restart is back by then
) -> DataFrame:
    """Per job, "Failed to send request after … ms" (kafka-clients) in a row."""
    timed_out = log_events.where(F.col("signature") == "request-timed-out")
    subtasks = log_events.where((F.col("signature") == "commit-failed-legacy") & F.col("text").contains("Failed to send request after"))
    named = subtasks.groupBy("scope").agg(distinct("subtask", "subtasks"), agreed("subtask"))
    per_job = timed_out.groupBy("scope", "job").agg(
        F.count("*").alias("timeouts"),
        F.min("at").alias("since"),
        F.max("at").alias("until"),
        agreed("group"),
        agreed("client"),
        exemplars(),
    )
    found = per_job.where((F.col("timeouts") >= enough) & (seconds("since", "until") >= lasting)).join(named, "scope", "left")
    tried = log_events.where(F.col("signature").isin(*FAILED_TO_CONNECT) & (F.coalesce("role", F.lit("")) != "kafka-broker"))
    facts = (
        found.join(bootstrap_lists(log_events), "scope", "left")
        .join(departed_brokers(log_events, gone_for=gone_for), "scope", "left")
        .join(tried.groupBy("scope").agg(distinct(tried_address(), "tried")), "scope", "left")
    )
    listed = F.array_intersect("gone_addresses", F.split("bootstrap", ","))
    facts = facts.withColumn("_listed", F.when(F.size(listed) > 0, listed))
    facts = facts.withColumns(
        {
            "address": F.coalesce("_listed", "tried"),
            "broker": F.when(F.size("_listed") == F.size("gone"), F.col("gone")),
            "reason": F.lit("request-timeout"),
            "bootstrap_or_placeholder": F.coalesce("bootstrap", F.lit("HOST:PORT,…")),
        }
    )
    unnamed = F.lit("which broker does not answer: these lines do not name it; a probe of every bootstrap entry does")
    return facts.withColumns({"unnamed": F.when(F.col("address").isNull(), unnamed), "broker_ids": F.array_join("broker", ", ")}).drop(
        "_listed", "gone", "gone_addresses", "tried"
    )
