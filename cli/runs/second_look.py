"""The second look at Kafka: the records of the windows that logs, checkpoints and commits leave for a poison record; one, and bounded."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from analyzers.derived import derive
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
        windows = [*wanted, *(_windows(found) if suspects else ())]
        if not windows:
            where = "--logs of the job, of at least two attempts, and --checkpoint or one --group"
            found.notes.append(f"no window for a poison record: nothing bounds it. Give {where}, or --peek-at TOPIC:PARTITION:OFFSET.")
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


def _windows(found: Evidence) -> list[Window]:
    rows = derive(found.tables).get("suspect_windows", ())
    return [Window(row["topic"], row["partition"], row["from_offset"], row["to_offset"], row["job"]) for row in rows]
