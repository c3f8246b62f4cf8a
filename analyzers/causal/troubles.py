"""What the logs of a scope report as trouble: each error, exception and stuck thread once by shape, with its decisive words.

A trouble is looked at beside a finding: the last words of the neighbour that died, the error one line above, the call a thread waits in.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import lru_cache

from analyzers.causal.observation import Entity, Holder, Observation
from analyzers.causal.stack import client_call, waits_in
from analyzers.causal.words import Said, said_by
from analyzers.components import is_user
from analyzers.inference import infer
from analyzers.logs.layouts.roles import SERVERS
from analyzers.logs.scan.selection import mask
from analyzers.tables import Row

_LOUD = frozenset({"WARN", "ERROR", "FATAL"})
_SHAPE = 200
_NATIVE = re.compile(r"\bSIG(?:SEGV|BUS|ILL|FPE|ABRT) \(0x")
_MEMORY = re.compile(r"\bOutOfMemoryError\b|\bMemoryError\b|GC overhead limit|\bOOMKilled\b|Cannot allocate memory|heap out of memory")
_DISK = re.compile(r"(?i)no space left on device|\bENOSPC\b|read-only file ?system|\bdisk quota exceeded")
_UNRESOLVED = re.compile(
    r"\bUnknownHostException\b|(?i:\bcould not resolve host|name or service not known|temporary failure in name resolution"
    r"|no such host|\bENOTFOUND\b|nodename nor servname)"
)
_MODULE = re.compile(r"\b(?:ModuleNotFoundError|ImportError|NoClassDefFoundError|ClassNotFoundException|UnsatisfiedLinkError)\b")
_SLOW = re.compile(
    r"(?i)(?:\btook|\btime spent|\belapsed|\blasted|\bexceeded)\b[^\n]{0,80}?"
    r"\b(?P<amount>\d+(?:\.\d+)?) ?(?P<unit>ms|milliseconds|s|secs?|seconds|min|minutes)\b"
)
_SECONDS = {"m": 0.001, "s": 1.0, "min": 60.0}
_LONG = 10.0
"""Seconds: what the shortest default session time-out of Kafka's consumers notices."""
_LEADER = re.compile(r"(?i)leadership (?:revoked|lost)|no longer (?:the )?leader|renew deadline reached|lost leadership")

_BY_WORDS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("native-crash", _NATIVE),
    ("memory-exhausted", _MEMORY),
    ("disk-full", _DISK),
    ("name-unresolved", _UNRESOLVED),
    ("program-fails", _MODULE),
    ("leadership-lost", _LEADER),
)
_BY_SIGNATURE: Mapping[str, str] = {"out-of-memory": "memory-exhausted", "signal-received": "process-killed"}


def troubles_of(events: Iterable[Row]) -> list[Observation]:
    """One observation per shape of trouble in each file, in order of their first report."""
    groups: dict[tuple[str, str | None, str], list[tuple[Row, Said]]] = {}
    for event in events:
        effect = _effect(event)
        if effect is None:
            continue
        said = said_by(event)
        groups.setdefault((effect, event["file"], mask(said.words)[:_SHAPE]), []).append((event, said))
    found = [_observation(effect, own) for (effect, _, _), own in groups.items()]
    return sorted(found, key=lambda each: (each.first is None, each.first or datetime.max, each.file or "", each.line or 0))


_HOLDS = ("call", "lock", "future", "deadlock")
"""What a thread may wait for that holds up all that is behind it."""


def waits_of(rows: Iterable[Row], samples: Iterable[Row]) -> list[Observation]:
    """One observation per place in which thread dumps show a task's threads: rows of ``thread_waits``, and of ``stack_samples``."""
    frames: dict[tuple[str | None, int | None], Sequence[str]] = {}
    of_threads: dict[tuple[str, str | None], Sequence[str]] = {}
    for row in samples:
        frames[row["file"], row["line"]] = row["frames"]
        of_threads.setdefault((row["thread"], row["file"]), row["frames"])
    found = []
    for row in rows:
        if row["reason"] == "event-loop":
            found.append(_of_event_loop(row))
            continue
        if row["task"] is None or row["reason"] not in _HOLDS:
            continue
        where: set[Entity] = {("process", row["file"] or ""), ("task", row["task"])}
        if row["subtask"] is not None:
            where.add(("subtask", row["task"], str(row["subtask"])))
        stack = frames.get((row["file"], row["line"])) or ()
        call = client_call(stack) or row["call"]
        what = ring if (ring := row["ring"]) else f"a call of {row['system']}, {call}" if row["system"] else call
        own = _callers(stack, row["user_line"], what)
        holder = _holder(row, of_threads)
        found.append(
            Observation(
                "lock-held" if holder else "thread-waits", frozenset(where), row["since"], row["captured_at"], row["seen"] or 1,
                ", called from ".join(filter(None, (f"waiting in {what}", own))), None, row["file"], row["line"],
                who=re.sub(r"#\d+$", "", row["threads"][0]), event_line=row["line"], holder=holder,
            )
        )  # fmt: skip
    return found


def _of_event_loop(row: Row) -> Observation:
    """A call that keeps an event loop from all else that runs in it, heartbeats among it."""
    words = ", called at ".join(filter(None, (row["call"], row["user_line"])))
    return Observation(
        "event-loop-blocked", frozenset({("process", row["file"] or "")}), row["since"], row["captured_at"], row["seen"] or 1, words, None,
        row["file"], row["line"], who=row["threads"][0], event_line=row["line"],
    )  # fmt: skip


def _holder(row: Row, of_threads: Mapping[tuple[str, str | None], Sequence[str]]) -> Holder | None:
    """Who holds the lock that threads wait for, and what it is in itself; None where the dump does not show it."""
    if row["reason"] != "lock" or row["owner"] is None or row["lock"] is None:
        return None
    stack = of_threads.get((row["owner"], row["file"]))
    call = ", called from ".join(filter(None, (client_call(stack or ()) or row["owner_call"], row["owner_line"])))
    return Holder(row["lock"].rpartition(".")[2], row["owner"], call or None, row["owner_system"])


def _callers(frames: Sequence[str], innermost: str | None, shown: str) -> str | None:
    """The frames of the user's own code: the innermost with its line, unless it is `shown`, and one per class that called it."""
    if innermost is None:
        return None
    found = [] if innermost == shown else [innermost]
    classes = {innermost.partition("(")[0].rpartition(".")[0]}
    for name in frames:
        owner, method = name.split(".")[-2:]
        if is_user(name) and owner not in classes:
            classes.add(owner)
            found.append(f"{owner}.{method}")
    return ", called from ".join(found[:_MOST_CALLERS]) or None


_MOST_CALLERS = 2


def _observation(effect: str, own: Sequence[tuple[Row, Said]]) -> Observation:
    event, said = own[0]
    words = said.words if said.thrown is not None else _line_that_states(effect, event["text"] or "") or said.words
    times = sorted(each["at"] for each, _ in own if each["at"] is not None)
    lines = {(each["file"], each["line"]) for each, _ in own}
    return Observation(
        effect,
        frozenset(entity for each, _ in own for entity in entities_of(each)),
        times[0] if times else None,
        times[-1] if times else None,
        len(lines),
        words,
        said.thrown,
        event["file"],
        said.line,
        text=event["text"] or "",
        event_line=event["line"],
    )


def _line_that_states(effect: str, text: str) -> str | None:
    """Of an event of many lines without an exception the one whose words state `effect`."""
    pattern = dict(_BY_WORDS).get(effect)
    lines = text.split("\n")
    if pattern is None or len(lines) == 1 or effect == "native-crash":
        return None
    return next((" ".join(line.split()) for line in lines if pattern.search(line)), None)


def entities_of(event: Row) -> Iterator[Entity]:
    """What the event is about and who wrote it."""
    if event["file"]:
        yield "process", event["file"]
    if event["job"]:
        yield "job", event["job"]
    if event["task"]:
        yield "task", event["task"]
        if event["subtask"] is not None:
            yield "subtask", event["task"], str(event["subtask"])
    for kind, column in (("worker", "resource"), ("host", "host"), ("service", "address"), ("broker", "address"), ("group", "group")):
        if event[column]:
            yield kind, str(event[column])


def _effect(event: Row) -> str | None:
    """The effect that a line reports by itself; None where it reports none that a link could use."""
    if event["signature"] in _BY_SIGNATURE:
        return _BY_SIGNATURE[event["signature"]]
    text = event["text"] or ""
    if event["signature"] == "task-stuck-cancelling" and waits_in(text) is not None:
        return "thread-waits"
    if event["level"] is not None and event["level"] not in _LOUD and not event["chain"]:
        return None
    found = effect_of_words(text[:4000])
    return _of_server(event, text) if found is None and event["role"] in SERVERS and event["chain"] else found


def _of_server(event: Row, text: str) -> str | None:
    """What a server's own error says of its clients: that it refuses one."""
    inferred = infer(text, thread=event["thread"])
    return "login-refused" if inferred is not None and inferred.kind in ("access", "expired") else None


@lru_cache(maxsize=2048)
def effect_of_words(text: str) -> str | None:
    """The effect that the words of an error state."""
    found = next((effect for effect, words in _BY_WORDS if words.search(text)), None)
    if found is None and (slow := _SLOW.search(text)) is not None:
        unit = slow["unit"].lower()
        factor = _SECONDS["m"] if unit.startswith(("ms", "milli")) else _SECONDS["min"] if unit.startswith("min") else _SECONDS["s"]
        return "work-slow" if float(slow["amount"]) * factor >= _LONG else None
    return found
