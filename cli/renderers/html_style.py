"""How the page looks, the few lines of script behind its buttons, and the policy that lets a browser run nothing else."""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files


def _read(name: str) -> str:
    return (files(__package__) / name).read_text(encoding="utf-8")


def _hash(words: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(words.encode()).digest()).decode()}'"


STYLE = _read("page.css")
SCRIPT = _read("page.js")
POLICY = f"default-src 'none'; img-src data:; style-src {_hash(STYLE)}; script-src {_hash(SCRIPT)}; base-uri 'none'; form-action 'none'"
"""Nothing is loaded; a ``data:`` icon keeps browsers from asking for one."""
