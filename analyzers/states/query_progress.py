"""StreamingQueryProgress of Spark as JSON: lines of a file, an array, `query.recentProgress` as it is printed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

from analyzers.budget import BUDGET
from analyzers.states.state import State, Text, Values

SHAPE = "query progress"
SIGNS = (b'"batchId"',)
_MOST_ROWS = BUDGET.progress_rows


def read(text: Text) -> Iterator[State]:
    """One state of all batches of a text."""
    state: State | None = None
    for document in text.documents:
        for each in document.value if isinstance(document.value, list) else [document.value]:
            row = row_of(each, document.first + 1)
            if row is None:
                continue
            state = state or State(SHAPE, document.first, document.last, also_log=True)
            state.last = document.last
            if len(state.rows.get("query_progress", ())) < _MOST_ROWS:
                state.add("query_progress", row)
    if state is not None:
        shown = state.rows["query_progress"]
        state.at = max((row["at"] for row in shown if row["at"]), default=None)
        yield state


def row_of(value: Any, line: int | None) -> Values | None:
    """A row of ``query_progress`` of one progress, which stands on `line`; None where it is none."""
    told = value.get("progress") if isinstance(value, Mapping) and isinstance(value.get("progress"), Mapping) else value
    if not isinstance(told, Mapping) or not {"batchId", "sources", "durationMs"} <= told.keys():
        return None
    sources = [each for each in told["sources"] if isinstance(each, Mapping)] if isinstance(told["sources"], list) else []
    operators = told.get("stateOperators")
    held = [each for each in operators if isinstance(each, Mapping)] if isinstance(operators, list) else []
    event_time, duration, sink = told.get("eventTime"), told["durationMs"], told.get("sink")
    return {
        "at": _time(told.get("timestamp")),
        "job": _text(told.get("id")),
        "query": _text(told.get("id")),
        "name": _text(told.get("name")),
        "run": _text(told.get("runId")),
        "batch": _number(told["batchId"]),
        "rows": _number(told.get("numInputRows")),
        "watermark": _time(event_time.get("watermark")) if isinstance(event_time, Mapping) else None,
        "event_max": _time(event_time.get("max")) if isinstance(event_time, Mapping) else None,
        "event_avg": _time(event_time.get("avg")) if isinstance(event_time, Mapping) else None,
        "state_rows": _sum(held, "numRowsTotal"),
        "removed_rows": _sum(held, "numRowsRemoved"),
        "dropped_rows": _sum(held, "numRowsDroppedByWatermark"),
        "out_rows": _number(sink.get("numOutputRows")) if isinstance(sink, Mapping) else None,
        "sources": [name for each in sources for name in _names(each)],
        "busy": [name for each in sources for name in _names(each) if _gave(each, name)],
        "duration_ms": _number(duration.get("triggerExecution")) if isinstance(duration, Mapping) else None,
        "moved": any(each.get("endOffset") not in (None, each.get("startOffset")) for each in sources),
        "sink": _text(sink.get("description")) if isinstance(sink, Mapping) else None,
        "line": line,
    }


def _names(source: Mapping[str, Any]) -> list[str]:
    """The topics of a source of Kafka, whose offsets name them, else what the source is called."""
    for key in ("endOffset", "latestOffset", "startOffset"):
        offsets = source.get(key)
        if isinstance(offsets, Mapping) and offsets and all(isinstance(each, Mapping) for each in offsets.values()):
            return [str(topic) for topic in offsets]
    return [str(source.get("description") or "a source")]


def _gave(source: Mapping[str, Any], name: str) -> bool:
    """Whether a source, or one topic of it, gave rows."""
    first, last = source.get("startOffset"), source.get("endOffset")
    if isinstance(first, Mapping) and isinstance(last, Mapping) and name in last and name in first:
        return bool(first[name] != last[name])
    return bool(_number(source.get("numInputRows")))


def _sum(operators: Sequence[Mapping[str, Any]], name: str) -> int | None:
    """What the state operators counted together; None without any."""
    return sum(_number(each.get(name)) or 0 for each in operators) if operators else None


def _number(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 62 else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _time(value: Any) -> datetime | None:
    try:
        found = datetime.fromisoformat(str(value).replace("Z", "+00:00")).astimezone(timezone.utc) if value else None
    except (ValueError, OverflowError):
        return None
    return found if found is None or found.year > 1970 else None  # Spark's way to say that there is none yet
