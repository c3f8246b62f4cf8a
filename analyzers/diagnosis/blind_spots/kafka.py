"""What Kafka clients and controllers had not found by the end of their logs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from analyzers.derived.failures.failure_signs import ANSWERED, FAILED_TO_CONNECT, TRIES_AGAIN
from analyzers.diagnosis.blind_spots.words import Tables, at_the_end, few
from analyzers.tables import Row

_WITHOUT_ANSWER = (*FAILED_TO_CONNECT, "rebootstrap")
_ERRORS = 3
_STEPS = 2


def of_kafka(tables: Tables) -> list[str]:
    """Clients without an answer, topics without anything but errors, controllers without a leader."""
    return (
        _open_connections(tables) + _silent_clients(tables) + _unresolved_entries(tables) + _open_topics(tables) + _open_elections(tables)
    )


def _open_connections(tables: Tables) -> list[str]:
    """Kafka clients that had no answer by the end of the log, although not for long enough to say that they get none."""
    failed: dict[tuple[str, str], list[Row]] = defaultdict(list)
    answered = set()
    for event in tables.get("log_events", ()):
        if event["client"] is None or event["role"] == "kafka-broker":
            continue
        client = (event["scope"], event["client"])
        if event["signature"] in ANSWERED:
            answered.add(client)
        elif event["signature"] in _WITHOUT_ANSWER:
            failed[client].append(event)
    said = []
    for client, events in sorted(failed.items()):
        if client in answered or not at_the_end(events):
            continue
        where = ", ".join(sorted({e["address"] for e in events if e["address"]}))
        said.append(
            f"whether Kafka client {client[1]} gets an answer{f' from {where}' if where else ''}: it had none by the end of its log, "
            "which is too short to tell a start from an outage"
        )
    return few(said, "Kafka clients")


def _silent_clients(tables: Tables) -> list[str]:
    """Clients (librdkafka) that print broken connections and no answer: whose brokers were all down at the end, or hang up."""
    down: dict[tuple[str, str], list[Row]] = defaultdict(list)
    broken: dict[tuple[str, str], int] = defaultdict(int)
    for event in tables.get("log_events", ()):
        if event["signature"] not in TRIES_AGAIN:
            continue
        if event["signature"] == "rdkafka-brokers-down" and event["client"]:
            down[event["scope"], event["client"]].append(event)
        elif event["signature"] == "rdkafka-handshake-broken" and event["address"]:
            broken[event["scope"], event["address"]] += 1
    said = [
        f"whether Kafka client {client} gets an answer: at the end of its log it has a connection to none of its {known} broker(s)"
        for (_, client), events in sorted(down.items())
        if at_the_end(events) and (known := (events[-1]["detail"] or {}).get("known"))
    ]
    said += [
        f"whether Kafka clients get through to {address}: {times} TLS hand-shakes were broken off there, by a listener without TLS or by a "
        "broker or balancer that goes away, and librdkafka prints none that succeed"
        for (_, address), times in sorted(broken.items())
        if times > 1
    ]
    return few(said, "Kafka connections")


def _unresolved_entries(tables: Tables) -> list[str]:
    """Entries of bootstrap.servers that were left out as their names do not resolve, where nothing tells that others answered."""
    events = tables.get("log_events", ())
    answered = {e["scope"] for e in events if e["signature"] in ANSWERED}
    names = {e["address"] for e in events if e["signature"] == "bootstrap-unresolvable" and e["address"] and e["scope"] not in answered}
    if not names:
        return []
    return [
        f"whether a Kafka client reaches its cluster: {', '.join(sorted(names))} does not resolve and was left out of its bootstrap.servers"
    ]


_REFUSED = {"metadata-error": ("read", "metadata errors"), "produce-error": ("written", "refused writes")}
"""What a client cannot do with a topic, and how it says so, per signature."""


def _open_topics(tables: Tables) -> list[str]:
    """Topics of which clients heard nothing but errors up to the end of their log."""
    failed: dict[tuple[str, str, str], list[Row]] = defaultdict(list)
    for event in tables.get("log_events", ()):
        if event["signature"] in _REFUSED and event["topic"] and event["role"] != "kafka-broker" and (event["detail"] or {}).get("error"):
            failed[event["scope"], event["topic"], event["signature"]].append(event)
    said = []
    for (_, topic, signature), events in sorted(failed.items()):
        if len(events) >= _ERRORS and at_the_end(events):
            errors = ", ".join(sorted({e["detail"]["error"] for e in events}))
            done, what = _REFUSED[signature]
            said.append(f"whether topic {topic} can be {done}: {what} ({errors}) go on to the end of the log")
    return few(said, "topics")


def _open_elections(tables: Tables) -> list[str]:
    """Nodes of a metadata quorum that looked for a leader when their log ended."""
    looking: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for event in tables.get("log_events", ()):
        if event["to_state"] in ("Leader", "Follower") and event["signature"] == "quorum-state":
            looking.pop((event["scope"], event["file"]), None)
        elif event["signature"] in ("quorum-state", "election-failed"):
            looking[event["scope"], event["file"]].append(event)
    if any((len(events) >= _STEPS or _lost(events)) and at_the_end(events) for events in looking.values()):
        return ["whether the controllers elect a leader: none was known by the end of the log"]
    return []


def _lost(events: Sequence[Row]) -> bool:
    """Whether a node has lost an election already: one that starts first has not yet."""
    return any(event["signature"] == "election-failed" for event in events)
