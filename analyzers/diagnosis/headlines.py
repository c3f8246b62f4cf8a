"""The headline names owner and place: the connector or deployment; the subtask, the line of the user's own code, the decisive word.

As far as there is room: a headline has 25 words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from analyzers.diagnosis.culprits import owner_words
from analyzers.diagnosis.user_lines import place_of

MOST_WORDS = 25
_LONGEST_TASK = 60  # characters: Flink joins the names of chained operators
_MADE_UP = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-")  # Spark's groups are new in each run: nobody looks for one
_MOST = 2  # a reader looks for one thing more, not for all


def with_owner(words: str | None, subject: Mapping[str, Any]) -> str | None:
    """`words` that also name whose fault it is, where they do not yet."""
    owner = owner_words(subject)
    name = subject.get("connector") or subject.get("deployment") or subject.get("application")
    if not words or owner is None or str(name) in words:
        return words
    return f"{owner[0].upper()}{owner[1:]}: {words}"


def with_place(words: str | None, subject: Mapping[str, Any]) -> str | None:
    """`words`, and in brackets behind them what is known of the place and not in them yet."""
    if not words:
        return words
    room = MOST_WORDS - len(words.split())
    added: list[str] = []
    for part in _parts(words, subject):
        room -= len(part.split())
        if room < 0 or len(added) == _MOST:
            break
        added.append(part)
    if not added:
        return words
    end = "." if words.endswith(".") else ""
    return f"{words.removesuffix('.')} ({', '.join(added)}){end}"


def _parts(words: str, subject: Mapping[str, Any]) -> Iterator[str]:
    task, subtask, parallelism = (subject.get(key) for key in ("task", "subtask", "parallelism"))
    if isinstance(task, str) and task not in words and len(task) <= _LONGEST_TASK:
        yield f"{task} ({subtask + 1}/{parallelism})" if isinstance(subtask, int) and isinstance(parallelism, int) else task
    if isinstance(line := subject.get("user_line"), str) and (place := place_of(line)) not in words:
        yield place
    address, broker = subject.get("address"), subject.get("broker")
    if isinstance(address, str) and address not in words:
        yield f"broker {broker} at {address}" if isinstance(broker, int) else address
    for key, shown in (("group", "group {}"), ("error", "{}"), ("limit", "{}"), ("setting", "{}")):
        value = subject.get(key)
        if isinstance(value, str) and value not in words and not _MADE_UP.search(value):
            yield shown.format(value)
