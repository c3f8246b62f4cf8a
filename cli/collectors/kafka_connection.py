"""The way to one address: TCP, TLS, ApiVersions, login, Metadata – and how it died, if it did. Further questions are asked on its session.

librdkafka reports ``_TRANSPORT`` for every call to a broker that is refused, gone or hung; which of them it is stands in its log, late, by
no address, and after many tries that fill the accept queue of a hung broker. So the sockets are our own.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import hashlib
import math
import socket
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from functools import cached_property
from heapq import nsmallest
from typing import Any

from kafka.protocol.metadata import ApiVersionsRequest, MetadataRequest
from kafka.protocol.sasl import SaslAuthenticateRequest, SaslHandshakeRequest

from analyzers.budget import BUDGET
from cli.collectors.client_properties import ClientProperties
from cli.collectors.kafka_login import NoLogin, login_dance
from cli.collectors.kafka_reach import withheld
from cli.collectors.kafka_session import (
    CLIENT_ID,
    Dead,
    Limits,
    Session,
    in_words,
    milliseconds_since,
    reason_of,
    refused_by_tls,
    speaks_tls,
)

# Carriage return and line feed inside the first frame: a server that reads lines (HTTP, SMTP, Redis) answers at once instead of waiting for
# the end of a line, which would look like a hung broker. Kafka echoes any correlation id.
FIRST_CORRELATION_ID = 0x0D0A0D0A
UNASKED_SECONDS = 0.5  # a broker that is full closes within milliseconds
_MOST_BROKERS = BUDGET.kafka_brokers


@dataclass(frozen=True)
class AdvertisedBroker:
    """A broker as Metadata names it."""

    node: int
    host: str
    port: int
    rack: str | None


@dataclass(frozen=True)
class Metadata:
    """What one broker knows of its cluster. `controller` is arbitrary on KRaft: any live broker answers its own choice. `left_out`: brokers
    beyond those that diag asks of one cluster."""

    cluster_id: str | None
    controller: int | None
    brokers: tuple[AdvertisedBroker, ...]
    left_out: int = 0

    @cached_property
    def by_node(self) -> Mapping[int, AdvertisedBroker]:
        return {broker.node: broker for broker in self.brokers}

    @property
    def cut(self) -> str | None:
        """What was left out, in a clause."""
        if not self.left_out:
            return None
        named = len(self.brokers) + self.left_out
        return f"the metadata name {named:,} brokers: the {len(self.brokers):,} with the lowest ids were asked, no other"


@dataclass(frozen=True)
class Software:
    """What a broker understands: `speaks` digests its requests and their versions; features as ``name first-last`` and ``name level``."""

    speaks: str
    features: tuple[str, ...] = ()
    finalized: tuple[str, ...] = ()


@dataclass(frozen=True)
class Conversation:
    """How far it went. `state` is None when the time was too short to tell; milliseconds are None for steps not reached."""

    state: str | None
    why: str | None = None
    connect_ms: float | None = None
    api_versions_ms: float | None = None
    metadata_ms: float | None = None
    tls_days_left: float | None = None
    metadata: Metadata | None = field(default=None, repr=False)
    software: Software | None = field(default=None, repr=False)


async def converse(
    address: tuple[Any, ...], family: int, host: str, client: ClientProperties, tls: ssl.SSLContext | None, limits: Limits
) -> Conversation:
    """Talk to `address` (a ``getaddrinfo`` sockaddr) as `client` would.

    `tls` is ``client.tls_context()``, made once for all conversations; `host` is the name that the certificate must carry.
    """
    talk = Talk(address, family, host, client, limits)
    try:
        await talk.run(tls)
    except Dead as end:
        if end.silent:
            end = await talk.with_other_transport(end)
        return replace(talk.progress, state=end.state, why=end.why)
    return replace(talk.progress, state="alive")


class Talk:
    """The way to one address, with what is known so far in `progress`."""

    def __init__(self, address: tuple[Any, ...], family: int, host: str, client: ClientProperties, limits: Limits) -> None:
        self.address, self.family, self.host, self.client, self.limits = address, family, host, client, limits
        self.progress = Conversation(state=None)
        self.opened_tls: ssl.SSLContext | None = None  # with which the handshake was done

    async def run(self, tls: ssl.SSLContext | None) -> None:
        session = await self.open(tls)
        if session is not None:
            try:
                await self._ask_metadata(session)
                await self._ask_features(session)
            finally:
                session.close()

    async def open(self, tls: ssl.SSLContext | None) -> Session | None:
        """A connection that questions may be asked on; None when it lives but its login cannot be spoken here. Raises :class:`Dead`."""
        if why := withheld(self.host, self.address[1], self.client, str(self.address[0])):
            raise Dead(None, why)
        if self.host in self.client.named:
            self.client.named.add(str(self.address[0]))
        connection = await self._connect()
        reader, writer = await self._open(connection, tls)  # from here on asyncio owns the socket and closes it
        session = Session(reader, writer, self.client, self.limits)
        try:
            if await self._introduce(session):
                return session
        except BaseException:
            session.close()
            raise
        session.close()
        return None

    async def _connect(self) -> socket.socket:
        seconds = self.limits.granted(self.limits.connect, "the connection was tried")
        connection = socket.socket(self.family, socket.SOCK_STREAM)
        connection.setblocking(False)
        started = time.perf_counter()
        try:
            await asyncio.wait_for(asyncio.get_running_loop().sock_connect(connection, self.address), seconds)
        except (asyncio.TimeoutError, TimeoutError):
            connection.close()
            raise Dead("black-hole", f"no answer to the connection attempt in {seconds:.1f} s") from None
        except OSError as error:
            connection.close()
            raise _connection_error(error) from error
        except BaseException:
            connection.close()
            raise
        self.progress = replace(self.progress, connect_ms=milliseconds_since(started))
        return connection

    async def _open(self, connection: socket.socket, tls: ssl.SSLContext | None) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if tls is None:
            return await asyncio.open_connection(sock=connection)
        seconds = self.limits.granted(self.limits.answer, "the TLS handshake")
        try:
            opening = asyncio.open_connection(sock=connection, ssl=tls, server_hostname=self.host, ssl_handshake_timeout=seconds + 1)
            reader, writer = await asyncio.wait_for(opening, seconds)
        except (asyncio.TimeoutError, TimeoutError):
            raise Dead("hung", f"accepts the connection, no answer to the TLS handshake in {seconds:.1f} s") from None
        except ssl.SSLCertVerificationError as error:
            raise Dead("tls", f"certificate of {self.host} refused: {error.verify_message}") from error
        except ssl.SSLError as error:
            reason = reason_of(error)
            raise refused_by_tls(error, self.client) or Dead(
                "tls", f"TLS handshake failed: {reason}", silent="wrong version" in reason or "eof" in reason
            ) from error
        except OSError as error:
            raise Dead("closed", f"closed in the TLS handshake ({in_words(error)})", silent=True) from error
        self.opened_tls = tls
        self.progress = replace(self.progress, tls_days_left=_days_left(writer.get_extra_info("peercert")))
        return reader, writer

    async def _introduce(self, session: Session) -> bool:
        versions = await session.exchange(ApiVersionsRequest[0](), "ApiVersions", correlation_id=FIRST_CORRELATION_ID)
        self.progress = replace(self.progress, api_versions_ms=session.round_trip_ms)
        if versions.error_code != 0:
            raise Dead("not-kafka", f"answers ApiVersions with error {versions.error_code}")
        session.supported = {key.api_key: (key.min_version, key.max_version) for key in versions.api_keys}
        return not self.client.uses_sasl or await self._login(session)

    async def _ask_metadata(self, session: Session) -> None:
        try:
            # an empty list means "no topics"
            answer = await session.ask(MetadataRequest, "Metadata", newest=8, topics=[], allow_auto_topic_creation=False)
        except Dead as end:
            if end.silent and not self.client.uses_sasl:
                raise Dead(
                    "auth", "closed the connection after ApiVersions: the listener wants a login (security.protocol=SASL_…)"
                ) from end
            raise
        self.progress = replace(self.progress, metadata_ms=session.round_trip_ms, metadata=metadata_of(answer))

    async def _ask_features(self, session: Session) -> None:
        """Nice to know: a broker that does not answer this one has answered the others and lives."""
        ranges = ",".join(f"{key}:{low}-{high}" for key, (low, high) in sorted(session.supported.items()))
        software = Software(hashlib.sha256(ranges.encode()).hexdigest()[:8])
        with contextlib.suppress(Dead):
            if session.supported.get(ApiVersionsRequest.API_KEY, (0, 0))[1] >= 3:  # KIP-584
                told = await session.ask(
                    ApiVersionsRequest, "ApiVersions", newest=4, client_software_name=CLIENT_ID, client_software_version="1"
                )
                software = replace(
                    software,
                    features=tuple(f"{f.name} {f.min_version}-{f.max_version}" for f in sorted(told.supported_features, key=_by_name)),
                    finalized=tuple(f"{f.name} {f.max_version_level}" for f in sorted(told.finalized_features, key=_by_name)),
                )
        self.progress = replace(self.progress, software=software)

    async def _login(self, session: Session) -> bool:
        """Log in with SASL; False when the mechanism is offered but cannot be spoken here (the address is alive all the same)."""
        mechanism = self.client.mechanism or "GSSAPI"
        shake = await session.ask(SaslHandshakeRequest, "SaslHandshake", newest=1, mechanism=mechanism)
        if shake.error_code == 34:  # ILLEGAL_SASL_STATE
            raise Dead("auth", "the listener wants no login: use security.protocol=PLAINTEXT or SSL")
        if shake.error_code != 0:
            raise Dead(
                "auth", f"sasl.mechanism={mechanism} is not enabled on the broker, which offers {', '.join(shake.mechanisms) or 'none'}"
            )
        try:
            dance = await login_dance(self.client, self.host, self.limits.granted(self.limits.answer, "the login"))
        except NoLogin as missing:
            if not missing.here:
                raise Dead("auth", str(missing)) from missing
            self.progress = replace(self.progress, why=f"answers and offers {mechanism}; the login was not tried: {missing}")
            return False
        except (asyncio.TimeoutError, TimeoutError):
            raise Dead("auth", f"no token for {mechanism} in time: its endpoint does not answer") from None
        who = f"login as {self.client.username}" if self.client.username else f"login with {mechanism}"
        while not dance.is_done():
            step = await session.ask(SaslAuthenticateRequest, "the login", newest=1, auth_bytes=dance.auth_bytes())
            if step.error_code != 0:
                raise Dead("auth", f"{who} refused: {step.error_message or f'error {step.error_code}'}")
            try:
                dance.receive(step.auth_bytes)
            except (ValueError, KeyError) as error:
                raise Dead("auth", f"{who} failed: {error}") from error
        return True

    async def with_other_transport(self, end: Dead) -> Dead:
        """The other side closed without a word: try TLS where plaintext was used and the reverse, and say which one it speaks."""
        if self.progress.api_versions_ms is not None:
            return end  # it has answered before: the transport is right
        wanted_tls = self.client.uses_tls
        bare = replace(self.client, protocol="PLAINTEXT")
        other = Talk(self.address, self.family, self.host, bare, self.limits)
        context = None
        if not wanted_tls:
            context = ssl.create_default_context()
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        try:
            await other.run(context)
        except Dead as second:
            asked_for_one = second.state == "tls" and "certificate" in second.why  # it speaks TLS all the same
            if not (other.progress.api_versions_ms is not None or (not wanted_tls and (other.opened_tls or asked_for_one))):
                return await self._closed(end)
        if wanted_tls:
            return Dead(
                "tls", f"the port speaks Kafka without TLS: use security.protocol={self.client.protocol.replace('SSL', 'PLAINTEXT')}"
            )
        return speaks_tls(self.client)

    async def _unasked(self, tls: ssl.SSLContext) -> Dead | None:
        """How TLS ends where nothing is asked. With TLS 1.3 a broker refuses a client after the client's handshake; what the client has
        sent by then resets the connection, and the refusal may be lost with it.
        """
        writer = None
        try:
            reader, writer = await self._open(await self._connect(), tls)
            await asyncio.wait_for(reader.read(1), min(UNASKED_SECONDS, self.limits.answer))
        except ssl.SSLError as error:
            return refused_by_tls(error, self.client)
        except Dead as end:
            return end if end.state == "tls" else None
        except (asyncio.TimeoutError, OSError):
            pass
        finally:
            if writer is not None:
                writer.close()
        return None

    async def _closed(self, end: Dead) -> Dead:
        """`end`, with what a connection on which nothing is asked says: one that is closed at once was not closed for what was asked."""
        if end.state != "closed":
            return end
        if self.opened_tls and (refused := await self._unasked(self.opened_tls)) is not None:
            return refused
        try:
            connection = await self._connect()
        except Dead:
            return end
        loop = asyncio.get_running_loop()
        try:
            closed = await asyncio.wait_for(loop.sock_recv(connection, 1), min(UNASKED_SECONDS, self.limits.answer)) == b""
        except (asyncio.TimeoutError, TimeoutError):
            closed = False
        except OSError:
            closed = True
        finally:
            connection.close()
        if closed:
            return Dead(
                "closed",
                "closed before anything was asked: so does a broker at its limit of connections (max.connections.per.ip), or a proxy "
                "without a broker behind it",
            )
        return Dead("closed", f"{end.why}, with TLS and without: is it a Kafka listener, and does it let this host in?")


def metadata_of(answer: Any) -> Metadata:
    """A Metadata response of any version without its topics."""
    asked = answer.brokers
    if len(asked) > _MOST_BROKERS:
        asked = nsmallest(_MOST_BROKERS, asked, key=lambda broker: broker.node_id)
    brokers = tuple(AdvertisedBroker(b.node_id, b.host, b.port, getattr(b, "rack", None) or None) for b in asked)
    said = getattr(answer, "controller_id", None)
    controller = said if said is not None and said >= 0 else None
    return Metadata(getattr(answer, "cluster_id", None), controller, brokers, len(answer.brokers) - len(brokers))


def _connection_error(error: OSError) -> Dead:
    if error.errno in (errno.ETIMEDOUT,):
        return Dead("black-hole", f"no answer to the connection attempt ({in_words(error)})")
    if error.errno in (errno.ENETUNREACH, errno.EHOSTUNREACH):
        # answered at once, by a router or by this host: costs a client as little as a refusal
        return Dead("refused", f"{in_words(error)}: no route from this host")
    if error.errno in (errno.EMFILE, errno.ENFILE, errno.EADDRNOTAVAIL, errno.EACCES, errno.EPERM):
        return Dead(None, f"this host could not open a connection ({in_words(error)})")
    return Dead("refused", in_words(error))


def _by_name(feature: Any) -> str:
    return str(feature.name)


def _days_left(certificate: Any) -> float | None:
    """Days until the peer's certificate expires; None when it was not verified (Python then does not decode it)."""
    if not certificate or "notAfter" not in certificate:
        return None
    seconds = ssl.cert_time_to_seconds(certificate["notAfter"]) - datetime.now(timezone.utc).timestamp()
    return math.floor(seconds / 8640) / 10
