"""Answers in JSON, of a server or of files: parsed while there is room for what they hold."""

from __future__ import annotations

import json
from typing import Any

MOST_BYTES = 48 << 20
"""Of one answer; the thread dump of a large TaskManager is a few megabytes."""
MOST_VALUES = 1_000_000
"""Of one answer: each costs 50 to 100 bytes, even an empty list, of which 48 MB of JSON hold 16 million. 5,000 subtasks need 300,000."""
MOST_OF_ALL = (256 << 20, 8 * MOST_VALUES)
"""Bytes and values of all answers of a run together."""


class Appetite:
    """How much JSON a run still takes in, whoever sends it."""

    def __init__(self) -> None:
        self._bytes, self._values = MOST_OF_ALL

    def parsed(self, content: bytes) -> Any:
        """The value that `content` is. Raises ``ValueError`` and ``RecursionError`` for what is no JSON, `TooMuchJson`."""
        values = content.count(b",") + content.count(b"[") + content.count(b"{")
        self._bytes -= len(content)
        self._values -= values
        if values > MOST_VALUES:
            raise TooMuchJson(f"the answer holds more than {MOST_VALUES:,} values and was not read")
        if self._bytes < 0 or self._values < 0:
            raise TooMuchJson("the answers before it were so large that it was not read")
        return json.loads(content)


class TooMuchJson(Exception):
    """An answer that would take too much memory; the message is a clause about it."""
