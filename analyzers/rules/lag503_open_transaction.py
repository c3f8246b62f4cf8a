"""LAG503: transactions stay open until the broker aborts them: readers of committed records stand still."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.tables.processes import BROKER
from analyzers.vocabulary.aggregates import distinct
from analyzers.vocabulary.findings import exemplars
from analyzers.vocabulary.rule import rule


@rule(
    "LAG503",
    title="Transactions are held open until the broker aborts them",
    stage="lag",
    severity=Severity.WARNING,
    logs_of=BROKER,
    signatures=("transaction-timed-out",),
    says="The brokers aborted {aborted} transaction(s) that were open longer than their transaction.timeout.ms[[ between {since} and "
    "{until} UTC]] ({transactional_ids}): "
    "until then every read_committed consumer of their partitions stood still, and what they had written is lost to it",
    next_command="diag lag-report --bootstrap-server HOST:PORT,…",
)
def open_transaction(log_events: DataFrame) -> DataFrame:
    """Transactions rolled back by time-out, from the brokers' logs (TransactionCoordinator)."""
    per_scope = log_events.groupBy("scope").agg(
        F.count("*").alias("aborted"),
        distinct(F.col("detail")["transactional_id"], "transactional_ids"),
        F.min("at").alias("since"),
        F.max("at").alias("until"),
        exemplars(),
    )
    return per_scope.withColumns({"job": F.lit(None).cast("string"), "reason": F.lit("open-transaction")})
