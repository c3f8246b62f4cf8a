"""BRK113: the job's clients still try to connect to a broker that the cluster no longer lists."""

from analyzers.derived.failures.failure_signs import FAILED_TO_CONNECT
from analyzers.vocabulary import WARNING, DataFrame, F, agreed, count, distinct, found, newest_snapshot, rule
from analyzers.vocabulary.brokers import of_client, tried_address


@rule("BRK113", title="The job connects to brokers that left the cluster", stage="access", severity=WARNING, reason="left-the-cluster",
    signatures=FAILED_TO_CONNECT,
    says="The job's Kafka clients cannot connect to broker {named}[[ ({address})]], which is not among the {known} brokers that the "
    "cluster lists now ({listed}): {tries} failed connection(s)[[ between {since} and {until} UTC]]",
    inferred="A positive node id in a connection line is a broker of the client's last metadata; the cluster was probed later than that.",
    next_command="diag broker-health --bootstrap-server HOST:PORT,…",
)  # fmt: skip
def dials_departed_brokers(
    log_events: DataFrame,
    brokers: DataFrame,
    *,
    enough: int = 2,  # one failed connection happens in every restart of a broker
) -> DataFrame:
    """Per job, node ids that connections failed to and that the newest metadata do not list."""
    listed = newest_snapshot(brokers).where(F.col("in_metadata")).groupBy("scope").agg(F.sort_array(F.collect_set("broker")).alias("_ids"))
    failed = log_events.where(of_client() & (F.col("broker") >= 0)).withColumn("_at", tried_address()).join(listed, "scope")
    per_job = found(
        failed.where(~F.array_contains("_ids", F.col("broker"))), "job", tries=count(), named=distinct("broker", "named"),
        broker=agreed("broker"), address=distinct("_at", "address"), _ids=F.any_value("_ids"),
    )  # fmt: skip
    return per_job.where(F.col("tries") >= enough).withColumns({"known": F.size("_ids"), "listed": F.array_join("_ids", ", ")})
