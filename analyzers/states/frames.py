"""Whose code a frame of a stack is, and what a thread waits for there."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from analyzers.components import Component, component_of, is_user
from analyzers.logs.matching.expressions import expression

_JDK = expression(r"(?:java|javax|jdk|sun|com\.sun)\.")
CALLED = frozenset({"service", "storage", "cloud", "disk", "kafka", "state", "ha"})
"""Roles of what a thread can call and wait for."""

_SOCKET = expression(
    r"(?:java\.net\.(?:SocketInputStream|Socket\$SocketInputStream)\.(?:socketRead0?|read)|sun\.nio\.ch\.(?:NioSocketImpl\.(?:\w*[rR]ead|park)"
    r"|SocketChannelImpl\.(?:\w*[rR]ead|write)|SocketDispatcher\.(?:read|write)0?|Net\.poll|FileDispatcherImpl\.read0|SocketDispatcher\.read)"
    r"|java\.net\.SocketOutputStream\.socketWrite0?|sun\.security\.ssl\.SSLSocketInputRecord\.)"
)
_CONNECT = expression(
    r"(?:java\.net\.PlainSocketImpl\.socketConnect|sun\.nio\.ch\.Net\.(?:connect0?|pollConnect\w*)|java\.net\.Socket\.connect"
    r"|sun\.nio\.ch\.NioSocketImpl\.(?:timedFinishC|c)onnect)"
)
_RESOLVE = expression(r"java\.net\.(?:Inet\w*AddressImpl\.lookupAllHostAddr|InetAddress\.getAll\w*)")
_SELECT = expression(
    r"(?:[\w.]*\.)?(?:sun\.nio\.ch\.(?:EPoll\.wait|EPollArrayWrapper\.epollWait|KQueue\.poll|WEPoll\.wait|SelectorImpl\.select"
    r"|Iocp|PollArrayWrapper)|netty\.channel\.epoll\.Native\.epollWait|netty\.channel\.kqueue)"
)
_SLEEP = expression(r"java\.lang\.Thread\.sleep|java\.util\.concurrent\.TimeUnit\.sleep")
_QUEUE = expression(
    r"java\.util\.concurrent\.(?:\w*(?:Queue|Deque)(?:\$\w+)?\.(?:take|poll\w*|remove)|ForkJoinPool\.(?:runWorker|awaitWork|scan|await\w+)"
    r"|ThreadPoolExecutor\.getTask|ScheduledThreadPoolExecutor\$\w+\.(?:take|poll)|Exchanger|DelayQueue)|java\.util\.TimerThread\."
    r"|java\.lang\.ref\.ReferenceQueue\."
)
_FULL = expression(r"java\.util\.concurrent\.\w*(?:Queue|Deque)\.(?:put|offer|transfer)\w*$")
_LATER = expression(
    r"java\.util\.concurrent\.(?:CompletableFuture\.(?:get|join|\w*[gG]et)|FutureTask\.(?:get|awaitDone)|CountDownLatch\.await|Semaphore\.\w*cquire\w*"
    r"|CyclicBarrier\.\w*await|Phaser\.)|(?:[\w.]*\.)?(?:AbstractFuture|DefaultPromise|Future\w*)\.(?:get\w*|await\w*|sync\w*)$"
)
_LOCK = expression(
    r"java\.util\.concurrent\.locks\.(?:ReentrantLock|ReentrantReadWriteLock|StampedLock|AbstractQueuedSynchronizer)[\w$]*\.(?:lock|acquire)\w*"
)
_MONITOR_WAIT = expression(r"java\.lang\.Object\.wait")
_PROCESS = expression(r"java\.lang\.Process\w*\.waitFor")
_IDLE = expression(
    r"org\.apache\.flink\.streaming\.runtime\.tasks\.mailbox\.TaskMailboxImpl\.take|org\.apache\.kafka\.clients\.consumer\.[\w.$]*\.poll\w*$"
    r"|org\.apache\.kafka\.clients\.consumer\.internals\.\w+\.(?:poll|awaitFetch|run\w*)|org\.apache\.spark\.sql\.execution\.streaming\.\w*Trigger\w*\."
    r"|org\.apache\.flink\.connector\.base\.source\.reader\.\w*\.?(?:FutureCompletingBlockingQueue|fetcher\.FetchTask)"
    r"|org\.apache\.flink\.runtime\.io\.network\.partition\.consumer\.|(?:[\w.]*\.)?nio\.NioEventLoop\.select"
)
"""Waiting for work."""
_VICTIM = expression(
    r"org\.apache\.flink\.runtime\.io\.network\.(?:buffer\.LocalBufferPool\.request|api\.writer\.|partition\.\w+ResultPartition\.)"
    r"|org\.apache\.flink\.connector\.base\.source\.reader\.synchronization\.FutureCompletingBlockingQueue\.(?:put|waitOnPut)"
)
"""Waiting for downstream: what is behind is slow."""


class Frame(NamedTuple):
    """``class.method`` and ``File.java:12``, null where it is not printed."""

    name: str
    place: str | None

    @property
    def shown(self) -> str:
        short = ".".join(self.name.split(".")[-2:])
        return f"{short}({self.place})" if self.place else short


class Waits(NamedTuple):
    """What a thread does. `kind`: socket, connect, resolve, lock, future, full, wait, sleep, process, idle, downstream, running."""

    kind: str
    call: Frame | None
    """The innermost frame that is not of the JDK."""
    system: str | None
    """What is behind that call, as far as the packages between the JDK and the user's code show it."""
    user: Frame | None
    """The innermost frame that belongs neither to the JDK nor to an engine or a library."""


def system_of(frame: str) -> str | None:
    """The system whose client has this frame (PostgreSQL, Redis, HTTP), None if it is no known client's."""
    found = _system(frame)
    return found.called if found is not None else None


def _system(frame: str) -> Component | None:
    found = component_of(frame)
    return found if found is not None and found.role in CALLED and found.called else None


def waits(frames: Sequence[Frame], state: str | None, *, on_lock: bool = False) -> Waits:
    """What a thread with these frames, innermost first, does."""
    inner = next((at for at, frame in enumerate(frames) if not _JDK.match(frame.name)), len(frames))
    at_user = next((at for at, frame in enumerate(frames) if is_user(frame.name)), None)
    call = frames[inner] if inner < len(frames) else None
    between = frames[inner : len(frames) if at_user is None else at_user]
    # the outermost client is the system that the code calls: Elasticsearch, not the HTTP below it
    systems = [found for frame in between if (found := _system(frame.name)) is not None]
    named = [found for found in systems if not found.vague] or systems
    system = named[-1].called if named else None
    kind = _kind(frames[:inner], between, state, on_lock)
    return Waits(kind, call, system, None if at_user is None else frames[at_user])


def _kind(jdk: Sequence[Frame], between: Sequence[Frame], state: str | None, on_lock: bool) -> str:
    if any(_VICTIM.match(frame.name) for frame in between):
        return "downstream"
    if state == "BLOCKED":
        return "lock"
    if any(_IDLE.match(frame.name) for frame in between):
        return "idle"
    for kind, sign in _KINDS:
        if any(sign.match(frame.name) for frame in (*jdk, *between[:3])):
            return kind
    if on_lock and state in ("WAITING", "TIMED_WAITING"):
        return "wait"
    return "idle" if state in ("WAITING", "TIMED_WAITING") else "running"


_KINDS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("idle", _QUEUE), ("connect", _CONNECT), ("resolve", _RESOLVE), ("idle", _SELECT), ("socket", _SOCKET), ("sleep", _SLEEP),
    ("full", _FULL), ("future", _LATER), ("lock", _LOCK), ("process", _PROCESS), ("wait", _MONITOR_WAIT),
)  # fmt: skip
