"""BRK205: the controllers elect no leader."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.tables.processes import BROKER
from analyzers.vocabulary.aggregates import agreed, distinct, goes_on, seconds
from analyzers.vocabulary.findings import exemplars
from analyzers.vocabulary.rule import has, rule

_SIGNS = ("quorum-state", "election-failed")


@rule(
    "BRK205",
    title="The metadata quorum has no leader",
    cause="broker-unreachable",
    stage="access",
    severity=Severity.CRITICAL,
    logs_of=BROKER,
    signatures=_SIGNS,
    says="The controllers elect no leader: {nodes} node(s) of these logs[[ ({node_list})]] knew none for at least {seconds} seconds, up "
    "to the end of their log[[ (voters {voters})]]. Without one no broker is admitted, no partition gets another leader",
    missing="which controller is the missing one: the logs of the other voters have it",
    needs=has(signature=_SIGNS, at_least="enough"),
    next_command="kafka-metadata-quorum.sh --bootstrap-controller HOST:PORT describe --status",
)
def no_quorum(
    log_events: DataFrame,
    *,
    enough: int = 6,  # an election has a few steps, and a split vote some more
    lasting: int = 60,  # seconds; an election takes one or two
    last: int = 100,  # lines of each log: of an endless search those in the middle are not kept
    fresh: int = 60,  # seconds before the end of the log
) -> DataFrame:
    """Per scope, the nodes whose last word, for long, is that they look for a leader. Source: Kafka's QuorumState and KafkaRaftClient."""
    newest_first = Window.partitionBy("scope", "file").orderBy(F.desc("line"))
    tail = log_events.withColumn("rank", F.row_number().over(newest_first)).where(F.col("rank") <= last)
    knows = (F.col("signature") == "quorum-state") & F.col("to_state").isin("Leader", "Follower")
    last_known = tail.where(knows).groupBy("scope", "file").agg(F.max("line").alias("_known"))
    here = ["scope", "file"]
    looking = tail.where(~knows).join(last_known, here, "left").where(F.col("_known").isNull() | (F.col("line") > F.col("_known")))
    per_node = looking.groupBy(*here).agg(
        F.count("*").alias("steps"),
        agreed("broker", "node"),
        agreed(F.col("detail")["voters"], "voters"),
        F.min("at").alias("since"),
        F.max("at").alias("until"),
        F.max("as_of").alias("end"),
        exemplars(),
    )
    lasts = goes_on("steps", enough=enough, lasting=lasting, fresh=fresh)
    found = (
        per_node.where(lasts)
        .groupBy("scope")
        .agg(
            F.count("*").alias("nodes"),
            F.array_join(distinct("node", "node"), ", ").alias("node_list"),
            agreed("voters"),
            F.min("since").alias("since"),
            F.max("until").alias("until"),
            F.slice(F.flatten(F.collect_list("evidence")), 1, 5).alias("evidence"),
        )
    )
    span = F.round(seconds("since", "until")).cast("long")
    return found.withColumns({"job": F.lit(None).cast("string"), "reason": F.lit("no-controller"), "seconds": span})
