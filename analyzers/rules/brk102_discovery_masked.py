"""BRK102: a closed Handover hides that partition discovery could not get metadata."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.derived.failures.failure_signs import FAILED_TO_CONNECT
from analyzers.report.finding import Severity
from analyzers.vocabulary.aggregates import failures
from analyzers.vocabulary.brokers import BROKER_LIFE, bootstrap_lists, departed_brokers, entries_mended, with_tried_addresses
from analyzers.vocabulary.rule import FAILING, rule


@rule(
    "BRK102",
    title="Handover$ClosedException hides a metadata time-out of partition discovery",
    cause="broker-unreachable",
    stage="access",
    severity=Severity.CRITICAL,
    faults=("handover-masked",),
    signatures=("kafka-client-config", *FAILED_TO_CONNECT, *BROKER_LIFE),
    says="The Kafka reader[[ of {task}]][[ {subtask_shown}]] was closed by its own partition-discovery thread, {failures} time(s)[[, "
    "the first at {since} UTC]]: "
    "Handover$ClosedException carries no message, the thread's real error is a request for metadata that no broker answered[[. "
    "Addresses that fail: {address}]]"
    "[[. Bootstrap list: {bootstrap}]]",
    inferred="That metadata timed out is inferred from the frame FlinkKafkaConsumerBase.lambda$createAndStartDiscoveryLoop: the source "
    "throws the Handover's exception "
    "before the one it kept.[[ Brokers {broker_ids} left the cluster at {gone_since} UTC and did not return.]]",
    missing="[[{unnamed}]]",
    next_command="diag broker-health --bootstrap-server {bootstrap_or_placeholder}",
    needs=FAILING,
)
def discovery_masked(
    faults: DataFrame, log_events: DataFrame | None, *, gone_for: int = 60
) -> DataFrame:  # seconds; a rolling restart is over by then
    """Tasks that the discovery thread of FlinkKafkaConsumer (Flink up to 1.17) closed, with what the logs tell about addresses."""
    found = failures(faults)
    if log_events is None:
        nothing = dict.fromkeys(("bootstrap", "gone_since", "broker", "broker_ids"), F.lit(None).cast("string"))
        named = found.withColumns(nothing | {"address": F.lit(None).cast("array<string>")})
    else:
        named = (
            with_tried_addresses(found, log_events)
            .join(bootstrap_lists(log_events), "scope", "left")
            .join(departed_brokers(log_events, gone_for=gone_for), "scope", "left")
            .withColumnsRenamed({"gone": "broker", "tried": "address"})
            .withColumn("broker_ids", F.array_join("broker", ", "))
            .withColumn("address", F.coalesce("address", "gone_addresses"))
            .drop("gone_addresses")
        )
    unnamed = F.when(
        F.col("address").isNull(),
        F.lit("which broker does not answer: these lines do not name it; the TaskManager's log or a probe of every bootstrap entry does"),
    )
    worded = {"unnamed": unnamed, "entries_mended": entries_mended()}
    worded["bootstrap_or_placeholder"] = F.coalesce("bootstrap", F.lit("HOST:PORT,…"))
    return named.withColumns(worded)
