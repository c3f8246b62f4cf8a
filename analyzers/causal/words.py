"""The decisive words of an event: the deepest message of its exceptions that says something, else its own line."""

from __future__ import annotations

import re
from dataclasses import dataclass

from analyzers.causal.log_messages import message
from analyzers.causal.stack import waits_in
from analyzers.tables import Row


@dataclass(frozen=True)
class Said:
    """`words` as printed, `thrown` the class whose message they are, `line` where they stand in the file."""

    words: str
    thrown: str | None
    line: int | None


def said_by(event: Row) -> Said:
    """The decisive words of one row of ``log_events`` or ``faults``."""
    text = event["text"] or ""
    if event["chain"]:
        thrown, words = decisive(tuple(event["chain"]))
        return Said(_whole(words, text), thrown, _line_of(words, text, event["line"]))
    if (waiting := waits_in(text)) is not None and event["signature"] == "task-stuck-cancelling":
        return Said(f"blocked in {waiting.words}", None, event["line"])
    return Said(message(event), None, event["line"])


_FRAME = re.compile(r"\s*(?:at |\.\.\. \d+ |Caused by: |Suppressed: |Traceback |File \"|\W*$)")
_MOST_BELOW = 4
_LONGEST = 600


def _whole(words: str, text: str) -> str:
    """`words` with the lines of the same message that stand below them: a driver's detail and hint."""
    at = text.rfind(words) if words else -1
    rest = text[at + len(words) :].split("\n") if at >= 0 else [""]
    if rest[0].strip():
        return words  # they end within their line, or were clipped
    below = []
    for line in rest[1 : 1 + _MOST_BELOW]:
        if _FRAME.match(line) or not line[:1].isspace():
            break
        below.append(line.strip())
    return " ".join((words, *below))[:_LONGEST]


def _line_of(words: str, text: str, first: int | None) -> int | None:
    """The line of the file in which `words` begin, of an event whose text begins in line `first`."""
    at = text.rfind(words[:60]) if words else -1
    return first if first is None or at < 0 else first + text.count("\n", 0, at)


_SAYS_LITTLE = re.compile(
    r"(?i)^(?:null|none|\w+(?:\.\w+)*(?:exception|error)?:?|connection (?:refused|reset|closed)[\w ]*|read timed out|broken pipe|\W*)\.?$"
)


def decisive(chain: tuple[str, ...]) -> tuple[str | None, str]:
    """Class and message of the deepest exception of `chain` (outermost first, ``class: message``) whose message says something."""
    split = [each.partition(": ") for each in chain]
    for thrown, _, words in reversed(split):
        if words and not _SAYS_LITTLE.match(words):
            return thrown, words
    thrown, _, words = split[-1]
    return thrown, words or thrown
