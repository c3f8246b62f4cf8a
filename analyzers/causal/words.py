"""The decisive words of an event: the deepest message of its exceptions that says something, else its own line."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from analyzers.causal.stack import waits_in
from analyzers.derived.failures.log_messages import message
from analyzers.inference import decisive, decisive_in
from analyzers.tables import Row


@dataclass(frozen=True)
class Said:
    """`words` as printed, `thrown` the class whose message they are, `line` where they stand in the file."""

    words: str
    thrown: str | None
    line: int | None


def said_by(event: Row) -> Said:
    """The decisive words of one row of ``log_events``, ``faults`` or ``log_remarks``, which have no exception."""
    text = event["text"] or ""
    if event.get("chain"):
        thrown, words = _decisive(tuple(event["chain"]), text)
        return Said(_without_body(" ".join(words.split())), thrown or None, _line_of(words, text, event["line"]))
    if event.get("signature") == "task-stuck-cancelling" and (waiting := waits_in(text)) is not None:
        return Said(f"blocked in {waiting.words}", None, event["line"])
    if (crash := _CRASH.search(text)) is not None:
        frame = _PROBLEMATIC.search(text)
        words = f"{crash[0]} in {frame['frame']}" if frame is not None else crash[0]
        return Said(" ".join(words.split()), None, _line_of(crash[0], text, event["line"]))
    return Said(message(event), None, event["line"])


def _without_body(words: str) -> str:
    """`words` with the message of an answer in JSON in place of the whole answer."""
    body = words.find("{")
    if body < 0 or len(words) - body < _LONG_BODY:
        return words
    said = max((m[1] for m in _MESSAGE.finditer(words, body)), key=len, default="")
    return f"{words[:body].rstrip()} {said}".strip() if len(said) >= _SAYS else words


_MESSAGE = re.compile(r'"(?:message|errorMessage|error_description|reason|detail|msg)" ?: ?"((?:[^"\\]|\\.)+)"')
_LONG_BODY, _SAYS = 120, 20
_CRASH = re.compile(r"\bSIG(?:SEGV|BUS|ILL|FPE|ABRT) \(0x[0-9a-f]+\)")
_PROBLEMATIC = re.compile(r"Problematic frame:\s*#?\s*(?P<frame>[^\n]+)")
"""The crash report of a JVM (hs_err_pid*.log): signal, and the frame that it happened in."""


@lru_cache(maxsize=2048)
def _decisive(chain: tuple[str, ...], text: str) -> tuple[str, str]:
    """Class and message of the exception that says what is wrong: of the trace as printed, else of the chain that was read from it."""
    found = decisive_in(text) if "\n" in text else None
    if found is None or not found[0]:
        split = (each.partition(": ") for each in chain)
        found = decisive([(thrown, words or None) for thrown, _, words in split]) or found
    thrown, words = found or ("", "")
    return thrown, words or thrown


def _line_of(words: str, text: str, first: int | None) -> int | None:
    """The line of the file in which `words` begin, of an event whose text begins in line `first`."""
    at = text.rfind(words.partition("\n")[0][:60]) if words else -1
    return first if first is None or at < 0 else first + text.count("\n", 0, at)
