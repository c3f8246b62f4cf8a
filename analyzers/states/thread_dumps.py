"""Thread dumps: what `jstack`, `jcmd` and SIGQUIT print (JDK 8 to 25), and the answers of Flink's and Spark's web interfaces.

Sources: the JVM's ``Thread::print_on`` and ``java.lang.management.ThreadInfo.toString``, whose text Flink's REST interface gives.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any

from analyzers.budget import BUDGET
from analyzers.logs.matching.expressions import expression
from analyzers.states.frames import Frame, waits
from analyzers.states.state import State, Text, Values

SHAPE = "thread dump"
SIGNS = (
    b"Full thread dump", b"java.lang.Thread.State:", b"stringifiedThreadInfo", b'"threadDump"', b'" Id=', b'\n#1 "main"', b'"threadState"',
)  # fmt: skip

MOST_FRAMES = 60
_MOST_THREADS = BUDGET.threads
_HEAD = expression(
    r"^\s{0,8}\"(?P<name>[^\n]*?)\"(?= (?:#\d|Id=\d|prio=|daemon|virtual|\[\d|os_prio=|tid=))(?: #(?P<number>\d+))?"
    r"(?: \[(?P<os>\d+)\])?(?: daemon)?(?: virtual)?(?=[^\n]*(?:\bprio=|\btid=|\bId=|\bnid=| virtual))(?P<rest>[^\n]*)$"
)
_TOLD_HEAD = expression(r"^#(?P<number>\d+) \"(?P<name>[^\"\n]*)\"(?: (?:virtual|daemon))?(?: (?P<rest>[A-Z_]+ ?\S*))?$")
_STATE = expression(r"^\s*java\.lang\.Thread\.State: (?P<state>[A-Z_]+)")
_FRAME = expression(r"^\s*(?:at )?(?:[\w.@-]+/{1,2})*(?P<name>[A-Za-z_$][\w$]*(?:\.[\w$<>/-]+)+)\((?:[\w.@-]+/)?(?P<place>[^()]*)\)")
_LOCKS = expression(
    r"^\s*-\s+(?P<how>locked|waiting to lock|waiting to re-lock(?: in wait\(\))?|waiting on|parking to wait for|blocked on|eliminated)\s+"
    r"(?:<(?P<address>0x[0-9a-f]+)> \(a (?P<kind>[^)\n]+)\)|(?P<object>[\w.$/]+@[0-9a-f]+))"
)
_OWNED = expression(r"^\s*-\s+<(?P<address>0x[0-9a-f]+)> \(a (?P<kind>[^)\n]+)\)|^\s*-\s+(?P<object>[\w.$/]+@[0-9a-f]+)\s*$")
_INFO = expression(
    r"\bId=(?P<id>\d+) (?P<state>NEW|RUNNABLE|BLOCKED|WAITING|TIMED_WAITING|TERMINATED)(?: on (?P<lock>\S+@[0-9a-f]+))?"
    r"(?: owned by \"(?P<owner>[^\n]*)\" Id=(?P<owner_id>\d+))?"
)
_OF_A_STACK = ("...", "Locked ownable", "No compile", "Number of locked", "- None", "Carrying virtual", "JavaThread state")
_OF_A_DUMP = (" ", "\t", '"', "Found", "=", "Java stack", "JNI", "Threads class", "_java_", "0x", "}")
_TIME = expression(r"^\s*(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(?:[.,]\d+)?(Z|[+-]\d\d:?\d\d)?\s*$")
_TASK = expression(r"(?:Legacy Source Thread - |Source Data Fetcher for )?(?P<task>.+?) \((?P<number>\d+)/(?P<of>\d+)\)(?:#\d+)?$")
_PARTS = ("Legacy Source Thread - ", "Source Data Fetcher for ")
_CPU = expression(r"\bcpu=(\d{1,15}(?:\.\d{1,6})?)ms")
_ELAPSED = expression(r"\belapsed=(\d{1,15}(?:\.\d{1,6})?)s")
_ADDRESS = expression(r"\btid=(0x[0-9a-f]+)")


@dataclass
class _Thread:
    name: str
    id: str | None
    line: int
    state: str | None = None
    frames: list[Frame] = field(default_factory=list)
    awaits: tuple[str, str] | None = None
    """The lock that it waits for: what is printed of the object, and its class."""
    waits_on: bool = False
    holds: list[str] = field(default_factory=list)
    owner: str | None = None
    cpu_ms: float | None = None
    elapsed: float | None = None

    def take(self, line: str, at: int) -> bool:
        """Whether `line` is of this thread."""
        if m := _FRAME.match(line):
            if len(self.frames) < MOST_FRAMES:
                place = None if m["place"] in ("", "Native Method", "Unknown Source") else m["place"]
                self.frames.append(Frame(m["name"].rpartition("/")[2], place))
        elif m := _LOCKS.match(line):
            what = m["address"] or m["object"]
            kind = m["kind"] or m["object"].partition("@")[0]
            if m["how"] in ("locked", "eliminated"):
                self.holds.append(what)
            elif m["how"] in ("waiting to lock", "blocked on") or m["how"].startswith("waiting to re-lock"):
                self.awaits = (what, kind)
            else:
                self.waits_on = True
                if m["how"] == "parking to wait for" and re.search(r"Lock\$|ReentrantLock|Sync$", kind):
                    self.awaits = (what, kind)
        elif m := _STATE.match(line):
            self.state = m["state"]
        elif m := _OWNED.match(line):
            self.holds.append(m["address"] or m["object"])
        else:
            text = line.strip()
            return not text or text.startswith(_OF_A_STACK)
        return True


def read(text: Text) -> Iterator[State]:
    """All dumps of a text."""
    if any(sign in text.whole for sign in ("java.lang.Thread.State", " prio=", '" Id=', '#1 "')):
        yield from _printed(text.lines)
    for document in text.documents:
        yield from _answered(document.value, document.first, document.last, cut=document.cut)


# what a JVM prints ---------------------------------------------------------------------------------------------------------


def _printed(lines: Sequence[str]) -> Iterator[State]:
    threads: list[_Thread] = []
    seen: set[tuple[str, str | None]] = set()
    held: dict[str, str] = {}
    at: datetime | None = None
    begin: int | None = None
    last = 0
    thread: _Thread | None = None
    locked: tuple[str, str] | None = None
    for number, line in enumerate(lines):
        full = "Full thread dump" in line
        head = _head(line, number)
        again = head is not None and (head.name, head.id) in seen and head.id is not None
        if (full or again) and threads:
            yield from _state(threads, at, begin or 0, last, held)
            threads, seen, held, begin, at = [], set(), {}, None, None
        if full:
            at = next((found for back in lines[max(0, number - 2) : number][::-1] if (found := _time(back)) is not None), None)
            begin, thread = max(0, number - (at is not None)), None
            last = number + 1
            continue
        if head is not None:
            begin = number if begin is None else begin
            thread = head
            last = number + 1
            if len(threads) < _MOST_THREADS:
                threads.append(head)
                seen.add((head.name, head.id))
            continue
        if line.startswith("Found ") and "deadlock" in line:
            thread = None
        if thread is not None and thread.take(line, number):
            last = number + 1
        elif (begin is not None and number == last) or line.startswith(_OF_A_DUMP):
            thread = None
            if begin is not None:
                locked = _of_deadlock(line, held, locked)
                last = number + 1 if line.strip() else last
        else:
            thread = None
    if threads:
        yield from _state(threads, at, begin or 0, last, held)


_DEADLOCKED = expression(r"^\"(?P<name>[^\n]*)\":$")
_HELD_BY = expression(r"^\s+which is held by \"(?P<owner>[^\n]*)\"")


def _of_deadlock(line: str, held: dict[str, str], before: tuple[str, str] | None) -> tuple[str, str] | None:
    """The JVM's own words on a deadlock: who waits for whom."""
    if m := _DEADLOCKED.match(line):
        return (m["name"], "")
    if before is not None and (m := _HELD_BY.match(line)):
        held[before[0]] = m["owner"]
        return None
    return before


def _head(line: str, number: int) -> _Thread | None:
    if m := _HEAD.match(line):
        rest = m["rest"]
        info, address = _INFO.search(rest), _ADDRESS.search(rest)
        thread = _Thread(m["name"], (address and address[1]) or (info and info["id"]) or m["number"], number)
        if info is not None:
            thread.state, thread.owner = info["state"], info["owner"]
            if info["lock"]:
                thread.waits_on = True
                if info["owner"] or info["state"] == "BLOCKED":
                    thread.awaits = (info["lock"], info["lock"].partition("@")[0])
        cpu, elapsed = _CPU.search(rest), _ELAPSED.search(rest)
        thread.cpu_ms = float(cpu[1]) if cpu else None
        thread.elapsed = float(elapsed[1]) if elapsed else None
        return thread
    if m := _TOLD_HEAD.match(line):
        return _Thread(m["name"], m["number"], number, (m["rest"] or "").split(" ")[0] or None)
    return None


def _time(line: str) -> datetime | None:
    m = _TIME.match(line)
    if m is None:
        return None
    try:
        return datetime.fromisoformat(f"{m[1]}T{m[2]}{(m[3] or '+00:00').replace('Z', '+00:00')}").astimezone(timezone.utc)
    except (ValueError, OverflowError):
        return None


# what is answered as JSON --------------------------------------------------------------------------------------------------


def _answered(value: Any, first: int, last: int, *, cut: bool) -> Iterator[State]:
    threads: list[_Thread] = []
    at: datetime | None = None
    if isinstance(value, Mapping) and isinstance(value.get("threadInfos"), list):
        for each in value["threadInfos"]:
            printed = each.get("stringifiedThreadInfo") if isinstance(each, Mapping) else None
            threads += _of_info(str(each.get("threadName") or ""), printed, first) if isinstance(printed, str) else []
    elif isinstance(value, Mapping) and isinstance(value.get("threadDump"), Mapping):
        told = value["threadDump"]
        at = _time(str(told.get("time") or "").replace("T", " "))
        for container in told.get("threadContainers") or ():
            for each in (container.get("threads") or ()) if isinstance(container, Mapping) else ():
                if isinstance(each, Mapping) and isinstance(each.get("stack"), list):
                    thread = _of_stack(each, first)
                    thread.id = f"{told.get('processId')}:{thread.id}"  # numbers of threads are alike in processes of one program
                    threads.append(thread)
    elif isinstance(value, list) and all(isinstance(each, Mapping) and {"threadState", "threadName"} <= each.keys() for each in value):
        threads = [_of_spark(each, first) for each in value]
    if threads:
        yield from _state(threads, at, first, last, {}, cut="ends in the middle of its JSON" if cut else None)


def _of_info(name: str, printed: str, line: int) -> list[_Thread]:
    found: list[_Thread] = []
    for each in printed.split("\n"):
        head = _head(each, line)
        if head is not None:
            found.append(head)
        elif found:
            found[-1].take(each, line)
    return found or [_Thread(name, None, line)]


def _of_stack(told: Mapping[str, Any], line: int) -> _Thread:
    state = told.get("state")
    number = str(told["tid"]) if "tid" in told else None
    thread = _Thread(str(told.get("name") or ""), number, line, state if isinstance(state, str) else None)
    for each in told["stack"]:
        thread.take(str(each), line)
    return thread


def _of_spark(told: Mapping[str, Any], line: int) -> _Thread:
    """A row of ``/applications/:id/executors/:id/threads``."""
    thread = _Thread(str(told["threadName"]), str(told.get("threadId")), line, str(told["threadState"]))
    trace = told.get("stackTrace")
    elements = trace.get("elems") if isinstance(trace, Mapping) else trace
    for each in elements if isinstance(elements, list) else str(elements or "").split("\n"):
        thread.take(str(each), line)
    return thread


# rows ----------------------------------------------------------------------------------------------------------------------


def _state(
    threads: Sequence[_Thread], at: datetime | None, first: int, last: int, held: Mapping[str, str], cut: str | None = None
) -> Iterator[State]:
    """The dump of these threads; nothing where no stack of them was printed."""
    if not any(thread.frames for thread in threads):
        return
    owners: dict[str, str] = {}
    for thread in threads:
        if thread.awaits is not None and thread.awaits[0] in thread.holds:  # it gave the monitor back while it waits
            thread.holds = [each for each in thread.holds if each != thread.awaits[0]]
        owners.update(dict.fromkeys(thread.holds, thread.name))
    owning = {owners[thread.awaits[0]] for thread in threads if thread.awaits and thread.awaits[0] in owners}
    owning |= {owner for thread in threads if (owner := thread.owner)} | set(held.values())
    state = State(SHAPE, first, last, at=at, trouble=cut)
    counts: Values = {"threads": len(threads)}
    for thread in threads:
        owner = thread.owner or (owners.get(thread.awaits[0]) if thread.awaits else None) or held.get(thread.name)
        values = _row(thread, None if owner == thread.name else owner)
        if values["task"] or values["user_frame"] or values["lock"] or values["waits"] not in ("idle", "running") or thread.name in owning:
            state.add("stack_samples", {**values, "captured_at": at, **counts})
    if not state.rows:  # a dump of which all threads are idle is one all the same
        state.add("stack_samples", {**_row(threads[0], None), "captured_at": at, **counts})
    yield state


def _row(thread: _Thread, owner: str | None) -> Values:
    named = _TASK.match(thread.name)
    doing = waits(thread.frames, thread.state, on_lock=thread.waits_on)
    return {
        "thread": thread.name,
        "thread_id": thread.id,
        "task": named["task"] if named else None,
        "subtask": int(named["number"]) - 1 if named else None,
        "parallelism": int(named["of"]) if named else None,
        "state": thread.state,
        "frames": [frame.name for frame in thread.frames],
        "user_frame": doing.user.name if doing.user else None,
        "user_line": doing.user.shown if doing.user else None,
        "call": doing.call.shown if doing.call else None,
        "system": doing.system,
        "waits": doing.kind,
        "lock": thread.awaits[1] if thread.awaits else None,
        "owner": owner,
        "cpu_ms": thread.cpu_ms,
        "elapsed_seconds": thread.elapsed,
        "line": thread.line + 1,
    }
