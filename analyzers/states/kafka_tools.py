"""Tables of Kafka's own tools: consumer groups with their members and states, topics with their partitions; kcat's and rpk's of the same.

Sources: ConsumerGroupCommand (0.11 to 4.x), TopicCommand, kcat's ``metadata_print``, ``rpk group describe``.
Columns are known by their names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from analyzers.budget import BUDGET
from analyzers.logs.matching.expressions import expression
from analyzers.states.clocks import Clock, clock_of
from analyzers.states.state import State, Text, Values

GROUP_SHAPE = "consumer-group table"
TOPIC_SHAPE = "topic description"
SIGNS = (
    b"CURRENT-OFFSET", b"#MEMBERS", b"#PARTITIONS", b"has no active members", b"is rebalancing.", b"ReplicationFactor:", b"\tPartition: ",
    b"Metadata for ", b"TOTAL-LAG",
)  # fmt: skip
END_SIGNS = (b"get-offsets", b"GetOffsetShell", b":0:", b":1:")
END_GLANCE = re.compile(rb"get-offsets|GetOffsetShell|(?m:^[A-Za-z0-9._-]{1,249}:\d{1,5}:\d{1,18}(?:\s*\|\s*\d{1,18})?\s*$)")
"""Many a log holds ``:0:`` somewhere; few have such a line."""

_OFFSETS = expression(r"^\s*(?:GROUP\s+)?TOPIC\s+PARTITION\s+(?:LEADER-EPOCH\s+)?CURRENT-OFFSET\b")
_MEMBERS = expression(r"^\s*GROUP\s+CONSUMER-ID\s+(?:GROUP-INSTANCE-ID\s+)?HOST\s+CLIENT-ID\b")
_STATES = expression(r"^\s*GROUP\s+COORDINATOR \(ID\)\s+")
_OF_GROUP = expression(
    r"^(?:Warning: |Error: )?Consumer group '(?P<group>[^']*)' (?P<is>has no active members|is rebalancing|does not exist)"
)
_ASKED = expression(r"--group[ =](?P<group>[\w.-]+)")
_STATE = expression(
    r"^\s*(?P<group>\S+)\s+(?P<address>\S+:\d+)\s+\((?P<id>-?\d+)\)\s+(?:(?P<assignor>[^\s(]\S*)\s+)?"
    r"(?P<state>Stable|Empty|Dead|PreparingRebalance|CompletingRebalance|Assigning|Reconciling|NotReady)\s+(?:\d+\s+\d+\s+)?(?P<members>\d+)\s*$"
)
_RPK = expression(r"^(?P<key>GROUP|COORDINATOR|STATE|BALANCER|MEMBERS|TOTAL-LAG)\s+(?P<value>\S+)\s*$")
_TOPIC = expression(
    r"^\s*Topic: ?(?P<topic>\S+)\s+(?:TopicId: ?(?P<id>\S+)\s+)?PartitionCount: ?(?P<partitions>\d+)\s+ReplicationFactor: ?\d+"
    r"(?:\s+Configs: ?(?P<configs>\S*))?"
)
_PARTITION = expression(
    r"^\s*Topic: ?(?P<topic>\S+)\s+Partition: ?(?P<partition>\d+)\s+Leader: ?(?P<leader>none|-?\d+)\s+Replicas: ?(?P<replicas>[\d,]*)\s+"
    r"Isr: ?(?P<isr>[\d,]*)(?:\s+Offline: ?(?P<offline>[\d,]+))?"
)
_END = expression(r"^(?P<topic>[A-Za-z0-9._-]{1,249}):(?P<partition>\d{1,5}):(?P<end>\d{1,18})(?:\s*\|\s*(?P<later>\d{1,18}))?\s*$")
_MOST_PARTITIONS = BUDGET.group_partitions
_KCAT = expression(r"^Metadata for .* \(from broker ")
_KCAT_TOPIC = expression(r"^\s*topic \"(?P<topic>[^\"]+)\" with \d+ partitions:")
_KCAT_PARTITION = expression(
    r"^\s*partition (?P<partition>\d+), leader (?P<leader>-?\d+), replicas: "
    r"(?P<replicas>[\d,]*), isrs: (?P<isr>[\d,]*)"
)


_NO_CLOCK = Clock()


@dataclass
class _Paste:
    """Where the reading of a text is: the clock and the group that the lines above name."""

    clock: Clock = _NO_CLOCK
    group: str | None = None
    warned: dict[str, str] = field(default_factory=dict)
    told: dict[str, str] = field(default_factory=dict)
    """Of rpk's lines above its table."""


def read_groups(text: Text) -> Iterator[State]:
    """Every table about consumer groups."""
    lines, paste, at = text.lines, _Paste(), 0
    while at < len(lines):
        line = lines[at]
        if (clock := clock_of(line)) is not None:
            paste.clock = clock
        if m := _ASKED.search(line):
            paste.group = m["group"]
        elif m := _OF_GROUP.match(line):
            paste.group = m["group"]
            paste.warned[m["group"]] = {"has no active members": "Empty", "is rebalancing": "PreparingRebalance"}.get(m["is"], "Dead")
            state = _begun(at, paste)
            state.add("pasted_groups", _group(m["group"], paste.warned[m["group"]]))
            yield state
        elif m := _RPK.match(line):
            if m["key"] == "GROUP":
                paste.told.clear()
                paste.group = m["value"]
            paste.told[m["key"]] = m["value"]
            if m["key"] == "MEMBERS" and paste.group:
                state = _begun(at, paste)
                known = _group(paste.group, paste.told.get("STATE"))
                state.add("pasted_groups", {**known, "members": int(m["value"]) if m["value"].isdigit() else None})
                yield state
        elif _OFFSETS.match(line):
            state, at = _offsets(lines, at, paste)
            yield state
            continue
        elif _STATES.match(line):
            state, at = _states(lines, at, paste)
            yield state
            continue
        elif _MEMBERS.match(line):
            state, at = _members(lines, at, paste)
            yield state
            continue
        at += 1


def _begun(at: int, paste: _Paste) -> State:
    return State(GROUP_SHAPE, at, at + 1, at=paste.clock.at)


def _group(group: str, state: str | None) -> Values:
    return {"group": group, "state": state, "members": 0 if state == "Empty" else None}


def _number(cell: str) -> int | None:
    digits = cell.replace(",", "").replace(".", "").replace("\u202f", "").replace("'", "")
    return int(digits) if digits.isdigit() else None


def _table(lines: Sequence[str], at: int) -> Iterator[tuple[int, list[str]]]:
    """The cells of the rows below a header, up to a line that is none; what a narrow terminal wrapped belongs to its row."""
    width = len(lines[at].split())
    held: list[str] = []
    for number in range(at + 1, len(lines)):
        line = lines[number]
        cells = line.split()
        if not cells:
            if not held and number == at + 1:
                continue
            break
        if held and len(held) + len(cells) <= width and line[:1].isspace():
            held += cells
            continue
        if held:
            yield number, held
        held = cells
    if held:
        yield number + 1 if number == len(lines) - 1 and cells else number, held


def _offsets(lines: Sequence[str], at: int, paste: _Paste) -> tuple[State, int]:
    """The table of ``--describe``."""
    state = _begun(at, paste)
    names = [name.lower() for name in lines[at].split()]
    holders: dict[str, set[str]] = {}
    seen: set[str] = set()
    for end, cells in _table(lines, at):
        row = dict(zip(names, cells, strict=False))
        group, partition = row.get("group") or paste.group, row.get("partition", "")
        if group is None or not partition.isdigit():
            break
        state.last = end
        seen.add(group)
        owner = _named(row.get("consumer-id") or row.get("member-id"))
        holders.setdefault(group, set()).update([owner] if owner else [])
        committed, high = _number(row.get("current-offset", "-")), _number(row.get("log-end-offset", "-"))
        host = _named(row.get("host"))
        known = committed is not None and high is not None
        state.add("pasted_offsets", {
            "at": paste.clock.at, "group": group, "topic": row["topic"], "partition": int(partition), "committed": committed,
            "high_watermark": high,
            "lag_records": max(0, (high or 0) - (committed or 0)) if known else None, "member": owner,
            "client": _named(row.get("client-id")), "host": host.lstrip("/") if host else None, "of_day": paste.clock.of_day, "line": end,
        })  # fmt: skip
    for group in seen:
        told = paste.warned.pop(group, None)
        if told is None and "STATE" not in paste.told:
            members = len(holders[group])
            state.add("pasted_groups", {**_group(group, "Stable" if members else None), "members": members or None})
    return state, max(state.last, at + 1)


def _named(cell: str | None) -> str | None:
    return None if cell in (None, "", "-") else cell


def _states(lines: Sequence[str], at: int, paste: _Paste) -> tuple[State, int]:
    """The table of ``--state``."""
    state = _begun(at, paste)
    for number in range(at + 1, len(lines)):
        m = _STATE.match(lines[number])
        if m is None:
            break
        state.last = number + 1
        values = _group(m["group"], m["state"])
        state.add("pasted_groups", {**values, "coordinator": int(m["id"]), "assignor": m["assignor"], "members": int(m["members"])})
    return state, state.last


def _members(lines: Sequence[str], at: int, paste: _Paste) -> tuple[State, int]:
    """The table of ``--members``."""
    state = _begun(at, paste)
    found: dict[str, int] = {}
    for number in range(at + 1, len(lines)):
        cells = lines[number].split()
        if len(cells) < 4:
            break
        state.last = number + 1
        found[cells[0]] = found.get(cells[0], 0) + 1
    for group, number in found.items():
        state.add("pasted_groups", {**_group(group, None), "members": number})
    return state, state.last


# log ends --------------------------------------------------------------------------------------------------------------------


def read_ends(text: Text) -> Iterator[State]:
    """The lines of ``kafka-get-offsets``: topic:partition:offset, two or more of one topic; beside them, perhaps, a later look."""
    rows: list[tuple[int, re.Match[str]]] = []
    for number, line in enumerate((*text.lines, "")):
        m = _END.match(line)
        if m is not None and (not rows or rows[-1][1]["topic"] == m["topic"]):
            rows.append((number, m))
            continue
        if len(rows) > 1:
            looks = ("end", "later") if all(each["later"] for _, each in rows) else ("end",)
            yield from (_ends(rows[:_MOST_PARTITIONS], look) for look in looks)
        rows = [(number, m)] if m is not None else []


def _ends(rows: Sequence[tuple[int, re.Match[str]]], look: str) -> State:
    state = State(TOPIC_SHAPE, rows[0][0], rows[-1][0] + 1)
    for at, m in rows:
        values = {"topic": m["topic"], "partition": int(m["partition"]), "high_watermark": int(m[look]), "line": at + 1}
        state.add("pasted_partitions", values)
    return state


# topics ----------------------------------------------------------------------------------------------------------------------


def read_topics(text: Text) -> Iterator[State]:
    """The descriptions of topics: `kafka-topics --describe` and `kcat -L`."""
    clock, topic = _NO_CLOCK, None
    state: State | None = None
    inside = False
    for number, line in enumerate(text.lines):
        if (found := clock_of(line)) is not None:
            clock = found
        head, row = _TOPIC.match(line), _PARTITION.match(line)
        if _KCAT.match(line) or (head is not None and state is None) or (row is not None and state is None):
            if state is not None:
                yield state
            state, inside = State(TOPIC_SHAPE, number, number + 1, at=clock.at), bool(_KCAT.match(line))
        if state is None:
            continue
        if head is not None:
            for partition in range(min(int(head["partitions"]), _MOST_PARTITIONS)):
                state.add("pasted_partitions", {"topic": head["topic"], "partition": partition, "high_watermark": None, "line": number + 1})
            for each in (head["configs"] or "").split(","):
                key, _, value = each.partition("=")
                if value:
                    state.add("topic_configs", {"topic": head["topic"], "key": key, "value": value})
        elif row is not None:
            state.add("partitions", _partition(row["topic"], row["partition"], row["leader"], row["replicas"], row["isr"], row["offline"]))
        elif inside and (m := _KCAT_TOPIC.match(line)):
            topic = m["topic"]
        elif inside and topic and (m := _KCAT_PARTITION.match(line)):
            state.add("partitions", _partition(topic, m["partition"], m["leader"], m["replicas"], m["isr"], None))
        elif not (inside and line.startswith((" ", "\t"))) and not _KCAT.match(line):
            if line.strip() or inside:
                yield state
                state, inside, topic = None, False, None
            continue
        state.last = number + 1
    if state is not None:
        yield state


def _partition(topic: str, partition: str, leader: str, replicas: str, isr: str, offline: str | None) -> Values:
    nodes, in_sync = [each for each in replicas.split(",") if each], [each for each in isr.split(",") if each]
    leaderless = leader in ("none", "-1")
    return {
        "topic": topic,
        "partition": int(partition),
        "leader": None if leaderless else int(leader),
        "replicas": nodes,
        "isr": in_sync,
        "offline": offline.split(",") if offline else [],
        "state": "leaderless" if leaderless else "under-replicated" if len(in_sync) < len(nodes) else "ok",
    }
