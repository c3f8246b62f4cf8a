"""Probe every bootstrap entry and every advertised broker on the wire: which are alive, and how the others are dead.

Everything runs at once and ends within one time-out, name look-ups included. Each address is talked to once, however many entries name it:
a stopped process becomes a black hole when its accept queue is full, and a doctor must not be the one who fills it.
"""

from __future__ import annotations

import asyncio
import re
import socket
import ssl
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from analyzers.budget import BUDGET
from analyzers.tables import BOOTSTRAP_SERVERS, BROKERS, Row, Table
from cli.collectors.client_properties import ClientProperties, read_client_properties
from cli.collectors.kafka_connection import AdvertisedBroker, Conversation, Metadata, converse
from cli.collectors.kafka_session import Limits
from cli.shell.exits import UsageError

# Open at once; below the usual limit of 1024 file descriptors per process with room for the rest of the tool.
CONVERSATIONS_AT_ONCE = 400


@dataclass(frozen=True)
class Entry:
    """One entry of a bootstrap list, as configured."""

    text: str
    host: str
    port: int


@dataclass(frozen=True)
class Survey:
    """What the probe saw. `bootstrap_servers` has a row per entry and address, `brokers` one per broker.

    `complete` is false when time ran out before every address was judged.
    """

    bootstrap_servers: list[Row]
    brokers: list[Row]
    cluster_id: str | None
    seconds: float
    complete: bool
    cut: str | None = None
    """Which brokers were left out, in a clause."""

    @property
    def dead_brokers(self) -> dict[int, str]:
        """Kind of death by node id."""
        return {int(row["broker"]): str(row["state"]) for row in self.brokers if row["state"] not in ("alive", None)}


_ENTRY = re.compile(r"(?:[A-Za-z_]+://)?(?:\[(?P<v6>[0-9A-Fa-f:.%\w]+)\]|(?P<host>[A-Za-z0-9\-._%]+)):(?P<port>\d{1,5})\Z")


def parse_entries(lists: Iterable[str]) -> list[Entry]:
    """The entries of one or several ``bootstrap.servers`` values; raises :class:`UsageError` for one without host and port."""
    entries = []
    for text in (part.strip() for given in lists for part in given.split(",")):
        if not text:
            continue
        match = _ENTRY.match(text)
        if match is None or not 0 < int(match["port"]) < 65536:
            raise UsageError(f'"{text}" is not a bootstrap server', "write HOST:PORT[,HOST:PORT…], IPv6 as [ADDRESS]:PORT")
        entries.append(Entry(text, match["v6"] or match["host"], int(match["port"])))
    if not entries:
        raise UsageError("no bootstrap server given", "--bootstrap-server HOST:PORT[,…], or bootstrap.servers in the --command-config file")
    return entries


async def survey(entries: Sequence[Entry], client: ClientProperties, tls: ssl.SSLContext | None, limits: Limits) -> Survey:
    """Probe `entries` and the brokers that they advertise, as `client` would connect; ends with `limits`. Every failure is a row."""
    return await _Probe(client, tls, limits).survey(entries)


@dataclass(frozen=True)
class Resolved:
    """Addresses of a name as (family, sockaddr), or the kind of death and why there are none."""

    addresses: tuple[tuple[int, tuple[Any, ...]], ...] = ()
    state: str | None = None
    why: str | None = None


@dataclass
class _Probe:
    client: ClientProperties
    tls: ssl.SSLContext | None
    limits: Limits
    _conversations: dict[tuple[Any, ...], asyncio.Task[Conversation]] = field(default_factory=dict)
    _lookups: dict[tuple[str, int], asyncio.Task[Resolved]] = field(default_factory=dict)
    _brokers: dict[int, tuple[AdvertisedBroker, asyncio.Task[Row]]] = field(default_factory=dict)
    _metadata: Metadata | None = None

    async def survey(self, entries: Sequence[Entry]) -> Survey:
        loop = asyncio.get_running_loop()
        started = loop.time()
        self._places = asyncio.Semaphore(CONVERSATIONS_AT_ONCE)
        probed = await asyncio.gather(*(self._entry(position, entry) for position, entry in enumerate(entries)))
        # the entries' answers have named all brokers by now; their own answers do not add any
        broker_rows = [await task for _, task in self._brokers.values()]
        rows = [row for entry_rows in probed for row in entry_rows]
        addresses = await self._broker_addresses()
        for entry_row in rows:
            entry_row["broker"] = addresses.get(entry_row["entry"].rpartition("://")[2]) or addresses.get(_socket_name(entry_row))
        return Survey(
            rows, sorted(broker_rows, key=lambda row: int(row["broker"])), self._metadata.cluster_id if self._metadata else None,
            loop.time() - started, all(row["state"] for row in rows + broker_rows), self._metadata.cut if self._metadata else None,
        )  # fmt: skip

    async def _entry(self, position: int, entry: Entry) -> list[Row]:
        resolved = await self._resolve(entry.host, entry.port)
        place = {"entry": entry.text, "position": position}
        if not resolved.addresses:
            return [self._row(BOOTSTRAP_SERVERS, place | {"state": resolved.state, "why": resolved.why})]
        talks = [self._talk(entry.host, family, address) for family, address in resolved.addresses]
        rows = []
        for (_, address), talk in zip(resolved.addresses, talks, strict=True):
            told = await talk
            if told.metadata is not None:
                self._learn(told.metadata)
            measured = {name: getattr(told, name) for name in ("connect_ms", "api_versions_ms", "metadata_ms", "tls_days_left")}
            rows.append(self._row(BOOTSTRAP_SERVERS, place | {"ip": address[0], "state": told.state, "why": told.why} | measured))
        return rows

    def _learn(self, metadata: Metadata) -> None:
        """Begin with the brokers of `metadata` that nobody named before, while other entries are still waited for."""
        self._metadata = self._metadata or metadata
        for broker in metadata.brokers:
            if broker.node not in self._brokers and len(self._brokers) < BUDGET.kafka_brokers:
                self._brokers[broker.node] = (broker, asyncio.ensure_future(self._broker(broker)))

    async def _broker(self, broker: AdvertisedBroker) -> Row:
        place = {"broker": broker.node, "address": address_of(broker.host, broker.port), "rack": broker.rack, "in_metadata": True}
        resolved = await self._resolve(broker.host, broker.port)
        if not resolved.addresses:
            return self._row(BROKERS, place | {"state": resolved.state, "why": resolved.why})
        talks = [(str(address[0]), self._talk(broker.host, family, address)) for family, address in resolved.addresses]  # all at once
        told = [(ip, await talk) for ip, talk in talks]
        # clients since KIP-602 try every address of a name: one that lives is enough
        best = next((t for _, t in told if t.state == "alive"), told[0][1])
        others = [f"{ip}: {t.state or 'not probed'} ({t.why})" for ip, t in told if t is not best and t.state != "alive"]
        why = "; ".join(filter(None, [best.why, *others])) or None
        measured: dict[str, Any] = {"connect_ms": best.connect_ms, "api_versions_ms": best.api_versions_ms}
        if best.software is not None:
            measured["speaks"] = best.software.speaks
            measured |= {"features": list(best.software.features), "finalized": list(best.software.finalized)}
        return self._row(BROKERS, place | {"state": best.state, "why": why} | measured)

    async def _broker_addresses(self) -> dict[str, int]:
        """Node id by advertised ``host:port`` and by resolved ``ip:port``."""
        nodes: dict[str, int] = {}
        for node, (broker, _) in sorted(self._brokers.items()):
            for _, address in (await self._resolve(broker.host, broker.port)).addresses:
                nodes.setdefault(address_of(str(address[0]), broker.port), node)
            nodes[address_of(broker.host, broker.port)] = node
        return nodes

    def _talk(self, host: str, family: int, address: tuple[Any, ...]) -> asyncio.Task[Conversation]:
        # over TLS the name belongs to the identity: another name may be refused where this one is accepted
        key = (host if self.tls else "", *address)
        if key not in self._conversations:
            self._conversations[key] = asyncio.ensure_future(self._converse(host, family, address))
        return self._conversations[key]

    async def _converse(self, host: str, family: int, address: tuple[Any, ...]) -> Conversation:
        async with self._places:
            return await converse(address, family, host, self.client, self.tls, self.limits)

    def _row(self, table: Table, values: dict[str, Any]) -> Row:
        seen = {"scope": "", "as_of": self.limits.as_of, "probed_at": self.limits.as_of, "seen_from": socket.gethostname()}
        return table.row(seen | values)

    async def _resolve(self, host: str, port: int) -> Resolved:
        key = (host, port)
        if key not in self._lookups:
            self._lookups[key] = asyncio.ensure_future(look_up(host, port, self.limits.lookup))
        return await self._lookups[key]


async def look_up(host: str, port: int, seconds: float) -> Resolved:
    """All addresses of `host`, or how the look-up failed.

    In a daemon thread of its own: ``getaddrinfo`` cannot be interrupted, and the pool of asyncio would wait for it at exit.
    """
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[list[Any] | OSError | UnicodeError] = loop.create_future()

    def deliver(found: list[Any] | OSError | UnicodeError) -> None:
        if not answer.done():
            answer.set_result(found)

    def ask() -> None:
        found: list[Any] | OSError | UnicodeError
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            found = error
        if not loop.is_closed():
            try:
                loop.call_soon_threadsafe(deliver, found)
            except RuntimeError:
                return  # the loop closed in between: nobody waits any more

    threading.Thread(target=ask, name=f"look-up {host}", daemon=True).start()
    try:
        found = await asyncio.wait_for(answer, seconds)
    except (asyncio.TimeoutError, TimeoutError):
        return Resolved(state="dns", why=f"the name server did not answer in {seconds:.1f} s")
    if isinstance(found, Exception):
        words = found.strerror if isinstance(found, OSError) and found.strerror else str(found)
        return Resolved(state="dns", why=f"{host}: {words}")
    return Resolved(addresses=tuple(dict.fromkeys((family, address) for family, _, _, _, address in found)))


def address_of(host: str, port: int) -> str:
    """``host:port``, IPv6 in brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _socket_name(row: Row) -> str:
    port = int(str(row["entry"]).rpartition(":")[2])
    return address_of(str(row["ip"]), port)


def client_and_entries(bootstrap_servers: Sequence[str], command_config: Path | None) -> tuple[ClientProperties, list[Entry]]:
    """How to connect and where; bootstrap servers given as option beat those of the file. Raises `UsageError`."""
    client = read_client_properties(command_config) if command_config is not None else ClientProperties()
    given = [text for text in bootstrap_servers if text.strip()]
    entries = parse_entries(given or ([client.bootstrap_servers] if client.bootstrap_servers else []))
    client.named.update(entry.host for entry in entries)
    return client, entries
