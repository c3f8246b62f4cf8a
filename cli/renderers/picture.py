"""The picture of a card: lanes over one time axis, drawn with characters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta, timezone

from analyzers.report.history import Lane
from cli.renderers.wording import printable

LABEL = 12
_SPANS = {"works": "▇", "tries": "░", "down": " "}
_MARKS = {"completed": "●", "expired": "○", "failed": "✗", "left": "▼", "back": "▲"}
_LOUDER = ("●", "▲", "○", "▼", "✗")
"""Where several fall into one column, the last of these is drawn."""
_STEPS = [timedelta(seconds=s) for s in (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400)]
_DAY = _STEPS[-1]
_LEAST_BETWEEN = 12  # columns from one label of the axis to the next
_FEWEST_COLUMNS = 24


def picture(lanes: Iterable[Lane], begin: datetime, end: datetime, width: int) -> list[tuple[str, str]]:
    """Label and cells of the axis and of each lane that has something between `begin` and `end`; nothing where none has."""
    columns = width - LABEL
    if end <= begin or columns < _FEWEST_COLUMNS:
        return []
    length = (end - begin) / columns
    drawn = [(printable(lane.name), "".join(_cells(lane, begin, end, columns))) for lane in lanes]
    drawn = [(name, cells.rstrip()) for name, cells in drawn if cells.strip()]
    return [("", _axis(begin, length, columns)), *drawn] if drawn else []


def _cells(lane: Lane, begin: datetime, end: datetime, columns: int) -> Sequence[str]:
    cells = [" "] * columns
    length = (end - begin) / columns

    def column(at: datetime) -> int:
        return min(columns - 1, max(0, int((at - begin) / length)))

    for span in lane.spans:
        if span.end >= begin and span.begin <= end:
            for number in range(column(span.begin), column(span.end) + 1):
                cells[number] = _SPANS[span.kind]
    for mark in lane.marks:
        if begin <= mark.at <= end:
            at, sign = column(mark.at), _MARKS[mark.kind]
            if cells[at] not in _LOUDER or _LOUDER.index(sign) > _LOUDER.index(cells[at]):
                cells[at] = sign
    return cells


def _axis(begin: datetime, length: timedelta, columns: int) -> str:
    """Times at round moments, the first of each minute (hour, day) in full."""
    cells = [" "] * columns
    last = None
    for at, label in ticks(begin, begin + length * columns, length * _LEAST_BETWEEN):
        minute = at.replace(second=0)
        label = label[-3:] if len(label) == len("00:00:00") and minute == last else label
        place = int((at - begin) / length)
        if place + len(label) <= columns:
            cells[place : place + len(label)] = label
        last = minute
    return "".join(cells).rstrip()


def ticks(begin: datetime, end: datetime, least: timedelta) -> Iterator[tuple[datetime, str]]:
    """Round moments from `begin` to before `end`, at `least` that far apart, each with its time of day or its day."""
    step = next((s for s in _STEPS if s >= least), _DAY * -(-least // _DAY))
    form = "%b %d" if step >= timedelta(days=1) else "%H:%M" if step >= timedelta(minutes=1) else "%H:%M:%S"
    epoch = datetime(1970, 1, 1, tzinfo=timezone.utc)
    at = epoch + -(-(begin - epoch) // step) * step
    while at < end:
        yield at, f"{at:{form}}"
        at += step
