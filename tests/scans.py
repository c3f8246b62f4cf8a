"""Scans of bundles are kept from run to run: a bundle is read again when a file of it, or the code that reads it, has changed."""

from __future__ import annotations

import hashlib
import os
import pickle
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
KEPT = ROOT / ".pytest_cache" / "scans"
READ_BY = ("budget", "secrets", "tables", "forecast", "checkpoints", "logs", "bundle", "readers", "components", "states")
"""The rooms of `analyzers/` that turn bytes into rows: what stands above `derived/` in the list of rooms."""
_VERSIONS = 3  # of the code whose scans are kept: enough to go from one branch to another and back


@lru_cache
def version() -> str:
    """A digest of all code that makes rows of bytes, and of the versions of what it is made with."""
    sources = sorted(
        path for room in READ_BY for path in (ROOT / "analyzers" / room).rglob("*") if path.suffix in (".py", ".json", ".toml")
    )
    made_with = (sys.version, os.environ.get("TZ", ""), (ROOT / "requirements" / "run.txt").read_text())
    digest = hashlib.blake2b(repr(made_with).encode(), digest_size=16)
    for path in (Path(__file__), *sources):
        digest.update(f"{path.relative_to(ROOT)}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()


def content(files: Iterable[Path]) -> str:
    """A digest of `files`: where they are, what is in them, and when they were changed, which dates lines that have no year."""
    digest = hashlib.blake2b(digest_size=16)
    for path in sorted(files):
        if path.is_file():
            digest.update(f"{path}\0{path.stat().st_mtime_ns}\0".encode() + hashlib.blake2b(path.read_bytes()).digest())
    return digest.hexdigest()


def kept(folder: Path, make: Callable[[], Any], *more: object) -> Any:
    """What `make` gives of the files below `folder`; `more`: what else it depends on. Each call gives an object of its own."""
    name = hashlib.blake2b(repr((content(folder.rglob("*")), *more)).encode(), digest_size=16).hexdigest()
    place = _of_this_version() / name
    with suppress(OSError, EOFError, pickle.UnpicklingError):
        return pickle.loads(place.read_bytes())
    made = make()
    with suppress(OSError), tempfile.NamedTemporaryFile(dir=place.parent, delete=False) as file:  # two processes may write at once
        file.write(pickle.dumps(made, pickle.HIGHEST_PROTOCOL))
        os.replace(file.name, place)
    return made


@lru_cache
def _of_this_version() -> Path:
    mine = KEPT / version()
    mine.mkdir(parents=True, exist_ok=True)
    os.utime(mine)
    newest = sorted(KEPT.iterdir(), key=lambda each: each.stat().st_mtime, reverse=True)
    for old in newest[_VERSIONS:]:
        shutil.rmtree(old, ignore_errors=True)
    return mine
