"""BRK112: bootstrap answers, an address that the brokers advertise does not."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.vocabulary.aggregates import agreed
from analyzers.vocabulary.findings import evidence
from analyzers.vocabulary.rule import rule
from analyzers.vocabulary.snapshots import newest_look, no_job


@rule(
    "BRK112",
    title="An advertised broker address cannot be reached",
    cause="broker-unreachable",
    stage="access",
    severity=Severity.CRITICAL,
    says={
        "advertised-listeners": "{answering} answers, but not one of the {known} broker addresses that the cluster advertises "
        "can be reached"
        "[[ from {seen_from}]]: {named}. A client gets no further than its first question",
        "": "{answering} answers, but {dead} of the {known} brokers that the cluster advertises cannot be reached[[ from {seen_from}]]: "
        "{named}. Nothing that they lead can be read or written from here",
    },
    inferred="[[Seen from {seen_from}: the job's own hosts may resolve and reach other addresses. Ask from a TaskManager before you change "
    "a listener.]]",
    next_command="timeout 5 bash -c '</dev/tcp/{probe}' && echo accepts || echo dead   # from a TaskManager: does it see the same?",
)
def advertised_unreachable(bootstrap_servers: DataFrame, brokers: DataFrame) -> DataFrame:
    """Per scope, advertised brokers that are dead while an entry lives; those that are dead as an entry, too, are BRK111's."""
    entries = newest_look(bootstrap_servers)
    alive = entries.where(F.col("state") == "alive").groupBy("scope").agg(F.min_by("entry", "position").alias("answering"))
    dead_entries = entries.where((F.col("state") != "alive") & F.col("state").isNotNull())
    told = newest_look(brokers)
    judged = F.col("state").isNotNull()
    is_dead = judged & (F.col("state") != "alive")
    all_dead = told.groupBy("scope").agg(
        F.count("*").alias("known"),
        F.bool_and(F.coalesce(is_dead, F.lit(False))).alias("none_lives"),
        F.avg(judged.cast("double")).alias("confidence"),
    )
    by_node = dead_entries.where(F.col("broker").isNotNull()).select("scope", "broker").distinct().withColumn("_node", F.lit(True))
    by_name = dead_entries.select("scope", F.col("entry").alias("address")).distinct().withColumn("_name", F.lit(True))
    rows = (
        told.where(is_dead)
        .join(alive, "scope")
        .join(all_dead, "scope")
        .join(by_node, ["scope", "broker"], "left")
        .join(by_name, ["scope", "address"], "left")
        .where(F.col("none_lives") | (F.col("_node").isNull() & F.col("_name").isNull()))
    )
    text = F.concat(
        F.lit("broker "), "broker", F.lit(" at "), "address", F.lit(" is "), "state", F.lit(" ("), F.coalesce("why", F.lit("-")), F.lit(")")
    )
    name = F.concat(F.lit("broker "), "broker", F.lit(" at "), "address", F.lit(" ("), "state", F.lit(")"))
    found = rows.groupBy("scope").agg(
        F.count("*").alias("dead"),
        F.any_value("known").alias("known"),
        F.any_value("answering").alias("answering"),
        F.bool_or("none_lives").alias("none_lives"),
        F.bool_and(F.col("state") == "dns").alias("unresolvable"),
        F.array_sort(F.collect_set(name)).alias("named"),
        agreed("broker"),
        agreed("address"),
        F.regexp_replace(F.min_by("address", "broker"), r":(\d+)$", "/$1").alias("probe"),
        agreed("seen_from"),
        F.max("as_of").alias("until"),
        F.min("confidence").alias("confidence"),
        evidence("brokers", text),
    )
    reason = F.when(F.col("none_lives"), "advertised-listeners").when(F.col("unresolvable"), "unresolvable").otherwise("broker-dead")
    return no_job(found.withColumn("reason", reason)).drop("none_lives", "unresolvable")
