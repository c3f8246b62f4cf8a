"""What is known before any rule has judged: on the screen while the JVM still starts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from analyzers.report.durations import counted
from analyzers.secrets.content import shortened
from analyzers.tables import Row

_AGAIN = ("RESTARTING", "FAILED")
_MOST_WORDS = 160  # of an exception


def first_words(tables: Mapping[str, Sequence[Row]]) -> list[str]:
    """Two lines at most: which logs, of which time; how often a job failed, and its newest exception. Nothing without logs."""
    files = [row for row in tables.get("log_files", ()) if row["lines"]]
    if not files:
        return []
    lines = sum(row["lines"] for row in files)
    begins, ends = [row["first_at"] for row in files if row["first_at"]], [row["last_at"] for row in files if row["last_at"]]
    reach = ""
    if begins and ends:
        begin, end = min(begins), max(ends)
        reach = f", {begin:%Y-%m-%d %H:%M:%S} to {end:{'%H:%M:%S' if begin.date() == end.date() else '%Y-%m-%d %H:%M:%S'}} UTC"
    said = [f"{counted(len(files), 'log')}, {counted(lines, 'line')}{reach}"]
    events = tables.get("log_events", ())
    restarts = sum(event["signature"] == "job-state" and event["to_state"] in _AGAIN for event in events)
    thrown = [event for event in events if event["root_exception"] and event["at"] and event["level"] in ("WARN", "ERROR", "FATAL")]
    newest = max(thrown, key=lambda event: event["at"], default=None)
    words = (
        [f"the job restarted or failed {restarts:,} times"] if restarts > 1 else ["the job restarted or failed once"] if restarts else []
    )
    if newest is not None:
        name = newest["root_exception"].rsplit(".", 1)[-1]
        message = " ".join((newest["root_message"] or "").split())
        words.append(f"newest exception {newest['at']:%H:%M:%S}: {_quoted(name, message)}"[:_MOST_WORDS])
    return [*said, "; ".join(words)] if words else said


def _quoted(name: str, message: str) -> str:
    """What a record held stays out, as in reports."""
    return shortened(f"{name}: {message}") if message else name
