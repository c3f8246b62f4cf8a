"""Servers on loopback for the wire prober to meet: a broker that speaks just enough Kafka, and the ways of not being one."""

from __future__ import annotations

import contextlib
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kafka.protocol.metadata import ApiVersionsResponse, MetadataResponse
from kafka.protocol.sasl import SaslAuthenticateResponse, SaslHandshakeResponse

TLS = Path(__file__).parent / "data" / "tls"

Conversation = Callable[[socket.socket], None]


@contextlib.contextmanager
def serving(
    talk: Conversation, *, tls: bool = False, wants_certificate: ssl.TLSVersion | None = None, trusted: bool = True
) -> Iterator[str]:
    """``127.0.0.1:port`` of a server that runs `talk` with each connection, in a thread of its own.

    `wants_certificate` asks clients for theirs, in that version of TLS; `trusted` those of this folder are accepted.
    """
    context = None
    if tls:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(TLS / "certificate.pem", TLS / "key.pem")
        if wants_certificate is not None:
            context.minimum_version = context.maximum_version = wants_certificate
            context.verify_mode = ssl.CERT_REQUIRED
            if trusted:
                context.load_verify_locations(TLS / "certificate.pem")
    listener = socket.create_server(("127.0.0.1", 0), backlog=64)
    open_connections: list[socket.socket] = []

    def one(connection: socket.socket) -> None:
        # a prober that gave up is no failure of the server
        with contextlib.suppress(OSError), connection:
            talk(context.wrap_socket(connection, server_side=True) if context else connection)

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listener.accept()
                open_connections.append(connection)
                threading.Thread(target=one, args=(connection,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield f"127.0.0.1:{listener.getsockname()[1]}"
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        for connection in open_connections:
            connection.close()


@dataclass
class FakeBroker:
    """Answers ApiVersions, Metadata without topics, and SASL PLAIN; notes the API key of everything it is asked."""

    advertised: dict[int, tuple[str, int]] = field(default_factory=dict)
    topics: list[Any] = field(default_factory=list)
    login: tuple[str, str] | None = None
    mechanisms: list[str] = field(default_factory=lambda: ["PLAIN"])
    spoken: dict[int, tuple[int, int]] = field(default_factory=lambda: {3: (0, 12), 17: (0, 1), 18: (0, 0), 36: (0, 1)})
    operations: frozenset[int] | None = frozenset({5, 7, 8, 9, 10, 11, 12})  # what the user may do to the cluster: everything
    asked: list[int] = field(default_factory=list)
    connections: int = 0

    def talk(self, connection: socket.socket) -> None:
        self.connections += 1
        trusted = self.login is None
        while True:
            head = _exactly(connection, 4)
            size = struct.unpack(">i", head)[0] if head else 0
            if not 0 < size <= 100 << 20:  # socket.request.max.bytes: a TLS hello is taken for 369 MB, and the broker hangs up
                return
            request = _exactly(connection, size)
            if not request:
                return
            key, version, correlation_id = struct.unpack_from(">hhi", request)
            self.asked.append(key)
            if key == 18:
                answer = self._api_versions(version)
            elif key == 17:
                offered = any(name.encode() in request for name in self.mechanisms)
                answer = SaslHandshakeResponse[version](error_code=0 if offered else 33, mechanisms=self.mechanisms)
            elif key == 36:
                assert self.login is not None
                trusted = "\0".join(("", *self.login)).encode() in request or f"Bearer {self.login[1]}\1".encode() in request
                words = {"error_message": None if trusted else "Invalid username or password"}
                answer = SaslAuthenticateResponse[version](error_code=0 if trusted else 58, auth_bytes=b"", session_lifetime_ms=0, **words)
            elif not trusted or key != 3:
                return  # as a broker does: it closes the connection
            else:
                answer = self._metadata(connection, version)
            body = bytes(answer.encode(version=version))
            flexible = b"\0" if key == 3 and version >= 9 else b""
            connection.sendall(struct.pack(">ii", len(body) + len(flexible) + 4, correlation_id) + flexible + body)

    def _api_versions(self, version: int) -> Any:
        keys = [ApiVersionsResponse.ApiVersion(api_key=key, min_version=low, max_version=high) for key, (low, high) in self.spoken.items()]
        return ApiVersionsResponse[version](error_code=0, api_keys=keys)

    def _metadata(self, connection: socket.socket, version: int) -> Any:
        own = {1: connection.getsockname()[:2]}
        brokers = [
            MetadataResponse.MetadataResponseBroker(node_id=node, host=host, port=port, rack=None)
            for node, (host, port) in (self.advertised or own).items()
        ]
        return MetadataResponse[version](
            throttle_time_ms=0,
            brokers=brokers,
            cluster_id="fake",
            controller_id=1,
            topics=self.topics,
            authorized_operations=self.operations,
        )


def silent(connection: socket.socket) -> None:
    """Accept and never answer."""
    while connection.recv(4096):
        pass


def closing(connection: socket.socket) -> None:
    """Take the first bytes and hang up."""
    connection.recv(4096)


def by_lines(connection: socket.socket) -> None:
    """An HTTP server: reads to the end of the line before it says anything."""
    with connection.makefile("rb") as lines:
        lines.readline()
        connection.sendall(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")


def saying(words: bytes) -> Conversation:
    """Answer anything with `words`."""

    def talk(connection: socket.socket) -> None:
        connection.recv(4096)
        connection.sendall(words)
        silent(connection)

    return talk


@contextlib.contextmanager
def black_hole() -> Iterator[str]:
    """An address whose SYN nobody answers: a listener with a full accept queue, which the kernel keeps silent about."""
    with socket.socket() as listener, contextlib.ExitStack() as fillers:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for _ in range(4):
            filler = fillers.enter_context(socket.socket())
            filler.setblocking(False)
            filler.connect_ex(listener.getsockname())
        yield f"127.0.0.1:{listener.getsockname()[1]}"


@contextlib.contextmanager
def refusing() -> Iterator[str]:
    """An address where nobody listens, and nobody else can: the port stays bound."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{bound.getsockname()[1]}"


def _exactly(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        block = connection.recv(size - len(data))
        if not block:
            return b""
        data += block
    return data
