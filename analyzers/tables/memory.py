"""Many rows are made without Python's search for cycles among them."""

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
