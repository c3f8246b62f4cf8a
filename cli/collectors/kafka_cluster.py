"""A cluster and the two ways to ask it: librdkafka in a process of its own, and our own connection to each broker.

Our own connections say who is in the cluster and how a broker is dead, per broker, which librdkafka does not; they list groups and
transactions per broker, for the same reason. Everything else librdkafka answers, and it is asked only about brokers that can be reached.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from kafka.protocol.metadata import MetadataRequest

from analyzers.tables import SOURCES, Row
from cli.collectors.client_properties import ClientProperties
from cli.collectors.kafka_connection import AdvertisedBroker, Metadata, Talk, metadata_of
from cli.collectors.kafka_library import Library
from cli.collectors.kafka_login import bearer_token, extensions_of
from cli.collectors.kafka_permissions import Sight
from cli.collectors.kafka_reach import withheld
from cli.collectors.kafka_session import Dead, Limits, Session
from cli.collectors.kafka_wire import Entry, address_of, look_up
from cli.shell.exits import CannotLook

UNKNOWN_TOPIC_OR_PARTITION = 3
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
    library: Library = field(default_factory=Library, repr=False)
    _sessions: dict[int, asyncio.Task[Session]] = field(default_factory=dict)
    _first: Session | None = None
    _bootstrap: Sequence[Entry] = ()
    _leaders: dict[tuple[str, int], int] | None = None

    @classmethod
    async def connect(cls, entries: Sequence[Entry], client: ClientProperties, tls: ssl.SSLContext | None, limits: Limits) -> Cluster:
        """Ask all `entries` at once; the first that answers tells the cluster.

        Raises :class:`CannotLook` that says of every entry how it is dead when none answers.
        """
        cluster = cls(client, tls, limits, entries=[entry.text for entry in entries], _bootstrap=entries)
        cluster.library.start()
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
                        await cluster._introduce_library(attempts[attempt])
                        return cluster
        finally:
            if cluster._first is None:
                cluster.library.close()
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
        _, answer = await self._metadata_on(session)
        for broker in metadata_of(answer).brokers:  # librdkafka goes where they lead, and logs in there
            if why := withheld(broker.host, broker.port, self.client):
                session.close()
                raise Dead(None, why)
        self._first, self.metadata, self.topics = session, metadata_of(answer), answer.topics
        self.sight = Sight.of(self.client, getattr(answer, "authorized_operations", None))

    async def _introduce_library(self, entry: Entry) -> None:
        """librdkafka goes in by the `entry` that has answered, with the token that the login there was made with."""
        settings, token = dict(self.client.librdkafka), None
        if self.client.uses_sasl and self.client.mechanism == "OAUTHBEARER":
            token = await bearer_token(self.client, self.limits.answer)
            settings = {key: value for key, value in settings.items() if not key.startswith("sasl.oauthbearer")}  # it would ask for its own
        self.library.connects_as({**settings, "bootstrap.servers": address_of(entry.host, entry.port)}, token, extensions_of(self.client))
        self.library.introduce()

    async def ask_library(self, ask: str, take: Callable[[dict[str, Any]], None], *, keep: float = 0.0, **question: Any) -> str:
        """Hand each row of librdkafka's answer to `take`; what has no row is unanswered, because of what is returned.

        It has all the time that is left but for the share `keep`: the brokers that it is asked about were just reached, so what it waits
        for is a busy machine.
        """
        try:
            seconds = self.limits.rest(f"{ask.replace('_', ' ')} were asked", keep=keep)
        except Dead as late:
            return late.says
        return await self.library.ask(ask, seconds, take, **question) or f"no answer in {seconds:.1f} s"

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
        session.address = address_of(host, address[1])
        return session

    @property
    def as_of(self) -> datetime:
        return self.limits.as_of

    async def renew(self, limits: Limits) -> None:
        """Time for another sample: later rows carry the moment of the new `limits`.

        Brokers that were silent are tried again over new connections, and leaders are learnt anew: both may have changed in between.
        """
        self.limits = limits
        lost = set(self.silent)
        for node, task in list(self._sessions.items()):
            if node in self.silent or (task.done() and (task.cancelled() or task.exception() is not None or task.result().lost)):
                del self._sessions[node]
                lost.add(node)
        self.silent.clear()
        self._grant()
        await self._learn_again()
        if lost:
            self.renew_library()

    def renew_library(self) -> None:
        """librdkafka afresh, from the broker that answered last: what it knew of coordinators and connections is out of date."""
        if self._first is not None:
            self.library.starts_anew(self._first.address)

    async def _learn_again(self) -> None:
        """The metadata of whoever answers first; the old ones stay where nobody does."""
        open_now = [task.result() for task in self._sessions.values() if task.done()]
        sessions = [session for session in (self._first, *open_now) if session is not None and not session.lost]
        attempts = {asyncio.ensure_future(self._metadata_on(session)) for session in sessions}
        attempts |= {asyncio.ensure_future(self._metadata_at(entry)) for entry in ([] if sessions else self._bootstrap)}
        while attempts:
            # none is cancelled: a question without its answer would spoil the connection for the next one
            done, attempts = await asyncio.wait(attempts, return_when=asyncio.FIRST_COMPLETED)
            for attempt in done:
                try:
                    session, answer = attempt.result()
                except Dead:
                    continue
                if self._first is not None and self._first.lost:
                    self._first.close()
                self._first, self.metadata, self.topics, self._leaders = session, metadata_of(answer), answer.topics, None
                for late in attempts:
                    late.add_done_callback(lambda task: task.cancelled() or task.exception())
                return

    async def _metadata_at(self, entry: Entry) -> tuple[Session, Any]:
        return await self._metadata_on(await self._open(entry.host, entry.port))

    async def _metadata_on(self, session: Session) -> tuple[Session, Any]:
        """All topics that this user may describe; nothing is created by asking."""
        session.limits = self.limits
        # null = all topics. Version 10: the last that has what this user may do to the cluster
        return session, await session.ask(
            MetadataRequest, "Metadata", newest=10, topics=None, allow_auto_topic_creation=False, include_cluster_authorized_operations=True
        )

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
        return self.metadata.by_node

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
        return [name for name, code in (await self._codes(names)).items() if code == TOPIC_AUTHORIZATION_FAILED]

    async def lacks(self, name: str) -> bool:
        """Whether the broker says that there is no topic `name`: one that is merely not shown may be there."""
        return (await self._codes([name])).get(name) == UNKNOWN_TOPIC_OR_PARTITION

    async def _codes(self, names: Sequence[str]) -> dict[str, int]:
        if not names or self._first is None or self._first.supported.get(MetadataRequest.API_KEY, (0, 0))[1] < 4:
            return {}  # version 4 is the first that can ask without creating the topic
        asked = MetadataRequest.MetadataRequestTopic
        try:
            answer = await self.ask_first(
                MetadataRequest, "Metadata", newest=9, topics=[asked(name=name) for name in names], allow_auto_topic_creation=False
            )
        except Dead:
            return {}
        return {topic.name: topic.error_code for topic in answer.topics}

    async def reach(self, node: int) -> None:
        """Have a connection to broker `node`. Raises :class:`Dead`, and for every later question to it, too."""
        try:
            await self._session(node)
        except Dead as dead:
            self.silent[node] = dead
            raise

    async def any_broker(self) -> int | None:
        """The first broker that can be reached; None when none can."""
        pending: set[asyncio.Task[int | None]] = {asyncio.ensure_future(self._reached(node)) for node in self.brokers}
        while pending:
            done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                if (node := task.result()) is not None:
                    for other in pending:
                        other.cancel()
                    return node
        return None

    async def _reached(self, node: int) -> int | None:
        try:
            await self.reach(node)
        except Dead:
            return None
        return node

    @property
    def leaders(self) -> Mapping[tuple[str, int], int]:
        """Node id of each partition's leader, as the metadata have it."""
        if self._leaders is None:
            self._leaders = {(t.name, p.partition_index): p.leader_id for t in self.topics for p in t.partitions}
        return self._leaders

    def leaderless(self, topic: str, number: int) -> str | None:
        """Why no broker can be asked about a partition, by the metadata; None where it has a leader."""
        if self.leaders.get((topic, number), -1) in self.brokers:
            return None
        replicas = next((p.replica_nodes for t in self.topics if t.name == topic for p in t.partitions if p.partition_index == number), ())
        gone = [str(node) for node in replicas if node not in self.brokers]
        where = f" (its replicas are on broker {', '.join(gone)}, which left the cluster)" if gone else ""
        return f"it has no leader{where}"

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
        self.library.close()
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
        problems = [*problems, *filter(None, [self.metadata.cut])]
        state = "ok" if not problems else "partial" if anything else "failed"
        values = {
            "name": name,
            "kind": "kafka",
            "state": state,
            "why": "; ".join(problems) or None,
            "asked": ",".join(self.entries) or None,
        }
        return SOURCES.row({"scope": "", "as_of": self.as_of} | values)
