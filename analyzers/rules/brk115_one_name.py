"""BRK115: the whole bootstrap list is one name, and some of its addresses are dead."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.vocabulary.findings import evidence
from analyzers.vocabulary.rule import rule
from analyzers.vocabulary.snapshots import newest_look, no_job


@rule(
    "BRK115",
    title="One name stands for all brokers, and some of its addresses are dead",
    stage="risk",
    severity=Severity.WARNING,
    says="{entry} is the only bootstrap entry and a name for {addresses} addresses, of which {dead} do not answer ({named}). A client "
    "takes it for one server and tries few of them in a minute: each further address gets twice the time (10, 20, 30 s), and clients "
    "before 2.6 try the first address only",
    inferred="The odds of one name were derived from the client's rules, not measured.",
    next_command='diag broker-health --what-if "entries={addresses} dead={dead} name=one client=3.4.0"',
)
def one_name(bootstrap_servers: DataFrame) -> DataFrame:
    """Per scope, a list of one entry with several addresses that is alive all the same."""
    probed = newest_look(bootstrap_servers).where(F.col("ip").isNotNull())
    silent = F.col("state").isin("black-hole", "hung")
    text = F.concat_ws(" ", "entry", F.lit("at"), "ip", F.lit("is"), F.coalesce("state", F.lit("not judged")))
    found = probed.groupBy("scope").agg(
        F.countDistinct("entry").alias("_entries"),
        F.any_value("entry").alias("entry"),
        F.any_value("entry").alias("address"),
        F.countDistinct("ip").alias("addresses"),
        F.count_if(silent).alias("dead"),
        F.count_if(F.col("state") == "alive").alias("_alive"),
        F.array_sort(F.collect_set(F.when(silent, F.concat_ws(" ", "ip", "state")))).alias("named"),
        F.max("as_of").alias("until"),
        evidence("bootstrap_servers", text),
    )
    caught = found.where((F.col("_entries") == 1) & (F.col("addresses") > 1) & (F.col("dead") > 0) & (F.col("_alive") > 0))
    return no_job(caught.drop("_entries", "_alive")).withColumn("reason", F.lit("one-name"))
