"""BRK106: a consumer's requests time out one after another, because it stays with an address that does not answer."""

from analyzers.derived.failures.failure_signs import BROKER_LIFE, FAILED_TO_CONNECT
from analyzers.vocabulary import CLIENTS, CRITICAL, DataFrame, F, agreed, count, distinct, event, for_long, found, rule, seconds
from analyzers.vocabulary.brokers import with_addresses


@rule("BRK106", title="Kafka leaves a consumer's requests unanswered", cause="broker-unreachable", stage="access", severity=CRITICAL,
    reason="request-timeout", logs_of=CLIENTS, needs=for_long(signature="request-timed-out", by="job"),
    signatures=("request-timed-out", "commit-failed-legacy", "kafka-client-config", *FAILED_TO_CONNECT, *BROKER_LIFE),
    says="{timeouts} request(s) of Kafka consumers[[ (Consumer subtask {subtasks}, as the log counts, from 0)]] got no answer between "
    "{since} and {until} UTC: the clients hang on an address that drops packets. Their partitions are not read, while the job is RUNNING "
    "and its checkpoints complete[[. Addresses that fail: {address}]][[. Bootstrap list: {bootstrap}]]",
    inferred="[[Brokers {broker_ids} left the cluster at {gone_since} UTC and did not return, and the bootstrap list still names them.]]",
    missing="[[{unnamed}]]",
    next_command="diag broker-health --bootstrap-server {bootstrap_or_placeholder}",
)  # fmt: skip
def requests_unanswered(
    log_events: DataFrame,
    *,
    enough: int = 3,  # one request is lost with the connection of any broker that restarts
    lasting: int = 20,  # seconds; a broker that restarts refuses, and the client moves on at once
    gone_for: int = 60,  # seconds; a broker of a rolling restart is back by then
) -> DataFrame:
    """Per job, "Failed to send request after … ms" (kafka-clients) in a row."""
    timed_out = log_events.where(event("request-timed-out"))
    per_job = found(timed_out, "job", timeouts=count(), group=agreed("group"), client=agreed("client"))
    in_a_row = per_job.where((F.col("timeouts") >= enough) & (seconds("since", "until") >= lasting))
    commits = log_events.where(event("commit-failed-legacy") & F.col("text").contains("Failed to send request after"))
    subtasks = commits.groupBy("scope").agg(distinct("subtask", "subtasks"), agreed("subtask"))
    return with_addresses(in_a_row, log_events, gone_for=gone_for).join(subtasks, "scope", "left")
