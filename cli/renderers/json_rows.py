"""Rows of a table as JSON, one a line, column by column: what all rows of a piece have in common is encoded once, numbers are put into
their places. A third of the time that the encoder of the standard library takes for a dict each."""

from __future__ import annotations

import functools
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import repeat
from operator import itemgetter
from typing import Any

from analyzers.tables import TABLES, Row
from cli.renderers.wording import iso

_ROWS = 1000  # encoded together: half a megabyte
_INDENT = ",\n      "
_MOVES_A_CURSOR = re.compile(r"[\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e01ef]")
"""What JSON lets stand and a terminal obeys or hides: control characters of eight bits, marks of direction, spaces and tags of no width."""


def lines(table: str, rows: Sequence[Row]) -> Iterator[str]:
    """The items of the array of `rows`, each on a line of its own: for the eye and for grep."""
    names = TABLES[table].names if table in TABLES else None
    for begin in range(0, len(rows), _ROWS):
        some = rows[begin : begin + _ROWS]
        # rows of no declared table need not have the same keys
        found = _by_column(names, some) if names else (line for row in some for line in _by_column(tuple(sorted(row)), [row]))
        text = "".join(found)
        yield text if begin else text[1:]


def _by_column(names: Sequence[str], rows: Sequence[Row]) -> Iterable[str]:
    """The line of each of `rows`, behind a comma."""
    parts, varying = [], []
    for name, values in zip(names, _columns(names, rows), strict=True):
        texts = _texts(values)
        parts.append(f"{_text(name)}: ".replace("%", "%%") + (texts.replace("%", "%%") if isinstance(texts, str) else "%s"))
        if not isinstance(texts, str):
            varying.append(texts)
    line = f"{_INDENT}{{{', '.join(parts)}}}"
    return map(line.__mod__, zip(*varying, strict=True)) if varying else repeat(line % (), len(rows))


def _columns(names: Sequence[str], rows: Sequence[Row]) -> Iterable[Sequence[Any]]:
    """The values of each column; each row is visited once, which costs more than to take values from it."""
    if len(names) > 1:
        try:
            return list(zip(*map(itemgetter(*names), rows), strict=True))
        except KeyError:
            pass
    return [[row.get(name) for row in rows] for name in names]


def _texts(values: Sequence[Any]) -> str | Sequence[Any]:
    """`values` as JSON, or what fills a place for one: a single text where they are all alike."""
    kinds = set(map(type, values))
    if len(kinds) == 1 and kinds <= _HASHED and values.count(values[0]) == len(values):
        return _text(values[0])
    if kinds == {int}:
        return values
    if kinds == {float} and all(map(math.isfinite, values)):  # 0.0 and -0.0 are equal, and not the same JSON
        texts = list(map(float.__repr__, values))
        return texts[0] if texts.count(texts[0]) == len(texts) else texts
    if kinds <= _HASHED and not kinds >= {int, bool}:  # neither are 1 and True
        text = {value: _text(value) for value in set(values)}
        return [text[value] for value in values]
    return [_text(value) for value in values]


_HASHED = frozenset({str, type(None), bool, datetime, int})


def _text(value: Any) -> str:
    if type(value) is str and value.isascii() and "\x7f" not in value:  # nearly all of them
        return json.encoder.encode_basestring(value)
    try:
        text = "".join(_encode(value, 0))
        if not text.isascii():
            text.encode()
    except ValueError:  # no finite number, or no valid Unicode
        text = ENCODER.encode(plain_values(value))
    return inert(text)


def indented(value: Any, margin: str = "\n") -> str:
    """`value` as `json.dumps` has it with an indent of 2, which the standard library does in Python with a dozen steps for each text."""
    if type(value) is str or not value:
        return _text(value)
    inner = f"{margin}  "
    if isinstance(value, Mapping):
        items = [f"{_text(str(key))}: {indented(each, inner)}" for key, each in value.items()]
        return f"{{{inner}{f',{inner}'.join(items)}{margin}}}"
    if isinstance(value, (list, tuple)):
        return f"[{inner}{f',{inner}'.join([indented(each, inner) for each in value])}{margin}]"
    return _text(value)


def inert(text: str) -> str:
    """JSON of the same meaning in which nothing moves a terminal's cursor."""
    if text.isascii() and "\x7f" not in text:
        return text
    return _MOVES_A_CURSOR.sub(lambda match: json.dumps(match[0])[1:-1], text)


@functools.lru_cache(1024)
def _moment(at: datetime) -> str | None:
    """`iso`; the rows of a table have few moments."""
    return iso(at)


def plain_values(value: Any) -> Any:
    """`value` as JSON has it: times as text, no numbers that are none."""
    kind = type(value)
    if kind is int or value is None or kind is bool or (kind is str and value.isascii()):  # nearly all of them
        return value
    if isinstance(value, datetime):
        return _moment(value)
    if isinstance(value, str):
        # file names carry undecodable bytes as lone surrogates, which no UTF-8 file may hold
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {plain_values(str(key)): plain_values(v) for key, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain_values(v) for v in value]
    if isinstance(value, (bool, int)) or value is None:
        return value
    if hasattr(value, "item"):  # a NumPy scalar
        return plain_values(value.item())
    return str(value)


ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, default=plain_values)


def _encoder() -> Callable[[Any, int], Iterable[str]]:
    """What `ENCODER` makes anew for each value: with 300,000 rows that is half of the time."""
    make = getattr(json.encoder, "c_make_encoder", None)
    if make is None:
        return lambda value, _: (ENCODER.encode(value),)
    text = json.encoder.encode_basestring
    made: Callable[[Any, int], Iterable[str]] = make(None, plain_values, text, None, ": ", ", ", False, False, False)
    return made


_encode = _encoder()
