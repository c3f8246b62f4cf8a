"""Sinks of Kafka Connect that say RUNNING and do not go on although records wait: their committed offsets, look by look.

Looks are answers of ``/connectors/NAME/offsets`` and samples of the sink's consumer group, which are the same numbers. That records wait
is known from the group's samples alone. Nothing is said of a source connector: how far its source is, Kafka does not know.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from analyzers.tables import CONNECTOR_STANDS, Row

Tables = Mapping[str, Sequence[Row]]
Place = tuple[str, int]


class _Look(NamedTuple):
    """One committed offset; `lag`: records behind it that a reader can see, None where the look does not show them."""

    at: datetime
    committed: int
    lag: int | None
    row: Row


def connector_stands(tables: Tables) -> list[Row]:
    """Rows of ``connector_stands``: one per partition whose offset is the same in at least two looks, the last of which shows records
    behind it, none of them explained by ``lag_truth`` as no lag."""
    found = []
    for (scope, connector), states in sorted(_by(tables.get("connector_tasks", ()), "connector").items()):
        tasks = _running(states)
        if not tasks:
            continue
        settings = {
            row["key"]: row["value"]
            for row in tables.get("connector_configs", ())
            if (row["scope"], row["connector"]) == (scope, connector)
        }
        group = settings.get("consumer.override.group.id") or f"connect-{connector}"
        looks = _looks(tables, scope, connector, group)
        runs = {place: run for place, each in looks.items() if (run := _last_run(each))}
        not_running = [row["as_of"] for row in states if row["as_of"] and row["state"] != "RUNNING"]
        moved = sum(len(each) > 1 and each[-1].committed != each[-2].committed for each in looks.values())
        for (topic, partition), run in sorted(runs.items()):
            lag = next((look.lag for look in reversed(run) if look.lag is not None), None)
            known, waited = _known(tables, scope, group, topic, partition)
            if not lag or known or any(run[0].at <= at <= run[-1].at for at in not_running):
                continue
            at = run[-1].row
            found.append(CONNECTOR_STANDS.row({
                "scope": scope, "as_of": run[-1].at, "connector": connector, "class": settings.get("connector.class"), "group": group,
                "topic": topic, "partition": partition, "committed": run[-1].committed, "lag_records": lag, "waited_seconds": waited,
                "stands_seconds": (run[-1].at - run[0].at).total_seconds(), "since": run[0].at, "until": run[-1].at, "looks": len(run),
                "beside": moved, "tasks": tasks, "file": at.get("file"), "line": at.get("line"),
                "text": f"{connector} RUNNING, {tasks} task(s) RUNNING; {topic}-{partition} committed {run[-1].committed} in "
                f"{len(run)} looks, lag {lag}",
            }))  # fmt: skip
    return found


def _by(rows: Iterable[Row], name: str) -> dict[tuple[str, str], list[Row]]:
    found: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in rows:
        if row[name] is not None:
            found[row["scope"], row[name]].append(row)
    return found


def _running(states: Sequence[Row]) -> int:
    """How many tasks a connector has that are all RUNNING, as it is itself, in its newest look; 0 where they are not."""
    last = max((row["moment"] or 0 for row in states), default=0)
    newest = [row for row in states if (row["moment"] or 0) == last]
    if any(row["state"] != "RUNNING" or row["type"] == "source" for row in newest):
        return 0
    return sum(row["task"] is not None for row in newest)


def _looks(tables: Tables, scope: str, connector: str, group: str) -> dict[Place, list[_Look]]:
    """All looks with a time, by partition, oldest first."""
    found: dict[Place, list[_Look]] = defaultdict(list)
    for at, lag, row in _samples(tables, scope, connector, group):
        if at is not None and None not in (row["topic"], row["partition"], row["committed"]):
            found[row["topic"], row["partition"]].append(_Look(at, row["committed"], lag, row))
    return {place: sorted(looks, key=lambda look: look.at) for place, looks in found.items()}


def _samples(tables: Tables, scope: str, connector: str, group: str) -> Iterator[tuple[datetime | None, int | None, Row]]:
    for row in tables.get("connector_offsets", ()):
        if (row["scope"], row["connector"]) == (scope, connector):
            yield row["as_of"], None, row
    for name in ("committed_offsets", "pasted_offsets"):
        for row in tables.get(name, ()):
            if (row["scope"], row["group"]) == (scope, group) and row["committed"] is not None:
                ends = [each for each in (row.get("last_stable"), row["high_watermark"]) if each is not None]
                yield row["at"], max(0, min(ends) - max(row["committed"], row.get("log_start") or 0)) if ends else None, row


def _last_run(looks: Sequence[_Look]) -> list[_Look]:
    """The last looks that show one offset, where there are several."""
    first = len(looks)
    while first and looks[first - 1].committed == looks[-1].committed:
        first -= 1
    return list(looks[first:]) if len(looks) - first > 1 else []


def _known(tables: Tables, scope: str, group: str, topic: str, partition: int) -> tuple[bool, float | None]:
    """Whether its lag is explained and needs nothing, and how long its next record has waited."""

    def own(name: str) -> Row | None:
        wanted: dict[str, Any] = {"scope": scope, "group": group, "topic": topic, "partition": partition}
        return next((row for row in tables.get(name, ()) if all(row[key] == value for key, value in wanted.items())), None)

    truth, status = own("lag_truth"), own("lag_status")
    return bool(truth and truth["healthy"]), status["time_lag_seconds"] if status else None
