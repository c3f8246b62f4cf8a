"""BRK207: ZooKeeper has no leader."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.tables.processes import ZOOKEEPER
from analyzers.vocabulary.aggregates import distinct, seconds
from analyzers.vocabulary.findings import exemplars
from analyzers.vocabulary.rule import has, rule
from analyzers.vocabulary.zookeeper import OF_BROKERS, OF_JOBMANAGERS, harmed

_LOOKS = ("zookeeper-electing", "zookeeper-not-serving", "zookeeper-peer-unreachable")


@rule(
    "BRK207",
    title="ZooKeeper has no quorum",
    cause="external-system",
    stage="access",
    severity=Severity.CRITICAL,
    logs_of=ZOOKEEPER,
    signatures=(*_LOOKS, "zookeeper-state", *OF_BROKERS, *OF_JOBMANAGERS),
    says="ZooKeeper elects no leader: {nodes} server(s) of these logs looked for one for at least {seconds} seconds, up to the end of the "
    "log, and nobody is served[[ (not reached: {peers})]]. Kafka brokers cannot register or change leaders, and JobManagers lose their "
    "leadership, until a majority of the servers is back",
    missing="[[{unreached}]]",
    needs=has(signature=_LOOKS),
)
def zookeeper_no_quorum(
    log_events: DataFrame,
    *,
    enough: int = 3,  # an election has a round or two
    lasting: int = 60,  # seconds; servers that start one after the other wait for each other
    last: int = 100,  # lines of each log: of an endless search those in the middle are not kept
    fresh: int = 120,  # seconds before the end of the log: a server asks once a minute at last
) -> DataFrame:
    """Per scope, the servers whose last word, for long, is that they look for a leader. Source: FastLeaderElection, NIOServerCnxn."""
    own = log_events.where(F.col("signature").isin(*_LOOKS, "zookeeper-state"))
    newest_first = Window.partitionBy("scope", "file").orderBy(F.desc("line"))
    tail = own.withColumn("rank", F.row_number().over(newest_first)).where(F.col("rank") <= last)
    knows = (F.col("signature") == "zookeeper-state") & (F.col("to_state") != "LOOKING")
    here = ["scope", "file"]
    last_known = tail.where(knows).groupBy(*here).agg(F.max("line").alias("_known"))
    looking = tail.where(~knows).join(last_known, here, "left").where(F.col("_known").isNull() | (F.col("line") > F.col("_known")))
    patience = F.max(F.col("detail")["timeout_ms"].cast("long"))  # doubled from 200 ms with each round: so long it has looked before
    per_node = looking.groupBy(*here).agg(
        F.count_if(F.col("signature").isin("zookeeper-electing", "zookeeper-not-serving")).alias("steps"),
        distinct(F.when(F.col("signature") == "zookeeper-peer-unreachable", F.regexp_replace("address", "^/", "")), "peers"),
        F.min("at").alias("since"),
        F.max("at").alias("until"),
        F.max("as_of").alias("end"),
        F.max(F.col("level") == "INFO").alias("tells"),  # who logs warnings alone does not say that a leader was found
        F.coalesce(patience / 1000, F.lit(0)).alias("patience"),
        exemplars(),
    )
    looked = F.greatest(seconds("since", "until"), F.col("patience"))
    lasts = F.col("tells") & (F.col("steps") >= enough) & (looked >= lasting) & (seconds("until", "end") <= fresh)
    ill = (
        per_node.withColumn("looked", looked)
        .where(lasts)
        .groupBy("scope")
        .agg(
            F.count("*").alias("nodes"),
            F.array_sort(F.array_distinct(F.flatten(F.collect_list("peers")))).alias("peers"),
            F.round(F.max("looked")).cast("long").alias("seconds"),
            F.min("since").alias("since"),
            F.max("until").alias("until"),
            F.slice(F.flatten(F.collect_list("evidence")), 1, 5).alias("evidence"),
        )
    )
    unreached = F.lit("why they do not answer: the logs of the other servers, and the way to them")
    return ill.join(log_events.groupBy("scope").agg(harmed().alias("cause")), "scope").withColumns(
        {
            "job": F.lit(None).cast("string"),
            "reason": F.lit("zookeeper-no-quorum"),
            "peers": F.array_join("peers", ", "),
            "unreached": unreached,
        }
    )
