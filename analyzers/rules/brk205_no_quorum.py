"""BRK205: the controllers elect no leader."""

from analyzers.vocabulary import BROKER, CRITICAL, DataFrame, F, agreed, count, detail, distinct, event, found, goes_on, has, rule, seconds
from analyzers.vocabulary.quorums import looking, together

_SIGNS = ("quorum-state", "election-failed")


@rule("BRK205", title="The metadata quorum has no leader", cause="broker-unreachable", stage="access", severity=CRITICAL,
    reason="no-controller", logs_of=BROKER, signatures=_SIGNS, needs=has(at_least="enough", signature=_SIGNS),
    says="The controllers elect no leader: {nodes} node(s)[[ ({node_list})]] knew none for at least {seconds} seconds, up to the end of "
    "the logs[[ (voters {voters})]]. Without a leader no broker can join and no partition can change its leader",
    missing="which controller is down or cut off: the logs of the other voters",
    next_command="kafka-metadata-quorum.sh --bootstrap-controller HOST:PORT describe --status",
)  # fmt: skip
def no_quorum(
    log_events: DataFrame,
    *,
    enough: int = 6,  # an election has a few steps, and a split vote some more
    lasting: int = 60,  # seconds; an election takes one or two
    last: int = 100,  # lines of each log: those in the middle of an endless search were dropped
    fresh: int = 60,  # seconds before the end of the log
) -> DataFrame:
    """Per scope, the nodes that search for a leader for long, up to the end of their logs. Source: QuorumState, KafkaRaftClient."""
    knows = event("quorum-state") & F.col("to_state").isin("Leader", "Follower")
    per_node = found(
        looking(log_events, knows, last=last),
        "file",
        steps=count(),
        node=agreed("broker"),
        voters=agreed(detail("voters")),
        end=F.max("as_of"),
    )
    ill = per_node.where(goes_on("steps", enough=enough, lasting=lasting, fresh=fresh))
    per_scope = together(ill, node_list=distinct("node", "node_list"), voters=agreed("voters"))
    return per_scope.withColumn("seconds", F.round(seconds("since", "until")).cast("long"))
