"""Sinks of Kafka Connect that put each record into their dead-letter topic: RUNNING, without lag, and nothing arrives.

Three things show it: the errors that a worker logs name one offset after the other (errors.log.include.messages), there are as many of
them as offsets were committed (errors.log.enable), or the dead-letter topic holds as many records as the connector's group has read.
Source: SinkConnectorConfig, LogReporter, DeadLetterQueueReporter of Kafka Connect.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from analyzers.tables import DEAD_LETTERS, Row

Tables = Mapping[str, Sequence[Row]]

_CONFIG, _ERROR, _NAMED, _COMMIT = (
    "connect-dead-letter-config",
    "connect-record-error",
    "connect-record-failed",
    "connect-offsets-committed",
)
_READ = frozenset((_CONFIG, _ERROR, _NAMED, _COMMIT))
_OFFSETS = re.compile(r"([\w.-]+-\d+)=OffsetAndMetadata\{offset=(\d+)")
_EVERY = 0.9
"""Of records that were handed on between two samples of a job at work some are always missing or too many."""
_ENOUGH_ERRORS = 20
_ENOUGH_RECORDS = 100
SAMPLE = "__connect.errors."
"""How the headers begin that a worker adds to a dead letter."""


def dead_letters(tables: Tables) -> list[Row]:
    """One row per connector that tolerates all errors and of which a dead letter, or more, is seen."""
    events: dict[str, list[Row]] = defaultdict(list)
    for event in tables.get("log_events", ()):
        if event["signature"] in _READ or (event["text"] or "").startswith(SAMPLE):
            events[event["scope"]].append(event)
    return [DEAD_LETTERS.row(row) for scope, own in events.items() for row in _of_scope(scope, own, tables)]


def _of_scope(scope: str, events: Sequence[Row], tables: Tables) -> Iterator[Mapping[str, Any]]:
    configs: dict[str, Row] = {}
    for event in sorted((e for e in events if e["signature"] == _CONFIG), key=_order):
        if event["detail"].get("tolerance") == "all":
            configs[event["detail"]["connector"]] = event
        else:
            configs.pop(event["detail"]["connector"], None)
    ends = {(r["topic"], r["partition"]): r for r in tables.get("log_offsets", ()) if (r["scope"] or "") == scope}
    committed = [r for r in tables.get("committed_offsets", ()) if (r["scope"] or "") == scope]
    samples = [event for event in events if event["signature"] != _ERROR and (event["text"] or "").startswith(SAMPLE)]
    for connector, config in configs.items():
        letters, topics = config["detail"]["dead_letters"], _listed(config["detail"].get("topics"))
        own = [event for event in events if event["job"] == connector]
        errors = sorted((event for event in own if event["signature"] == _ERROR), key=_order)
        alone = len(configs) == 1
        shown = errors or (samples if alone else [])
        mine = sum(other["detail"]["dead_letters"] == letters for other in configs.values()) == 1
        number = max(len(errors), _counted(scope, tables) if alone else 0)
        reason, records = _proof(own, number, _held({letters}, ends) if mine else None, _read(connector, topics, ends, committed))
        if reason is None and not (samples and alone):
            continue
        line = shown[0] if shown else config
        named = {event["topic"] for event in own if event["signature"] == _NAMED and event["topic"]}
        yield {
            **{column: line[column] for column in ("scope", "as_of", "file", "line", "text")},
            "at": line["at"],
            "job": connector,
            "connector": connector,
            "topics": sorted(named) or topics,
            "dead_letters": letters,
            "converter": config["detail"].get("converter"),
            "words": next((event["root_message"] for event in reversed(shown) if event["root_message"]), None),
            "records": records,
            "reason": reason or "sample",
        }


def _proof(own: Sequence[Row], number: int, held: int | None, read: int | None) -> tuple[str | None, int | None]:
    """What shows that each record fails, and how many did; neither where only some are known to."""
    places: dict[tuple[str, int], set[int]] = defaultdict(set)
    for event in own:
        if event["signature"] == _NAMED and event["offset"] is not None:
            places[event["topic"], event["partition"]].add(event["offset"])
    commits = [dict(_OFFSETS.findall(event["text"] or "")) for event in sorted(own, key=_order) if event["signature"] == _COMMIT]
    if places and number >= _ENOUGH_ERRORS:
        spans = sum(max(offsets) - min(offsets) + 1 for offsets in places.values())
        last = commits[-1] if commits else {}
        went_on = sum(max(0, int(last.get(f"{topic}-{n}", 0)) - max(offsets) - 1) for (topic, n), offsets in places.items())
        if number >= _EVERY * spans and went_on <= (1 - _EVERY) * number:
            return "consecutive", number
    if len(commits) > 1:
        moved = sum(int(commits[-1][tp]) - int(commits[0][tp]) for tp in commits[0].keys() & commits[-1].keys())
        if moved >= _ENOUGH_RECORDS and number >= _EVERY * moved:
            return "as-many", number
    if held is not None and read is not None and held >= _ENOUGH_RECORDS and held >= _EVERY * read:
        return "as-many", held
    return None, number or held


def _counted(scope: str, tables: Tables) -> int:
    return sum(row["events"] for row in tables.get("log_counts", ()) if (row["scope"] or "") == scope and row["signature"] == _ERROR)


def _held(topics: Collection[str], ends: Mapping[tuple[str, int], Row]) -> int | None:
    """How many records lie in these topics, as far as their ends are known."""
    sizes: list[int] = [
        end["high_watermark"] - (end["log_start"] or 0)
        for (topic, _), end in ends.items()
        if topic in topics and end["high_watermark"] is not None
    ]
    return sum(sizes) if sizes else None


def _read(connector: str, topics: Collection[str], ends: Mapping[tuple[str, int], Row], committed: Sequence[Row]) -> int | None:
    """How many records the connector has read, by what its group has committed; else all that its topics hold."""
    newest: dict[tuple[str, int], int] = {
        (row["topic"], row["partition"]): row["committed"] - (row["log_start"] or 0)
        for row in committed
        if row["group"] == f"connect-{connector}" and row["committed"] is not None
    }
    return sum(newest.values()) if newest else _held(topics, ends)


def _listed(topics: str | None) -> list[str]:
    return [topic.strip() for topic in (topics or "").split(",") if topic.strip()]


def _order(event: Row) -> tuple[int, str, int]:
    return event["line"] if event["seq"] is None else event["seq"], event["file"], event["line"]
