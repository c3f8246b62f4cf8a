"""The second look at Kafka: the records of the windows that logs, checkpoints and commits leave for a poison record; one, and bounded."""

from __future__ import annotations

import asyncio
import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

from analyzers.derived import derive, lag_of
from analyzers.report.durations import counted
from analyzers.tables import Row
from analyzers.tables.evidence import Evidence
from cli.collectors.kafka_cluster import Cluster
from cli.collectors.kafka_peek import MOST_WINDOWS, Window, peek
from cli.collectors.kafka_session import Limits
from cli.collectors.kafka_wire import client_and_entries
from cli.runs.evidence import Progress
from cli.shell.exits import CannotLook, UsageError

_PLACE = re.compile(r"(?P<topic>[\w.-]+):(?P<partition>\d+):(?P<offset>\d+)")


def second_look(
    bootstrap_servers: Sequence[str],
    command_config: Path | None,
    timeout_seconds: float,
    *,
    asked: Sequence[str],
    suspects: bool,
    show_content: bool,
    progress: Progress,
) -> Callable[[Evidence], None]:
    """A function that adds rows to ``records`` of the evidence: of the places `asked` for, and with `suspects` of ``suspect_windows``.

    Raises `UsageError` at once for a place that cannot be understood.
    """
    client, entries = client_and_entries(bootstrap_servers, command_config)
    wanted = [window_at(text) for text in asked]

    def look(found: Evidence) -> None:
        windows = [*wanted, *((_windows(found) or _stuck(found)) if suspects else ())]
        if not windows:
            where = "--logs of the job, of at least two attempts, and --checkpoint or one --group"
            found.notes.append(
                f"no window for a poison record: nothing bounds it, and no commit stands still. Give {where}, or "
                "--peek-at TOPIC:PARTITION:OFFSET."
            )
            return
        progress(f"reading records in {counted(min(len(windows), MOST_WINDOWS), 'window')}")
        if len(windows) > MOST_WINDOWS:
            found.notes.append(f"records were read in {MOST_WINDOWS} of {len(windows)} windows; --topic or --peek-at narrows them")
        try:
            rows = asyncio.run(_peek(windows))
        except CannotLook as error:
            found.notes.append(f"the records could not be read: {error.message}")
            return
        found.tables = {**found.tables, "records": [*found.tables.get("records", ()), *rows]}

    async def _peek(windows: Sequence[Window]) -> list[Row]:
        tls = client.tls_context() if client.uses_tls else None
        cluster = await Cluster.connect(entries, client, tls, Limits.within(timeout_seconds))
        try:
            return await peek(cluster, windows, show_content=show_content)
        finally:
            cluster.close()

    return look


def window_at(text: str) -> Window:
    """``TOPIC:PARTITION:OFFSET``. Raises `UsageError`."""
    match = _PLACE.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"--peek-at {text} names no record.", "Write TOPIC:PARTITION:OFFSET, as orders:2:1204300.")
    offset = int(match["offset"])
    return Window(match["topic"], int(match["partition"]), offset, offset)


def _stuck(found: Evidence) -> list[Window]:
    """The record at each commit that no sample saw move and that has records behind it, the one that has waited longest first."""
    derived = lag_of(found.tables)
    explained = {_log(row) for row in derived["lag_truth"] if row["healthy"]}
    commits = {(row["group"], row["topic"], row["partition"]): row for row in found.tables.get("committed_offsets", ())}
    moved: dict[tuple[str, str, int], set[int | None]] = defaultdict(set)
    for row in found.tables.get("committed_offsets", ()):
        moved[_log(row)].add(row["committed"])
    stuck = [row for row in derived["lag_status"] if row["lag_records"] and len(moved[_log(row)]) == 1 and _log(row) not in explained]
    stuck.sort(key=lambda row: (-(row["time_lag_seconds"] or 0.0), -row["lag_records"], _log(row)))
    places: dict[tuple[str, int, int], None] = {}
    for row in stuck:
        at = commits[_log(row)]
        places[row["topic"], row["partition"], max(at["committed"], at["log_start"])] = None
    return [Window(topic, partition, offset, offset) for topic, partition, offset in places]


def _log(row: Row) -> tuple[str, str, int]:
    return row["group"], row["topic"], row["partition"]


def _windows(found: Evidence) -> list[Window]:
    rows = derive(found.tables).get("suspect_windows", ())
    return [Window(row["topic"], row["partition"], row["from_offset"], row["to_offset"], row["job"]) for row in rows]
