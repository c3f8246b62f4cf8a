"""BRK116: the job's Kafka client is so old that one vanished broker host stops its starts."""

from analyzers.vocabulary import INFO, DataFrame, F, IfGiven, found, newest_snapshot, none, number_of, rule
from analyzers.vocabulary.brokers import of_client


@rule("BRK116", title="The Kafka client has no connection set-up timeout", stage="risk", severity=INFO, reason="old-client",
    says="The job's kafka-clients {client_version} have no connection set-up timeout (it came with 2.7). Every bootstrap server answers "
    "today; when the host of one of the {entries} vanishes, each client fails its start with {share}[[, and all {clients} clients must "
    "start]]",
    next_command='diag broker-health --what-if "entries={entries} dead=1 kind=black-hole client={client_version}"',
)  # fmt: skip
def client_without_setup_timeout(bootstrap_servers: DataFrame, client_configs: DataFrame, log_files: IfGiven) -> DataFrame:
    """Per scope with a client before 2.7, as stated or else as logged, while every bootstrap server answers (else BRK111 reports)."""
    alive = F.bool_and(F.coalesce(F.col("state") == "alive", F.lit(False)))
    servers = newest_snapshot(bootstrap_servers).groupBy("scope").agg(number_of("entry").alias("entries"), alive.alias("_alive"))
    version = F.nullif(F.regexp_extract("_client", r"^kafka-clients[ :]+(\S+)", 1), F.lit(""))
    logged = log_files.where(of_client()).withColumn("_client", F.explode("clients"))
    oldest = logged.groupBy("scope").agg(F.min(version).alias("_logged"))
    known = (
        newest_snapshot(client_configs).join(oldest, "scope", "left").withColumn("client_version", F.coalesce("client_version", "_logged"))
    )
    parts = F.split("client_version", r"\.")
    number = F.try_element_at(parts, F.lit(1)).try_cast("int") * 100 + F.try_element_at(parts, F.lit(2)).try_cast("int")
    old = found(
        known.where(number < 207), at="as_of", table="client_configs", since=none("timestamp"),
        shown=F.format_string("kafka-clients %s (%s)", "client_version", "source"),
        client_version=F.any_value("client_version"), clients=F.max("clients"),
    )  # fmt: skip
    both = old.join(servers, "scope").where(F.col("_alive") & (F.col("entries") > 1))
    return both.withColumn("share", F.format_string("%.0f%%", 100.0 / F.col("entries")))
