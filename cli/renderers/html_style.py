"""How the page looks, the few lines of script behind its buttons, and the policy that lets a browser run nothing else."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files


def _read(name: str) -> str:
    return (files(__package__) / name).read_text(encoding="utf-8")


def _hash(words: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(words.encode()).digest()).decode()}'"


STYLE = _read("page.css")
SCRIPT = _read("page.js")


@cache
def dressed(more: str | None = None) -> tuple[str, str, str]:
    """Style, script and policy of a page; `more` names files that a page of this kind has beside. Nothing is loaded; a ``data:`` icon keeps
    browsers from asking for one."""
    styles, script = (STYLE, SCRIPT) if more is None else (STYLE + _read(f"{more}.css"), SCRIPT + _read(f"{more}.js"))
    policy = (
        f"default-src 'none'; img-src data:; style-src {_hash(styles)}; script-src {_hash(script)}; base-uri 'none'; form-action 'none'"
    )
    return styles, script, policy
