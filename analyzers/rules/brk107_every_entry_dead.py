"""BRK107: every address that the client knows refuses it, to the end of the log, while the job looks well."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from analyzers.derived.failures.failure_signs import ANSWERED, FAILED_TO_CONNECT
from analyzers.report.finding import Severity
from analyzers.tables import Row
from analyzers.tables.processes import CLIENTS
from analyzers.vocabulary.aggregates import agreed, distinct, seconds
from analyzers.vocabulary.brokers import tried_address
from analyzers.vocabulary.findings import exemplars
from analyzers.vocabulary.rule import rule


def _listed_and_refused(rows: Sequence[Row], _thresholds: Mapping[str, Any]) -> bool:
    """A client, and no broker's own, that failed to connect, and a bootstrap list to compare it with."""
    of_client = [row for row in rows if row["role"] != "kafka-broker"]
    listed = any((row["detail"] or {}).get("bootstrap") for row in of_client)
    return listed and any(row["signature"] in FAILED_TO_CONNECT for row in of_client)


@rule(
    "BRK107",
    title="Every bootstrap entry is dead while the job is RUNNING",
    cause="broker-unreachable",
    stage="access",
    severity=Severity.CRITICAL,
    logs_of=CLIENTS,
    signatures=(*FAILED_TO_CONNECT, *ANSWERED, "kafka-client-config"),
    says="{clients} Kafka client(s)[[ ({client})]] reach none of the {entries} entries of bootstrap.servers ({address}) since {since} UTC, "
    "to the end of the log ({minutes} min): nothing is read, even where checkpoints complete",
    next_command="diag broker-health --bootstrap-server {first_address}",
    needs=_listed_and_refused,
)
def every_entry_dead(
    log_events: DataFrame,
    *,
    lasting: int = 45,  # seconds; a rolling restart leaves the other brokers, and a single one is back sooner
    still: int = 60,  # seconds before the end of the log in which it must still fail
) -> DataFrame:
    """Clients whose failed connections, since their last answer, cover the whole bootstrap list, all entries at one time, and go on to the
    end. A restart that rolls through all brokers makes a client fail at each of them, too, at one after the other."""
    of_client = log_events.where(F.coalesce("role", F.lit("")) != "kafka-broker")
    entry = F.explode(F.split(F.regexp_replace(F.col("detail")["bootstrap"], r"\s", ""), ","))
    listed = of_client.where(F.col("detail")["bootstrap"].isNotNull()).select("scope", entry.alias("entry")).distinct()
    size = listed.groupBy("scope").agg(F.count("*").alias("entries"))
    answered = (
        of_client.where(F.col("signature").isin(*ANSWERED) & F.col("client").isNotNull())
        .groupBy("scope", "file", "client")
        .agg(F.max("at").alias("answered_at"))
    )
    tried = of_client.where(F.col("signature").isin(*FAILED_TO_CONNECT)).withColumn("at_address", tried_address())
    since_then = tried.join(answered, ["scope", "file", "client"], "left").where(
        F.col("answered_at").isNull() | (F.col("at") > F.col("answered_at"))
    )
    on_list = since_then.join(listed.withColumnRenamed("entry", "at_address"), ["scope", "at_address"], "left_semi")
    of_one = Window.partitionBy("scope", "file", "client")
    of_entry = Window.partitionBy("scope", "file", "client", "at_address")
    spans = on_list.withColumns({"first_at": F.min("at").over(of_entry), "last_at": F.max("at").over(of_entry)})
    at_once = F.max("first_at").over(of_one) <= F.min("last_at").over(of_one)
    all_of_it = F.size(F.collect_set("at_address").over(of_one)) == F.col("entries")
    shut_out = spans.join(size, "scope").withColumn("shut_out", at_once & all_of_it).where("shut_out")
    found = shut_out.groupBy("scope", "job").agg(
        F.max("entries").alias("entries"),
        distinct("at_address", "address"),
        F.countDistinct("file", "client").alias("clients"),
        agreed("client"),
        agreed("group"),
        F.min("at").alias("since"),
        F.max("at").alias("until"),
        F.max("as_of").alias("end"),
        exemplars(),
    )
    whole = found.where((seconds("since", "until") >= lasting) & (seconds("until", "end") <= still))
    return whole.withColumns(
        {
            "reason": F.lit("all-entries-dead"),
            "minutes": F.round(F.greatest(seconds("since", "until") / 60, F.lit(1.0))).cast("long"),
            "first_address": F.array_join("address", ","),
        }
    ).drop("end")
