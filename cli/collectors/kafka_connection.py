"""One connection to one address: TCP, TLS, ApiVersions, login, then questions – and how it died, if it did.

No Kafka client library tells a refused connection from a host that is gone or a process that hangs: librdkafka reports ``_TRANSPORT`` for
all of them. So the sockets are our own; kafka-python serves as the codec.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import hashlib
import math
import os
import socket
import ssl
import struct
import time
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from typing import Any

from kafka.errors import KafkaError
from kafka.protocol.metadata import ApiVersionsRequest, MetadataRequest
from kafka.protocol.parser import KafkaProtocol
from kafka.protocol.sasl import SaslAuthenticateRequest, SaslHandshakeRequest

from cli.collectors.client_properties import ClientProperties
from cli.collectors.kafka_login import NoLogin, login_dance

# Carriage return and line feed inside the first frame: a server that reads lines (HTTP, SMTP, Redis) answers at once instead of waiting for
# the end of a line, which would look like a hung broker. Kafka echoes any correlation id.
FIRST_CORRELATION_ID = 0x0D0A0D0A

# Text taken for a frame length is at least 0x20000000 (512 MB), so a server that is not Kafka is known by its first four bytes;
# 64 MB hold the metadata of a million partitions.
LARGEST_ANSWER_BYTES = 64 << 20

# Every request that diag may send, by API key. A session refuses all others: nothing here writes, joins, commits or creates.
READ_ONLY = {
    1: "Fetch", 2: "ListOffsets", 3: "Metadata", 9: "OffsetFetch", 10: "FindCoordinator", 15: "DescribeGroups", 16: "ListGroups",
    17: "SaslHandshake", 18: "ApiVersions", 32: "DescribeConfigs", 36: "SaslAuthenticate", 60: "DescribeCluster", 61: "DescribeProducers",
    65: "DescribeTransactions", 66: "ListTransactions", 69: "ConsumerGroupDescribe",
}  # fmt: skip

CLIENT_ID = "diag"


@dataclass(frozen=True)
class AdvertisedBroker:
    """A broker as Metadata names it."""

    node: int
    host: str
    port: int
    rack: str | None


@dataclass(frozen=True)
class Metadata:
    """What one broker knows of its cluster. `controller` is arbitrary on KRaft: any live broker answers its own choice."""

    cluster_id: str | None
    controller: int | None
    brokers: tuple[AdvertisedBroker, ...]


def now() -> datetime:
    """This moment with the precision of the tables: milliseconds."""
    moment = datetime.now(timezone.utc)
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


@dataclass(frozen=True)
class Limits:
    """Seconds granted to each step, the moment (``time.monotonic``) when everything ends, and the wall-clock time that all rows carry."""

    lookup: float
    connect: float
    answer: float
    deadline: float
    as_of: datetime

    @classmethod
    def within(cls, timeout_seconds: float) -> Limits:
        """Shares of one `timeout_seconds`, so that a black hole and a hung broker found through it both fit."""
        return cls(0.3 * timeout_seconds, 0.45 * timeout_seconds, 0.4 * timeout_seconds, time.monotonic() + 0.95 * timeout_seconds, now())


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


class Dead(Exception):
    """The conversation is over: `state` is the kind of death, None when the time was too short to tell; `why` says what was seen.

    `lives`: only this one question cannot be asked.
    """

    def __init__(self, state: str | None, why: str, *, silent: bool = False, lives: bool = False) -> None:
        super().__init__(why)
        self.state, self.why, self.lives = state, why, lives
        self.silent = silent  # closed before a first byte of answer: perhaps the other side expected (or did not expect) TLS

    @property
    def says(self) -> str:
        """``hung, no answer to Metadata in 4.0 s``."""
        return f"{self.state}, {self.why}" if self.state else self.why


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
        connection = await self._connect()
        reader, writer = await self._open(connection, tls)  # from here on asyncio owns the socket and closes it
        session = Session(reader, writer, self)
        try:
            if await self._introduce(session):
                return session
        except BaseException:
            session.close()
            raise
        session.close()
        return None

    def granted(self, wanted: float, doing: str) -> float:
        """Seconds for the next step. Ends the conversation without a judgement when too little is left for one."""
        left = self.limits.deadline - time.monotonic()
        if left < wanted / 4:
            raise Dead(None, f"--timeout ended before {doing}")
        return min(wanted, left)

    async def _connect(self) -> socket.socket:
        seconds = self.granted(self.limits.connect, "the connection was tried")
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
        self.progress = replace(self.progress, connect_ms=_milliseconds(started))
        return connection

    async def _open(self, connection: socket.socket, tls: ssl.SSLContext | None) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if tls is None:
            return await asyncio.open_connection(sock=connection)
        seconds = self.granted(self.limits.answer, "the TLS handshake")
        try:
            opening = asyncio.open_connection(sock=connection, ssl=tls, server_hostname=self.host, ssl_handshake_timeout=seconds + 1)
            reader, writer = await asyncio.wait_for(opening, seconds)
        except (asyncio.TimeoutError, TimeoutError):
            raise Dead("hung", f"accepts the connection, no answer to the TLS handshake in {seconds:.1f} s") from None
        except ssl.SSLCertVerificationError as error:
            raise Dead("tls", f"certificate of {self.host} refused: {error.verify_message}") from error
        except ssl.SSLError as error:
            reason = (error.reason or str(error)).replace("_", " ").lower()
            raise Dead("tls", f"TLS handshake failed: {reason}", silent="wrong version" in reason or "eof" in reason) from error
        except OSError as error:
            raise Dead("tls", f"connection closed in the TLS handshake ({_words(error)})", silent=True) from error
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
            dance = await login_dance(self.client, self.host, self.granted(self.limits.answer, "the login"))
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
            spoken = other.progress.api_versions_ms is not None or (not wanted_tls and other.opened_tls(second))
            if not spoken:
                return end
        if wanted_tls:
            return Dead(
                "tls", f"the port speaks Kafka without TLS: use security.protocol={self.client.protocol.replace('SSL', 'PLAINTEXT')}"
            )
        return Dead("tls", "the port speaks TLS: use security.protocol=" + ("SASL_SSL" if self.client.uses_sasl else "SSL"))

    @staticmethod
    def opened_tls(end: Dead) -> bool:
        # a listener that wants a client certificate ends the handshake with this alert: it speaks TLS all the same
        return "certificate required" in end.why or "bad certificate" in end.why


class Session:
    """An open connection: requests and answers in turn. Refuses whatever could change the cluster."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, talk: Talk) -> None:
        self.reader, self.writer, self.talk = reader, writer, talk
        self.supported: dict[int, tuple[int, int]] = {}
        self.round_trip_ms: float | None = None  # of the last answer: request's last byte to answer's first, without our decoding
        self._sent = 0.0
        self._one_at_a_time = asyncio.Lock()
        self.protocol = KafkaProtocol(client_id=CLIENT_ID, receive_message_max_bytes=LARGEST_ANSWER_BYTES)

    def close(self) -> None:
        self.writer.transport.abort()  # no TLS good-bye: a hung peer would make us wait for it

    async def ask(self, request: Any, name: str, *, newest: int, **fields: Any) -> Any:
        """The answer to `request` (a class of kafka-python) with `fields`, in the newest version both sides speak, at most `newest`."""
        if request.API_KEY not in self.supported:  # asked all the same, it would hang up
            if request is MetadataRequest:
                raise Dead("not-kafka", "speaks Kafka and knows no Metadata: the listener of a KRaft controller, no broker's")
            raise Dead(None, f"the broker is too old for {name}", lives=True)
        lowest, highest = self.supported[request.API_KEY]
        version = min(newest, highest, request.max_version)
        if version < lowest:
            most = min(newest, request.max_version)
            raise Dead(None, f"the broker speaks {name} {lowest} to {highest} only, this diag at most {most}", lives=True)
        return await self.exchange(request[version](**fields), name)

    async def exchange(self, request: Any, name: str, *, correlation_id: int | None = None) -> Any:
        """The decoded answer; raises :class:`Dead` when there is none in time, or none that is Kafka's."""
        if request.API_KEY not in READ_ONLY:
            raise AssertionError(f"{name} (API key {request.API_KEY}) may change the cluster; diag only looks")
        async with self._one_at_a_time:
            seconds = self.talk.granted(self.talk.limits.answer, f"{name} was asked")
            self.protocol.send_request(request, correlation_id=correlation_id)
            self.writer.write(bytes(self.protocol.send_bytes()))
            self._sent = time.perf_counter()
            try:
                return await asyncio.wait_for(self._answer(name), seconds)
            except (asyncio.TimeoutError, TimeoutError):
                raise Dead("hung", f"accepts the connection, no answer to {name} in {seconds:.1f} s") from None

    async def _answer(self, name: str) -> Any:
        seen = b""
        while True:
            try:
                block = await self.reader.read(1 << 16)
            except OSError as error:
                raise Dead("not-kafka", f"connection lost while waiting for {name} ({_words(error)})", silent=not seen) from error
            if not block:
                raise Dead("not-kafka", f"closed the connection without answering {name}", silent=not seen)
            if not seen:
                self.round_trip_ms = _milliseconds(self._sent)
            seen += block[: 64 - len(seen)] if len(seen) < 64 else b""
            if seen[:2] in (b"\x15\x03", b"\x16\x03"):  # a TLS record: alert or handshake
                raise Dead("tls", "the port speaks TLS: use security.protocol=" + ("SASL_SSL" if self.talk.client.uses_sasl else "SSL"))
            try:
                answers = self.protocol.receive_bytes(block)
            except (KafkaError, ValueError, IndexError, struct.error) as error:
                raise Dead("not-kafka", f"answers {name} with something that is not Kafka: {_printable(seen)}") from error
            if answers:
                return answers[0][1]


def metadata_of(answer: Any) -> Metadata:
    """A Metadata response of any version without its topics."""
    brokers = tuple(AdvertisedBroker(b.node_id, b.host, b.port, getattr(b, "rack", None) or None) for b in answer.brokers)
    controller = getattr(answer, "controller_id", None)
    return Metadata(getattr(answer, "cluster_id", None), controller if controller is not None and controller >= 0 else None, brokers)


def _connection_error(error: OSError) -> Dead:
    if error.errno in (errno.ETIMEDOUT,):
        return Dead("black-hole", f"no answer to the connection attempt ({_words(error)})")
    if error.errno in (errno.ENETUNREACH, errno.EHOSTUNREACH):
        # answered at once, by a router or by this host: costs a client as little as a refusal
        return Dead("refused", f"{_words(error)}: no route from this host")
    if error.errno in (errno.EMFILE, errno.ENFILE, errno.EADDRNOTAVAIL, errno.EACCES, errno.EPERM):
        return Dead(None, f"this host could not open a connection ({_words(error)})")
    return Dead("refused", _words(error))


def _words(error: OSError) -> str:
    # asyncio puts its own sentence in the place of the operating system's
    return os.strerror(error.errno) if error.errno else str(error) or type(error).__name__


def _by_name(feature: Any) -> str:
    return str(feature.name)


def _printable(seen: bytes) -> str:
    text = "".join(chr(b) if 32 <= b < 127 else "." for b in seen[:40])
    return f'"{text}"'


def _milliseconds(started: float) -> float:
    return round((time.perf_counter() - started) * 1000, 2)


def _days_left(certificate: Any) -> float | None:
    """Days until the peer's certificate expires; None when it was not verified (Python then does not decode it)."""
    if not certificate or "notAfter" not in certificate:
        return None
    seconds = ssl.cert_time_to_seconds(certificate["notAfter"]) - datetime.now(timezone.utc).timestamp()
    return math.floor(seconds / 8640) / 10
