"""A report that may be shown and mailed: the same one without the secrets that its evidence quotes."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from operator import itemgetter
from typing import Any, TypeVar, cast

from analyzers.report.commands import NOTE, in_code, in_words, same_words
from analyzers.secrets import HIDDEN, scrub, shortened, under_secret_name

T = TypeVar("T")
Clean = Callable[[str], str]
_KEPT = 1 << 16
_AT_ONCE = 1000  # rows of a table
_OURS = frozenset({"tool", "version", "command", "clean", "code", "cause", "reason", "stage", "page", "chain", "table", "kind", "state"})
"""Fields that hold words of diag's own."""
_COMMAND = "next_command"
_ADVICE = frozenset({"fix", "steps", "no_help", "danger", "missing", "headline"})
"""Texts that have commands between back-ticks: a cut across quotes would let a shell see what stood within them."""


class _Texts:
    """How texts are cleaned: each is looked at once, as names of topics and groups are in every row of a large table."""

    def __init__(self, clean: Clean) -> None:
        self.clean: Clean = functools.lru_cache(_KEPT)(clean)

    def of(self, field: object) -> _Texts:
        """How those of a field are cleaned."""
        if field == _COMMAND:
            return self._of_commands
        return self._of_advice if field in _ADVICE else self

    @functools.cached_property
    def _of_commands(self) -> _Texts:
        return _Texts(self._command)

    @functools.cached_property
    def _of_advice(self) -> _Texts:
        return _Texts(self._advice)

    def _command(self, command: str) -> str:
        typed, note, purpose = command.partition(NOTE)
        return in_words(typed, self.clean) + note + self.clean(purpose)

    def _advice(self, advice: str) -> str:
        apart = in_code(advice, self._command, self.clean)
        whole = self.clean(apart)  # a name before the back-ticks, its value between them
        return whole if whole == apart or same_words(whole, apart) else apart


def without_secrets(report: T, *, content: bool = False) -> T:
    """`report`, of a run or of a fleet, with every text scrubbed, also within its facts; the very same object where nothing had to go.

    Without `content` the records that exceptions quote are shortened to what they are like.
    """
    return _scrubbed(report, _Texts(scrub if content else _shortened))


def _shortened(text: str) -> str:
    return scrub(shortened(text))


def _scrubbed(value: T, texts: _Texts) -> T:
    changed: Any = value
    kind = type(value)
    if kind in _NO_TEXTS:
        return value
    if isinstance(value, str):
        cleaned = texts.clean(value) if kind is str else value  # an enum's text is ours
        changed = value if cleaned == value else cleaned
    elif names := _fields(cast(type, kind)):
        done = {}
        for name in names:
            before = getattr(value, name)
            if type(before) in _NO_TEXTS:
                continue
            own = texts.of(name)
            each = own.clean(before) if type(before) is str else _scrubbed(before, own)
            if each is not before and each != before:
                done[name] = each
        changed = dataclasses.replace(cast(Any, value), **done) if done else value
    elif isinstance(value, Mapping):
        changed = _mapping(value, texts)
    elif isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray)):
        if kind is list and value and _are_clean(value, texts):
            return cast(T, value)
        items = [_scrubbed(each, texts) for each in value]
        if any(a is not b for a, b in zip(items, value, strict=True)):
            changed = tuple(items) if isinstance(value, tuple) else items
    return cast(T, changed)


@functools.lru_cache
def _fields(kind: type) -> tuple[str, ...]:
    """The fields of a data class that hold words of others."""
    return tuple(field.name for field in dataclasses.fields(kind) if field.name not in _OURS) if dataclasses.is_dataclass(kind) else ()


_NO_TEXTS = frozenset({type(None), int, float, bool, datetime})


def _are_clean(rows: Sequence[Any], texts: _Texts) -> bool:
    """Whether it is sure that nothing has to go from `rows` of a table: most say the same as another one, so each text of a column is
    looked at once."""
    if set(map(type, rows)) != {dict} or set(map(len, rows)) != {len(rows[0])}:
        return False
    names = tuple(rows[0])
    if len(names) < 2 or "value" in names:  # what a value is, another column of its row says
        return False
    found: list[set[str]] = [set() for _ in names]
    items: set[str] = set()
    for begin in range(0, len(rows), _AT_ONCE):
        try:  # each row is visited once, which costs more than to take values from it
            columns = list(zip(*map(itemgetter(*names), rows[begin : begin + _AT_ONCE]), strict=True))
        except KeyError:
            return False
        for own, values in zip(found, columns, strict=True):
            kinds = set(map(type, values)) - _NO_TEXTS
            if not kinds <= {str, list}:
                return False
            if list in kinds:
                inner = [item for value in values if type(value) is list for item in value]
                if set(map(type, inner)) - {str}:
                    return False
                items.update(inner)
            if str in kinds:
                own.update(value for value in values if type(value) is str)
    for name, own in zip(names, found, strict=True):
        clean = texts.of(name).clean
        if any(under_secret_name({}, name, text) or clean(text) != text for text in own):
            return False
    return all(texts.clean(text) == text for text in items)


def _mapping(values: Mapping[Any, Any], texts: _Texts) -> Mapping[Any, Any]:
    """`values` scrubbed. Most are rows of a table whose columns hold no names of settings."""
    done = {}
    for key, value in values.items():
        if type(value) is str:
            each: Any = HIDDEN if under_secret_name(values, key, value) else texts.of(key).clean(value)
        elif value is None or type(value) in (int, float, bool, datetime):
            continue
        else:
            each = _scrubbed(value, texts)
        if each != value:
            done[key] = each
    return {**values, **done} if done else values
