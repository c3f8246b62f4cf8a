"""Broker health: probe the entries and brokers, ask the cluster for its partitions, say what suffers. All within one time-out."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Mapping, Sequence
from pathlib import Path

from analyzers.derived.forecast import SILENT, Forecast, forecast
from analyzers.report import Report, Source
from analyzers.tables import Row
from cli.collectors.client_properties import ClientProperties, read_client_properties
from cli.collectors.kafka_cluster import Cluster, partition_rows
from cli.collectors.kafka_connection import Limits
from cli.collectors.kafka_wire import Entry, Survey, parse_entries, survey
from cli.exits import CannotLook, UsageError
from cli.renderers.wording import counted

SUFFERING = ("leaderless", "leader-unreachable")
"""States of a partition that nobody, or nobody here, can read."""


def client_and_entries(bootstrap_servers: Sequence[str], command_config: Path | None) -> tuple[ClientProperties, list[Entry]]:
    """How to connect and where; bootstrap servers given as option beat those of the file. Raises `UsageError`."""
    client = read_client_properties(command_config) if command_config is not None else ClientProperties()
    given = [text for text in bootstrap_servers if text.strip()]
    return client, parse_entries(given or ([client.bootstrap_servers] if client.bootstrap_servers else []))


def examine(
    bootstrap_servers: Sequence[str],
    *,
    version: str,
    command_config: Path | None = None,
    topics: Sequence[str] = (),
    client_version: str | None = None,
    parallelism: int = 1,
    tcp_syn_retries: int = 6,
    timeout_seconds: float = 10.0,
) -> Report:
    """The report of facts: ``bootstrap_servers``, ``brokers``, ``partitions``, and in its notes what they mean.

    Raises `UsageError` for entries, properties or a client version that cannot be understood. Every death on the network is a row.
    """
    client, entries = client_and_entries(bootstrap_servers, command_config)
    tls = client.tls_context() if client.uses_tls else None
    limits = Limits.within(timeout_seconds)
    seen, cluster, unasked = asyncio.run(_look(entries, client, limits, tls))
    partitions = [] if cluster is None else partition_rows(cluster, seen.dead_brokers)
    if topics:
        partitions = [row for row in partitions if row["topic"] in set(topics)]
    facts: dict[str, list[Row]] = {"bootstrap_servers": seen.bootstrap_servers, "brokers": seen.brokers}
    if cluster is not None:
        facts["partitions"] = partitions
    notes = [*_advertised_trap(seen), *_sufferers(partitions), *_absent(topics, cluster)]
    notes += _outlook(seen, client_version, parallelism, tcp_syn_retries)
    return Report(
        tool="diag", version=version, command="broker-health", as_of=limits.as_of, window=(None, limits.as_of),
        sources=_sources(seen, cluster, unasked, timeout_seconds), facts=facts, notes=notes,
        looked_at=_looked_at(entries, seen, partitions),
    )  # fmt: skip


async def _look(
    entries: Sequence[Entry], client: ClientProperties, limits: Limits, tls: ssl.SSLContext | None
) -> tuple[Survey, Cluster | None, str | None]:
    # both at once: the partitions come from the first entry that answers and need not wait for the dead ones
    seen, asked = await asyncio.gather(survey(entries, client, tls, limits), _ask_partitions(entries, client, limits, tls))
    return (seen, asked, None) if isinstance(asked, Cluster) else (seen, None, asked)


async def _ask_partitions(entries: Sequence[Entry], client: ClientProperties, limits: Limits, tls: ssl.SSLContext | None) -> Cluster | str:
    try:
        cluster = await Cluster.connect(entries, client, tls, limits)
    except CannotLook as error:
        return error.message
    cluster.close()
    return cluster


# What it means ------------------------------------------------------------------------------------------------------------


def suffers(report: Report) -> bool:
    """Whether an entry, a broker or a partition is dead: findings, even before any rule has judged."""
    rows = report.facts.get("bootstrap_servers", [])
    alive = {row["entry"] for row in rows if row["state"] == "alive"}
    return (
        any(row["state"] not in ("alive", None) and row["entry"] not in alive for row in rows)
        or any(row["state"] not in ("alive", None) for row in report.facts.get("brokers", []))
        or any(row["state"] in SUFFERING for row in report.facts.get("partitions", []))
    )


def _sources(seen: Survey, cluster: Cluster | None, unasked: str | None, timeout_seconds: float) -> list[Source]:
    unjudged = sum(row["state"] is None for row in seen.bootstrap_servers + seen.brokers)
    state = "ok" if not unjudged else "failed" if unjudged == len(seen.bootstrap_servers + seen.brokers) else "partial"
    whys = {str(row["why"]) for row in seen.bootstrap_servers + seen.brokers if row["state"] is None}
    why = f"{unjudged} addresses could not be judged within --timeout {timeout_seconds:g}s: {'; '.join(sorted(whys))}" if unjudged else None
    sources = [Source(f"bootstrap servers, from {socket.gethostname()}", "kafka", state, why)]
    if cluster is None:
        return [*sources, Source("topics", "kafka", "failed", unasked)]
    refused = "; ".join(f"{topic.name}: error {topic.error_code}" for topic in cluster.topics if topic.error_code)
    return [*sources, Source("topics", "kafka", "partial" if refused else "ok", refused or None)]


def _looked_at(entries: Sequence[Entry], seen: Survey, partitions: Sequence[Row]) -> str:
    topics = len({row["topic"] for row in partitions})
    dead = f" ({len(seen.dead_entries)} dead)" if seen.dead_entries else ""
    asked = f"{counted(len(entries), 'bootstrap server')}{dead}, {counted(len(seen.brokers), 'broker')}"
    return f"{asked}, {counted(len(partitions), 'partition')} of {counted(topics, 'topic')}"


def _advertised_trap(seen: Survey) -> list[str]:
    """Entries that answer while the address which their broker advertises does not: a client gets no further than its first question."""
    advertised = {row["broker"]: row for row in seen.brokers}
    notes = []
    for row in seen.bootstrap_servers:
        broker = advertised.get(row["broker"])
        if row["state"] == "alive" and broker is not None and broker["state"] not in ("alive", None) and broker["address"] != row["entry"]:
            notes.append(
                f"{row['entry']} answers, but broker {row['broker']} behind it advertises {broker['address']}, which is {broker['state']} "
                "from here: see advertised.listeners"
            )
    if (
        any(row["state"] == "alive" for row in seen.bootstrap_servers)
        and seen.brokers
        and all(row["state"] != "alive" for row in seen.brokers)
    ):
        notes.append("bootstrap answers and not one advertised broker address can be reached from here: see advertised.listeners")
    return notes


def _sufferers(partitions: Sequence[Row]) -> list[str]:
    notes = []
    for state in (*SUFFERING, "under-replicated"):
        names = [f"{row['topic']}-{row['partition']}" for row in partitions if row["state"] == state]
        if names:
            notes.append(f"{len(names)} partitions {state}: {', '.join(names[:10])}{', …' * (len(names) > 10)}")
    return notes


def _absent(topics: Sequence[str], cluster: Cluster | None) -> list[str]:
    known = {topic.name for topic in cluster.topics} if cluster else set()
    return [f"topic {name} does not exist, or this user may not describe it" for name in topics if cluster and name not in known]


def _outlook(seen: Survey, client_version: str | None, parallelism: int, tcp_syn_retries: int) -> list[str]:
    """What the dead entries mean for the next start of a Java client; nothing when all live."""
    states = _entry_states(seen)
    dead = [state for state in states.values() if state != "alive"]
    if not dead:
        return []
    notes = [
        "that diag, kcat or any other librdkafka client connects proves nothing about a Java client: it tries its entries in another way"
    ]
    if client_version is None:
        return [*notes, "give --client-version (the job's log says `Kafka version: …`) and --parallelism for the odds of the next start"]
    silent = [state for state in dead if state in SILENT]
    kind = silent[0] if len(set(silent)) == 1 else "hung" if silent else dead[0]
    try:
        said = forecast(
            entries=len(states), dead=len(silent) or len(dead), kind=kind, client_version=client_version, clients=parallelism,
            tcp_syn_retries=tcp_syn_retries,
        )  # fmt: skip
    except ValueError as error:
        raise UsageError(str(error), "--client-version takes the number that the client logs: Kafka version: 2.4.1") from error
    return [*notes, outlook_says(said)]


def _entry_states(seen: Survey) -> Mapping[str, str]:
    """One state per entry: alive when any of its addresses is, else that of the first; entries without a judgement are left out."""
    states: dict[str, str] = {}
    for row in seen.bootstrap_servers:
        if row["state"] is not None and states.get(row["entry"]) != "alive":
            entry, state = str(row["entry"]), str(row["state"])
            states[entry] = state if state == "alive" else states.get(entry, state)
    return states


def outlook_says(said: Forecast) -> str:
    """The forecast in one sentence."""
    head = f"kafka-clients {said.client_version}, {said.dead} of {said.entries} entries {said.kind}, {said.clients} clients must all start"
    if said.p_fail_client is None or said.p_fail_start is None:
        return f"{head}: no forecast, this combination was never measured"
    if said.p_fail_start == 0:
        return f"{head}: the next start does not fail for this"
    starts = "never" if said.expected_starts is None else f"after {said.expected_starts:.3g} starts on average"
    return f"{head}: each fails with {said.p_fail_client:.1%}, the next start with {said.p_fail_start:.4%}; it succeeds {starts}"
