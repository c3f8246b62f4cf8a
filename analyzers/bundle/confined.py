"""The only places whose files this process may open, where whoever started it named them (`diag mcp --allow-path`).

Paths come of arguments, of symbolic links below them, and of what a checkpoint or a manifest states: each is resolved, links and ``..``,
and held against the list before it is opened or listed. Without a list every path is one that the user named.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable

from analyzers.bundle.held import is_held

OUTSIDE = "lies outside of what this diag may open (--allow-path)"
_roots: tuple[str, ...] | None = None


def confine(roots: Iterable[str] | None) -> None:
    """From now on open nothing but what lies at or below `roots`, and what diag itself put aside; None: anything."""
    global _roots
    _roots = None if roots is None else tuple(os.path.realpath(root) for root in roots)


def is_confined() -> bool:
    """Whether there is a list."""
    return _roots is not None


def is_outside(path: str | os.PathLike[str], *, aside: bool = True) -> bool:
    """Whether `path` may not be opened, wherever it leads; `aside`: what diag itself put aside may."""
    if _roots is None:
        return False
    try:
        real = os.path.realpath(path)
    except (OSError, ValueError):  # a zero byte within it
        return True
    return not any(_is_below(real, root) for root in _roots) and not (aside and is_held(real))


def refuse_outside(path: str | os.PathLike[str]) -> None:
    """Raises ``PermissionError`` for a path that may not be opened; its ``strerror`` is a clause about it."""
    if is_outside(path):
        raise PermissionError(errno.EACCES, OUTSIDE, os.fspath(path))


def _is_below(real: str, root: str) -> bool:
    return real == root or real.startswith(root.rstrip(os.sep) + os.sep)
