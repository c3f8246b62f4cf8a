"""BRK207: ZooKeeper's servers elect no leader."""

from analyzers.vocabulary import CRITICAL, ZOOKEEPER, DataFrame, F, count, detail, distinct, event, found, has, rule, seconds
from analyzers.vocabulary.quorums import looking, together
from analyzers.vocabulary.zookeeper import OF_BROKERS, OF_JOBMANAGERS, harmed

_LOOKS = ("zookeeper-electing", "zookeeper-not-serving", "zookeeper-peer-unreachable")


@rule("BRK207", title="ZooKeeper has no quorum", cause="external-system", stage="access", severity=CRITICAL, reason="zookeeper-no-quorum",
    logs_of=ZOOKEEPER, signatures=(*_LOOKS, "zookeeper-state", *OF_BROKERS, *OF_JOBMANAGERS), needs=has(signature=_LOOKS),
    says="ZooKeeper elects no leader: {nodes} server(s) of these logs searched for one for at least {seconds} seconds, up to the end of "
    "the log, and served no client[[ (not reached: {peers})]]. Kafka brokers cannot register or change leaders, and JobManagers lose their "
    "leadership, until a majority of the servers is back",
    missing="why the other servers do not answer: their logs, and the network to them",
)  # fmt: skip
def zookeeper_no_quorum(
    log_events: DataFrame,
    *,
    enough: int = 3,  # an election has a round or two
    lasting: int = 60,  # seconds; servers that start one after the other wait for each other
    last: int = 100,  # lines of each log: those in the middle of an endless search were dropped
    fresh: int = 120,  # seconds before the end of the log: a server asks once a minute at last
) -> DataFrame:
    """Per scope, the servers that search for a leader for long, up to the end of their logs. Source: FastLeaderElection, NIOServerCnxn."""
    knows = event("zookeeper-state") & (F.col("to_state") != "LOOKING")
    per_node = found(
        looking(log_events.where(event(*_LOOKS, "zookeeper-state")), knows, last=last),
        "file",
        steps=count(event("zookeeper-electing", "zookeeper-not-serving")),
        peers=distinct(F.when(event("zookeeper-peer-unreachable"), F.regexp_replace("address", "^/", "")), "peers"),
        patience=F.max(detail("timeout_ms").cast("long")) / 1000,  # doubled from 200 ms with each round: the search before lasted as long
        end=F.max("as_of"),
        informs=F.max(F.col("level") == "INFO"),  # a log of warnings alone does not show that a leader was found
    ).withColumn("looked", F.greatest(seconds("since", "until"), "patience"))
    lasts = F.col("informs") & (F.col("steps") >= enough) & (F.col("looked") >= lasting) & (seconds("until", "end") <= fresh)
    peers = F.sort_array(F.array_distinct(F.flatten(F.collect_list("peers"))))
    ill = together(per_node.where(lasts), peers=peers, seconds=F.round(F.max("looked")).cast("long"))
    return ill.join(log_events.groupBy("scope").agg(harmed().alias("cause")), "scope")
