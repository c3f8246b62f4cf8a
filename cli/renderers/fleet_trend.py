"""How many jobs were ill of what, over the last runs: a column per run, a row per outcome, cause and root."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timezone

from rich.cells import cell_len, set_cell_size

from cli.renderers.wording import clipped, printable

Trend = Mapping[str, Mapping[str, Sequence[int]]]
_CELL = 12
_LEAST_NAME = 26
_WORDS = {"clear": "well", "at_risk": "at risk", "unread": "not readable"}


def render(runs: Sequence[datetime], counts: Trend, width: int) -> str:
    """Lines of at most `width` columns; of the runs as many as fit, the newest last."""
    fit = max(1, (max(width, 80) - _LEAST_NAME) // _CELL)
    shown = runs[-fit:]
    room = max(_LEAST_NAME, max(width, 80) - _CELL * len(shown))
    widest = max((cell_len(_name(what)) for own in counts.values() for what in own), default=0)
    room = min(room, max(_LEAST_NAME, widest + 1))
    out = [set_cell_size("RUN (UTC)", room) + "".join(f"{at.astimezone(timezone.utc):%m-%d %H:%M}".rjust(_CELL) for at in shown)]
    for kind, own in counts.items():
        rows = list(_rows(kind, own, len(shown)))
        out += ["", kind.upper()] if rows else []
        for what, many in rows:
            out.append(set_cell_size(clipped(_name(what), room - 1), room) + "".join(_number(each).rjust(_CELL) for each in many))
    return "\n".join(line.rstrip() for line in out) + "\n"


def plain(runs: Sequence[datetime], counts: Trend) -> str:
    """A tab-separated line per run and thing, for pipes."""
    lines = [
        "\t".join((f"{at.astimezone(timezone.utc):%Y-%m-%dT%H:%M:%SZ}", kind, printable(what), str(many[place])))
        for kind, own in counts.items()
        for what, many in _ordered(kind, own)
        for place, at in enumerate(runs)
    ]
    return "\n".join(lines) + "\n"


def _ordered(kind: str, own: Mapping[str, Sequence[int]]) -> list[tuple[str, Sequence[int]]]:
    """Of outcomes the worst first, of others those that most jobs had in the newest run."""
    if kind == "jobs":
        return list(own.items())
    return sorted(own.items(), key=lambda each: ([-many for many in reversed(each[1])], each[0]))


def _rows(kind: str, own: Mapping[str, Sequence[int]], runs: int) -> Iterator[tuple[str, Sequence[int]]]:
    for what, many in _ordered(kind, own):
        if any(many[-runs:]):
            yield what, many[-runs:]


def _name(what: str) -> str:
    return printable(_WORDS.get(what, what))


def _number(many: int) -> str:
    return f"{many:,}" if many else "·"
