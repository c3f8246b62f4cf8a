# ruff: noqa: E501 -- an expression and a layout are easier to read on one line
"""The logs of a bundle once more, as other loggers print them. Servers print their own."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import cycle
from pathlib import Path

from analyzers.readers.log_scan import LogOptions, plan, scan
from analyzers.tables import Row
from tests.bundles import Case

_LEVELS = "(?P<level>DEBUG|INFO|WARN|ERROR|FATAL)"
HEADERS = tuple(
    re.compile(form)
    for form in (
        rf"(?P<at>\d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d,\d{{3}}) {_LEVELS} +(?P<logger>[\w.$-]+) +(?:\[(?P<thread>[^\]]*)\] +)?- (?P<message>.*)",
        rf"(?P<at>\d\d/\d\d/\d\d \d\d:\d\d:\d\d) {_LEVELS} (?P<logger>[\w.$]+): (?P<message>.*)",
    )
)
_DATED = re.compile(r"\[?\d{2,4}[-/]\d\d[-/]\d\d[ T]\d\d:")


@dataclass(frozen=True)
class Line:
    """The first line of an event, and what stands below it."""

    at: datetime
    level: str
    logger: str
    thread: str
    message: str
    below: tuple[str, ...] = ()


def _clock(at: datetime, point: str = ".") -> str:
    return f"{at:%H:%M:%S}{point}{at.microsecond // 1000:03d}"


def _ecs(line: Line) -> str:
    record = {
        "@timestamp": f"{line.at:%Y-%m-%dT}{_clock(line.at)}Z",
        "log.level": line.level,
        "message": line.message,
        "log.logger": line.logger,
    }
    return json.dumps(record | ({"error.stack_trace": "\n".join(line.below)} if line.below else {}))


def _with_trace(header: Callable[[Line], str]) -> Callable[[Line], str]:
    return lambda line: "\n".join((header(line), *line.below))


def _in_pod(line: Line) -> str:
    time = f"{line.at:%Y-%m-%dT}{_clock(line.at)}000000Z stdout F "
    return "\n".join(time + text for text in _logback(line).split("\n"))


_logback = _with_trace(lambda line: f"{_clock(line.at)} [{line.thread}] {line.level:<5} {line.logger} - {line.message}")
LAYOUTS: dict[str, Callable[[Line], str]] = {
    "Quarkus": _with_trace(lambda o: f"{o.at:%Y-%m-%d} {_clock(o.at, ',')} {o.level:<5} [{o.logger}] ({o.thread}) {o.message}"),
    "brackets": _with_trace(lambda o: f"[{o.at:%Y-%m-%d} {_clock(o.at)}] [{o.level}] [{o.logger}] {o.message}"),
    "Spring Boot": _with_trace(
        lambda o: f"{o.at:%Y-%m-%dT}{_clock(o.at)}Z {o.level:>5} 1 --- [{o.thread:>15.15}] {o.logger:<40} : {o.message}"
    ),
    "offset": _with_trace(
        lambda o: f"{o.at + timedelta(hours=2):%Y-%m-%dT}{_clock(o.at + timedelta(hours=2))}+02:00 {o.level} {o.logger} - {o.message}"
    ),
    "day first": _with_trace(lambda o: f"{o.at:%d-%m-%Y} {_clock(o.at)} [{o.thread}] {o.level:<5} {o.logger} - {o.message}"),
    "clock, Logback": _logback,
    "clock, WildFly": _with_trace(lambda o: f"{_clock(o.at, ',')} {o.level:<5} [{o.logger}] ({o.thread}) {o.message}"),
    "ECS": _ecs,
    "clock in a pod": _in_pod,
}


def _lines(text: str) -> list[Line] | None:
    """The events of a log; None where not every dated line is in one of the usual layouts."""
    found: list[Line] = []
    for line in text.splitlines():
        m = next((m for form in HEADERS if (m := form.fullmatch(line))), None)
        if m is None:
            if not found or _DATED.match(line):
                return None
            last = found.pop()
            found.append(Line(last.at, last.level, last.logger, last.thread, last.message, (*last.below, line)))
            continue
        at = datetime.strptime(m["at"], "%y/%m/%d %H:%M:%S" if m["at"][2] == "/" else "%Y-%m-%d %H:%M:%S,%f")
        found.append(Line(at, m["level"], m["logger"], m.groupdict().get("thread") or "main", m["message"]))
    return found


def _printed_again(case: Case) -> dict[Path, list[Line]]:
    """The logs of a bundle of nothing else; empty where one is of another layout."""
    raw = case.path / "raw"
    found = {}
    for path in sorted(raw.rglob("*")):
        if path.is_dir():
            continue
        try:
            lines = _lines(path.read_text()) if path.suffix in (".log", ".out") else None
        except UnicodeDecodeError:
            return {}
        if not lines:
            return {}
        found[path.relative_to(raw)] = lines
    return found


def turns() -> Iterator[str]:
    """The names of the layouts, for ever."""
    return cycle(LAYOUTS)


def can_be_printed(case: Case) -> bool:
    return not (case.path / "manifest.json").is_file() and bool(_printed_again(case))


def scanned(case: Case, layout: str) -> dict[str, list[Row]]:
    """The tables of the logs of `case`, printed in `layout`."""
    with tempfile.TemporaryDirectory() as folder:
        for path, lines in _printed_again(case).items():
            copy = Path(folder) / case.scope / path
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text("".join(LAYOUTS[layout](line) + "\n" for line in lines))
        return dict(scan(plan([str(Path(folder) / case.scope)], LogOptions(scope=case.scope))))
