"""Broker health: probe the entries and brokers, ask the cluster for its partitions, say what suffers. All within one timeout."""

from __future__ import annotations

import asyncio
import difflib
import shlex
import socket
import ssl
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from analyzers.derived.next_start.job_clients import logged_bootstrap, logged_client
from analyzers.derived.next_start.start_odds import NOW, entry_states, start_odds
from analyzers.forecast.clients import CONNECTORS, parse_version
from analyzers.forecast.odds import LONGEST_SECONDS
from analyzers.forecast.what_if import WhatIf, parse_what_if
from analyzers.report.durations import counted, few
from analyzers.report.report import Report
from analyzers.tables import CLIENT_CONFIGS, SOURCES, Row
from analyzers.tables.evidence import Evidence
from cli.collectors.client_properties import ClientProperties
from cli.collectors.kafka_cluster import Cluster
from cli.collectors.kafka_operations import Operations, ask_operations, with_moves
from cli.collectors.kafka_session import Limits
from cli.collectors.kafka_topics import min_isr_rows, partition_rows
from cli.collectors.kafka_wire import Entry, Survey, client_and_entries, survey
from cli.runs.run import Subject
from cli.shell.exits import CannotLook, UsageError

SUFFERING = ("leaderless", "leader-unreachable")
"""States of a partition that nobody, or nobody here, can read."""

_OF_THE_CLUSTER = ("partitions", "topic_configs", "log_dirs", "metadata_quorum")
"""Tables of what the cluster says of itself."""


@dataclass(frozen=True)
class ClientOptions:
    """What the user said of the job's own client. Raises `UsageError` for a version or connector that cannot be understood."""

    version: str | None = None
    connector: str | None = None
    parallelism: int | None = None
    tcp_syn_retries: int | None = None

    def __post_init__(self) -> None:
        if self.version is not None:
            try:
                parse_version(self.version)
            except ValueError as error:
                raise UsageError(str(error), "--client-version takes the number that the client logs: Kafka version: 2.4.1") from error

        if self.connector is not None and self.connector not in CONNECTORS:
            raise UsageError(f"--connector {self.connector} is not known", f"Choose from {', '.join(CONNECTORS)}.")

    def row(self, properties: ClientProperties | None) -> dict[str, Any]:
        """Values of ``client_configs``, with the timeouts of the job's `properties` where they were given."""
        raw = properties.raw if properties is not None else {}
        return {
            "source": "option", "configured": properties is not None, "client_version": self.version, "clients": self.parallelism,
            "tcp_syn_retries": self.tcp_syn_retries, "connector": self.connector,
            "api_timeout_seconds": _seconds_of(raw, "default.api.timeout.ms"),
            "request_timeout_seconds": _seconds_of(raw, "request.timeout.ms"),
            "setup_timeout_seconds": _seconds_of(raw, "socket.connection.setup.timeout.ms"),
        }  # fmt: skip

    @property
    def said(self) -> dict[str, str]:
        """As a ``--what-if`` spells it."""
        named = {"client": self.version, "connector": self.connector, "parallelism": self.parallelism}
        return {key: str(value) for key, value in {**named, "tcp_syn_retries": self.tcp_syn_retries}.items() if value is not None}


def _seconds_of(properties: Mapping[str, str], key: str) -> float | None:
    text = properties.get(key, "").strip()
    return int(text) / 1000 if text.isdigit() and 0 < int(text) <= LONGEST_SECONDS * 1000 else None


def questions(texts: Sequence[str], client: ClientOptions) -> list[WhatIf]:
    """``--what-if`` texts as questions about `client`, which each text may change. Raises `UsageError`."""
    try:
        return [parse_what_if(text, stated=client.said) for text in texts]
    except ValueError as error:
        raise UsageError(f"--what-if: {error}", '"entries=12 dead=4 kind=black-hole client=2.4.1 parallelism=64", or remove=7,8') from error


def asking(asked: Sequence[WhatIf]) -> Subject:
    """`BROKER_HEALTH` that answers the questions `asked`, too."""
    return replace(BROKER_HEALTH, derived=lambda tables: start_odds(tables, asked)) if asked else BROKER_HEALTH


def imagined(asked: Sequence[WhatIf], client: ClientOptions) -> Callable[[], Evidence]:
    """Stands for a collector where only `asked` is to be answered. Raises `UsageError` for a question about a live cluster."""
    for question in asked:
        if question.entries is None:
            raise UsageError(
                f"--what-if {question.text} asks about a live cluster, and none is named", "Add --bootstrap-server, or --bundle."
            )
    return lambda: Evidence({"client_configs": [CLIENT_CONFIGS.row({"scope": "", **client.row(None)})]})


def unprobed(client: ClientOptions) -> Callable[[], Evidence]:
    """Stands for a collector where there are only the job's logs."""
    absent = dict.fromkeys(("bootstrap_servers", "brokers", *_OF_THE_CLUSTER), "no bootstrap server was given (--bootstrap-server)")
    return lambda: Evidence({"client_configs": [CLIENT_CONFIGS.row({"scope": "", **client.row(None)})]}, absent=absent)


def collect(
    bootstrap_servers: Sequence[str],
    *,
    command_config: Path | None = None,
    topics: Sequence[str] = (),
    client: ClientOptions | None = None,
    timeout_seconds: float = 10.0,
) -> Callable[[], Evidence]:
    """A function that probes and asks: ``bootstrap_servers``, ``brokers``, ``partitions``, ``client_configs``, ``sources``.

    Raises `UsageError` at once for entries, properties or a client version that cannot be understood. Every death on the network is a row.
    """
    properties, entries = client_and_entries(bootstrap_servers, command_config)
    tls = properties.tls_context() if properties.uses_tls else None
    stated = (client or ClientOptions()).row(properties if command_config is not None else None)

    def look() -> Evidence:
        limits = Limits.within(timeout_seconds)  # the time runs from here
        seen, asked = asyncio.run(_look(entries, properties, limits, tls, topics))
        head = {"scope": "", "as_of": limits.as_of}
        tables: dict[str, list[Row]] = {"bootstrap_servers": seen.bootstrap_servers, "brokers": seen.brokers}
        absent: dict[str, str] = {}
        if isinstance(asked, str):
            absent |= dict.fromkeys(_OF_THE_CLUSTER, f"no broker told its partitions: {asked.rstrip('.')}")
        else:
            partitions = partition_rows(asked.cluster, seen.dead_brokers)
            with_moves(partitions, asked.operations.moves)
            _count_leaders(tables["brokers"], partitions)
            tables["partitions"] = [row for row in partitions if not topics or row["topic"] in topics]
            if asked.min_isr or not partitions:
                tables["topic_configs"] = asked.min_isr
            else:
                who = asked.cluster.sight.who
                absent["topic_configs"] = f"{who} may not see min.insync.replicas: grant DESCRIBE_CONFIGS on the topics"
            more = {"log_dirs": asked.operations.log_dirs, "metadata_quorum": asked.operations.quorum}
            tables |= {name: rows for name, rows in more.items() if rows}
            absent |= asked.operations.absent
        tables["client_configs"] = [CLIENT_CONFIGS.row({**head, **stated})]
        tables["sources"] = [SOURCES.row({**head, **row}) for row in _sources(seen, asked, timeout_seconds, topics)]
        return Evidence(tables, absent=absent)

    return look


@dataclass(frozen=True)
class _Asked:
    """What the cluster reports: its topics, rows of ``topic_configs``, its operations, and which named topics it refuses to describe."""

    cluster: Cluster
    min_isr: list[Row]
    operations: Operations
    refused: list[str]


async def _look(
    entries: Sequence[Entry], client: ClientProperties, limits: Limits, tls: ssl.SSLContext | None, topics: Sequence[str]
) -> tuple[Survey, _Asked | str]:
    # both at once: the partitions come from the first entry that answers and need not wait for the dead ones
    return await asyncio.gather(survey(entries, client, tls, limits), _ask_partitions(entries, client, limits, tls, topics))


async def _ask_partitions(
    entries: Sequence[Entry], client: ClientProperties, limits: Limits, tls: ssl.SSLContext | None, topics: Sequence[str]
) -> _Asked | str:
    """What the cluster reports, or why it reports nothing."""
    try:
        cluster = await Cluster.connect(entries, client, tls, limits)
    except CannotLook as error:
        return error.message
    try:
        known = {topic.name for topic in cluster.topics}
        refused = await cluster.refused_topics([name for name in topics if name not in known])
        return _Asked(cluster, *await asyncio.gather(min_isr_rows(cluster, topics), ask_operations(cluster)), refused)
    finally:
        cluster.close()


def _count_leaders(brokers: Sequence[Row], partitions: Sequence[Row]) -> None:
    """Fill ``leaders`` and ``preferred``: all partitions count, whatever --topic shows."""
    leaders = Counter(row["leader"] for row in partitions)
    preferred = Counter(int(row["replicas"][0]) for row in partitions if row["replicas"])
    for broker in brokers:
        broker["leaders"], broker["preferred"] = leaders[broker["broker"]], preferred[broker["broker"]]


# What it means ------------------------------------------------------------------------------------------------------------


def fails(report: Report, ignored: bool) -> bool:
    """Whether what suffers is to be told by the exit code, too. Where findings were `ignored` only one that was kept counts."""
    return suffers(report) and (not ignored or any(finding.cause == "broker-unreachable" for finding in report.found))


def suffers(report: Report) -> bool:
    """Whether an entry, a broker or a partition is dead: worth a look in any case, however harmless to the next start."""
    rows = report.facts.get("bootstrap_servers", [])
    alive = {row["entry"] for row in rows if row["state"] == "alive"}
    return (
        any(row["state"] not in ("alive", None) and row["entry"] not in alive for row in rows)
        or any(row["state"] not in ("alive", None) for row in report.facts.get("brokers", []))
        or any(row["state"] in SUFFERING for row in report.facts.get("partitions", []))
    )


def _sources(seen: Survey, asked: _Asked | str, timeout_seconds: float, topics: Sequence[str]) -> Iterator[dict[str, str | None]]:
    unjudged = sum(row["state"] is None for row in seen.bootstrap_servers + seen.brokers)
    state = "ok" if not unjudged else "failed" if unjudged == len(seen.bootstrap_servers + seen.brokers) else "partial"
    whys = {str(row["why"]) for row in seen.bootstrap_servers + seen.brokers if row["state"] is None}
    why = f"{unjudged} addresses could not be judged within --timeout {timeout_seconds:g}s: {'; '.join(sorted(whys))}" if unjudged else None
    if seen.cut is not None:
        state, why = "partial" if state == "ok" else state, "; ".join(filter(None, [why, seen.cut]))
    yield {"name": f"bootstrap servers, from {socket.gethostname()}", "kind": "kafka", "state": state, "why": why}
    if isinstance(asked, str):
        yield {"name": "topics", "kind": "kafka", "state": "failed", "why": asked}
        return
    cluster = asked.cluster
    known = {topic.name for topic in cluster.topics}
    missing = [f"{topic.name}: error {topic.error_code}" for topic in cluster.topics if topic.error_code]
    missing += [_no_such_topic(name, known, seen) for name in topics if name not in known and name not in asked.refused]
    if asked.refused:
        missing.append(cluster.sight.needs("DESCRIBE", *(f"--topic {shlex.quote(name)}" for name in asked.refused)))
    if not topics and cluster.sight.unrestricted is False:
        what = (
            "topics that {who} may not DESCRIBE are not shown"
            if known
            else "no topic is shown: there is none, or {who} may not DESCRIBE it"
        )
        grant = cluster.sight.grant("DESCRIBE", ["--topic '*'"])
        missing.append(f"{what.format(who=cluster.sight.who)} – grant: {grant}")
    anything = bool(known.intersection(topics) if topics else known)
    state = "ok" if not missing else "partial" if anything else "failed"
    yield {"name": "topics", "kind": "kafka", "state": state, "why": "; ".join(missing) or None}


def _no_such_topic(name: str, known: Collection[str], seen: Survey) -> str:
    """What was asked of whom, and what to ask instead."""
    asked = next((str(row["entry"]) for row in seen.bootstrap_servers if row["state"] == "alive"), "the bootstrap servers")
    near = difflib.get_close_matches(name, sorted(known), n=3, cutoff=0.5)
    instead = f"did you mean {' or '.join(near)}?" if near else f"it shows {counted(len(known), 'topic')}, without --topic all of them"
    return f"topic {name} does not exist on the cluster of {asked}: {instead}"


def _looked_at(tables: Mapping[str, Sequence[Row]]) -> str:
    if "bootstrap_servers" not in tables:
        return "" if "log_files" in tables else "no network: --what-if alone"
    entries = {row["entry"] for row in tables.get("bootstrap_servers", ())}
    states = entry_states(tables.get("bootstrap_servers", ()))
    dead = sum(state != "alive" for state in states.values())
    partitions = tables.get("partitions", ())
    topics = len({row["topic"] for row in partitions})
    words = counted(len(entries), "bootstrap server") + (f" ({dead} dead)" if dead else "")
    brokers = counted(len(tables.get("brokers", ())), "broker")
    return f"{words}, {brokers}, {counted(len(partitions), 'partition')} of {counted(topics, 'topic')}"


def _dead_entries(tables: Mapping[str, Sequence[Row]]) -> list[str]:
    """In one line how each bootstrap server is that is not alive."""
    states = {entry: state for entry, state in entry_states(tables.get("bootstrap_servers", ())).items() if state != "alive"}
    named = [f"{entry.rpartition('://')[2]} {state}" for entry, state in list(states.items())[:MOST_ASKED_THERE]]
    more = f" and {len(states) - len(named)} more" if len(states) > len(named) else ""
    return [", ".join(named) + more] if named else []


MOST_ASKED_THERE = 6


def _ask_there(tables: Mapping[str, Sequence[Row]]) -> list[str]:
    """One line to run where the job runs, about what is dead here: a laptop sees another network than a pod."""
    rows = [row for row in tables.get("bootstrap_servers", ()) if row["state"] not in ("alive", None)]
    places = list(dict.fromkeys(str(row["entry"]).rpartition("://")[2].strip("[]").replace("]", "") for row in rows))[:MOST_ASKED_THERE]
    if not places:
        return []
    named = " ".join(place.rpartition(":")[0] + "/" + place.rpartition(":")[2] for place in places)
    each = 'timeout 5 bash -c "</dev/tcp/$a" 2>/dev/null && echo $a accepts || echo $a dead'
    return [f"seen from {rows[0]['seen_from']}; in a TaskManager ask again: for a in {named}; do {each}; done"]


def _moves(tables: Mapping[str, Sequence[Row]]) -> list[str]:
    """One sentence per set of brokers that reassignments under way move replicas to; one that is not there can end none."""
    moving: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for row in tables.get("partitions", ()):
        if row.get("adding") or row.get("removing"):
            moving[tuple(row["adding"] or ())].append(f"{row['topic']}-{row['partition']}")
    alive = {str(row["broker"]) for row in tables.get("brokers", ()) if row["state"] == "alive"}
    said = []
    for adding, places in sorted(moving.items()):
        named = few(places)
        where = f" to {counted(len(adding), 'broker')} ({', '.join(adding)})" if adding else ""
        gone = [node for node in adding if node not in alive]
        never = f"; it cannot end while broker {', '.join(gone)} is not there" if gone else ""
        said.append(f"a reassignment moves {counted(len(places), 'partition')}{where}: {named}{never}")
    return said


def _remarks(tables: Mapping[str, Sequence[Row]]) -> list[str]:
    """What is on the move, and what the dead entries mean for the next start of a Java client."""
    return _moves(tables) + _of_the_start(tables)


def _of_the_start(tables: Mapping[str, Sequence[Row]]) -> list[str]:
    """What the dead entries mean for the next start of a Java client; nothing when all live."""
    odds = tables.get("forecast", ())
    if not odds:
        listed = [] if "bootstrap_servers" in tables else logged_bootstrap("", tables)
        said = logged_client("", tables)
        known = ", ".join(f"{key} {value}" for key, value in said.items())
        named = (
            [f"the logs name the bootstrap list {','.join(listed)} ({known}): give it with --bootstrap-server to probe it"]
            if listed
            else []
        )
        return [*named, *_ask_there(tables)]
    notes = [
        "that diag, kcat or any other librdkafka client connects proves nothing about a Java client: it tries its entries in another way"
    ]
    notes += [CONNECTORS[name].says for name in dict.fromkeys(row["connector"] for row in odds if row["connector"])]
    if any(row["assumed"] for row in odds):
        notes.append(
            "give --client-version (the job's log says `Kafka version: …`), --connector and --parallelism, or --logs, for better odds"
        )
    for row in odds:
        if row["assumed"] and row["scenario"] == NOW:
            continue
        notes.append(f"{row['says']}{_range(row)}{_to_write(row, tables.get('forecast_fixes', ()))}")
    return [*notes, *_ask_there(tables)]


def _range(row: Row) -> str:
    low, high = row["p_fail_client_low"], row["p_fail_client_high"]
    if low is None or high is None or low == high:
        return ""
    return f" ({'measured' if row['measured'] else 'inferred'}: one client fails with {low:.0%} to {high:.0%})"


def _to_write(row: Row, changes: Sequence[Row]) -> str:
    """The smallest change of `row` with the line to write, where the connector is known."""
    if not row["smallest_change"]:
        return ""
    same = ("scope", "scenario", "client_version")
    first = next((c for c in changes if c["rank"] == 1 and all(c[key] == row[key] for key in same)), None)
    lines = " or ".join(first["lines"] or ()) if first is not None and row["connector"] else ""
    return f". Smallest change: {row['smallest_change']}" + (f": {lines}" if lines else "")


BROKER_HEALTH = Subject(
    command="broker-health",
    collected=("bootstrap_servers", "brokers", *_OF_THE_CLUSTER),
    facts=("bootstrap_servers", "brokers", "log_dirs", "metadata_quorum", "partitions", "forecast", "forecast_fixes"),
    looked_at=_looked_at,
    derived=start_odds,
    remarks=_remarks,
    first_words=_dead_entries,
)
