"""What a log does after a consumer's poll came too late: whether the work that it reported before is ever reported again.

A client whose poll times out says so once. Whether it has come back only ordinary lines show, which a scan does not keep: these files
are read once more, up to a bound.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from analyzers.budget import BUDGET
from analyzers.logs.matching.expressions import expression
from analyzers.logs.scan.selection import mask
from analyzers.readers.opening import TROUBLES, at_most, open_file, parts
from analyzers.readers.splits import LogFile
from analyzers.tables import Row

EXPIRED = "poll-timeout-expired"
BACK = ("group-joining", "group-rebalancing")
MOST_FILES = BUDGET.polled_files
MOST_BYTES = BUDGET.polled_bytes
_BEFORE = 20_000
"""Lines before the event that show what the log is like."""
_AFTER = 600.0
"""Seconds: twice the poll interval that clients have unless it is set."""
_EXPECTED = 3.0
"""So many lines of work would have come meanwhile at the rate of before."""
_REGULAR = 3
_GOES_ON = 5
_SHAPE = 60
_LAST = 240
_RETURNS = expression(
    r"(?i)\b(?:re-?)?(?:assign(?:ed|ing|ment)|join(?:ed|ing)|subscrib(?:ed|ing)|balanc(?:ed|ing)|connect(?:ed|ing) to|start(?:ed|ing|up)"
    r"|resum(?:ed|ing)|creat(?:ed|ing) consumer)\b"
)
"""Words of a client that comes back, or of a process that begins anew."""
_STAMP = expression(r"^[\[(\"]?(?:\d{4}-\d\d-\d\d|\d\d[:/]\d\d|\d{10})[^\sA-Za-z]*(?:[T ]\d\d:\d\d[^\s\]]*)?(?: [+-]\d\d:?\d\d)?\s*")
_LEVEL = expression(r"^\W{0,2}(?:TRACE|DEBUG|INFO|WARN(?:ING)?|ERROR|TRC|DBG|INF|WRN|ERR|[TDIWE])\b[\])}|:]*\s+")
_LOGGER = expression(r"^(?:[<\[][\w.$:/-]+[>\]]\s*|[\w$]+(?:::\w+)+:\s+)(?=\S)")
_MESSAGES = ("msg", "message", "log", "event", "text")


def with_silences(events: Sequence[Row], files: Iterable[LogFile], read: Sequence[Row]) -> None:
    """Adds ``away_seconds`` and ``last_line``, or ``silent``, to the ``detail`` of the last late poll of each log whose work stays away."""
    late: dict[str, Row] = {}
    back: dict[str, int] = {}
    for row in events:
        if row["signature"] == EXPIRED and row["line"] >= (late[row["file"]]["line"] if row["file"] in late else 0):
            late[row["file"]] = row
        elif row["signature"] in BACK:
            back[row["file"]] = max(back.get(row["file"], 0), row["line"])
    open_ = {name: row for name, row in late.items() if row["at"] is not None and back.get(name, 0) < row["line"]}
    if not open_ or len(open_) > MOST_FILES:
        return
    spans = {row["file"]: (row["first_at"], row["last_at"]) for row in read}
    for file in files:
        event = open_.get(file.origin.file)
        if event is None or file.size > MOST_BYTES or None in spans.get(file.origin.file, (None,)):
            continue
        found = silence(lines_of(file), event, *spans[file.origin.file])
        if found is not None:
            event["detail"] = {**(event["detail"] or {}), **found}


def silence(lines: Sequence[str], event: Row, first: datetime, last: datetime) -> Mapping[str, str] | None:
    """How long the log goes on without the work that it reported before `event`, and the last line of that work; None where it comes back.

    ``silent`` where the log ends too soon to show either, and none of what was regular before is in it.
    """
    at = event["line"] - 1
    after, before = (last - event["at"]).total_seconds(), (event["at"] - first).total_seconds()
    if before <= 0 or at >= len(lines) or any(_RETURNS.search(_said(line)) for line in lines[at + 1 :]):
        return None
    later = [shape for line in lines[at + 1 :] if (shape := _shape(line))]
    shown = [(shape, line) for line in lines[max(0, at - _BEFORE) : at] if (shape := _shape(line))]
    going_on = set(later)
    counts = Counter(shape for shape, _ in shown)
    ceased = sum(number for shape, number in counts.items() if number >= _REGULAR and shape not in going_on)
    if after < _AFTER or len(later) < _GOES_ON:
        return None if any(counts[shape] >= _REGULAR for shape in going_on) else {"silent": "1"}
    if ceased / before * after < _EXPECTED:
        return None
    work = next((line for shape, line in reversed(shown) if shape not in going_on), None)
    return {"away_seconds": str(int(after)), **({"last_line": said(work)} if work else {})}


def _said(line: str) -> str:
    """A line without its time; of one in JSON its message."""
    if line.lstrip().startswith("{"):
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            value = None
        if isinstance(value, dict):
            found = next((each for name in _MESSAGES if isinstance(each := value.get(name), str)), None)
            if found is not None:
                return str(found).strip()
    return _STAMP.sub("", line.strip())


def said(line: str) -> str:
    """What a line says, without time, level and logger."""
    return _LOGGER.sub("", _LEVEL.sub("", _said(line)))[:_LAST].strip()


def _shape(line: str) -> str:
    """The kind of a line: its first words without numbers and values."""
    return re.sub(r"\S*\d\S*|\S*#\S*", "#", mask(_said(line)))[:_SHAPE].rstrip()


def lines_of(file: LogFile, most: int = MOST_BYTES) -> list[str]:
    """The lines of the first `most` bytes of a log as stored; none where it cannot be read again."""
    text = stored(file, most)
    try:
        return text.decode(file.encoding or "utf-8", "replace").split("\n") if text else []
    except LookupError:  # an encoding that is none
        return []


def stored(file: LogFile, most: int) -> bytes:
    """The first `most` bytes of a log as stored; none where it cannot be read again."""
    try:
        with open_file(file.path) as stream:
            return next((at_most(text, most) for inside, text, _ in parts(stream) if inside == file.members), b"")
    except TROUBLES:
        return b""
