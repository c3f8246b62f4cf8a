"""YAML as `kubectl -o yaml` prints it, and no other: mappings and lists in block style, plain and quoted scalars, texts in blocks.

Long scalars are folded: they go on in the next lines, which are indented further than their key. Source: go-yaml's emitter, 80 columns.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from analyzers.budget import BUDGET
from analyzers.logs.matching.expressions import expression

_KEY = expression(r"(?P<key>\"[^\"]*\"|'[^']*'|[^\s#'\"\[{&*!|>%@`-][^\n]*?|-[\w.]+):(?:\s+(?P<value>.*))?$")
_MOST_LINES = BUDGET.yaml_lines
_DEEPEST = BUDGET.yaml_depth


def read(lines: Sequence[str]) -> Any:
    """The document of `lines`, as far as it can be read; {} where it is none."""
    rows = [(len(line) - len(line.lstrip(" ")), line.strip()) for line in lines[:_MOST_LINES]]
    return _block(rows, 0, 0)[0] if rows else {}


def _block(rows: Sequence[tuple[int, str]], at: int, depth: int) -> tuple[Any, int]:
    """The value that begins with line `at`, and the line behind it."""
    at = _next(rows, at)
    if at >= len(rows) or depth > _DEEPEST:
        return {}, len(rows)
    indent, text = rows[at]
    if text == "-" or text.startswith("- "):
        return _list(rows, at, indent, depth)
    if _KEY.match(text) is None:  # a scalar that begins in the line below its key
        return _scalar(rows, at + 1, indent - 1, text)
    return _mapping(rows, at, indent, depth)


def _next(rows: Sequence[tuple[int, str]], at: int) -> int:
    while at < len(rows) and (not rows[at][1] or rows[at][1].startswith("#")):
        at += 1
    return at


def _list(rows: Sequence[tuple[int, str]], at: int, indent: int, depth: int) -> tuple[list[Any], int]:
    out: list[Any] = []
    while (at := _next(rows, at)) < len(rows) and rows[at][0] == indent and (rows[at][1] == "-" or rows[at][1].startswith("- ")):
        text = rows[at][1][1:]
        inner = text.strip()
        if not inner:
            value, at = _block(rows, at + 1, depth + 1)
        elif _KEY.match(inner):
            inside = indent + 1 + len(text) - len(text.lstrip(" "))
            value, at = _mapping(_Shifted(rows, at, inside, inner), at, inside, depth + 1)
        else:
            value, at = _scalar(rows, at + 1, indent, inner)
        out.append(value)
    return out, at


class _Shifted(Sequence[tuple[int, str]]):
    """`rows` with another line at one place."""

    def __init__(self, rows: Sequence[tuple[int, str]], at: int, indent: int, text: str) -> None:
        self._rows, self._at, self._row = rows, at, (indent, text)

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, at: Any) -> Any:
        return self._row if at == self._at else self._rows[at]


def _mapping(rows: Sequence[tuple[int, str]], at: int, indent: int, depth: int) -> tuple[dict[str, Any], int]:
    out: dict[str, Any] = {}
    while (at := _next(rows, at)) < len(rows) and rows[at][0] == indent and (m := _KEY.match(rows[at][1])) is not None:
        key, told = m["key"].strip("\"'"), (m["value"] or "").strip()
        if told[:1] in ("|", ">"):
            out[key], at = _text(rows, at + 1, indent)
        elif told:
            out[key], at = _scalar(rows, at + 1, indent, told)
        else:
            below = _next(rows, at + 1)
            deeper = below < len(rows) and (rows[below][0] > indent or (rows[below][0] == indent and rows[below][1][:1] == "-"))
            out[key], at = _block(rows, below, depth + 1) if deeper else (None, at + 1)
    return out, at


def _text(rows: Sequence[tuple[int, str]], at: int, indent: int) -> tuple[str, int]:
    held: list[str] = []
    while at < len(rows) and (rows[at][0] > indent or not rows[at][1]):
        held.append(rows[at][1])
        at += 1
    return "\n".join(held).strip("\n"), at


def _scalar(rows: Sequence[tuple[int, str]], at: int, indent: int, begun: str) -> tuple[Any, int]:
    """The value of a scalar that begins with `begun` and may go on in the lines from `at` on, and the line behind it."""
    pieces = [begun]
    while at < len(rows) and rows[at][0] > indent and rows[at][1]:
        pieces.append(rows[at][1])
        at += 1
    return _value(" ".join(pieces)), at


_ESCAPED = expression(r"\\(.)")


def _value(text: str) -> Any:
    if text[:1] == "'" and text[-1:] == "'" and len(text) > 1:
        return text[1:-1].replace("''", "'")
    if text[:1] == '"' and text[-1:] == '"' and len(text) > 1:
        try:
            return json.loads(_ESCAPED.sub(lambda m: " " if m[1] == " " else m[0], text), strict=False)
        except ValueError:  # an escape that JSON lacks
            return text[1:-1]
    if text in ("true", "false"):
        return text == "true"
    if text in ("null", "~"):
        return None
    if text in ("{}", "[]"):
        return {} if text == "{}" else []
    return int(text) if text.lstrip("-").isdigit() and len(text) < 19 else text
