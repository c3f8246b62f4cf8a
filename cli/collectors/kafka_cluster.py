"""Questions to a whole cluster over our own read-only connections: who is in it, which partitions suffer.

Not through librdkafka: its coordinator requests abort the whole process when a coordinator does not answer (confluentinc/librdkafka#4605,
seen with 2.16.1 on a killed broker), hang on a dead broker that they happen to choose, and they do not say which it was. Here every
broker is asked by itself, and one that does not answer costs its own answers only.
"""

from __future__ import annotations

import asyncio
import base64
import ssl
import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from kafka.protocol.admin.configs import DescribeConfigsRequest
from kafka.protocol.metadata import MetadataRequest

from analyzers.tables import PARTITIONS, SOURCES, TOPIC_CONFIGS, Row
from cli.collectors.client_properties import ClientProperties
from cli.collectors.kafka_connection import AdvertisedBroker, Metadata, Talk, metadata_of
from cli.collectors.kafka_permissions import Sight
from cli.collectors.kafka_session import Dead, Limits, Session
from cli.collectors.kafka_wire import Entry, look_up
from cli.shell.exits import CannotLook

TOPIC_AUTHORIZATION_FAILED = 29


@dataclass
class Cluster:
    """Open connections to one cluster: at most one per broker, opened when first needed, one request at a time on each.

    `metadata` and `topics` are what the first bootstrap server to answer said, `sight` what it lets this user see; `silent` holds the
    brokers that could not be asked, `entries` the bootstrap list as it was given.
    """

    client: ClientProperties
    tls: ssl.SSLContext | None
    limits: Limits
    metadata: Metadata = field(default_factory=lambda: Metadata(None, None, ()))
    topics: Sequence[Any] = ()
    silent: dict[int, Dead] = field(default_factory=dict)
    entries: Sequence[str] = ()
    sight: Sight = field(default_factory=Sight)
    _sessions: dict[int, asyncio.Task[Session]] = field(default_factory=dict)
    _first: Session | None = None

    @classmethod
    async def connect(cls, entries: Sequence[Entry], client: ClientProperties, tls: ssl.SSLContext | None, limits: Limits) -> Cluster:
        """Ask all `entries` at once; the first that answers tells the cluster.

        Raises :class:`CannotLook` that says of every entry how it is dead when none answers.
        """
        cluster = cls(client, tls, limits, entries=[entry.text for entry in entries])
        attempts = {asyncio.ensure_future(cluster._open(entry.host, entry.port)): entry for entry in entries}
        deaths: list[str] = []
        pending = set(attempts)
        try:
            while pending:
                done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
                for attempt in done:
                    try:
                        await cluster._get_to_know(attempt.result())
                    except Dead as dead:
                        deaths.append(f"{attempts[attempt].text} {dead.state or 'not probed'} ({dead.why})")
                    else:
                        return cluster
        finally:
            for attempt in attempts:
                attempt.cancel()
                if attempt.done() and not attempt.cancelled() and attempt.exception() is None and attempt.result() is not cluster._first:
                    attempt.result().close()
        raise CannotLook(
            ("the bootstrap server" if len(entries) == 1 else f"none of the {len(entries)} bootstrap servers")
            + f" can{'not' * (len(entries) == 1)} be asked: {', '.join(sorted(deaths)[:5])}{', …' * (len(deaths) > 5)}.",
            "`diag broker-health` with the same options shows each of them.",
        )

    async def _get_to_know(self, session: Session) -> None:
        if self._first is not None:
            session.close()
            return
        # null = all topics that this user may describe; nothing is created by asking. Version 10: the last that tells what it may do
        answer = await session.ask(
            MetadataRequest, "Metadata", newest=10, topics=None, allow_auto_topic_creation=False, include_cluster_authorized_operations=True
        )
        self._first, self.metadata, self.topics = session, metadata_of(answer), answer.topics
        self.sight = Sight.of(self.client, getattr(answer, "authorized_operations", None))

    async def _open(self, host: str, port: int) -> Session:
        """A session with the first address of `host` that answers; all are tried at once, so that a silent one costs the others no time.

        Raises :class:`Dead`, as the first address is.
        """
        resolved = await look_up(host, port, self.limits.lookup)
        if not resolved.addresses:
            raise Dead(resolved.state, resolved.why or "")
        attempts = [asyncio.ensure_future(self._open_address(host, family, address)) for family, address in resolved.addresses]
        pending: set[asyncio.Future[Session]] = set(attempts)
        chosen: Session | None = None
        try:
            while pending and chosen is None:
                done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
                chosen = next((attempt.result() for attempt in done if attempt.exception() is None), None)
        finally:
            for attempt in attempts:
                attempt.cancel()
                if attempt.done() and not attempt.cancelled() and attempt.exception() is None and attempt.result() is not chosen:
                    attempt.result().close()
        if chosen is None:
            raise attempts[0].exception() or Dead(None, "not asked")
        return chosen

    async def _open_address(self, host: str, family: int, address: tuple[Any, ...]) -> Session:
        talk = Talk(address, family, host, self.client, self.limits)
        session = await talk.open(self.tls)
        if session is None:
            raise Dead("auth", talk.progress.why or "this login cannot be spoken here")
        return session

    @property
    def as_of(self) -> datetime:
        return self.limits.as_of

    def renew(self, limits: Limits) -> None:
        """Time for another look over the connections that are open: later rows carry the moment of the new `limits`."""
        self.limits = limits
        self._grant()

    def extend(self, limits: Limits) -> None:
        """Time for more questions of the same look: rows keep its moment."""
        self.limits = replace(limits, as_of=self.limits.as_of)
        self._grant()

    def _grant(self) -> None:
        for task in self._sessions.values():
            if task.done() and not task.cancelled() and task.exception() is None:
                task.result().limits = self.limits

    @property
    def brokers(self) -> Mapping[int, AdvertisedBroker]:
        return {broker.node: broker for broker in self.metadata.brokers}

    async def ask(self, node: int, request: Any, name: str, *, newest: int, **fields: Any) -> Any:
        """The answer of broker `node`. Raises :class:`Dead`; when it is dead, for every later question to it, too."""
        try:
            return await (await self._session(node)).ask(request, name, newest=newest, **fields)
        except Dead as dead:
            if not dead.lives:
                self.silent[node] = dead
            raise

    async def ask_first(self, request: Any, name: str, *, newest: int, **fields: Any) -> Any:
        """The answer of the bootstrap server that answered first: it lives, and needs no further connection. Raises :class:`Dead`."""
        if self._first is None:
            raise Dead(None, "no bootstrap server has answered")
        return await self._first.ask(request, name, newest=newest, **fields)

    async def refused_topics(self, names: Sequence[str]) -> list[str]:
        """Those of `names` that the broker refuses to describe: a topic that is merely not shown may be there. None before Kafka 0.11."""
        if not names or self._first is None or self._first.supported.get(MetadataRequest.API_KEY, (0, 0))[1] < 4:
            return []  # version 4 is the first that can ask without creating the topic
        topic = MetadataRequest.MetadataRequestTopic
        try:
            answer = await self.ask_first(
                MetadataRequest, "Metadata", newest=9, topics=[topic(name=name) for name in names], allow_auto_topic_creation=False
            )
        except Dead:
            return []
        return [told.name for told in answer.topics if told.error_code == TOPIC_AUTHORIZATION_FAILED]

    async def newest(self, node: int, request: Any) -> int:
        """The newest version of `request` that broker `node` speaks; -1 for one it does not know. Raises :class:`Dead`."""
        try:
            return (await self._session(node)).supported.get(request.API_KEY, (-1, -1))[1]
        except Dead as dead:
            self.silent[node] = dead
            raise

    async def _session(self, node: int) -> Session:
        if node in self.silent:
            raise self.silent[node]
        broker = self.brokers.get(node)
        if broker is None:
            raise Dead(None, "it is not in the metadata of the cluster")
        if node not in self._sessions:
            self._sessions[node] = asyncio.ensure_future(self._open(broker.host, broker.port))
        return await asyncio.shield(self._sessions[node])

    def close(self) -> None:
        """Cut all connections."""
        if self._first is not None:
            self._first.close()
        for task in self._sessions.values():
            if task.done() and not task.cancelled() and task.exception() is None:
                task.result().close()
            task.cancel()

    def name(self, node: int) -> str:
        """``broker 2 (kafka-2:9092)``."""
        broker = self.brokers.get(node)
        return f"broker {node} ({broker.host}:{broker.port})" if broker else f"broker {node}"

    def source(self, name: str, problems: Sequence[str], *, anything: bool = True) -> Row:
        """A row of ``sources``: partial when there were `problems`, failed when they left not `anything`."""
        state = "ok" if not problems else "partial" if anything else "failed"
        values = {
            "name": name,
            "kind": "kafka",
            "state": state,
            "why": "; ".join(problems) or None,
            "asked": ",".join(self.entries) or None,
        }
        return SOURCES.row({"scope": "", "as_of": self.as_of} | values)


MIN_ISR = "min.insync.replicas"
MOST_TOPICS = 5000
"""Asked for at once; their answer is a few hundred kilobytes."""


async def min_isr_rows(cluster: Cluster, named: Collection[str] = ()) -> list[Row]:
    """Rows of ``topic_configs`` with min.insync.replicas, of `named` topics and of those that miss a replica first.

    Empty where this user may not see it (DESCRIBE_CONFIGS on the topic), or nobody answers.
    """

    def waits(topic: Any) -> bool:
        return not (topic.name in named or any(len(p.isr_nodes) < len(p.replica_nodes) for p in topic.partitions))

    names = [topic.name for topic in sorted(cluster.topics, key=waits) if topic.name][:MOST_TOPICS]
    resource = DescribeConfigsRequest.DescribeConfigsResource
    asked = [resource(resource_type=2, resource_name=name, configuration_keys=[MIN_ISR]) for name in names]
    if not asked:
        return []
    try:
        answer = await cluster.ask_first(DescribeConfigsRequest, "DescribeConfigs", newest=2, resources=asked, include_synonyms=False)
    except Dead:
        return []
    return [
        TOPIC_CONFIGS.row({"scope": "", "as_of": cluster.as_of, "topic": told.resource_name, "key": config.name, "value": config.value})
        for told in answer.results
        for config in told.configs
        if not told.error_code and config.name == MIN_ISR
    ]


def partition_rows(cluster: Cluster, dead_brokers: Mapping[int, str]) -> list[Row]:
    """Rows of ``partitions``, by topic and number. `dead_brokers` are kinds of death by node id, from the probe.

    A partition is leaderless when the metadata name no leader or one that left (as ``kafka-topics --unavailable-partitions``); its leader
    is unreachable when the cluster believes in it and this host cannot talk to it: a black-holed broker whose own connections work stays
    leader.
    """
    rows = []
    members = frozenset(cluster.brokers)
    empty = PARTITIONS.row({"scope": "", "as_of": cluster.as_of})
    for topic in cluster.topics:
        of_topic = {**empty, "topic": topic.name, "topic_id": _spelled(getattr(topic, "topic_id", None))}
        for partition in topic.partitions:
            leader = partition.leader_id if partition.leader_id in members else None
            offline = [node for node in partition.replica_nodes if node not in members]
            if leader is None:
                state = "leaderless"
            elif leader in dead_brokers:
                state = "leader-unreachable"
            else:
                state = "under-replicated" if len(partition.isr_nodes) < len(partition.replica_nodes) else "ok"
            nodes = {"replicas": partition.replica_nodes, "isr": partition.isr_nodes, "offline": offline}
            lists = {key: [str(node) for node in listed] for key, listed in nodes.items()}
            rows.append({**of_topic, "partition": partition.partition_index, "leader": leader, "state": state, **lists})
    return sorted(rows, key=lambda row: (str(row["topic"]), int(row["partition"])))


def _spelled(topic_id: uuid.UUID | None) -> str | None:
    """As Kafka's own tools print it: base64 for URLs without padding; None where the broker is too old to have one (before 2.8)."""
    return base64.urlsafe_b64encode(topic_id.bytes).decode().rstrip("=") if topic_id else None
