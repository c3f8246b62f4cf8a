"""A state that was read out of a text, and the text as the shapes see it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from html import unescape
from typing import Any, NamedTuple

from analyzers.budget import BUDGET
from analyzers.logs.matching.expressions import expression

Values = dict[str, Any]
"""Columns of a row of evidence, without its scope."""


@dataclass
class State:
    """One answer, table or dump: rows by table, and which lines of the text it stood on (from 0, the end excluded)."""

    shape: str
    first: int
    last: int
    rows: dict[str, list[Values]] = field(default_factory=dict)
    works: bool = False
    """Whether it shows a job at work: a commit that moved, a checkpoint that completed."""
    also_log: bool = False
    """Whether its lines are read as those of a log, too: rules know what they say."""
    at: datetime | None = None
    trouble: str | None = None
    """What of it could not be read."""

    def add(self, table: str, values: Values) -> None:
        self.rows.setdefault(table, []).append(values)


class Document(NamedTuple):
    """A JSON value of a text, and the lines that it stands on (from 0, the end excluded). `cut`: it lacks its end."""

    value: Any
    first: int
    last: int
    cut: bool = False


_ESCAPES = expression(r"\x1b\[[0-?]*[ -/]*[@-~]")
_TAGS = expression(r"</?[a-zA-Z][^<>\n]{0,400}>")
_IS_PAGE = expression(r"\s*<(?:!doctype html|html|head|body|pre|table|div)\b", re.IGNORECASE)
_BREAKS = expression(r"<(?:br|/tr|/p|/div|/h\d|/li|/pre)\b[^<>]*>", re.IGNORECASE)
_CELLS = expression(r"</t[dh]\s*>", re.IGNORECASE)
_BEGINS = expression(r"^[ \t]*(?=[\[{]\s*[\"\[{\]}\d-])", re.MULTILINE)
_MOST_DOCUMENTS = BUDGET.state_documents
_MOST_TRIES = 4
_MOST_COUNTED = 2_000_000_000  # characters: a second
_LONGEST_PIECE = 256 << 10  # a stack trace, or a thread dump, in one string


class Text:
    """A text without what terminals and web pages put around it; its lines are those of the file."""

    def __init__(self, data: bytes) -> None:
        text = data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
        text = _ESCAPES.sub("", text) if "\x1b" in text else text
        if _IS_PAGE.match(text):
            text = unescape(_TAGS.sub("", _CELLS.sub("\t", _BREAKS.sub("\n", text))))
        self.whole = text

    @cached_property
    def lines(self) -> list[str]:
        return self.whole.split("\n")

    @cached_property
    def documents(self) -> list[Document]:
        """The JSON objects and arrays that begin a line, outermost ones only."""
        return list(_documents(self.whole))


def _documents(text: str) -> Iterator[Document]:
    decoder = json.JSONDecoder(strict=False)
    at, line, counted, found, tries, spent = 0, 0, 0, 0, 0, 0
    while found < _MOST_DOCUMENTS and (m := _begins(text, at)) is not None:
        line += text.count("\n", counted, m)
        counted = m
        cut = False
        try:
            value, stop = decoder.raw_decode(text, m)
        except RecursionError:
            return
        except ValueError as error:
            # only the last document of a text can lack its end
            near_end = tries < _MOST_TRIES and getattr(error, "pos", 0) > len(text) - _LONGEST_PIECE
            value, stop = closed(text, m) if near_end else (None, m)
            tries += near_end
            spent += m  # an error counts the lines before it
            if spent > _MOST_COUNTED:
                return
            cut = value is not None
        if isinstance(value, (dict, list)) and value:
            last = line + text.count("\n", m, stop) + 1
            yield Document(value, line, last, cut)
            found += 1
            at = stop
        else:
            following = text.find("\n", m)
            if following < 0:
                return
            at = following


def _begins(text: str, at: int) -> int | None:
    """Where the next line begins with a bracket that JSON begins with, or the text goes on with one."""
    m = _BEGINS.search(text, at)
    return None if m is None else m.end()


_MOST_CUT = BUDGET.state_cut_bytes


def closed(text: str, begin: int) -> tuple[Any, int]:
    """A value whose end is missing, without its last piece; (None, begin) where it is no JSON, or has its end."""
    stack: list[str] = []
    good: tuple[int, str] | None = None
    quoted = escaped = False
    if len(text) - begin > _MOST_CUT:
        return None, begin
    for at in range(begin, len(text)):
        c = text[at]
        if quoted:
            if escaped:
                escaped = False
            elif c == "\\":
                escaped = True
            elif c == '"':
                quoted = False
        elif c == '"':
            quoted = True
        elif c in "[{":
            stack.append("]" if c == "[" else "}")
        elif c in "]}":
            if not stack or stack.pop() != c:
                return None, begin
            good = (at + 1, "".join(reversed(stack)))
            if not stack:
                return None, begin  # it has its end and is no JSON all the same
        elif c == "," and stack:
            good = (at, "".join(reversed(stack)))
    if good is None:
        return None, begin
    try:
        return json.loads(text[begin : good[0]] + good[1], strict=False), len(text)
    except (ValueError, RecursionError):
        return None, begin


def blanked(lines: Sequence[str], states: Sequence[State]) -> str:
    """The text without the lines of `states`."""
    keep = [True] * len(lines)
    for state in states:
        keep[state.first : state.last] = [False] * (min(state.last, len(lines)) - state.first)
    return "\n".join(line for line, kept in zip(lines, keep, strict=True) if kept)
