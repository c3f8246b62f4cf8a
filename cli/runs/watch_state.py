"""The state file of `diag watch`: held by one process at a time, written whole or not at all; a damaged one is moved aside. Its directory
is made where there is none, for its owner's eyes only."""

from __future__ import annotations

import fcntl
import json
import os
import secrets
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path

from analyzers.budget import BUDGET
from analyzers.bundle.small_files import small_file
from analyzers.watching.state import NotAState, State, restored, saved
from cli.shell.exits import CannotLook

_MODE = 0o600


class StateFile:
    """What a watch remembers, in `path`; None: in memory alone. `clock` never jumps, `wall` is seconds since 1970.

    Raises `CannotLook` where another watch has it, or it can be neither read nor written.
    """

    def __init__(self, path: Path | None, clock: Callable[[], float], wall: Callable[[], float]) -> None:
        self._path, self._clock, self._wall = path, clock, wall
        self._lock: int | None = None
        self.remarks: list[str] = []
        if path is not None:
            self._hold(path)

    def close(self) -> None:
        """Let another watch have it."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def load(self) -> State:
        """What was remembered; a new state where there is none. What cannot be used is moved aside, and `remarks` say so."""
        fresh = State(drawn=secrets.token_hex(4))
        if self._path is None or not os.path.lexists(self._path):
            return fresh
        try:
            said = json.loads(small_file(self._path, BUDGET.baseline_bytes))
            away = self._wall() - float(said["saved_at"]) if isinstance(said, dict) else 0.0
            return restored(said, self._clock(), away)
        except OSError as error:
            why = error.strerror or str(error)
            raise CannotLook(f"--state: {self._path} cannot be read: {why}", "Look at its permissions, or name another file.") from error
        except NotAState as error:
            why = str(error)
        except (ValueError, KeyError, TypeError, RecursionError):
            why = "it is damaged"
        aside = self._path.with_name(f"{self._path.name}.aside-{datetime.fromtimestamp(self._wall(), timezone.utc):%Y%m%dT%H%M%SZ}")
        try:
            os.replace(self._path, aside)
        except OSError as error:
            raise CannotLook(f"--state: {self._path}: {why}; it cannot be moved aside: {error.strerror or error}") from error
        self.remarks.append(
            f"--state: {self._path}: {why}. It was moved to {aside}, and the watch begins anew: "
            "what is open is reported again, and messages that waited there were not sent"
        )
        return fresh

    def save(self, state: State) -> None:
        """Raises `CannotLook`; then the file is as it was."""
        if self._path is None:
            return
        content = json.dumps({**saved(state, self._clock()), "saved_at": self._wall()}, ensure_ascii=False).encode(
            "utf-8", "backslashreplace"
        )
        part = self._path.with_name(f"{self._path.name}.part")  # one name: what a killed watch left is written over
        try:
            descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, _MODE)
            with open(descriptor, "wb") as file:
                os.fchmod(descriptor, _MODE)
                file.write(content)
                file.flush()
                os.fsync(descriptor)
            os.replace(part, self._path)
        except OSError as error:
            why = error.strerror or error
            raise CannotLook(
                f"--state: cannot write {self._path}: {why}", "Free some space or name another file; until then a restart repeats messages."
            ) from error

    def _hold(self, path: Path) -> None:
        if path.is_dir():
            raise CannotLook(f"--state: {path} is a directory", "Name a file: --state /var/lib/diag/orders.json")
        lock = path.with_name(f"{path.name}.lock")
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._lock = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, _MODE)
        except OSError as error:
            why = error.strerror or error
            raise CannotLook(f"--state: cannot write beside {path}: {why}", "Name a file in a directory that is yours.") from error
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self.close()
            raise CannotLook(f"--state: another diag watch uses {path}", "End it, or give this one a file of its own.") from error
