"""The picture of a card as SVG: places in per cent and heights in pixels, so that it is as wide as the page and its text stays readable."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from analyzers.report.durations import span
from analyzers.report.history import Lane, Mark
from cli.renderers.markup import Markup, element, text
from cli.renderers.picture import ticks
from cli.renderers.wording import clipped, clock, printable

_COLUMNS = 240
"""What falls into one of them is drawn once: a page stays small however long the job restarts."""
_LABELS = 10
_NARROW = 3  # on a phone each third label is shown
_TOP, _LANE, _BAND = 26, 46, 18
_SAYS = 400
_SPANS = {"works": "checkpoints complete", "tries": "no checkpoint completed", "down": "down"}
_SHAPES = {
    "completed": element("circle", r=4.5),
    "expired": element("circle", r=4.5),
    "failed": element("path", d="M-5-5L5 5M-5 5L5-5"),
    "left": element("path", d="M-6-4.5H6L0 6Z"),
    "back": element("path", d="M-6 4.5H6L0-6Z"),
}
_REACH = element("circle", r=10, fill="none", stroke="none", pointer_events="all")  # a sign is small for a finger
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


def svg(
    number: int, lanes: Sequence[Lane], begin: datetime, end: datetime, signs: Sequence[Shown], link: Callable[[Shown], str]
) -> Markup | None:
    """The picture; `number` tells it from others on the page, `link` gives the anchor that a sign leads to."""
    drawn = [lane for lane in lanes if any(sign.lane == lane.name for sign in signs) or any(s.end >= begin for s in lane.spans)]
    if not drawn:
        return None
    height = _TOP + _LANE * len(drawn)

    def place(at: datetime) -> float:
        return min(100.0, max(0.0, (at - begin) / (end - begin) * 100))

    hatch = element("path", class_="hatch", d="M0 6L6 0")
    shapes = (element("g", _REACH, shape, id=f"s{number}-{kind}") for kind, shape in _SHAPES.items())
    tries = element("pattern", hatch, id=f"s{number}-tries", width=6, height=6, patternUnits="userSpaceOnUse")
    rows = []
    for row, lane in enumerate(drawn):
        top = _TOP + row * _LANE
        signed = (_sign(number, sign, top, place, link(sign)) for sign in signs if sign.lane == lane.name)
        name = element("text", text(lane.name), class_="name", y=top + 12)
        rows.append(element("g", name, *_spans(number, lane, begin, end, top + 19, place), *signed, class_="lane"))
    return element(
        "svg",
        element("defs", *shapes, tries),
        *_axis(begin, end, height, place),
        *rows,
        class_="picture",
        role="img",
        aria_label=printable(f"{', '.join(lane.name for lane in drawn)} from {clock(begin)} to {clock(end)} UTC"),
        width="100%",
        height=height,
    )


def _sign(number: int, sign: Shown, top: int, place: Callable[[datetime], float], leads: str) -> Markup:
    first, last = sign.marks[0].at, sign.marks[-1].at
    when = clock(first) + (f" – {clock(last)}" if len(sign.marks) > 1 else "")
    drawn = element("use", class_=sign.kind, href=f"#s{number}-{sign.kind}", x=f"{place(first):.2f}%", y=f"{top + 19 + _BAND / 2:g}")
    return element("a", element("title", f"{when} ", text(clipped(sign.says, _SAYS))), drawn, href=f"#{leads}")


def _axis(begin: datetime, end: datetime, height: int, place: Callable[[datetime], float]) -> Iterator[Markup]:
    for number, (at, label) in enumerate(ticks(begin, end, (end - begin) / _LABELS)):
        x = place(at)
        kind = "" if number % _NARROW == 0 else " minor"
        anchor = "start" if x < 4 else "end" if x > 96 else "middle"
        yield element("line", x1=f"{x:.2f}%", x2=f"{x:.2f}%", y1=18, y2=height)
        yield element("text", label, class_=f"tick{kind}", x=f"{x:.2f}%", y=12, text_anchor=anchor)


def _spans(number: int, lane: Lane, begin: datetime, end: datetime, top: int, place: Callable[[datetime], float]) -> Iterator[Markup]:
    seen = set()
    for one in lane.spans:
        if one.end < begin or one.begin > end:
            continue
        x, width = place(one.begin), max(0.2, place(one.end) - place(one.begin))
        where = (one.kind, int(x * _COLUMNS / 100), int((x + width) * _COLUMNS / 100))
        if where in seen:
            continue
        seen.add(where)
        says = f"{clock(one.begin)} – {clock(one.end)} ({span(one.end - one.begin)}): {_SPANS[one.kind]}"
        fill = f"url(#s{number}-tries)" if one.kind == "tries" else None
        yield element("rect", element("title", says), class_=one.kind, x=f"{x:.2f}%", width=f"{width:.2f}%", y=top, height=_BAND, fill=fill)
