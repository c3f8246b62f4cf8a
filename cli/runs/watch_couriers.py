"""Threads that deliver, one for each receiver: a receiver that is slow holds up neither looks nor other receivers."""

from __future__ import annotations

import threading
from collections.abc import Callable

_END_SECONDS = 2.0
"""At the end for deliveries that are on their way: what is not known to be delivered is delivered again."""


class Couriers:
    """One thread at most for each receiver, so that it gets its messages in order. `lock` is that of the messages: a thread that has seen
    under it that nothing is due any more has left, and what is added later is for the next one. `woken` is set whenever one ends."""

    def __init__(self, lock: threading.RLock) -> None:
        self.woken = threading.Event()
        self.ended = False
        self._lock = lock
        self._busy: dict[str, threading.Thread] = {}

    def send(self, key: str, deliver: Callable[[], None]) -> None:
        """Have `deliver` called for the receiver `key`, unless that has a thread already, which then takes what is new."""

        def run() -> None:
            try:
                deliver()
            finally:
                self.leave(key)
                self.woken.set()

        with self._lock:
            if self.ended or key in self._busy:
                return
            thread = self._busy[key] = threading.Thread(target=run, name="diag-deliver", daemon=True)
            thread.start()

    def leave(self, key: str) -> None:
        """The thread of the receiver `key`, which calls this, looks for no more."""
        with self._lock:
            if self._busy.get(key) is threading.current_thread():
                del self._busy[key]

    def settle(self, seconds: float | None = None) -> None:
        """Wait until no delivery is on its way, each for so long at most."""
        with self._lock:
            threads = list(self._busy.values())
        for thread in threads:
            thread.join(seconds)

    def end(self) -> None:
        """From now on none is sent, and none that comes back late may note anything."""
        self.settle(_END_SECONDS)
        with self._lock:
            self.ended = True
