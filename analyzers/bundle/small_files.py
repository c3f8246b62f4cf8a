"""Small files that an option names: properties, keys, certificates. One may be a pipe (``<(vault read …)``); none holds the run up."""

from __future__ import annotations

import os
import select
import stat
import time
from pathlib import Path

from analyzers.budget import BUDGET

MOST_BYTES = BUDGET.option_file_bytes
PIPE_SECONDS = BUDGET.option_pipe_seconds
_PIECE = 64 << 10


def small_file(path: Path, most: int = MOST_BYTES, seconds: float | None = None) -> bytes:
    """What `path` holds: a file, or a pipe whose writer is done within `seconds` (None: PIPE_SECONDS).

    Raises ``OSError``; its ``strerror`` is a clause about the path, also for what has more than `most` bytes.
    """
    seconds = PIPE_SECONDS if seconds is None else seconds
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # else a pipe without a writer is waited for
    try:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise IsADirectoryError(0, "it is a directory", str(path))
        held = bytearray()
        until = time.monotonic() + seconds
        while len(held) <= most:
            if not select.select([descriptor], [], [], max(0.0, until - time.monotonic()))[0]:
                raise TimeoutError(0, f"it gave nothing within {seconds:g} s", str(path))
            piece = os.read(descriptor, _PIECE)
            if not piece:
                return bytes(held)
            held += piece
    finally:
        os.close(descriptor)
    raise OSError(0, f"it is larger than {most >> 10:,} kB", str(path))


def no_pipe(path: str) -> str | None:
    """Why a library should not be given `path` to read by itself, in a clause; None where it may, and for what is not there."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    if stat.S_ISDIR(status.st_mode):  # of certificates; where it may not be one, whoever opens it says so
        return None
    if not stat.S_ISREG(status.st_mode):
        return "is not a regular file"
    return f"is larger than {16 * MOST_BYTES >> 20} MB" if status.st_size > 16 * MOST_BYTES else None
