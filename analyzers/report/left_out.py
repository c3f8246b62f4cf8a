"""Notes of a report on what the options of its run left out: they are shown wherever a verdict or an all-clear is."""

from __future__ import annotations

BY = " left out by "
NOTHING = " leaves out nothing"


def is_of_left_out(note: str) -> bool:
    """Whether `note` says what was left out, or that an entry which should have has expired."""
    return BY in note or NOTHING in note
