"""The version of this diag."""

from __future__ import annotations

from importlib import metadata


def version() -> str:
    """Version of the installed distribution; ``0+unknown`` in a plain checkout without one."""
    try:
        return metadata.version("streamdiag")
    except metadata.PackageNotFoundError:
        return "0+unknown"
