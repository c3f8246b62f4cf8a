"""Where threads stand in thread dumps: the same place in all that show them is stuck, another one moves, waiting for work is neither.

A dump is one instant. A thread of a pool that waits for its next task, a consumer that polls, a selector and a task whose mailbox is empty
are as they should be; so is one that is back-pressured: what is behind it is slow. What counts is a thread that works on records, or holds
a lock that such a thread wants, and that stands in one call of its own code or of a client.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from analyzers.derived.flow.rings import MOST_NAMES, rings
from analyzers.logs.matching.expressions import expression
from analyzers.tables import THREAD_WAITS, Row

Tables = Mapping[str, Sequence[Row]]

SLOW_CPU = 0.002
"""Share of the time between two dumps that a thread must have computed to have come back from its call: a blocked one uses none."""
_REASONS = {
    "socket": "call", "connect": "call", "resolve": "call", "lock": "lock", "future": "future", "full": "room", "sleep": "sleep",
    "process": "process", "wait": "future", "send": "send", "undrained": "undrained", "permit": "permit", "native": "native",
}  # fmt: skip
_HOLDS_ON = ("socket", "connect", "resolve", "future", "sleep", "lock", "full", "process")
"""What a thread that holds a lock may wait for itself."""
_NAMED = expression(
    r"Legacy Source Thread|stream execution thread|Executor task launch worker|KafkaListenerEndpointContainer|StreamThread-\d|task-thread-"
    r"|[Cc]onsumer|[Ss]ink|[Ss]ource|[Ll]istener|[Ww]riter|[Ff]lush|[Kk]afka|[Pp]rocessor|[Ww]orker|AsyncOperations|vert\.x-eventloop|^main$"
)
"""Threads that work on records, by the names that products and people give them."""
_SERVES = expression(
    r"(?:https?|ajp|grpc|qtp|XNIO|jetty|undertow|netty|reactor-http|RMI|JMX|default-dispatcher|scheduling-|SIGTERM)[\w. -]*"
)
"""Threads that answer requests: that one waits for a database when it is looked at is its work."""
_ASYNC_QUEUE = "AsyncWaitOperator.addToWorkQueue"
"""A task that is there has as many asynchronous calls open as its capacity allows, and none of them completes."""
_LONG = 60.0
"""Seconds that a dump states: what passes at all has passed by then."""
_BLOCKS_A_LOOP = ("socket", "connect", "resolve", "future", "process", "sleep", "lock", "running", "native")


def thread_waits(tables: Tables) -> list[Row]:
    """Rows of ``thread_waits``, per scope and file of dumps of one process."""
    out: list[Row] = []
    scopes: dict[str, list[Row]] = defaultdict(list)
    for row in tables.get("stack_samples", ()):
        if row["moment"] is not None:
            scopes[row["scope"]].append(row)
    for scope, rows in sorted(scopes.items()):
        dumps: dict[int, dict[tuple[str, str | None], Row]] = defaultdict(dict)
        for row in rows:
            dumps[row["moment"]].setdefault((row["thread"], row["thread_id"]), row)
        closed = rings(dumps)
        out += [_row(scope, values) for values in closed]
        caught = {name for values in closed for name in values["threads"]}
        caught |= {row["thread"] for dump in dumps.values() for row in dump.values() if row["owner"] in caught}  # counted with the ring
        left = _left_at(scope, tables.get("log_events", ()))
        stands = []
        for own in _of_threads(dumps):
            values = _stands(own, dumps) if own[-1]["language"] is None else _stands_elsewhere(own, dumps)
            if values is not None:
                gone = left if _may_poll(own[-1]) else None
                # of a call that is not seen only its absence from the poll says something
                if gone is not None or values["reason"] != "native":
                    stands.append((own, {**values, "left_at": gone}))
        stands, queued = _without_queue(stands)
        out += [_row(scope, values) for values in queued]
        tasks = {values["threads"][0] for _, values in stands if values.get("task")}
        caught |= {values.get("owner") for _, values in stands} - tasks  # of a lock its waiter says more, unless a task's thread holds it
        found: dict[tuple[object, ...], list[tuple[list[Row], dict[str, Any]]]] = defaultdict(list)
        for own, values in stands:
            if own[-1]["thread"] not in caught and (values.get("task") or values.get("owner") not in tasks):
                place = tuple(values.get(name) for name in ("reason", "call", "user_line", "lock", "owner", "task", "language"))
                found[place].append((own, values))
        out += [_row(scope, _together(alike)) for alike in found.values()]
    return out


def _left_at(scope: str, events: Iterable[Row]) -> datetime | None:
    """When a consumer of the scope left its group, where its log shows no work since (``analyzers/readers/after_polls.py``)."""
    late = [row for row in events if row["scope"] == scope and row["signature"] == "poll-timeout-expired" and row["at"]]
    gone = [row["at"] for row in late if row["detail"] and (row["detail"].get("away_seconds") or row["detail"].get("silent"))]
    return max(gone, default=None)


def _may_poll(row: Row) -> bool:
    """Whether a thread may be the one that polls: it runs the user's code, and neither serves requests nor is one of many alike."""
    if row["loop"] in ("consumer", "event-loop"):
        return True
    if row["user_frame"] is None or row["loop"] == "request" or (row["alike"] or 1) > 1:
        return False
    name = row["thread"]
    return row["language"] in ("go", "dotnet") or (bool(_NAMED.search(name) or name == "MainThread") and not _SERVES.match(name))


def _stands_elsewhere(own: Sequence[Row], dumps: Mapping[int, Mapping[tuple[str, str | None], Row]]) -> dict[str, Any] | None:
    """What a thread of no JVM waits for; None where it moves, waits for work, or serves requests."""
    last = max(own, key=lambda row: len(row["frames"]))
    reason = _REASONS.get(last["waits"])
    alike = all((row["call"], row["user_line"]) == (last["call"], last["user_line"]) for row in own)
    if last["loop"] == "event-loop" and any(row["waits"] in _BLOCKS_A_LOOP for row in own) and last["call"]:
        reason = "event-loop"
    elif reason is not None and len({_REASONS.get(row["waits"]) for row in own}) > 1:
        return None
    if reason is None or not alike or last["loop"] == "request":
        return None
    if last["user_frame"] is None and reason not in ("undrained", "send"):
        return None
    waited = max((row["waited_seconds"] for row in own if row["waited_seconds"] is not None), default=None)
    first, newest = own[0]["captured_at"], own[-1]["captured_at"]
    apart = (newest - first).total_seconds() if first and newest else None
    named = last["loop"] is not None or bool(_NAMED.search(last["thread"])) or last["system"] == "Kafka" or last["thread"] == "MainThread"
    return {
        "reason": reason, "threads": [last["thread"]], "named": int(named),
        **{name: last[name] for name in ("call", "user_frame", "user_line", "system", "language", "loop", "library", "channel")},
        "alike": last["alike"] or 1, "waited_seconds": waited, "seen": len(own), "dumps": len(own),
        "seconds": max((each for each in (waited, apart) if each is not None), default=None),
        "since": first, "captured_at": newest, "file": last["file"], "line": last["line"],
    }  # fmt: skip


_Stands = list[tuple[list[Row], dict[str, Any]]]


def _without_queue(stands: _Stands) -> tuple[_Stands, list[dict[str, Any]]]:
    """`stands` without the channels of results that nothing reads and the senders behind them, and a row for each such channel."""
    full = [values for _, values in stands if values["reason"] == "undrained"]
    if not full:
        return stands, []
    rows = []
    caught: set[int] = set()
    for file, library, channel in sorted({(str(each["file"]), each["library"], each["channel"]) for each in full}):
        heads = [each for each in full if (str(each["file"]), each["library"], each["channel"]) == (file, library, channel)]
        longest = max((each["waited_seconds"] or 0.0 for each in heads), default=0.0)
        behind = [
            values
            for _, values in stands
            if values["reason"] == "send" and values["file"] == heads[0]["file"]
            and (values["waited_seconds"] or 0.0) <= longest + _LONG  # what stood there long before waits for something else
        ]  # fmt: skip
        own = next((each for each in behind if each["user_line"]), None)
        caught |= {id(each) for each in (*heads, *behind)}
        rows.append({
            **max(heads, key=lambda each: each["waited_seconds"] or 0.0), "threads": [each["threads"][0] for each in heads][:MOST_NAMES],
            "user_frame": own and own["user_frame"], "user_line": own and own["user_line"], "named": len(heads),
            "alike": sum(each["alike"] for each in heads), "behind": sum(each["alike"] for each in behind),
        })  # fmt: skip
    return [each for each in stands if id(each[1]) not in caught], rows


def _of_threads(dumps: Mapping[int, Mapping[tuple[str, str | None], Row]]) -> Iterable[list[Row]]:
    """The rows of each thread, oldest dump first. Without a JVM ids are small numbers, alike in all processes: a file is of one."""
    threads: dict[tuple[str, str | None, str | None], list[Row]] = defaultdict(list)
    for _, rows in sorted(dumps.items(), key=lambda item: (item[1] and _time(next(iter(item[1].values()))), item[0])):
        for key, row in rows.items():
            threads[key[0], key[1], row["file"] if row["language"] else None].append(row)
    return threads.values()


def _time(row: Row) -> float:
    return row["captured_at"].timestamp() if row["captured_at"] else 0.0


def _stands(own: Sequence[Row], dumps: Mapping[int, Mapping[tuple[str, str | None], Row]]) -> dict[str, Any] | None:
    """What one thread waits for in each dump that shows it; None where it moves, or waits for work."""
    last = max(own, key=lambda row: len(row["frames"]))  # a dump may be cut in the middle of a stack
    reason = _REASONS.get(last["waits"])
    full = last["task"] is not None and all(any(frame.endswith(_ASYNC_QUEUE) for frame in row["frames"]) for row in own)
    if full:  # it yields to its mailbox, and so seems to have no work
        last, reason = {**last, "call": _ASYNC_QUEUE}, "async-queue"
    if reason is None or not (last["user_frame"] or last["system"] or last["owner"] or (last["task"] and last["call"])):
        return None
    if not full and not all(_alike(row, last) for row in own):
        return None
    named = bool(last["task"] or _NAMED.search(last["thread"]))
    if not named and (_SERVES.match(last["thread"]) or last["user_frame"] is None):
        return None
    if reason in ("sleep", "future", "room", "process") and (not last["user_frame"] and not last["task"]):
        return None
    if last["thread"] == "main" and reason in ("sleep", "future"):  # it waits for the end of the process
        return None
    owner = _owner(last, dumps[last["moment"]])
    if reason == "lock" and len(own) < 2 and (owner is None or owner["waits"] not in _HOLDS_ON):
        return None  # at work behind the lock in one instant: it gives it back
    seconds = (own[-1]["captured_at"] - own[0]["captured_at"]).total_seconds() if own[0]["captured_at"] and own[-1]["captured_at"] else None
    if reason == "call" and _computed(own):
        reason = "slow-call"
    return {
        "reason": reason, "threads": [last["thread"]], "task": last["task"], "subtask": last["subtask"], "parallelism": last["parallelism"],
        "named": int(named), "call": last["call"], "user_frame": last["user_frame"], "user_line": last["user_line"],
        "system": last["system"],
        "lock": last["lock"], "owner": last["owner"], "owner_call": owner and owner["call"], "owner_line": owner and owner["user_line"],
        "owner_waits": owner and owner["waits"], "owner_system": owner and owner["system"], "seen": len(own), "dumps": len(own),
        "seconds": seconds, "since": own[0]["captured_at"], "captured_at": last["captured_at"], "file": last["file"], "line": last["line"],
    }  # fmt: skip


def _alike(row: Row, fullest: Row) -> bool:
    """Whether a thread stands where it stood in another dump, as far as its stack is printed."""
    if (row["waits"], row["call"], row["user_line"]) == (fullest["waits"], fullest["call"], fullest["user_line"]):
        return True
    shown = row["frames"]
    return 1 < len(shown) < len(fullest["frames"]) and shown == fullest["frames"][: len(shown)] and row["state"] == fullest["state"]


def _owner(row: Row, dump: Mapping[tuple[str, str | None], Row]) -> Row | None:
    return next((each for (name, _), each in dump.items() if name == row["owner"]), None) if row["owner"] else None


def _computed(own: Sequence[Row]) -> bool:
    """Whether the thread used the processor between the first and the last dump: then its calls come back."""
    first, last = own[0], own[-1]
    if len(own) < 2 or None in (first["cpu_ms"], last["cpu_ms"], first["elapsed_seconds"], last["elapsed_seconds"]):
        return False
    passed = last["elapsed_seconds"] - first["elapsed_seconds"]
    return bool(passed > 0 and (last["cpu_ms"] - first["cpu_ms"]) / 1000 / passed > SLOW_CPU)


def _together(alike: Sequence[tuple[list[Row], dict[str, Any]]]) -> dict[str, Any]:
    """Threads that stand in the same place as one row."""
    most = max((values for _, values in alike), key=lambda values: (values["named"], values["seen"]))
    names = sorted(values["threads"][0] for _, values in alike)
    return {
        **most,
        "threads": names[:MOST_NAMES],
        "named": sum(values["named"] for _, values in alike),
        "alike": sum(values.get("alike") or 1 for _, values in alike),
        "waited_seconds": max((values["waited_seconds"] for _, values in alike if values.get("waited_seconds") is not None), default=None),
        "subtask": most.get("subtask") if len({values.get("subtask") for _, values in alike}) == 1 else None,
    }


def _row(scope: str, values: Mapping[str, Any]) -> Row:
    return THREAD_WAITS.row({"scope": scope, "as_of": values["captured_at"], **values})
