"""Slices of files that many jobs share: what one job has of such a file, cut out on the driver and laid out where it is judged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from analyzers.bundle.held import held_directory, release


@dataclass(frozen=True)
class Slice:
    """`name`: how evidence calls it, ``FILE!JOB``; `text`: what stands in it; `ending`: that of a file which holds such a text."""

    name: str
    text: str
    ending: str = "json"


@contextmanager
def laid_out(slices: Sequence[Slice]) -> Iterator[dict[str, str]]:
    """Files that hold `slices` while the block runs, in their order: path and name of each."""
    if not slices:
        yield {}
        return
    folder = held_directory("slices")
    try:
        made = {}
        for number, each in enumerate(slices):
            path = folder / f"{number}.{each.ending}"
            path.write_text(each.text, encoding="utf-8")
            made[str(path)] = each.name
        yield made
    finally:
        release(folder)
