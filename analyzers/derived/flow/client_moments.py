"""What keeps a librdkafka client from its work, by its own statistics from one moment to the next.

A single moment shows what has its own clock: a state that lasts, or one that only a new client leaves. All else needs two moments of one
client. A connection that no request wants stays down in a healthy client. A consumer may keep its positions elsewhere, or its producer
commits them within transactions, which the statistics of the consumer do not show. Source: librdkafka's rdkafka_broker.c, rdkafka_cgrp.c,
rdkafka_idempotence.c, rdkafka_txnmgr.c.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from analyzers.tables import CLIENT_MOMENTS, Row

Tables = Mapping[str, Sequence[Row]]
Place = tuple[str, int]

LASTS = 60.0
"""Seconds: connects, elections and rebalances of healthy clients take less."""
COMMITS = 300.0
"""Seconds: applications that commit by themselves do so every few minutes."""
SENDS = 30.0
"""Seconds: an interval of retries."""
_REBALANCES = 6
"""Assignments and revocations, each twice for a rebalance: three in all."""
_OF_A_ROLLOUT = 600.0
"""Seconds in which a group may rebalance as often as it has members: they are restarted one by one."""
_LOOKS_OF_A_LOOP = 3
_FULL = 0.9
_REAL = ("configured", "learned")
_WAITS_FOR_GROUP = ("query-coord", "wait-coord", "wait-broker", "wait-broker-transport")
_CALLBACKS = ("wait-assign-call", "wait-unassign-call", "wait-incr-unassign-call")
_WAITS_FOR_ID = ("RequestPID", "WaitTransport", "WaitPID")
_SETTLED = ("steady", "init", None)
"""`init`: a consumer that assigns itself has no other."""
_NOT_FETCHED = ("offset-query", "offset-wait", "validate-epoch-wait", "none", "stopped")
_MOST_NAMED = 50


def client_moments(tables: Tables) -> list[Row]:
    """Rows of ``client_moments``: one per client and thing that keeps it from its work."""
    clients: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in tables.get("client_states", ()):
        clients[row["scope"], row["instance"], row["client"], row["started"], None if row["started"] else row["file"]].append(row)
    brokers, partitions = _by_moment(tables.get("client_brokers", ())), _by_moment(tables.get("client_partitions", ()))
    transactional = {row["scope"] for row in tables.get("client_states", ()) if row["transaction_state"] not in (None, "Init")}
    found = []
    for key in sorted(clients, key=str):
        states = sorted(clients[key], key=lambda row: (row["at"], row["moment"]))
        client = _Client(states, [brokers.get(_moment(row), []) for row in states], [partitions.get(_moment(row), []) for row in states])
        client.commits = key[0] not in transactional
        found += [CLIENT_MOMENTS.row({**client.head(), **values}) for values in client.troubles()]
    return found


def _moment(row: Row) -> tuple[str, int]:
    return row["scope"], row["moment"]


def _by_moment(rows: Sequence[Row]) -> dict[tuple[str, int], list[Row]]:
    found: dict[tuple[str, int], list[Row]] = defaultdict(list)
    for row in rows:
        found[_moment(row)].append(row)
    return found


class _Client:
    """The moments of one client, in order."""

    def __init__(self, states: Sequence[Row], brokers: Sequence[Sequence[Row]], partitions: Sequence[Sequence[Row]]) -> None:
        self.states, self.brokers, self.partitions = states, brokers, partitions
        self.first, self.last = states[0], states[-1]
        self.seconds = float((self.last["at"] - self.first["at"]).total_seconds())
        self.commits = True
        self.up = [any(each["state"] == "UP" for each in look) for look in brokers]

    def head(self) -> dict[str, Any]:
        last = self.last
        return {
            "scope": last["scope"], "client": last["client"], "instance": last["instance"], "kind": last["kind"],
            "moments": len(self.states), "seconds": self.seconds if len(self.states) > 1 else None, "at": self.first["at"],
            "last_at": last["at"], "as_of": last["at"], "file": last["file"], "line": last["line"],
        }  # fmt: skip

    def troubles(self) -> Iterator[dict[str, Any]]:
        """What each reason is shown by; what follows from a connection that is not there is no second trouble."""
        if fatal := next((s for s in (self.last["transaction_state"], self.last["producer_id_state"]) if s == "FatalError"), None):
            yield {"reason": "fatal", "state": fatal, "text": f"eos state {fatal}"}
            return
        if trouble := self._no_broker():
            yield trouble
            return
        yield from filter(None, (self._broker(), self._group() if self.last["kind"] == "consumer" else self._producer()))
        if self.last["kind"] == "consumer":
            yield from self._positions()

    # connections ---------------------------------------------------------------------------------------------------------

    def _no_broker(self) -> dict[str, Any] | None:
        """A client that wants something and has a connection to none of its brokers."""
        real = [[each for each in look if each["source"] in _REAL] for look in self.brokers]
        if not all(real) or any(self.up) or not all(map(_wants, self.states)):
            return None
        waits = self.last["group_state_seconds"] if self.last["kind"] == "consumer" else self.last["producer_id_seconds"]
        seconds = max(self.seconds, waits or 0.0)
        if seconds < LASTS:
            return None
        state = self.last["group_state"] or self.last["producer_id_state"]
        return {
            **self._of_brokers(real[-1], real), "reason": "no-broker", "state": state, "seconds": seconds,
            "queued": self.last["queued"] or None, "queue_limit": self.last["queue_limit"], "sent": self._grew("sent"),
        }  # fmt: skip

    def _broker(self) -> dict[str, Any] | None:
        """Brokers that were up in no moment although partitions are asked of them."""
        if len(self.states) < 2 or self.seconds < LASTS or not all(self.up):
            return None
        up = {each["address"] for look in self.brokers for each in look if each["state"] == "UP"}
        leaders = {each["leader"] for look in self.partitions for each in look if each["leader"] is not None and _in_use(each)}
        down = [
            each
            for each in self.brokers[-1]
            if each["source"] in _REAL and each["address"] not in up and (each["broker"] in leaders or each["partitions"])
        ]
        if not down or not all(any(each["address"] == one["address"] for each in look) for one in down for look in self.brokers):
            return None
        numbers = {each["broker"] for each in down}
        own = [each for each in self.partitions[-1] if each["leader"] in numbers and _in_use(each)]
        return {**self._of_brokers(down, self.brokers), **_named(own), "reason": "broker", "state": down[0]["state"]}

    def _of_brokers(self, down: Sequence[Row], looks: Sequence[Sequence[Row]]) -> dict[str, Any]:
        down = sorted(down, key=lambda each: str(each["address"]))
        addresses = {each["address"] for each in down}
        tried = sum(
            max((e["connects"] or 0 for look in looks for e in look if e["address"] == address), default=0) for address in addresses
        )
        shown = [f"{each['address']} {each['state']}" for each in down]
        one = down[0] if len(addresses) == 1 else None
        return {
            "brokers": shown[:_MOST_NAMED], "address": one and one["address"], "broker": one and one["broker"], "connects": tried or None,
            "text": ", ".join(shown[:8]),
        }  # fmt: skip

    # groups and producers ------------------------------------------------------------------------------------------------

    def _group(self) -> dict[str, Any] | None:
        last, lasting = self.last, len(self.states) > 1 and self.seconds >= LASTS
        waits = last["group_state_seconds"] or 0.0
        reads = any(each["assigned"] and each["fetch_state"] == "active" for each in self.partitions[-1])  # without its group, too
        if last["group_state"] in _WAITS_FOR_GROUP and waits >= LASTS and not reads:
            text = f"cgrp state {last['group_state']} for {waits:.0f} s"
            return {"reason": "coordinator", "state": last["group_state"], "seconds": waits, "text": text}
        joins = [row["join_state"] for row in self.states]
        turns = [row["rebalances"] or 0 for row in self.states]
        text = f"join_state {joins[-1]}, rebalance_cnt {turns[-1]}, rebalance_reason {last['rebalance_reason'] or '(none)'}"
        known = {"state": joins[-1], "because": last["rebalance_reason"], "rebalances": turns[-1] - turns[0], "text": text}
        if lasting and len({*joins}) == 1 and joins[-1] in _CALLBACKS and turns[0] == turns[-1]:
            return {**known, "reason": "callback"}
        often = len(turns) >= _LOOKS_OF_A_LOOP and self.seconds >= _OF_A_ROLLOUT and turns[-1] - turns[0] >= _REBALANCES
        goes_on = often and all(after > before for before, after in pairwise(turns)) and (turns[-1] - turns[0]) * 60 >= self.seconds
        if lasting and (goes_on or all(state not in _SETTLED for state in joins)):
            return {**known, "reason": "rebalancing"}
        return None

    def _producer(self) -> dict[str, Any] | None:
        last, waits = self.last, self.last["producer_id_seconds"] or 0.0
        if last["producer_id_state"] in _WAITS_FOR_ID and waits >= LASTS:
            text = f"idemp_state {last['producer_id_state']} for {waits:.0f} s"
            return {
                "reason": "producer-id",
                "state": last["producer_id_state"],
                "seconds": waits,
                "queued": last["queued"] or None,
                "text": text,
            }
        if len(self.states) < 2:
            return None
        if self.seconds >= LASTS and all(row["transaction_state"] == "AbortableError" for row in self.states):
            return {"reason": "abortable", "state": "AbortableError", "text": "txn_state AbortableError"}
        sent, queued = self._grew("sent"), [row["queued"] or 0 for row in self.states]
        limit = last["queue_limit"]
        own = [each for each in self.partitions[-1] if each["queued"] or each["inflight"]]
        text = f"msg_cnt {queued[-1]}, msg_max {limit}, txmsgs {last['sent']}"
        known = {**_named(own), "queued": queued[-1], "queue_limit": limit, "sent": sent, "text": text}
        if all(queued) and not sent and self.seconds >= SENDS:
            return {**known, "reason": "unsent"}
        if limit and all(each >= limit * _FULL for each in queued) and self.seconds >= LASTS:
            return {**known, "reason": "full"}
        return None

    def _grew(self, column: str) -> int:
        return max(0, (self.last[column] or 0) - (self.first[column] or 0))

    # positions -----------------------------------------------------------------------------------------------------------

    def _positions(self) -> Iterator[dict[str, Any]]:
        """Of partitions that stayed with the client: those that it does not read, or reads without a commit."""
        if len(self.states) < 2 or self.seconds < LASTS or len({row["rebalances"] for row in self.states}) > 1:
            return
        rows: dict[Place, list[Row]] = defaultdict(list)
        for look in self.partitions:
            for row in look:
                if row["assigned"] and row["partition"] >= 0:
                    rows[row["topic"], row["partition"]].append(row)
        own = [looks for looks in rows.values() if len(looks) == len(self.states)]
        unpolled = [looks for looks in own if _stands(looks, "position") and all(row["fetched"] for row in looks)]
        if unpolled:
            yield self._at(unpolled, "unpolled", "high_watermark")
        unfetched = [looks for looks in own if all(row["fetch_state"] in _NOT_FETCHED for row in looks)]
        if unfetched and not unpolled:
            yield self._at(unfetched, "unfetched", "high_watermark") | {"state": unfetched[0][-1]["fetch_state"]}
        if self.seconds < COMMITS or not self.commits:
            return
        read = [looks for looks in own if looks[0]["position"] is not None and (looks[-1]["position"] or 0) > looks[0]["position"]]
        behind = [looks for looks in read if len({row["committed"] for row in looks}) == 1 and not _is_at_end(looks)]
        in_group = bool(self.last["rebalances"]) and self.last["group_state"] == "up"
        if behind and in_group:
            unstored = [looks for looks in behind if len({row["stored"] for row in looks}) == 1]
            yield self._at(unstored or behind, "unstored" if unstored else "uncommitted", "position")

    def _at(self, several: Sequence[list[Row]], reason: str, grows: str) -> dict[str, Any]:
        several = sorted(several, key=lambda looks: (looks[-1]["topic"], looks[-1]["partition"]))
        last = several[0][-1]
        grew = sum(max(0, (looks[-1][grows] or 0) - (looks[0][grows] or 0)) for looks in several)
        text = (
            f"{last['topic']}-{last['partition']}: app_offset {last['position']}, stored_offset {last['stored']}, committed_offset "
            f"{last['committed']}, hi_offset {last['high_watermark']}, fetch_state {last['fetch_state']}"
        )
        return {
            **_named([looks[-1] for looks in several]), "reason": reason, "records": grew or None, "text": text,
            **{name: last[name] for name in ("position", "committed", "stored")},
        }  # fmt: skip


def _wants(state: Row) -> bool:
    """Whether a client needs a connection: an idle one closes them."""
    group = state["group_state"] in _WAITS_FOR_GROUP
    return bool(group or state["queued"] or state["producer_id_state"] in _WAITS_FOR_ID)


def _in_use(row: Row) -> bool:
    return bool(row["partition"] >= 0 and (row["assigned"] or row["queued"] or row["inflight"]))


def _stands(looks: Sequence[Row], column: str) -> bool:
    return len({row[column] for row in looks}) == 1


def _is_at_end(looks: Sequence[Row]) -> bool:
    """Whether the last commit covers all that the application got."""
    committed, position = looks[-1]["committed"], looks[-1]["position"]
    return committed is not None and position is not None and committed >= position


def _named(rows: Sequence[Row]) -> dict[str, Any]:
    topics = {row["topic"] for row in rows}
    names = sorted((row["topic"], row["partition"]) for row in rows if row["partition"] >= 0)
    return {
        "topic": topics.pop() if len(topics) == 1 else None,
        "partitions": [f"{topic}-{number}" for topic, number in names][:_MOST_NAMED],
    }
