"""Makes a JVM ready for the next command and becomes its holder; `waiting.Next` starts it, and it begins when that command has ended."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import sys
import time
from pathlib import Path

from cli.engine.spark import Engine
from cli.engine.waiting import LOCK
from cli.engine.warming import warm

HOLDER = Path(__file__).with_name("holder.py")


def keep(directory: Path, key: str, master: str, memory: str, idle: float) -> None:
    """Returns only where another one has or makes a JVM already."""
    lock = os.open(directory / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return
    os.ftruncate(lock, 0)
    os.write(lock, str(os.getpid()).encode())
    engine = _started(master, memory)
    warm(engine.session())
    handed = engine.hand_on()
    now = time.time()
    order = {
        "directory": str(directory),
        "record": {"key": key, "java": handed.java, "since": now, "ends": now + idle},
        "stdin": handed.stdin,
        "status": handed.status,
        "given": handed.given,
    }
    for descriptor in (lock, handed.stdin, handed.status):
        os.set_inheritable(descriptor, True)
    reads, writes = os.pipe()
    os.write(writes, json.dumps(order).encode())  # not as an argument: the secret is in it, and others see those
    os.dup2(reads, 0)
    os.execv(sys.executable, [sys.executable, "-I", "-S", str(HOLDER)])


def _started(master: str, memory: str) -> Engine:
    """Spark, which ends and clears up when this process is asked to end; while it is spawned that waits."""
    asked: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: asked.append(number))
    engine = Engine.start(master, memory=memory, to_hand_on=True)
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    if asked:
        sys.exit(128 + asked[0])
    return engine


def main() -> None:
    order = json.loads(sys.stdin.readline())
    sys.stdin.read()  # until the command has ended: it must not wait for a CPU because of the next one
    keep(Path(order.pop("directory")), **order)
