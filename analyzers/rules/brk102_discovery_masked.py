"""BRK102: a closed Handover hides that partition discovery could not get metadata."""

from analyzers.derived.failures.failure_signs import BROKER_LIFE, FAILED_TO_CONNECT
from analyzers.vocabulary import CRITICAL, FAILING, DataFrame, F, IfGiven, failures, rule
from analyzers.vocabulary.brokers import with_addresses, with_advice


@rule("BRK102", title="Handover$ClosedException hides a metadata timeout of partition "
"discovery", cause="broker-unreachable", stage="access",
    severity=CRITICAL, faults=("handover-masked",), signatures=("kafka-client-config", *FAILED_TO_CONNECT, *BROKER_LIFE), needs=FAILING,
    says="The Kafka reader[[ of {task}]][[ {subtask_shown}]] was closed by its own partition-discovery thread, {failures} time(s)[[, the "
    "first at {since} UTC]]: Handover$ClosedException carries no message; the thread's real error is a metadata request that no broker "
    "answered[[. Addresses that fail: {address}]][[. Bootstrap list: {bootstrap}]]",
    inferred="The metadata timeout is inferred from the frame FlinkKafkaConsumerBase.lambda$createAndStartDiscoveryLoop: the source "
    "throws the Handover's exception before the one it stored.[[ Brokers {broker_ids} left the cluster at {gone_since} UTC and did not "
    "return.]]",
    missing="[[{unnamed}]]",
    next_command="diag broker-health --bootstrap-server {bootstrap_or_placeholder}",
)  # fmt: skip
def discovery_masked(
    faults: DataFrame,
    log_events: IfGiven,
    *,
    gone_for: int = 60,  # seconds; a rolling restart is over by then
) -> DataFrame:
    """Tasks that the discovery thread of FlinkKafkaConsumer (Flink up to 1.17) closed, with what logs show of the addresses."""
    known = with_addresses(failures(faults), log_events, gone_for=gone_for)
    return with_advice(known.withColumns({"broker": F.col("_gone"), "address": F.coalesce("_tried", "_gone_addresses")}))
