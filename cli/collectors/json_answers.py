"""Answers in JSON, of a server or of files: parsed while there is room for what they hold."""

from __future__ import annotations

import json
from typing import Any

from analyzers.budget import BUDGET, Budget

MOST_BYTES = BUDGET.answer_bytes


class Appetite:
    """How much JSON a run still takes in, whoever sends it."""

    def __init__(self, budget: Budget | None = None) -> None:
        budget = budget or BUDGET
        self._most = budget.answer_values
        self._bytes, self._values = budget.answers_bytes, budget.answers_values

    def parsed(self, content: bytes) -> Any:
        """The value that `content` is. Raises ``ValueError`` and ``RecursionError`` for what is no JSON, `TooMuchJson`."""
        values = content.count(b",") + content.count(b"[") + content.count(b"{")
        self._bytes -= len(content)
        self._values -= values
        if values > self._most:
            raise TooMuchJson(f"the answer holds more than {self._most:,} values and was not read")
        if self._bytes < 0 or self._values < 0:
            raise TooMuchJson("the answers before it were so large that it was not read")
        return json.loads(content)


class TooMuchJson(Exception):
    """An answer that would take too much memory; the message is a clause about it."""
