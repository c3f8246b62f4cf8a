"""Groups that began elsewhere than where they were: a reader without a committed offset begins by auto.offset.reset, which is
no error to it.

At the first start of a group that is normal. It is none where the group is known to have had an offset of the partition (it was deleted, or
forgotten: offsets.retention.minutes after the last member left), where the same reader was there under another group id, or where the group
has offsets of the topic's other partitions: then this one is new, and `latest` begins it behind what was written until the client saw it.
A Flink source that began at `latest` keeps a mark instead of an offset for a partition that has given it no record: after a restore it
seeks the end again, behind what was written meanwhile.
Source: ConsumerCoordinator, SubscriptionState of kafka-clients; rdkafka_offset.c, rdkafka_partition.c; KIP-211; KafkaPartitionSplit of
Flink's connector, FLINK-28303; TopicPartition of confluent-kafka's Python (-1001 is RD_KAFKA_OFFSET_INVALID).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from analyzers.derived.settings_given import values_of
from analyzers.tables import STRANGE_STARTS, Row

Tables = Mapping[str, Sequence[Row]]
Place = tuple[str, int]

_NONE = frozenset(("offset-not-committed", "rdkafka-offset-none", "offset-listed-none"))
_BEGUN = frozenset(("offset-reset", "rdkafka-fetch-start"))
_KNOWN = frozenset(("offset-committed-used", "rdkafka-offset-fetched", "rdkafka-fetch-start", "offset-listed"))
_ENDED = "offset-sought-end"
_SOUGHT = "offset-sought"
_REMOVED = "group-offsets-deleted"
_RESTORED = frozenset(("job-restored", "savepoint-restored", "splits-restored", "enumerator-restored"))
_READ = _NONE | _BEGUN | _KNOWN | _RESTORED | {_ENDED, _SOUGHT, _REMOVED, "kafka-client-config"}
_PROMPT = 60
"""Seconds within which a client that has no offset finds its first one."""
_AT_ONCE = 5
"""Seconds within which a client learns of all partitions that it was assigned what the group has committed."""
_RESTORE = 600
"""Seconds after a restore within which its sources begin to read."""
_YOUNG = 10
"""A partition that holds so many times fewer records than the others of its topic was added."""
_ENDS = {"END": "latest", "BEGINNING": "earliest"}


@dataclass(frozen=True)
class _Known:
    """An offset at which a reader is known to have been, and whether it had committed it."""

    at: datetime
    group: str
    offset: int
    committed: bool = True


def strange_starts(tables: Tables) -> list[Row]:
    """Rows of ``strange_starts``: one per partition that was begun by auto.offset.reset where that is no first start."""
    events: dict[str, list[Row]] = defaultdict(list)
    for event in tables.get("log_events", ()):
        if event["signature"] in _READ and event["at"] is not None:
            events[event["scope"]].append(event)
    found = []
    for scope, own in events.items():
        if any(event["signature"] in _NONE or event["signature"] == _ENDED for event in own):
            pasted = [row for row in tables.get("pasted_offsets", ()) if row["scope"] == scope]
            policies = values_of((row for row in tables.get("settings", ()) if row["scope"] == scope), "auto.offset.reset")
            policies |= {reset for event in own if (reset := (event["detail"] or {}).get("reset"))}
            own = sorted(_named(own, pasted), key=_order)
            found += [STRANGE_STARTS.row(values) for values in (*_of_scope(own, pasted, policies), *_marked(own))]
    return found


def _named(events: Sequence[Row], pasted: Sequence[Row]) -> list[Row]:
    """`events` with the reader of their file where a line does not name it and the file has one: kafka-clients 4.3 print no client before
    "Setting offset for partition". Of a file that names none it is the one group that is shown to read the topic."""
    groups: dict[str, set[str]] = defaultdict(set)
    for row in pasted:
        groups[row["topic"]].add(row["group"])
    readers: dict[str, dict[str, Row]] = defaultdict(dict)
    for event in events:
        if event["topic"] is not None and _reader(event):
            readers[event["file"]][_reader(event)] = event
    named = []
    for event in events:
        if not _reader(event) and len(readers[event["file"]]) == 1:
            (other,) = readers[event["file"]].values()
            named.append({**event, "client": other["client"], "group": other["group"]})
        elif not _reader(event) and not readers[event["file"]] and len(groups[event["topic"] or ""]) == 1:
            named.append({**event, "group": min(groups[event["topic"]])})
        else:
            named.append(event)
    return named


def _of_scope(events: Sequence[Row], pasted: Sequence[Row], policies: Set[str]) -> Iterator[dict[str, Any]]:
    starts = [event for event in events if event["signature"] in _NONE and event["topic"] is not None]
    begun = [_begun(start, events) for start in starts]
    known = _known(events, pasted, starts, begun)
    removals = [event["at"] for event in events if event["signature"] == _REMOVED]
    for start, first in zip(starts, begun, strict=True):
        place, group, at = (start["topic"], start["partition"]), _reader(start), start["at"]
        offset = first["offset"] if first else None
        policy = _ENDS.get((start["detail"] or {}).get("reset_to") or "") or (min(policies) if len(policies) == 1 else None)
        values = {
            **{column: start[column] for column in ("scope", "as_of", "file", "line", "text", "job", "topic", "partition")},
            "at": at, "group": start["group"], "client": _client(start), "offset": offset, "policy": policy,
        }  # fmt: skip
        at_once = {
            (other["topic"], other["partition"])
            for other in starts
            if _reader(other) == group and abs((other["at"] - at).total_seconds()) <= _AT_ONCE
        }
        before = [one for one in known[place] if one.at < at]
        own = [one for one in before if one.group == group]
        lost = any(one.committed and one.group == group and one.at < at for other in at_once for one in known[other])
        others = _others(known, place[0], group, at, without=at_once)
        if own and lost:
            if offset is None or offset != own[-1].offset:
                removed = max((each for each in removals if own[-1].at < each < at), default=None)
                yield values | _was(own[-1], "gone", offset, policy) | {"removed_at": removed}
        elif others:
            if _behind(policy, place, others) and offset and offset * _YOUNG <= min(others.values()):
                yield values | {"reason": "added", "records": offset, "others": len(others), "policy": "latest"}
        elif not own and before and policy == "latest" and _moved_on(before[-1], offset, at, events):
            yield values | _was(before[-1], "renamed", offset, policy)


def _marked(events: Sequence[Row]) -> Iterator[dict[str, Any]]:
    """Of a restored source the partitions that it begins at their end, while it goes on at offsets of the others."""
    restores = [event["at"] for event in events if event["signature"] in _RESTORED]
    sought = [event for event in events if event["signature"] == _SOUGHT and event["topic"] is not None]
    for event in events:
        if event["signature"] != _ENDED or event["topic"] is None or ((event["detail"] or {}).get("start") or "").lower() != "latest":
            continue
        at, first = event["at"], _begun(event, events)
        others = {
            other["partition"]
            for other in sought
            if other["topic"] == event["topic"] and other["group"] == event["group"] and abs((other["at"] - at).total_seconds()) <= _PROMPT
        }
        if first and first["offset"] and others and any(0 <= (at - restore).total_seconds() <= _RESTORE for restore in restores):
            yield {
                **{column: event[column] for column in ("scope", "as_of", "file", "line", "text", "job", "topic", "partition", "group")},
                "at": at, "client": "" if event["group"] else _client(event), "offset": first["offset"], "policy": "latest",
                "reason": "marked", "records": first["offset"], "others": len(others),
            }  # fmt: skip


def _behind(policy: str | None, place: Place, others: Mapping[int, int]) -> bool:
    """Whether an added partition is begun at its end: as the client says, or since its first records cannot be gone so soon.

    An added partition has a higher number than those before, and a log that is minutes old begins with offset 0.
    """
    return policy == "latest" or (policy is None and place[1] > max(others))


def _was(known: _Known, reason: str, offset: int | None, policy: str | None) -> dict[str, Any]:
    records = offset - known.offset if offset is not None else None
    if policy is None and records is not None:
        policy = "latest" if records > 0 else "earliest"
    return {
        "reason": reason, "before": known.group, "known": known.offset, "known_at": known.at, "records": records, "policy": policy
    }  # fmt: skip


def _known(events: Sequence[Row], pasted: Sequence[Row], starts: Sequence[Row], begun: Sequence[Row | None]) -> dict[Place, list[_Known]]:
    """By partition the offsets at which readers are known to have been, in order of time."""
    known: dict[Place, list[_Known]] = defaultdict(list)
    uncommitted = {id(event) for event in begun if event}
    for event in events:
        if event["signature"] in _KNOWN and event["topic"] is not None and event["offset"] is not None and id(event) not in uncommitted:
            known[event["topic"], event["partition"]].append(_Known(event["at"], _reader(event), event["offset"]))
    for start, first in zip(starts, begun, strict=True):
        if first:
            known[start["topic"], start["partition"]].append(_Known(first["at"], _reader(start), first["offset"], committed=False))
    for row in pasted:
        if row["at"] is not None and row["committed"] is not None:
            known[row["topic"], row["partition"]].append(_Known(row["at"], row["group"], row["committed"]))
    for place in known:
        known[place].sort(key=lambda one: one.at)
    return known


def _begun(start: Row, events: Sequence[Row]) -> Row | None:
    """The line that shows where the client begins that has no offset at `start`."""
    for event in events:
        within = 0 <= (event["at"] - start["at"]).total_seconds() <= _PROMPT
        if within and event["signature"] in _BEGUN and _same(event, start) and event["offset"] is not None:
            return event
    return None


def _others(known: Mapping[Place, Sequence[_Known]], topic: str, group: str, at: datetime, *, without: Set[Place]) -> dict[int, int]:
    """The newest offsets that `group` had committed of the topic's other partitions, by partition, when it began some `without` any."""
    newest = {}
    for place, offsets in known.items():
        if place[0] == topic and place not in without:
            mine = [one.offset for one in offsets if one.committed and one.group == group and (one.at - at).total_seconds() <= _AT_ONCE]
            if mine:
                newest[place[1]] = mine[-1]
    return newest


def _moved_on(known: _Known, offset: int | None, at: datetime, events: Sequence[Row]) -> bool:
    """Whether another group that had committed less says nothing more from then on."""
    if not known.committed or (offset is not None and offset <= known.offset):
        return False
    return not any(_reader(event) == known.group and event["at"] >= at for event in events if event["topic"] is not None)


def _same(one: Row, other: Row) -> bool:
    return (one["topic"], one["partition"], _reader(one)) == (other["topic"], other["partition"], _reader(other))


def _reader(event: Row) -> str:
    """The group; of clients that do not name it their name without the number that each new one gets."""
    return str(event["group"] or _client(event))


def _client(event: Row) -> str:
    return (event["client"] or "").partition("#")[0]


def _order(event: Row) -> tuple[Any, ...]:
    return event["at"], event["file"], event["line"]
