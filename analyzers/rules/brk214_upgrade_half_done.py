"""BRK214: the brokers of one cluster support different API versions, as while an upgrade is half done."""

from analyzers.vocabulary import WARNING, DataFrame, F, beside, count, distinct, found, newest_snapshot, none, rule
from analyzers.vocabulary.brokers import which_brokers


@rule("BRK214", title="The brokers do not run the same software", stage="risk", severity=WARNING, reason="half-upgraded",
    says="The {brokers_seen} reachable brokers support {kinds} different sets of API versions: {groups}. An upgrade is half done, or one "
    "broker was left behind",
    inferred="The API versions that each broker reports were compared; a setting that adds an API (client metrics) changes them, too.",
    next_command="kafka-broker-api-versions.sh --bootstrap-server HOST:PORT",
)  # fmt: skip
def upgrade_half_done(brokers: DataFrame) -> DataFrame:
    """Per scope with more than one digest of API versions: the brokers that are not of the largest group."""
    reported = newest_snapshot(brokers).where((F.col("state") == "alive") & F.col("speaks").isNotNull())
    release = F.try_element_at(F.filter("features", lambda feature: feature.startswith("metadata.version ")), F.lit(1))
    kind = {"_size": count(), "_ids": F.sort_array(F.collect_list("broker")), "_release": F.max(release)}
    per_kind = reported.groupBy("scope", "speaks").agg(*(value.alias(name) for name, value in kind.items()))
    of_release = F.coalesce(F.concat(F.lit(" ("), "_release", F.lit(")")), F.lit(""))
    named = F.struct("_ids", F.concat(which_brokers(F.col("_ids")), of_release).alias("named"))
    per_scope = per_kind.groupBy("scope").agg(
        count().alias("kinds"),
        F.sum("_size").alias("brokers_seen"),
        F.array_join(F.sort_array(F.collect_list(named))["named"], "; ").alias("groups"),
        F.max_by("speaks", F.struct("_size", F.negate(F.element_at("_ids", 1)))).alias("_common"),
    )
    odd = beside(reported, per_scope.where(F.col("kinds") > 1), how="inner").where(F.col("speaks") != F.col("_common"))
    shown = F.format_string("broker %d at %s supports API versions %s", F.col("broker"), F.col("address"), F.col("speaks"))
    return found(
        odd,
        "kinds",
        "brokers_seen",
        "groups",
        at="as_of",
        table="brokers",
        shown=shown,
        since=none("timestamp"),
        broker=distinct("broker", "broker"),
        odd=which_brokers(distinct("broker", "broker")),
    )
