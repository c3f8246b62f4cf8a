"""What an answer about a planned change is: the question, goes, breaks or unknown, why, and what to do first."""

from __future__ import annotations

from typing import Any

GOES, BREAKS, UNKNOWN = "goes", "breaks", "unknown"
ORDER = (BREAKS, UNKNOWN, GOES)
"""What breaks comes first."""
MOST_NAMED, MOST_KEPT = 3, 20
"""Things that a sentence names, and that a row of ``preflight`` lists."""


def answer(question: str, said: str, says: str, todo: str | None = None, **more: Any) -> dict[str, Any]:
    """Columns of a row of ``preflight``: `said` is GOES, BREAKS or UNKNOWN, `says` a sentence without its full stop."""
    return {"question": question, "answer": said, "says": says, "todo": todo, **more}


def some(names: list[str]) -> str:
    """The first of `names`, and how many more there are."""
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more


def counted(number: int, one: str, many: str | None = None) -> str:
    """``1 operator``, ``2 operators``."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
