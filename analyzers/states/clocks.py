"""When a paste was made, where its own lines show it: what `date` printed above a command, or a prompt with a time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from typing import NamedTuple

from analyzers.logs.matching.expressions import expression

_ZONES = {"UTC": 0, "GMT": 0, "Z": 0, "WET": 0, "CET": 60, "CEST": 120, "MSK": 180, "EST": -300, "EDT": -240, "PST": -480, "PDT": -420}
_UNIX = expression(
    r"^\s*(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? +(?:(?P<d1>\d{1,2}) +)?(?P<month>Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) +"
    r"(?:(?P<d2>\d{1,2}) +)?(?:(?P<y1>\d{4}) +)?(?P<clock>\d\d:\d\d:\d\d)(?: [AP]M)?"
    r"(?: (?P<zone>[A-Z]{1,5}|[+-]\d{4}))?(?: (?P<y2>\d{4}))?\s*$"
)
_ISO = expression(
    r"^[\s#=-]*(?:[\w ]{0,20}: ?)?(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d)?)(?:[.,]\d+)? ?"
    r"(Z|UTC|[+-]\d\d(?::?\d\d)?)?[\s=#-]*$"
)
_CLOCK = expression(r"^[\s#=-]*(?P<h>[01]?\d|2[0-3]):(?P<m>[0-5]\d)(?::(?P<s>[0-5]\d))?(?: ?(?:UTC|Z))?[\s=#-]*$")
_COMMAND = expression(
    r"(?<=\S)\s{1,4}(?:[#$>%]\s{0,2})?(?:[\w./~-]{0,80}/)?(?:kafka-(?:consumer-groups|topics|configs|transactions|log-dirs|get-offsets|acls"
    r"|reassign-partitions|metadata-quorum|console-consumer|run-class|leader-election|broker-api-versions)(?:\.sh)?|rpk|kcat|kubectl|curl)"
    r"\s{1,4}(?=\S{0,80}(?:\s\S{1,80}){0,3}\s?-)"
)
"""What a person types behind the time of a command."""
_MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]


class Clock(NamedTuple):
    """A moment, or only a time of day (seconds since midnight). `zoned`: it names its zone; else UTC is assumed."""

    at: datetime | None = None
    of_day: float | None = None
    zoned: bool = False


def clock_of(line: str) -> Clock | None:
    """What a line says of the time, if it says nothing else."""
    if not any(c.isdigit() for c in line[:60]):
        return None
    if (command := _COMMAND.search(line[:200])) is not None:
        line = line[: command.start()]
    if len(line) > 60:
        return None
    if m := _UNIX.match(line):
        day, year = m["d1"] or m["d2"], m["y1"] or m["y2"]
        hours, minutes, seconds = map(int, m["clock"].split(":"))
        if day and year:
            zone = m["zone"] or "UTC"
            offset = _ZONES.get(zone, 0) if zone[0] not in "+-" else int(zone[:3]) * 60 + int(zone[0] + zone[3:])
            try:
                local = datetime(int(year), _MONTHS.index(m["month"]) + 1, int(day), hours, minutes, seconds, tzinfo=timezone.utc)
                return Clock(local - timedelta(minutes=offset), zoned=m["zone"] is not None)
            except (ValueError, OverflowError):  # the first and the last day of all have no other zone
                return None
        return Clock(of_day=hours * 3600 + minutes * 60 + seconds)
    if m := _ISO.match(line):
        zone = (m[3] or "+00:00").replace("Z", "+00:00").replace("UTC", "+00:00")
        zone += ":00" if len(zone) == 3 else ""
        try:
            return Clock(datetime.fromisoformat(f"{m[1]}T{m[2]}{zone}").astimezone(timezone.utc), zoned=m[3] is not None)
        except (ValueError, OverflowError):
            return None
    if m := _CLOCK.match(line):
        return Clock(of_day=int(m["h"]) * 3600 + int(m["m"]) * 60 + int(m["s"] or 0))
    return None


class Clocks:
    """The lines of a text that say the time, asked for one place after the other."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines, self._seen, self._at = lines, 0, Clock()

    def before(self, line: int) -> Clock:
        """What the last such line before `line` says."""
        for number in range(self._seen, line):
            self._at = clock_of(self._lines[number]) or self._at
        self._seen = max(self._seen, line)
        return self._at
