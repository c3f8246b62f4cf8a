"""BRK116: the job's Kafka client is so old that one vanished broker host stops its starts."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.vocabulary.findings import evidence
from analyzers.vocabulary.rule import rule
from analyzers.vocabulary.snapshots import newest_look, no_job


@rule(
    "BRK116",
    title="The Kafka client has no connection set-up time-out",
    stage="risk",
    severity=Severity.INFO,
    says="The job's kafka-clients {client_version} know no connection set-up time-out (it came with 2.7). Every entry lives today; when "
    "the host of one of the {entries} vanishes, each client fails its start with {share}, and all of {clients_or_some} must succeed",
    next_command='diag broker-health --what-if "entries={entries} dead=1 kind=black-hole client={client_version}"',
)
def client_without_setup_timeout(bootstrap_servers: DataFrame, client_configs: DataFrame, log_files: DataFrame | None) -> DataFrame:
    """Per scope with a client before 2.7, as stated or else as logged, while no entry is dead (then BRK111 speaks)."""
    entries = newest_look(bootstrap_servers)
    counted = entries.groupBy("scope").agg(
        F.countDistinct("entry").alias("entries"),
        F.bool_and(F.coalesce(F.col("state") == "alive", F.lit(False))).alias("_all_alive"),
    )
    parts = F.split("client_version", r"\.")
    number = F.try_element_at(parts, F.lit(1)).try_cast("int") * 100 + F.try_element_at(parts, F.lit(2)).try_cast("int")
    text = F.concat_ws(" ", F.lit("kafka-clients"), "client_version", F.concat(F.lit("("), F.col("source"), F.lit(")")))
    said = newest_look(client_configs).select("scope", "as_of", "client_version", "clients", "source")
    if log_files is not None:
        told = log_files.where(F.coalesce("role", F.lit("")) != "kafka-broker").withColumn("client", F.explode("clients"))
        logged = F.nullif(F.regexp_extract("client", r"^kafka-clients[ :]+(\S+)", 1), F.lit(""))
        oldest = told.groupBy("scope").agg(F.min(logged).alias("_logged"))
        said = said.join(oldest, "scope", "left").withColumn("client_version", F.coalesce("client_version", "_logged")).drop("_logged")
    old = said.withColumn("_number", number).where(F.col("_number") < 207)
    found = old.groupBy("scope").agg(
        F.any_value("client_version").alias("client_version"),
        F.max("clients").alias("_clients"),
        F.max("as_of").alias("until"),
        evidence("client_configs", text),
    )
    joined = found.join(counted, "scope").where(F.col("_all_alive") & (F.col("entries") > 1))
    worded = joined.withColumns(
        {
            "share": F.format_string("%.0f%%", 100.0 / F.col("entries")),
            "clients_or_some": F.coalesce(F.concat(F.col("_clients"), F.lit(" clients")), F.lit("them")),
            "reason": F.lit("old-client"),
        }
    )
    return no_job(worded.drop("_clients", "_all_alive"))
