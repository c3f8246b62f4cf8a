"""BRK205: the controllers elect no leader."""

from analyzers.vocabulary import BROKER, CRITICAL, DataFrame, F, agreed, count, detail, distinct, event, found, goes_on, has, rule, seconds
from analyzers.vocabulary.quorums import looking, together

_SIGNS = ("quorum-state", "election-failed")


@rule("BRK205", title="The metadata quorum has no leader", cause="broker-unreachable", stage="access", severity=CRITICAL,
    reason="no-controller", logs_of=BROKER, signatures=_SIGNS, needs=has(at_least="enough", signature=_SIGNS),
    says="The controllers elect no leader: {nodes} node(s) of these logs[[ ({node_list})]] knew none for at least {seconds} seconds, up to "
    "the end of their log[[ (voters {voters})]]. Without one no broker is admitted, no partition gets another leader",
    missing="which controller is the missing one: the logs of the other voters have it",
    next_command="kafka-metadata-quorum.sh --bootstrap-controller HOST:PORT describe --status",
)  # fmt: skip
def no_quorum(
    log_events: DataFrame,
    *,
    enough: int = 6,  # an election has a few steps, and a split vote some more
    lasting: int = 60,  # seconds; an election takes one or two
    last: int = 100,  # lines of each log: of an endless search those in the middle are not kept
    fresh: int = 60,  # seconds before the end of the log
) -> DataFrame:
    """Per scope, the nodes whose last word, for long, is that they look for a leader. Source: Kafka's QuorumState and KafkaRaftClient."""
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
