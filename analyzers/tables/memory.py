"""Many rows: made without Python's search for cycles among them, and their room given back."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Iterator
from contextlib import contextmanager, suppress


@contextmanager
def gc_paused() -> Iterator[None]:
    """No search for cycles: rows, and what becomes rows, have none, and while a hundred thousand are made it would walk through all of them
    often (a third of the time of a scan where many lines hit)."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


@contextmanager
def set_aside() -> Iterator[None]:
    """What is there now is not looked through for cycles: a search (`gc.collect`) takes milliseconds then, not a tenth of a second."""
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def give_back() -> None:
    """Returns free memory to the system, for the JVM beside this process: glibc keeps what other threads than the first had,
    to give it to them again. Elsewhere nothing happens."""
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)
