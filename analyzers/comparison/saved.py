"""A report that was saved, read back: only the parts that are compared, each of the kind that diag writes there.

Whoever saved it may have had another version, and whoever sent it may have changed it: what is missing and needed makes it a damaged
report; what may be missing, or is of another kind, is as if it were not known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from analyzers.report.finding import Severity
from analyzers.tables import TABLES, ColumnType

Reader = Callable[[Any], Any]
"""A value as it may be used, None for one of another kind."""

_WHOLE = 1 << 63
_SEVERITIES = frozenset(each.value for each in Severity)


class Damaged(Exception):
    """A part of a report, named by its key, is not what diag writes there."""


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < _WHOLE else None


def _number(value: Any) -> float | None:
    return value if isinstance(value, float) else _whole(value)


def _truth(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


def _texts(value: Any) -> list[str] | None:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else None


def _map(value: Any) -> dict[str, str] | None:
    return {key: each for key, each in value.items() if isinstance(each, str)} if isinstance(value, dict) else None


def _counts(value: Any) -> dict[str, int]:
    return {key: each for key, each in value.items() if _whole(each)} if isinstance(value, dict) else {}


def _subject(value: Any) -> dict[str, Any] | None:
    """Names and numbers, and lists of these."""
    if not isinstance(value, dict):
        return None
    plain = {key: [each for each in own if _is_plain(each)] if isinstance(own, list) else own for key, own in value.items()}
    return {key: own for key, own in plain.items() if isinstance(own, list) or _is_plain(own)}


def _is_plain(value: Any) -> bool:
    return isinstance(value, (str, float, bool)) or _whole(value) is not None


def _severity(value: Any) -> str | None:
    return value if isinstance(value, str) and value in _SEVERITIES else None


def _record(needed: Mapping[str, Reader], maybe: Mapping[str, Reader]) -> Reader:
    """An object; None where a key that is `needed` has no value of its kind."""

    def read(value: Any) -> dict[str, Any] | None:
        if not isinstance(value, dict):
            return None
        found = {key: of(value.get(key)) for key, of in needed.items()}
        return None if None in found.values() else found | {key: of(value.get(key)) for key, of in maybe.items()}

    return read


def _some(of: Reader) -> Reader:
    """Those of a list that are of the kind; none of what is no list."""
    return lambda value: [made for each in value if (made := of(each)) is not None] if isinstance(value, list) else []


_PLACE = _record({}, {"table": _text, "file": _text, "line": _whole, "text": _text})
_FINDING = _record(
    {"code": _text, "severity": _severity, "says": _text, "subject": _subject},
    {
        "reason": _text, "job": _text, "scope": _text, "headline": _text, "id": _text, "passed": _truth, "evidence": _some(_PLACE),
    },
)  # fmt: skip
_NOTICED = _record(
    {"signature": _text},
    {"says": _text, "level": _text, "count": _whole, "normal": _truth, "explained_by": _text, "evidence": _some(_PLACE)},
)
_NEEDED: Mapping[str, Reader] = {
    "findings": _FINDING,
    "clean": _text,
    "not_checked": _record({"code": _text, "because": _text}, {}),
    "sources": _record({"state": _text, "name": _text}, {"why": _text}),
}
"""Lists that each report has: one item that cannot be read would make a finding new, or gone."""
_MAYBE: Mapping[str, Reader] = {
    "version": _text,
    "command": _text,
    "as_of": _text,
    "fragment": _text,
    "window": _record({}, {"from": _text, "to": _text}),
    "defects": _some(_record({"code": _text}, {})),
    "noticed": _some(_NOTICED),
    "log_roles": _counts,
}
_COLUMN: Mapping[ColumnType, Reader] = {
    "string": _text,
    "long": _whole,
    "double": _number,
    "boolean": _truth,
    "timestamp": _text,
    "strings": _texts,
    "map": _map,
}


def read_back(said: Mapping[str, Any]) -> dict[str, Any]:
    """The parts of the document `said` that are compared. Raises `Damaged`."""
    found: dict[str, Any] = {key: of(said.get(key)) for key, of in _MAYBE.items()}
    for key, of in _NEEDED.items():
        rows = said.get(key)
        if not isinstance(rows, list):
            raise Damaged(key)
        found[key] = [of(each) for each in rows]
        if None in found[key]:
            raise Damaged(key)
    facts = said.get("facts")
    if not isinstance(facts, dict):
        raise Damaged("facts")
    found["facts"] = {name: _rows(name, rows) for name, rows in facts.items() if name in TABLES}
    found["job_state"] = _rows("job_state", said.get("job_state"))
    return found


def _rows(table: str, rows: Any) -> list[dict[str, Any]]:
    columns = {column.name: _COLUMN[column.type] for column in TABLES[table].columns}
    return _some(_record({}, columns))(rows)  # type: ignore[no-any-return]  # a list, as it is made of `_some`
