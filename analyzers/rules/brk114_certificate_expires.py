"""BRK114: a broker's TLS certificate expires within days."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.vocabulary.findings import evidence
from analyzers.vocabulary.rule import rule
from analyzers.vocabulary.snapshots import newest_look, no_job


@rule(
    "BRK114",
    title="A broker's TLS certificate expires soon",
    stage="risk",
    severity=Severity.WARNING,
    says="The certificate of {address} expires in {days_left} days: from then on no client can connect to it",
    next_command="openssl s_client -connect {first_address} </dev/null | openssl x509 -noout -enddate",
)
def certificate_expires(
    bootstrap_servers: DataFrame,
    *,
    within: int = 14,  # days; a renewal that needs other people takes a week
) -> DataFrame:
    """Per scope, living entries whose certificate ends within `within` days."""
    alive = newest_look(bootstrap_servers).where((F.col("state") == "alive") & (F.col("tls_days_left") < within))
    text = F.concat_ws(" ", "entry", F.lit("has"), F.col("tls_days_left").cast("string"), F.lit("days left"))
    found = alive.groupBy("scope").agg(
        F.array_sort(F.collect_set("entry")).alias("address"),
        F.min("tls_days_left").alias("days_left"),
        F.min_by("entry", "tls_days_left").alias("first_address"),
        F.max("as_of").alias("until"),
        evidence("bootstrap_servers", text),
    )
    return no_job(found).withColumn("reason", F.lit("tls-expiry"))
