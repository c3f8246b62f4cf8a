"""The tables of this room, read once: each is a file that can be read aloud."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from analyzers.components.toml_files import toml_file


@cache
def table(name: str) -> Mapping[str, Any]:
    """A table of this room: kinds, phases, decisions."""
    return toml_file(__package__ or "analyzers.inference", f"{name}.toml")
