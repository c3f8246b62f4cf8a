"""What one job did, on the clock that all jobs of a page share: up or down, restarts, checkpoints, and since when it is ill."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeVar

from analyzers.report.durations import counted
from analyzers.report.history import Lane
from cli.renderers.markup import Markup, element
from cli.renderers.wording import when

T = TypeVar("T")
COLUMNS = 240
_DAY, _LONGEST = timedelta(days=1), timedelta(days=31)
_MARKS = {"failed": "restart", "expired": "expired checkpoint", "completed": "completed checkpoint"}
_SPANS = ("works", "tries", "down")
_TALL, _TOP, _BAND = 16, 4, 8


@dataclass(frozen=True)
class Strip:
    """Spans (begin, end, kind) and marks (kind, moments) of one job, as few as a picture can show."""

    spans: tuple[tuple[datetime, datetime, str], ...] = ()
    marks: tuple[tuple[str, tuple[datetime, ...]], ...] = ()
    counts: tuple[tuple[str, int], ...] = ()

    @property
    def end(self) -> datetime | None:
        """The last moment that it knows."""
        return max([end for _, end, _ in self.spans] + [at for _, times in self.marks for at in times], default=None)


def strip_of(lanes: Iterable[Lane]) -> Strip:
    """The strip of the lanes of one job. Runs on executors."""
    own = list(lanes)
    spans = [(span.begin, span.end, span.kind) for lane in own for span in lane.spans]
    times: dict[str, list[datetime]] = {}
    for lane in own:
        for mark in lane.marks:
            if mark.kind in _MARKS:
                times.setdefault(mark.kind, []).append(mark.at)
    counts = tuple((kind, len(found)) for kind, found in sorted(times.items()))
    return Strip(tuple(_fewer(spans)), tuple((kind, tuple(_fewer(sorted(found)))) for kind, found in sorted(times.items())), counts)


def _fewer(found: Sequence[T]) -> Sequence[T]:
    """The newest and, of the others, evenly as many as a picture has columns."""
    return found if len(found) <= COLUMNS else [*found[:: len(found) // COLUMNS + 1], found[-1]]


def reach(strips: Iterable[Strip], since: Iterable[datetime]) -> tuple[datetime, datetime] | None:
    """What the clock of a page shows: from before nearly all troubles began, at most a month, to the newest moment that is known."""
    begins = sorted(since)
    ends = [end for strip in strips if (end := strip.end) is not None]
    if not ends and not begins:
        return None
    end = max([*ends, *begins])
    first = begins[len(begins) // 20] if begins else end - _DAY
    begin = max(end - _LONGEST, first - (end - first) / 8)
    return (begin, end) if end > begin else None


def drawn(strip: Strip, since: datetime | None, clock: tuple[datetime, datetime]) -> Markup | None:
    """The strip as SVG; None where it shows nothing of this time."""
    begin, end = clock

    def column(at: datetime) -> int:
        return max(0, min(COLUMNS, round((at - begin) / (end - begin) * COLUMNS)))

    paths = []
    for kind in _SPANS:
        boxes = [(column(start), max(column(stop), column(start) + 1)) for start, stop, of in strip.spans if of == kind and stop >= begin]
        paths += (
            [element("path", class_=kind, d="".join(f"M{a} {_TOP}h{b - a}v{_BAND}h-{b - a}z" for a, b in _merged(boxes)))] if boxes else []
        )
    for kind, times in strip.marks:
        at = sorted({column(time) for time in times if time >= begin})
        if at and kind != "completed":
            paths.append(element("path", class_=f"at-{kind}", d="".join(f"M{x} {_TOP - 2}v{_BAND + 4}" for x in at)))
    if since is not None and begin <= since <= end:
        paths.append(element("path", class_="at-since", d=f"M{column(since)} 0v{_TALL}"))
    if not paths:
        return None
    return element(
        "svg", element("title", says(strip, since)), *paths, class_="strip", role="img", viewBox=f"0 0 {COLUMNS} {_TALL}",
        preserveAspectRatio="none",
    )  # fmt: skip


def not_drawn(strip: Strip, since: datetime | None) -> str:
    """Why nothing is drawn of a job."""
    last = max(filter(None, (strip.end, since)), default=None)
    return "no restart or checkpoint with a time" if last is None else f"all of it earlier: up to {when(last)[:16]}"


def says(strip: Strip, since: datetime | None) -> str:
    """The same in words."""
    count = Counter(dict(strip.counts))
    parts = [counted(count[kind], words) for kind, words in _MARKS.items() if count[kind]]
    return "; ".join(filter(None, (", ".join(parts), f"ill since {when(since)} UTC" if since else ""))) or "no restart and no checkpoint"


def _merged(boxes: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    out: list[tuple[int, int]] = []
    for begin, end in sorted(boxes):
        if out and begin <= out[-1][1]:
            out[-1] = (out[-1][0], max(end, out[-1][1]))
        else:
            out.append((begin, end))
    return out
