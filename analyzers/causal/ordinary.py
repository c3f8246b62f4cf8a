"""Lines that sound like trouble and that healthy jobs print, too: `ordinary.tsv`, read from the recordings of healthy jobs.

It is written by ``python -m fixtures.lab.ordinary``.
"""

from __future__ import annotations

import re
from functools import cache
from importlib import resources
from pathlib import Path

from analyzers.derived.failures.log_messages import message
from analyzers.logs.scan.selection import mask
from analyzers.tables import Row

FILE = Path(__file__).with_name("ordinary.tsv")
_NAME = re.compile(r"\S*[\d#./_@\-:=\[\]{}()<>'\"]\S*|\b\w*[a-z][A-Z]\w*\b")
"""What differs from job to job."""
_LONGEST = 80
_SHAPE = 160


def shape_of(row: Row) -> str:
    """The words of a line without its time and numbers; of an exception those of its root."""
    if row.get("root_message"):
        return mask(f"{row['root_exception']}: {row['root_message']}")[:_SHAPE]
    return mask(message(row))[:_SHAPE]


def key_of(row: Row) -> tuple[str, str]:
    """The class that logs a line, and its words without any name."""
    return (row["logger"] or "").rpartition(".")[2], " ".join(_NAME.sub("#", shape_of(row)).split())[:_LONGEST]


@cache
def _known() -> frozenset[tuple[str, str]]:
    lines = resources.files("analyzers.causal").joinpath(FILE.name).read_text(encoding="utf-8").splitlines()
    return frozenset((logger, words) for logger, _, words in (line.partition("\t") for line in lines))


def is_ordinary(row: Row) -> bool:
    """Whether healthy jobs print such a line."""
    return row["level"] is not None and key_of(row) in _known()
