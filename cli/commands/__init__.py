"""One file per command: parse options, one call, no logic."""

from __future__ import annotations

import importlib
import pkgutil

import typer

_IN_HELP = (
    "triage",
    "watch",
    "fleet",
    "diff",
    "broker_health",
    "lag_report",
    "checkpoint_inspect",
    "preflight",
    "collect",
    "rules",
    "explain",
    "schema",
    "mcp",
    "demo",
    "doctor",
)
"""Order of the help: what one types first in an incident comes first; others follow by name."""


def register_all(app: typer.Typer) -> None:
    """Every module of this package that has a ``register(app)`` is a command."""
    names = {module.name for module in pkgutil.iter_modules(__path__)}
    for name in sorted(names, key=lambda n: (_IN_HELP.index(n) if n in _IN_HELP else len(_IN_HELP), n)):
        register = getattr(importlib.import_module(f"{__name__}.{name}"), "register", None)
        if register is not None:
            register(app)
