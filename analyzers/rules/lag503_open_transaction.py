"""LAG503: Transactions stay open until the broker aborts them, and readers of committed records wait meanwhile."""

from analyzers.vocabulary import BROKER, WARNING, DataFrame, count, detail, distinct, found, rule


@rule(
    "LAG503", title="Transactions are held open until the broker aborts them", stage="lag", severity=WARNING, reason="open-transaction",
    logs_of=BROKER, signatures=("transaction-timed-out",),
    says="The brokers aborted {aborted} transaction(s) that were open longer than their transaction.timeout.ms[[ between {since} and "
    "{until} UTC]] ({transactional_ids}): until then every read_committed consumer of their partitions waited, and what the transactions "
    "had written is never visible to it",
    next_command="diag lag-report --bootstrap-server HOST:PORT,…",
)  # fmt: skip
def open_transaction(log_events: DataFrame) -> DataFrame:
    """Transactions rolled back by timeout, from the brokers' logs (TransactionCoordinator)."""
    return found(log_events, aborted=count(), transactional_ids=distinct(detail("transactional_id"), "transactional_ids"))
