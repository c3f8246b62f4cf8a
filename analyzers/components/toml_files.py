"""TOML: tables that lie beside the modules that read them (package data, found also where the package is a zip file), and texts."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from importlib import resources
from typing import Any


def toml_file(package: str, name: str) -> Mapping[str, Any]:
    """The file `name` of `package`."""
    return parsed(resources.files(package).joinpath(name).read_text(encoding="utf-8"))


def parsed(text: str) -> Mapping[str, Any]:
    """What `text` says. Raises ``ValueError``."""
    try:
        reader = importlib.import_module("tomllib")
    except ImportError:  # Python 3.10
        reader = importlib.import_module("tomli")
    found: Mapping[str, Any] = reader.loads(text)
    return found
