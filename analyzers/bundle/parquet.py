"""Tables above the row limit as Parquet: a tenth of the size, and read by column.

They are written here. What others wrote is read in a process of its own (`parquet_worker`), started when the first one is met and kept for
the next: pyarrow parses in C++, and a file of some hundred bytes can end the process that does, or make it take gigabytes.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from analyzers.bundle import own_process
from analyzers.bundle.encoding import decoded, storable
from analyzers.bundle.packed import TooMuch
from analyzers.bundle.room import MOST_ROW_BYTES, Room
from analyzers.tables import Row, Table
from analyzers.tables.arrow import arrow

WORKER = "analyzers.bundle.parquet_worker"
SECONDS_A_FILE = 60.0
"""Without one more row: the largest file that there is room for is read in a few seconds."""
_AT_ONCE = 1 << 20


class Lost(Exception):
    """The process that read a file ended, or was ended, before it had; the message is a clause about the file."""


def write(path: Path, table: Table, rows: Sequence[Row]) -> None:
    """`rows` (validated) to `path`."""
    import pyarrow.parquet as pq

    pq.write_table(arrow(table, rows, storable), path, compression="zstd")


def read(path: Path, table: Table, room: Room, most_rows: int) -> list[Row]:
    """The rows of `path`; columns that this diag does not declare are dropped. Raises ``ValueError`` when the file is damaged, `TooMuch`
    where there is no `room` for what it holds, or it has more than `most_rows`, `Lost` where it ended the process that read it."""
    rows: list[Row] = []
    for line in _READER.lines(path, table.name, most_rows, *room.left):
        if line[:1] == b"=":
            end = json.loads(line[1:])
            if "refused" in end:
                raise TooMuch(end["refused"])
            if "damaged" in end:
                raise ValueError(end["damaged"])
            return rows
        if len(rows) >= most_rows:
            raise ValueError(f"has more rows than the {most_rows} of its manifest")
        room.line(len(line))
        rows.append(decoded(table, json.loads(line)))
        room.within(rows[-1])
    raise AssertionError("an answer ends with a line that says so, or raises")


class Reader:
    """One process of `parquet_worker`, which is replaced when a file ends it."""

    def __init__(self, command: Sequence[str] = own_process.command(WORKER), seconds: float = SECONDS_A_FILE) -> None:
        self._command, self._seconds = command, seconds
        self._process: subprocess.Popen[bytes] | None = None
        self._mine = os.getpid()
        self._one_at_a_time = threading.Lock()

    def lines(self, path: Path, table: str, most_rows: int, most_values: int, most_bytes: int) -> Iterator[bytes]:
        """The lines of the answer about the file at `path`. Raises `Lost`."""
        asked = {"path": str(path.resolve()), "table": table, "most_rows": most_rows, "most_values": most_values, "most_bytes": most_bytes}
        with self._one_at_a_time:
            whole = False
            process = self._started()
            try:
                try:
                    assert process.stdin is not None
                    process.stdin.write(json.dumps(asked).encode() + b"\n")
                    process.stdin.flush()
                except OSError:
                    raise Lost(self._ending(process)) from None
                for line in self._answers(process):
                    whole = line[:1] == b"="
                    yield line
                    if whole:
                        whole = not json.loads(line[1:])["last"]
                        return
            finally:
                if not whole:  # what is left of the answer is nobody's, or the process has used itself up
                    self.close()

    def _answers(self, process: subprocess.Popen[bytes]) -> Iterator[bytes]:
        assert process.stdout is not None
        held, until = b"", time.monotonic() + self._seconds
        while True:
            if not select.select([process.stdout], [], [], max(0.0, until - time.monotonic()))[0]:
                raise Lost(f"was not read in {self._seconds:.0f} s: its reading was stopped")
            piece = os.read(process.stdout.fileno(), _AT_ONCE)
            if not piece:
                raise Lost(self._ending(process))
            *whole, held = (held + piece).split(b"\n")
            if len(held) > MOST_ROW_BYTES:
                raise TooMuch(f"has a row of more than {MOST_ROW_BYTES >> 20} MB")
            if whole:
                until = time.monotonic() + self._seconds
            yield from whole

    def _started(self) -> subprocess.Popen[bytes]:
        """The process; never that of a parent which this one was forked from."""
        if self._process is None or self._mine != os.getpid() or self._process.poll() is not None:
            self._mine = os.getpid()
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=own_process.environment(),
            )
        return self._process

    def _ending(self, process: subprocess.Popen[bytes]) -> str:
        code = process.wait(10)
        if code == -signal.SIGXCPU:
            return "takes more time to read than its size accounts for: its reading was stopped"
        how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        return f"ended the process that read it ({how}), as a file made to do harm does, or a host without memory"

    def close(self) -> None:
        """End the process; the next file starts another."""
        process, self._process = self._process, None
        if process is not None and self._mine == os.getpid():
            process.kill()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    with suppress(OSError):
                        pipe.close()
            process.wait()


_READER = Reader()
"""Of this process; `Reader` takes another command, which is how a process that dies is tested."""
