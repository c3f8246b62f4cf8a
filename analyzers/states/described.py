"""Objects as `kubectl describe` prints them, back in the form of the API: keys by their indent, ``Last Transition Time`` as it was named.

Only what stands above the events is read. In a list of objects each begins where the first key of the one before comes again. Source:
kubectl's ``printUnstructuredContent`` and ``smartLabelFor``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from analyzers.budget import BUDGET
from analyzers.logs.matching.expressions import expression

_NAME = expression(r"^Name:\s+\S")
_EVENTS = expression(r"^Events:")
_FIELD = expression(r"^(?P<indent> *)(?P<label>[A-Z][\w./-]*(?: [A-Z][\w./-]*)*):(?:\s+(?P<value>\S.*))?$")
_WHOLE = expression(r"\d{1,18}")
_ROOT = frozenset(("name", "namespace"))
_LISTS = frozenset(("conditions", "managedFields", "ownerReferences"))
_MOST_LINES, _MOST_DEPTH = 4_000, BUDGET.state_depth
_NUMBERS = frozenset(("generation", "observedGeneration", "failures", "submissionAttempts"))


def documents(lines: Sequence[str]) -> Iterator[tuple[dict[str, Any], int, int]]:
    """Each described object with the lines on which it stands (from 0, the end excluded; the events are not among them)."""
    for begin, line in enumerate(lines):
        if not _NAME.match(line):
            continue
        end = begin + 1
        while end < len(lines) and end - begin < _MOST_LINES and (lines[end][:1] == " " or _FIELD.match(lines[end])):
            if _EVENTS.match(lines[end]) or _NAME.match(lines[end]):
                break
            end += 1
        rows = [(len(m["indent"]), _key(m["label"]), m["value"]) for m in map(_FIELD.match, lines[begin:end]) if m is not None]
        value = _mapping(rows, 0, len(rows))[0]
        if isinstance(value, dict) and "apiVersion" in value:
            meta = value.get("metadata")
            named = {name: value.pop(name) for name in _ROOT & value.keys()}
            yield value | {"metadata": {**(meta if isinstance(meta, dict) else {}), **named}}, begin, end


def _key(label: str) -> str:
    """``Last Transition Time`` → ``lastTransitionTime``."""
    if label == "API Version":
        return "apiVersion"
    first, *rest = label.split(" ")
    return (first.lower() if first.isupper() else first[0].lower() + first[1:]) + "".join(rest)


def _mapping(rows: Sequence[tuple[int, str, str | None]], at: int, end: int, depth: int = 0) -> list[dict[str, Any]]:
    """The objects of rows of one indent: one, or those of a list."""
    found: list[dict[str, Any]] = [{}]
    if at >= end or depth > _MOST_DEPTH:
        return found
    indent, first, _ = rows[at]
    while at < end:
        _, key, value = rows[at]
        below = at + 1
        while below < end and rows[below][0] > indent:
            below += 1
        if key == first and key in found[-1]:
            found.append({})
        inner: Any = value
        if value is None:
            several = _mapping(rows, at + 1, below, depth + 1)
            inner = several if key in _LISTS else several[0]
        elif key in _NUMBERS and _WHOLE.fullmatch(value):
            inner = int(value)
        found[-1][key] = None if inner == "<none>" else inner
        at = below
    return found
