"""Processes of Python in which diag has something done: they run its own modules, never those of the directory that it is called in.

``python -m`` looks into the working directory first: in a directory from elsewhere, a package of our name would be run.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

_SOURCE = Path(__file__).resolve().parents[2]


def command(module: str) -> tuple[str, ...]:
    """What starts ``main()`` of a module of ours."""
    return (sys.executable, "-c", f"import sys; sys.path[:] = filter(None, sys.path); from {module} import main; main()")


def environment() -> dict[str, str]:
    """That of this process, in which our packages are found wherever it was started."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [str(_SOURCE), os.environ.get("PYTHONPATH")]))}
