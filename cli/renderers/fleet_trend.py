"""How many jobs were ill of what, over the last runs: a column per run, a row per outcome, cause and root."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterator, Mapping, Sequence
from datetime import datetime, timezone
from typing import Any, NamedTuple

from rich.cells import cell_len, set_cell_size

from analyzers.report.finding import CAUSES
from analyzers.report.fleet import LINKS, OUTCOMES
from cli.renderers.fleet_words import WORD
from cli.renderers.json_rows import inert
from cli.renderers.wording import clipped, iso, printable

FORMAT = 1
_CELL = 12
_LEAST_NAME = 26


class RootThing(NamedTuple):
    """What a shared root is, in whichever run."""

    kind: str
    value: str
    link: str


Trend = Mapping[str, Mapping[Any, Sequence[int]]]
"""By kind (``jobs`` by outcome, ``causes``, ``roots`` by `RootThing`) how many jobs each run had."""


def render(runs: Sequence[datetime], counts: Trend, width: int) -> str:
    """Lines of at most `width` columns; of the runs as many as fit, the newest last."""
    fit = max(1, (max(width, 80) - _LEAST_NAME) // _CELL)
    shown = runs[-fit:]
    room = max(_LEAST_NAME, max(width, 80) - _CELL * len(shown))
    widest = max((cell_len(named(what)) for own in counts.values() for what in own), default=0)
    room = min(room, max(_LEAST_NAME, widest + 1))
    out = [set_cell_size("RUN (UTC)", room) + "".join(f"{at.astimezone(timezone.utc):%m-%d %H:%M}".rjust(_CELL) for at in shown)]
    for kind, own in counts.items():
        rows = list(rows_of(kind, own, len(shown)))
        out += ["", kind.upper()] if rows else []
        for what, many in rows:
            out.append(set_cell_size(clipped(named(what), room - 1), room) + "".join(_number(each).rjust(_CELL) for each in many))
    if len(shown) < len(runs):
        out += ["", f"{len(runs) - len(shown)} earlier of {len(runs)} runs do not fit this width"]
    return "\n".join(line.rstrip() for line in out) + "\n"


def plain(runs: Sequence[datetime], counts: Trend) -> str:
    """A tab-separated line per run and thing, for pipes."""
    lines = []
    for kind, own in counts.items():
        for what, many in _ordered(kind, own):
            key = _key(what).replace("-", "_") if kind == "jobs" else _key(what)  # as the columns of the table `runs`
            times = (f"{at.astimezone(timezone.utc):%Y-%m-%dT%H:%M:%SZ}" for at in runs)
            lines += ["\t".join((at, kind, printable(key), str(each))) for at, each in zip(times, many, strict=True)]
    return "\n".join(lines) + "\n"


def as_json(runs: Sequence[datetime], counts: Trend, version: str) -> str:
    """The document of `trend_schema`."""
    roots = [{**what._asdict(), "jobs": list(many)} for what, many in _ordered("roots", counts["roots"])]
    said = {
        "format": FORMAT,
        "tool": "diag",
        "version": version,
        "command": "fleet --trend",
        "runs": [iso(at) for at in runs],
        "outcomes": [{"outcome": what, "jobs": list(many)} for what, many in counts["jobs"].items()],
        "causes": [{"cause": what, "jobs": list(many)} for what, many in _ordered("causes", counts["causes"])],
        "roots": roots,
    }
    return inert(json.dumps(said, ensure_ascii=False, indent=2)) + "\n"


def trend_schema() -> dict[str, Any]:
    """The schema (draft 2020-12) of what ``diag fleet --trend -o json`` prints. Keys may be added, never changed or removed."""
    text, time = {"type": "string"}, {"type": "string", "format": "date-time"}
    jobs = {"type": "array", "items": {"type": "integer"}, "description": "jobs per run, in the order of runs"}

    def many(**keys: Mapping[str, Any]) -> dict[str, Any]:
        return {"type": "array", "items": _thing(keys)}

    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "diag fleet --trend, format 1",
        **_thing({
            "format": {"const": FORMAT}, "tool": text, "version": text, "command": {"const": "fleet --trend"},
            "runs": {"type": "array", "items": time, "description": "when each run ended, oldest first"},
            "outcomes": many(outcome={"enum": list(OUTCOMES)}, jobs=jobs),
            "causes": many(cause={"enum": list(CAUSES)}, jobs=jobs),
            "roots": many(kind=text, value=text, link={"enum": list(LINKS)}, jobs=jobs),
        }),
    }  # fmt: skip


def _thing(keys: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": keys, "required": list(keys)}


def rows_of(kind: str, own: Mapping[Any, Sequence[int]], runs: int) -> Iterator[tuple[Hashable, Sequence[int]]]:
    """What the newest `runs` had at all."""
    for what, many in _ordered(kind, own):
        if any(many[-runs:]):
            yield what, many[-runs:]


def named(what: Hashable) -> str:
    """What it is called for people."""
    key = _key(what)
    return printable(WORD.get(key, key))


def _key(what: Hashable) -> str:
    if isinstance(what, RootThing):
        return f"{what.kind} {what.value}" + ("" if what.link == "explains" else " (in common)")
    return str(what)


def _ordered(kind: str, own: Mapping[Any, Sequence[int]]) -> list[tuple[Any, Sequence[int]]]:
    """Of outcomes the worst first, of others those that most jobs had in the newest run."""
    if kind == "jobs":
        return list(own.items())
    return sorted(own.items(), key=lambda each: ([-many for many in reversed(each[1])], each[0]))


def _number(many: int) -> str:
    return f"{many:,}" if many else "·"
