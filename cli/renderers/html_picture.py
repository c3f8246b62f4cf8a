"""The picture of a card as SVG: places in per cent and heights in pixels, so that it is as wide as the page and its text stays readable."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from analyzers.report.durations import span
from analyzers.report.history import Lane, Mark
from cli.renderers.markup import text
from cli.renderers.picture import ticks
from cli.renderers.wording import clipped, clock

_COLUMNS = 240
"""What falls into one of them is drawn once: a page stays small however long the job restarts."""
_LABELS = 10
_NARROW = 3  # on a phone each third label is shown
_TOP, _LANE, _BAND = 26, 46, 18
_SAYS = 400
_SPANS = {"works": "checkpoints complete", "tries": "no checkpoint completed", "down": "down"}
_SHAPES = {
    "completed": '<circle r="4.5"/>',
    "expired": '<circle r="4.5"/>',
    "failed": '<path d="M-5-5L5 5M-5 5L5-5"/>',
    "left": '<path d="M-6-4.5H6L0 6Z"/>',
    "back": '<path d="M-6 4.5H6L0-6Z"/>',
}
_REACH = '<circle r="10" fill="none" stroke="none" pointer-events="all"/>'  # a sign is small for a finger
LEGEND = {
    "completed": "● checkpoint completed", "expired": "○ expired or failed", "failed": "× attempt failed",
    "left": "▼ broker left", "back": "▲ broker back",
}  # fmt: skip


@dataclass(frozen=True)
class Shown:
    """One sign of the picture: what happened at one moment, or several times in one column."""

    kind: str
    marks: Sequence[Mark]
    lane: str

    @property
    def says(self) -> str:
        first, last = self.marks[0].says, self.marks[-1].says
        return first if len(self.marks) == 1 else f"{len(self.marks)} times, first: {first}, last: {last}"


def shown(lanes: Iterable[Lane], begin: datetime, end: datetime) -> list[Shown]:
    """The signs between `begin` and `end`, a lane after the other."""
    signs = []
    for lane in lanes:
        columns: dict[tuple[str, int], list[Mark]] = {}
        for mark in lane.marks:
            if begin <= mark.at <= end:
                columns.setdefault((mark.kind, int((mark.at - begin) / (end - begin) * _COLUMNS)), []).append(mark)
        signs += [Shown(kind, marks, lane.name) for (kind, _), marks in columns.items()]
    return signs


def svg(number: int, lanes: Sequence[Lane], begin: datetime, end: datetime, signs: Sequence[Shown], link: Callable[[Shown], str]) -> str:
    """The picture; `number` tells it from others on the page, `link` gives the anchor that a sign leads to."""
    drawn = [lane for lane in lanes if any(sign.lane == lane.name for sign in signs) or any(s.end >= begin for s in lane.spans)]
    if not drawn:
        return ""
    height = _TOP + _LANE * len(drawn)

    def place(at: datetime) -> float:
        return min(100.0, max(0.0, (at - begin) / (end - begin) * 100))

    label = f"{text(', '.join(lane.name for lane in drawn))} from {clock(begin)} to {clock(end)} UTC"
    hatch = '<path class="hatch" d="M0 6L6 0"/>'
    parts = [
        f'<svg class="picture" role="img" aria-label="{label}" width="100%" height="{height}"><defs>',
        *(f'<g id="s{number}-{kind}">{_REACH}{shape}</g>' for kind, shape in _SHAPES.items()),
        f'<pattern id="s{number}-tries" width="6" height="6" patternUnits="userSpaceOnUse">{hatch}</pattern></defs>',
        *_axis(begin, end, height, place),
    ]
    for row, lane in enumerate(drawn):
        top = _TOP + row * _LANE
        parts.append(f'<g class="lane"><text class="name" y="{top + 12}">{text(lane.name)}</text>')
        parts += _spans(number, lane, begin, end, top + 19, place)
        for sign in signs:
            if sign.lane == lane.name:
                at, last = place(sign.marks[0].at), sign.marks[-1].at
                when = clock(sign.marks[0].at) + (f" – {clock(last)}" if len(sign.marks) > 1 else "")
                parts.append(
                    f'<a href="#{link(sign)}"><title>{when} {text(clipped(sign.says, _SAYS))}</title>'
                    f'<use class="{sign.kind}" href="#s{number}-{sign.kind}" x="{at:.2f}%" y="{top + 19 + _BAND / 2:g}"/></a>'
                )
        parts.append("</g>")
    return "".join([*parts, "</svg>"])


def _axis(begin: datetime, end: datetime, height: int, place: Callable[[datetime], float]) -> Iterator[str]:
    for number, (at, label) in enumerate(ticks(begin, end, (end - begin) / _LABELS)):
        x = place(at)
        kind = "" if number % _NARROW == 0 else " minor"
        anchor = "start" if x < 4 else "end" if x > 96 else "middle"
        yield f'<line x1="{x:.2f}%" x2="{x:.2f}%" y1="18" y2="{height}"/>'
        yield f'<text class="tick{kind}" x="{x:.2f}%" y="12" text-anchor="{anchor}">{label}</text>'


def _spans(number: int, lane: Lane, begin: datetime, end: datetime, top: int, place: Callable[[datetime], float]) -> Iterator[str]:
    seen = set()
    for one in lane.spans:
        if one.end < begin or one.begin > end:
            continue
        x, width = place(one.begin), max(0.2, place(one.end) - place(one.begin))
        where = (one.kind, int(x * _COLUMNS / 100), int((x + width) * _COLUMNS / 100))
        if where in seen:
            continue
        seen.add(where)
        fill = f' fill="url(#s{number}-tries)"' if one.kind == "tries" else ""
        yield (
            f'<rect class="{one.kind}" x="{x:.2f}%" width="{width:.2f}%" y="{top}" height="{_BAND}"{fill}>'
            f"<title>{clock(one.begin)} – {clock(one.end)} ({span(one.end - one.begin)}): {_SPANS[one.kind]}</title></rect>"
        )
