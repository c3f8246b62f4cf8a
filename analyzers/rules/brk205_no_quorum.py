"""BRK205: the controllers elect no leader."""

from collections.abc import Mapping, Sequence
from typing import Any

from analyzers.tables import Row

from analyzers.vocabulary import (  # isort: skip
    BROKER, CRITICAL, DataFrame, F, Window, agreed, count, detail, distinct, event, found, goes_on, rule, seconds,
)  # fmt: skip
from analyzers.vocabulary.brokers import which_brokers
from analyzers.vocabulary.quick_looks import grouped, persisted
from analyzers.vocabulary.quorums import looking, together

_SIGNS = ("quorum-state", "election-failed")
_CUT_OFF = "controller-unanswering"
_REACHED = ("broker-registered", "broker-unfenced", "broker-started")


def _enough_signs(rows: Sequence[Row], thresholds: Mapping[str, Any]) -> bool:
    """Whether a node searched for a leader, or a broker for the controller, for long and up to the end of its log."""
    for signs, enough, long in ((_SIGNS, "enough", "lasting"), ((_CUT_OFF,), "unanswered", "cut_off")):
        for own in grouped((row for row in rows if row["signature"] in signs), "file").values():
            if persisted(own, enough=thresholds[enough], lasting=thresholds[long], fresh=thresholds["fresh"]):
                return True
    return False


@rule("BRK205", title="The metadata quorum has no leader", cause="broker-unreachable", stage="access", severity=CRITICAL,
    logs_of=BROKER, signatures=(*_SIGNS, _CUT_OFF, *_REACHED), needs=_enough_signs,
    says={
        "controller-unreachable": "{who} got no answer from the active controller for at least {seconds} seconds, up to the end of the "
        "log: a broker that starts cannot register, and one that serves is fenced",
        "": "The controllers elect no leader: {nodes} node(s)[[ ({node_list})]] knew none for at least {seconds} seconds, up to the end of "
        "the logs[[ (voters {voters})]]. Without a leader no broker can join and no partition can change its leader",
    },
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
    unanswered: int = 5,  # heartbeats; one in some minutes is a busy host
    recent: int = 300,  # seconds before the end of the log in which they went unanswered
    cut_off: int = 45,  # seconds; another controller takes over in less
) -> DataFrame:
    """Per scope, the nodes that search for a leader for long, up to the end of their logs. Source: QuorumState, KafkaRaftClient."""
    knows = event("quorum-state") & F.col("to_state").isin("Leader", "Follower")
    of_quorum = log_events.where(event(*_SIGNS))
    per_node = found(
        looking(of_quorum, knows, last=last),
        "file",
        steps=count(),
        node=agreed("broker"),
        voters=agreed(detail("voters")),
        end=F.max("as_of"),
    )
    ill = per_node.where(goes_on("steps", enough=enough, lasting=lasting, fresh=fresh))
    per_scope = together(ill, node_list=distinct("node", "node_list"), voters=agreed("voters"))
    silent = _without_controller(log_events, recent=recent)
    cut = silent.where(goes_on("steps", enough=unanswered, lasting=cut_off, fresh=fresh))
    alone = together(cut, broker=distinct("node", "broker")).join(per_scope.select("scope"), "scope", "left_anti")
    both = per_scope.withColumn("reason", F.lit("no-controller")).unionByName(
        alone.withColumns({"reason": F.lit("controller-unreachable"), "who": F.initcap(which_brokers(F.col("broker")))}),
        allowMissingColumns=True,
    )
    return both.withColumn("seconds", F.round(seconds("since", "until")).cast("long"))


def _without_controller(log_events: DataFrame, *, recent: int) -> DataFrame:
    """Per log of a broker, its requests to the controller without an answer since it last registered. Source: BrokerLifecycleManager."""
    reached = F.max(F.when(event(*_REACHED), F.col("line"))).over(Window.partitionBy("scope", "file"))
    rows = log_events.withColumn("_reached", reached).where(event(_CUT_OFF) & (seconds("at", "as_of") <= recent))
    later = F.col("_reached").isNull() | (F.col("line") > F.col("_reached"))
    return found(rows.where(later), "file", steps=count(), node=agreed("broker"), end=F.max("as_of"))
