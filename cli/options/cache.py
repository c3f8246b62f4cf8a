"""The scan cache: where it is, and the option that leaves it alone."""

from __future__ import annotations

import os
from typing import Annotated

import typer

SWITCH = "DIAG_NO_CACHE"

NoCache = Annotated[
    bool,
    typer.Option("--no-cache", envvar=SWITCH, help="Keep nothing of large logs for the next run, and use nothing kept."),
]


def scan_cache(*, off: bool) -> str | None:
    """Its directory, which may not exist; None where there is to be none.

    None as well where whoever started this process named the only places that it may open.
    """
    from analyzers.bundle.confined import is_confined
    from cli.engine.class_archive import cache_directory

    if off or is_confined():
        return None
    try:
        return os.fspath(cache_directory() / "scans")
    except RuntimeError:  # no home directory
        return None
