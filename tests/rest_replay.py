"""A JobManager on loopback that answers out of a recording, and can be as unfriendly as proxies and old versions are."""

from __future__ import annotations

import contextlib
import json
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from analyzers.tables.evidence import Evidence
from cli.collectors.flink_recording import open_recording
from cli.collectors.flink_rest import flink_collector
from cli.collectors.flink_transport import Rest

TLS = Path(__file__).parent / "data" / "tls"
RECORDINGS = Path(__file__).parent / "data" / "rest"
STUCK, POISON, OLD = "stuck-async-barrier", "poison-record-deserialiser", "broker-shrink-restart-loop"

Reply = tuple[int, bytes]
Trouble = Callable[[str], Reply | None]
"""What the server says instead of the recording; None = the recording."""


@dataclass
class Replayed:
    """The server and what it was asked."""

    recording: Rest
    prefix: str = ""
    trouble: Trouble = lambda path: None
    wants: str | None = None  # an Authorization header
    asked: list[tuple[str, str]] = field(default_factory=list)
    at_once: int = 0
    most_at_once: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)
    address: str = ""

    def answer(self, method: str, path: str, authorization: str | None) -> Reply:
        with self.lock:
            self.asked.append((method, path))
        if method != "GET":
            return 405, b"{}"
        if self.wants is not None and authorization != self.wants:
            return 401, b"<html>log in</html>"
        if not path.startswith(self.prefix):
            return 404, b"<html>nothing here</html>"
        path = path.removeprefix(self.prefix)
        said = self.trouble(path)
        if said is not None:
            return said
        found = self.recording.ask([path])[path]
        if found.body is None:
            return 404, json.dumps({"errors": ["Not found: " + path]}).encode()
        return 200, json.dumps(found.body).encode()


def replaying(name: str, *, tls: bool = False, **settings: Any) -> contextlib.AbstractContextManager[Replayed]:
    """A server of the recording `name` of ``tests/data/rest``; `settings` are those of `Replayed`."""
    return serving(open_recording(RECORDINGS / name), tls=tls, **settings)


@contextlib.contextmanager
def serving(recording: Rest, *, tls: bool = False, **settings: Any) -> Iterator[Replayed]:
    """A server of what `recording` answers."""
    replayed = Replayed(recording, **settings)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_any(self) -> None:
            with replayed.lock:
                replayed.at_once += 1
                replayed.most_at_once = max(replayed.most_at_once, replayed.at_once)
            try:
                status, content = replayed.answer(self.command, self.path, self.headers.get("Authorization"))
            finally:
                with replayed.lock:
                    replayed.at_once -= 1
            self.send_response(status)
            self.send_header("Content-Type", "application/json; charset=UTF-8")
            self.send_header("Content-Length", str(len(content)))
            if status == 302:
                self.send_header("Location", "https://login.example/")
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = do_HEAD = do_any

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    if tls:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(TLS / "certificate.pem", TLS / "key.pem")
        server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    replayed.address = f"{'https' if tls else 'http'}://127.0.0.1:{server.server_address[1]}{replayed.prefix}"
    try:
        yield replayed
    finally:
        server.shutdown()
        server.server_close()


def slowly(seconds: float, *paths: str) -> Trouble:
    """Answers to `paths` (all, when there are none) come after `seconds`."""

    def wait(path: str) -> Reply | None:
        if not paths or any(part in path for part in paths):
            time.sleep(seconds)
        return None

    return wait


def look(address: str, **settings: object) -> Evidence:
    """What is collected of the JobManager at `address`."""
    return flink_collector(address, **{"timeout_seconds": 6.0, **settings})()  # type: ignore[arg-type]


def one_row(found: Evidence, table: str, **where: object) -> dict[str, object]:
    matching = [row for row in found.tables[table] if all(row[k] == v for k, v in where.items())]
    assert len(matching) == 1, (table, where, matching)
    return matching[0]


def rest_source(found: Evidence) -> dict[str, object]:
    """How it went to ask the JobManager."""
    return one_row(found, "sources", kind="flink-rest")
