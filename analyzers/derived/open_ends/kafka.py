"""What Kafka clients and controllers had not found by the end of their logs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from analyzers.derived.failures.failure_signs import ANSWERED, FAILED_TO_CONNECT, TRIES_AGAIN
from analyzers.derived.open_ends.ends import Tables, at_the_end, last_of, open_end
from analyzers.tables import Row

_WITHOUT_ANSWER = (*FAILED_TO_CONNECT, "rebootstrap")
_ERRORS = 3
_STEPS = 2
_NAMELESS = "of librdkafka"  # an application that logs its lines may leave out the client
_NO_COORDINATOR = ("coordinator-unavailable", "binding-coordinator-refused", "rdkafka-coordinator-refused")
_HAS_COORDINATOR = ("group-rebalancing", "offset-sought", "offset-reset", "binding-answered")
_JOINED = "Successfully joined group"
"""What members print only when their coordinator has answered; that it is found again is no answer yet."""


def of_kafka(tables: Tables) -> list[Row]:
    """Clients without an answer, topics without anything but errors, controllers without a leader."""
    return (
        _open_connections(tables)
        + _silent_clients(tables)
        + _unresolved_entries(tables)
        + _open_coordinators(tables)
        + _open_topics(tables)
        + _open_elections(tables)
    )


def _open_connections(tables: Tables) -> list[Row]:
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
    found = []
    for client, events in sorted(failed.items()):
        if client not in answered and at_the_end(events):
            where = ", ".join(sorted({e["address"] for e in events if e["address"]}))
            found.append(open_end("connection", last_of(events), client=client[1], address=where or None))
    return found


def _silent_clients(tables: Tables) -> list[Row]:
    """Clients (librdkafka) that print broken connections and no answer: whose brokers were all down at the end, or hang up."""
    down: dict[tuple[str, str], list[Row]] = defaultdict(list)
    broken: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for event in tables.get("log_events", ()):
        if event["signature"] not in TRIES_AGAIN:
            continue
        if event["signature"] == "rdkafka-brokers-down":
            down[event["scope"], event["client"] or _NAMELESS].append(event)
        elif event["signature"] == "rdkafka-handshake-broken" and event["address"]:
            broken[event["scope"], event["address"]].append(event)
    found = [
        open_end("all-brokers-down", events[-1], client=client, number=int(known))
        for (_, client), events in sorted(down.items())
        if at_the_end(events) and (known := (events[-1]["detail"] or {}).get("known"))
    ]
    found += [
        open_end("tls-handshake", events[-1], address=address, number=len(events))
        for (_, address), events in sorted(broken.items())
        if len(events) > 1
    ]
    return found


def _unresolved_entries(tables: Tables) -> list[Row]:
    """Entries of bootstrap.servers that were left out as their names do not resolve, where nothing tells that others answered."""
    events = tables.get("log_events", ())
    answered = {e["scope"] for e in events if e["signature"] in ANSWERED}
    left_out: dict[str, list[Row]] = defaultdict(list)
    for event in events:
        if event["signature"] == "bootstrap-unresolvable" and event["address"] and event["scope"] not in answered:
            left_out[event["scope"]].append(event)
    return [
        open_end("unresolved", rows[0], job=None, address=", ".join(sorted({row["address"] for row in rows})))
        for _, rows in sorted(left_out.items())
    ]


def _open_coordinators(tables: Tables) -> list[Row]:
    """Groups that lost their coordinator again and again, or got none, up to the end of the log."""
    lost: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for event in tables.get("log_events", ()):
        if event["role"] == "kafka-broker" or not event["group"]:
            continue
        if event["signature"] in _NO_COORDINATOR:
            lost[event["scope"], event["group"]].append(event)
        elif event["signature"] in _HAS_COORDINATOR or _JOINED in (event["text"] or ""):
            lost.pop((event["scope"], event["group"]), None)
    return [
        open_end("coordinator", last, job=None, name=group, number=len(events), address=last["address"])
        for (_, group), events in sorted(lost.items())
        if len(events) >= (_ERRORS if (last := last_of(events))["signature"] == "coordinator-unavailable" else _STEPS)
        and at_the_end(events)
    ]


_REFUSED = {"metadata-error": "topic-unread", "produce-error": "topic-unwritten"}
"""What is open of a topic, per signature of what a client prints of it."""


def _open_topics(tables: Tables) -> list[Row]:
    """Topics of which clients heard nothing but errors up to the end of their log."""
    failed: dict[tuple[str, str, str], list[Row]] = defaultdict(list)
    for event in tables.get("log_events", ()):
        if event["signature"] in _REFUSED and event["topic"] and event["role"] != "kafka-broker" and (event["detail"] or {}).get("error"):
            failed[event["scope"], event["topic"], event["signature"]].append(event)
    return [
        open_end(_REFUSED[signature], last_of(events), topic=topic, name=", ".join(sorted({e["detail"]["error"] for e in events})))
        for (_, topic, signature), events in sorted(failed.items())
        if len(events) >= _ERRORS and at_the_end(events)
    ]


def _open_elections(tables: Tables) -> list[Row]:
    """Nodes of a metadata quorum that looked for a leader when their log ended."""
    looking: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for event in tables.get("log_events", ()):
        if event["to_state"] in ("Leader", "Follower") and event["signature"] == "quorum-state":
            looking.pop((event["scope"], event["file"]), None)
        elif event["signature"] in ("quorum-state", "election-failed"):
            looking[event["scope"], event["file"]].append(event)
    open_in: dict[str, Row] = {}
    for (scope, _), events in sorted(looking.items()):
        if (len(events) >= _STEPS or _lost(events)) and at_the_end(events):
            open_in.setdefault(scope, last_of(events))
    return [open_end("election", event) for event in open_in.values()]


def _lost(events: Sequence[Row]) -> bool:
    """Whether a node has lost an election already: one that starts first has not yet."""
    return any(event["signature"] == "election-failed" for event in events)
