"""A proxy in front of a broker that notes the API key and the client id of every request on its way."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass
class KafkaProxy:
    """Listens on `port` of loopback from the start; forwards to `broker`, once that is known."""

    port: int = 0
    broker: tuple[str, int] | None = None
    seen: list[tuple[int, int, str]] = field(default_factory=list)  # API key, version, client id
    _listener: socket.socket | None = None

    def __enter__(self) -> KafkaProxy:
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        assert self._listener is not None
        self._listener.close()

    @contextlib.contextmanager
    def watching(self) -> Iterator[list[tuple[int, int, str]]]:
        """What passes while this is open."""
        begun, passed = len(self.seen), list[tuple[int, int, str]]()
        yield passed
        passed += self.seen[begun:]

    def _accept(self) -> None:
        assert self._listener is not None
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._forward, args=(client,), daemon=True).start()

    def _forward(self, client: socket.socket) -> None:
        with contextlib.suppress(OSError), client, socket.create_connection(self.broker or ("127.0.0.1", 9)) as broker:
            threading.Thread(target=_copy, args=(broker, client), daemon=True).start()
            while len(head := _exactly(client, 4)) == 4:
                request = _exactly(client, struct.unpack(">i", head)[0])
                key, version, _, length = struct.unpack_from(">hhih", request)
                self.seen.append((key, version, request[10 : 10 + max(0, length)].decode()))
                broker.sendall(head + request)


def _copy(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while block := source.recv(1 << 16):
            sink.sendall(block)
        sink.shutdown(socket.SHUT_WR)


def _exactly(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size and (block := connection.recv(size - len(data))):
        data += block
    return data
