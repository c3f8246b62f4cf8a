"""Statistics of librdkafka clients (stats_cb): JSON alone, one object in each line, in an array, or within the message of a log line.

The statistics name the client and not its group. Positions below zero stand for none. Of a client with more moments than are kept, every
second one between the first and the last is left out. Source: librdkafka's STATISTICS.md and rd_kafka_stats_emit_all, 1.0 to 2.16.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from analyzers.budget import BUDGET
from analyzers.logs.matching.expressions import expression
from analyzers.states.state import State, Text, Values

SHAPE = "snapshot of a client's statistics"
SIGNS = (b"msg_size_max",)
"""Of every handle, quoted or not: statistics within a string of JSON have their quotes escaped."""
_BEGINS = expression(r"\{\s{0,4}\"(?:name|client_id)\"\s{0,4}:")
_MOST_MOMENTS = 48
"""Of one client: a day of statistics every five seconds is 17,000."""
_MOST_PARTITIONS = BUDGET.client_partitions
_MOST_DEPTH = BUDGET.state_depth
_MICRO, _MILLI = 1e6, 1e3
_MOST_NAMED = 50


@dataclass
class _Shown:
    """The statistics of one client at one moment, and the lines on which they stand."""

    body: Mapping[str, Any]
    first: int
    last: int
    alone: bool
    cut: bool


def read(text: Text) -> Iterator[State]:
    """A state for each moment of each client, in the order of the text."""
    by_client: dict[object, list[_Shown]] = {}
    for shown in _shown(text):
        own = by_client.setdefault((shown.body.get("name"), shown.body.get("client_id"), _started(shown.body)), [])
        own.append(shown)
        if len(own) > _MOST_MOMENTS:
            own[:] = [*own[:-1:2], own[-1]]
    room = _MOST_PARTITIONS
    for shown in sorted((each for own in by_client.values() for each in own), key=lambda each: each.first):
        state = State(SHAPE, shown.first, shown.last, also_log=not shown.alone, at=_time(shown.body.get("time")))
        if shown.cut:
            state.trouble = "ends in the middle of its JSON"
        room = _take(state, shown.body, room)
        state.works = _works(by_client[shown.body.get("name"), shown.body.get("client_id"), _started(shown.body)], shown)
        yield state


def _shown(text: Text) -> Iterator[_Shown]:
    """All statistics of a text: in its documents, in strings within these, and behind the beginning of a line of a log."""
    covered = 0
    for document in text.documents:
        yield from _embedded(text, covered, document.first)
        covered = max(covered, document.last)
        alone = _is_one(document.value) or (isinstance(document.value, list) and all(map(_is_one, document.value)))
        for body in _within(document.value):
            yield _Shown(body, document.first, document.last, alone, document.cut)
    yield from _embedded(text, covered, len(text.lines))


def _embedded(text: Text, first: int, last: int) -> Iterator[_Shown]:
    for number in range(first, last):
        if "msg_size_max" in text.lines[number]:
            for body in _in_string(text.lines[number]):
                yield _Shown(body, number, number + 1, alone=False, cut=False)


def _within(value: Any, depth: int = 0) -> Iterator[Mapping[str, Any]]:
    if depth > _MOST_DEPTH:
        return
    if isinstance(value, Mapping):
        if _is_one(value):
            yield value
            return
        for inner in value.values():
            yield from _within(inner, depth + 1)
    elif isinstance(value, list):
        for inner in value:
            yield from _within(inner, depth + 1)
    elif isinstance(value, str) and "msg_size_max" in value:
        yield from _in_string(value)


def _in_string(text: str) -> Iterator[Mapping[str, Any]]:
    """The statistics in a message: those that its end cuts off are none."""
    at, decoder = 0, json.JSONDecoder(strict=False)
    while (m := _BEGINS.search(text, at)) is not None:
        try:
            value, at = decoder.raw_decode(text, m.start())
        except (ValueError, RecursionError):
            return
        if _is_one(value):
            yield value


def _is_one(value: Any) -> bool:
    return (
        isinstance(value, Mapping)
        and value.get("type") in ("consumer", "producer")
        and isinstance(value.get("client_id"), str)
        and isinstance(value.get("brokers"), Mapping)
        and isinstance(value.get("topics"), Mapping)
        and _time(value.get("time")) is not None
    )


def _works(own: list[_Shown], shown: _Shown) -> bool:
    """Whether the last statistics of a client show that it went on since the first ones: it commits what it reads, or sends."""
    first, last = own[0].body, own[-1].body
    if shown is not own[-1] or len(own) < 2:
        return False
    if last["type"] == "producer":
        return (_count(last.get("txmsgs")) or 0) > (_count(first.get("txmsgs")) or 0)
    before = dict(_commits(first))
    return any(offset > before.get(place, offset) for place, offset in _commits(last))


def _commits(body: Mapping[str, Any]) -> Iterator[tuple[tuple[str, int], int]]:
    for topic, partition, values in _partitions(body):
        if (offset := _count(values.get("committed_offset"))) is not None:
            yield (topic, partition), offset


def _partitions(body: Mapping[str, Any]) -> Iterator[tuple[str, int, Mapping[str, Any]]]:
    for name, topic in body["topics"].items():
        partitions = topic.get("partitions") if isinstance(topic, Mapping) else None
        for values in partitions.values() if isinstance(partitions, Mapping) else ():
            if isinstance(values, Mapping) and isinstance(number := values.get("partition"), int) and number >= -1:
                yield str(name), number, values


def _take(state: State, body: Mapping[str, Any], room: int) -> int:
    """The rows of one moment; gives how many rows of partitions may follow."""
    line = state.first + 1
    common: Values = {"at": state.at, "instance": _text(body.get("name")), "client": body["client_id"], "line": line}
    group, producer = _map(body.get("cgrp")), _map(body.get("eos"))
    age = _scaled(body.get("age"), _MICRO)
    state.add("client_states", {
        **common, "kind": body["type"], "started": _started(body), "age_seconds": age,
        "queued": _count(body.get("msg_cnt")), "queue_limit": _count(body.get("msg_max")) or None,
        "sent": _count(body.get("txmsgs")), "received": _count(body.get("rxmsgs")),
        "group_state": _text(group.get("state")), "group_state_seconds": _age(group.get("stateage"), age),
        "join_state": _text(group.get("join_state")) or _text(group.get("joinstate")), "rebalances": _count(group.get("rebalance_cnt")),
        "rebalance_reason": _text(group.get("rebalance_reason")), "assigned": _count(group.get("assignment_size")),
        "producer_id_state": _text(producer.get("idemp_state")), "producer_id_seconds": _age(producer.get("idemp_stateage"), age),
        "transaction_state": _text(producer.get("txn_state")),
    })  # fmt: skip
    for values in body["brokers"].values():
        if isinstance(values, Mapping):
            _broker(state, common, values)
    for topic, partition, values in _partitions(body):
        room -= 1
        if room < 0:
            state.trouble = state.trouble or f"shows more partitions than the {_MOST_PARTITIONS:,} that are read of one text"
            break
        state.add("client_partitions", {
            **common, "topic": topic, "partition": partition, "leader": _count(values.get("leader")),
            "assigned": values.get("desired") if isinstance(values.get("desired"), bool) else None,
            "fetch_state": _text(values.get("fetch_state")), "position": _count(values.get("app_offset")),
            "stored": _count(values.get("stored_offset")), "committed": _count(values.get("committed_offset")),
            "high_watermark": _count(values.get("hi_offset")), "last_stable": _count(values.get("ls_offset")),
            "lag_records": _count(values.get("consumer_lag")), "fetched": _count(values.get("fetchq_cnt")),
            "queued": _sum(values, "msgq_cnt", "xmit_msgq_cnt"), "inflight": _count(values.get("msgs_inflight")),
        })  # fmt: skip
    return max(0, room)


def _broker(state: State, common: Values, values: Mapping[str, Any]) -> None:
    handles = _map(values.get("toppars"))
    throttle = _mean(values.get("throttle"), 1)
    address = _text(values.get("nodename")) or _text(values.get("name"))
    state.add("client_brokers", {
        **common, "address": address, "broker": _count(values.get("nodeid")), "source": _text(values.get("source")),
        "state": _text(values.get("state")), "state_seconds": _scaled(values.get("stateage"), _MICRO),
        "connects": _count(values.get("connects")), "disconnects": _count(values.get("disconnects")), "responses": _count(values.get("rx")),
        "throttle_ms": throttle, "timeouts": _count(values.get("req_timeouts")), "errors": _sum(values, "txerrs", "rxerrs"),
        "rtt_ms": _mean(values.get("rtt"), _MILLI), "partitions": [str(name) for name in handles][:_MOST_NAMED],
    })  # fmt: skip
    if throttle is not None:
        state.add("metric_samples", {
            "at": state.at, "name": "brokers.throttle.avg", "counts": "quota-delay", "value": throttle, "line": common["line"],
            "labels": {"client_id": common["client"], "broker": str(address)},
        })  # fmt: skip


def _map(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _count(value: Any) -> int | None:
    """A number that is one: -1 and -1001 stand for none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 62 else None


def _sum(values: Mapping[str, Any], *names: str) -> int:
    return sum(_count(values.get(name)) or 0 for name in names)


def _scaled(value: Any, unit: float) -> float | None:
    number = _count(value)
    return None if number is None else number / unit


def _age(value: Any, of_client: float | None) -> float | None:
    """The age of a state in seconds; one that never changed counts from the start of the host."""
    found = _scaled(value, _MILLI)
    return None if found is None or (of_client is not None and found > of_client + 1) else found


def _mean(window: Any, unit: float) -> float | None:
    """The mean of an interval; None where nothing was measured in it."""
    values = _map(window)
    return _scaled(values.get("avg"), unit) if _count(values.get("cnt")) else None


def _started(body: Mapping[str, Any]) -> float | None:
    """When the client was made, by its host's monotonic clock: two clients of one name differ in it."""
    now, age = _count(body.get("ts")), _count(body.get("age"))
    return None if now is None or age is None else round((now - age) / _MICRO, 1)


def _time(value: Any) -> datetime | None:
    seconds = _count(value)
    try:
        return None if seconds is None else datetime.fromtimestamp(seconds, timezone.utc)
    except (ValueError, OverflowError, OSError):
        return None
