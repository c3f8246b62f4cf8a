"""What a checkpoint is held against: its topics' partitions, where their logs begin and end, its transactional ids. Read-only requests."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Protocol

from analyzers.tables import LOG_OFFSETS, Row
from analyzers.tables.evidence import Evidence
from cli.collectors.kafka_cluster import Cluster
from cli.collectors.kafka_log_ends import ask_log_ends
from cli.collectors.kafka_session import Limits
from cli.collectors.kafka_topics import partition_rows
from cli.collectors.kafka_wire import client_and_entries


class AskTopics(Protocol):
    """A function from topics to ``partitions``, ``log_offsets`` and ``sources``; with transactional ids to ``transactional_ids``, too."""

    def __call__(self, topics: Collection[str], ids: Collection[str] = ()) -> Evidence: ...


def topic_ends(bootstrap_servers: Sequence[str], *, command_config: Path | None = None, timeout_seconds: float = 10.0) -> AskTopics:
    """The function that asks this cluster.

    Raises `UsageError` at once for entries and properties that cannot be understood; the function raises `CannotLook` when no bootstrap
    server answers. A topic that does not exist (any more) has no rows.
    """
    client, entries = client_and_entries(bootstrap_servers, command_config)
    tls = client.tls_context() if client.uses_tls else None

    async def look(topics: Collection[str], ids: Collection[str]) -> Evidence:
        cluster = await Cluster.connect(entries, client, tls, Limits.within(timeout_seconds))
        try:
            partitions = [row for row in partition_rows(cluster, {}) if row["topic"] in topics]
            places = [(str(row["topic"]), int(row["partition"])) for row in partitions]
            missing = sorted(set(topics) - {str(row["topic"]) for row in partitions})
            refused = await cluster.refused_topics(missing)
            problems = [f"topic {name}: {cluster.sight.needs('DESCRIBE', '--topic ' + shlex.quote(name))}" for name in refused]
            ends = await ask_log_ends(cluster, places, problems)
            head = {"scope": "", "as_of": cluster.as_of}
            rows: list[Row] = [
                LOG_OFFSETS.row({**head, "topic": topic, "partition": partition, **end.columns()})
                for (topic, partition), end in ends.items()
            ]
            known: dict[str, list[Row]] = {}
            if ids:
                from cli.collectors.kafka_transactions import transactional_ids

                known["transactional_ids"] = await transactional_ids(cluster, sorted(ids), problems)
            sources = [cluster.source("topics of the checkpoint", problems, anything=bool(rows) or not topics)]
            return Evidence({"partitions": partitions, "log_offsets": rows, "sources": sources, **known})
        finally:
            cluster.close()

    return lambda topics, ids=(): asyncio.run(look(topics, ids))
