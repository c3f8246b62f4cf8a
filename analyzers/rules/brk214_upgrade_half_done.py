"""BRK214: the brokers of one cluster do not all speak the same versions: an upgrade is half done."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.vocabulary.findings import evidence
from analyzers.vocabulary.rule import rule
from analyzers.vocabulary.snapshots import newest_look, no_job


@rule(
    "BRK214",
    title="The brokers do not run the same software",
    stage="risk",
    severity=Severity.WARNING,
    says="The {brokers_seen} brokers that answer speak {kinds} different sets of requests and versions: {groups}. An upgrade is half done, "
    "or one broker was left behind",
    inferred="Compared are the API versions that each broker tells; a setting that adds an API (client metrics) differs, too.",
    next_command="kafka-broker-api-versions.sh --bootstrap-server HOST:PORT",
)
def upgrade_half_done(brokers: DataFrame) -> DataFrame:
    """Per scope with more than one digest of API versions: the smaller groups are the ones that differ."""
    told = newest_look(brokers).where((F.col("state") == "alive") & F.col("speaks").isNotNull())
    metadata = F.filter("features", lambda feature: feature.startswith("metadata.version "))
    release = F.regexp_replace(F.try_element_at(metadata, F.lit(1)), r"^metadata\.version ", "metadata.version ")
    per_kind = told.groupBy("scope", "speaks").agg(
        F.count("*").alias("_size"),
        F.array_sort(F.collect_list("broker")).alias("_ids"),
        F.max(release).alias("_release"),
        F.max("as_of").alias("until"),
    )
    label = F.concat(
        F.lit("brokers "), F.array_join("_ids", ", "), F.coalesce(F.concat(F.lit(" ("), F.col("_release"), F.lit(")")), F.lit(""))
    )
    most = F.struct("_size", F.negate(F.element_at("_ids", 1)))
    per_scope = per_kind.groupBy("scope").agg(
        F.count("*").alias("kinds"),
        F.sum("_size").alias("brokers_seen"),
        F.array_join(F.transform(F.array_sort(F.collect_list(F.struct("_ids", label.alias("l")))), lambda g: g["l"]), "; ").alias("groups"),
        F.max_by("speaks", most).alias("_common"),
        F.max("until").alias("until"),
    )
    text = F.concat(F.lit("broker "), "broker", F.lit(" at "), "address", F.lit(" speaks "), "speaks")
    odd = told.join(per_scope.select("scope", "_common"), "scope").where(F.col("speaks") != F.col("_common"))
    ids = odd.groupBy("scope").agg(F.array_sort(F.collect_set("broker")).alias("broker"), evidence("brokers", text))
    found = per_scope.where(F.col("kinds") > 1).join(ids, "scope").drop("_common")
    return no_job(found).withColumn("reason", F.lit("half-upgraded"))
