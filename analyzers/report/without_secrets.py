"""A report that may be shown and mailed: the same one without the secrets that its evidence quotes."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar, cast

from analyzers.secrets import HIDDEN, scrub, shortened, under_secret_name

T = TypeVar("T")
Clean = Callable[[str], str]
_OURS = frozenset({"tool", "version", "command", "clean", "code", "cause", "reason", "stage", "page", "chain", "table", "kind", "state"})
"""Fields that hold words of diag's own."""


def without_secrets(report: T, *, content: bool = False) -> T:
    """`report`, of a run or of a fleet, with every text scrubbed, also within its facts; the very same object where nothing had to go.

    Without `content` the records that exceptions quote are shortened to what they are like.
    """
    return _scrubbed(report, scrub if content else _shortened)


def _shortened(text: str) -> str:
    return scrub(shortened(text))


def _scrubbed(value: T, clean: Clean) -> T:
    changed: Any = value
    if isinstance(value, str):
        changed = clean(value) if type(value) is str else value  # an enum's text is ours
    elif isinstance(value, Mapping):
        changed = _mapping(value, clean)
    elif isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray)):
        items = [_scrubbed(each, clean) for each in value]
        if any(a is not b for a, b in zip(items, value, strict=True)):
            changed = tuple(items) if isinstance(value, tuple) else items
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value) if field.name not in _OURS}
        done = {name: each for name, before in fields.items() if (each := _scrubbed(before, clean)) is not before}
        changed = dataclasses.replace(value, **done) if done else value
    return cast(T, changed)


def _mapping(values: Mapping[Any, Any], clean: Clean) -> Mapping[Any, Any]:
    """`values` scrubbed. Most are rows of a table whose columns hold no names of settings."""
    done = {}
    for key, value in values.items():
        if type(value) is str:
            each: Any = HIDDEN if under_secret_name(values, key, value) else clean(value)
        elif value is None or type(value) in (int, float, bool, datetime):
            continue
        else:
            each = _scrubbed(value, clean)
        if each is not value:
            done[key] = each
    return {**values, **done} if done else values
