"""The version of this diag."""

from __future__ import annotations


def version() -> str:
    """Version of the installed distribution; ``0+unknown`` in a plain checkout without one."""
    from importlib import metadata  # with its parser of e-mails a fifth of the time of --help

    try:
        return metadata.version("streamdiag")
    except metadata.PackageNotFoundError:
        return "0+unknown"
