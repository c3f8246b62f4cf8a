"""Python's search for cycles, which has nothing to find among many rows."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


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
def gc_frozen() -> Iterator[None]:
    """Rows that are there now are not searched: a search takes milliseconds then, and up to a second less where there are many rows."""
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
