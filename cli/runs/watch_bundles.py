"""The bundles that a watch saves when a finding opens: so many at most, and so many bytes; the oldest go first."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from analyzers.tables.evidence import Evidence
from cli.options.shared import RunOptions
from cli.runs.evidence import save
from cli.shell.exits import CannotLook

MOST_BUNDLES = 20
MOST_BYTES = 1 << 30
_OURS = re.compile(r"watch-\d{8}T\d{6}Z-[A-Z]{3,8}\d{2,4}\.tar\.gz")


def directory(place: Path) -> None:
    """Makes it, for its owner's eyes only. Raises `CannotLook`."""
    try:
        place.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise CannotLook(f"--save-dir: cannot write to {place}: {error.strerror or error}", "Name another directory.") from error


def save_opening(
    place: Path, found: Evidence, codes: Sequence[str], at: datetime, options: RunOptions, version: str
) -> tuple[Path, list[str]]:
    """The bundle of a look in which `codes` opened, and sentences on what was removed to make room.

    Raises `CannotLook` and `UsageError`.
    """
    path = place / f"watch-{at:%Y%m%dT%H%M%SZ}-{codes[0]}.tar.gz"
    save(replace(options, save=path), found, version)
    return path, _make_room(place, path)


def _make_room(place: Path, newest: Path) -> list[str]:
    try:
        ours = sorted((each for each in place.iterdir() if _OURS.fullmatch(each.name) and each != newest), reverse=True)
        size, gone = newest.stat().st_size, 0
        for number, each in enumerate(ours, 2):
            size += each.stat().st_size
            if number > MOST_BUNDLES or size > MOST_BYTES:
                each.unlink()
                gone += 1
    except OSError as error:
        return [f"--save-dir: old bundles in {place} cannot be removed: {error.strerror or error}"]
    return [f"--save-dir: the oldest {gone} of {len(ours) + 1} bundles were removed (at most {MOST_BUNDLES}, and 1 GiB)"] if gone else []
