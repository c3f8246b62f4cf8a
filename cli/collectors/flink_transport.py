"""Questions to a Flink JobManager or a worker of Kafka Connect, over HTTP: GET only, a few at a time, one budget of time and bytes."""

from __future__ import annotations

import base64
import contextlib
import http.client
import queue
import re
import socket
import ssl
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

import urllib3

from analyzers.bundle.small_files import no_pipe, small_file
from cli.collectors.client_properties import parse_properties
from cli.collectors.json_answers import MOST_BYTES, Appetite, TooMuchJson
from cli.shell.exits import UsageError

IN_FLIGHT = 4
"""Requests at a time: the REST endpoint shares the JobManager's threads with what keeps the job alive."""


@dataclass(frozen=True)
class RestKind:
    """What a REST interface belongs to: the option that names it, the product, an address and port as an example, and `pages`: what
    stands behind the address where one of its pages was copied."""

    option: str
    product: str
    example: str
    port: int
    pages: re.Pattern[str]

    @property
    def login(self) -> str:
        """The option with the login."""
        return f"{self.option}-auth"


FLINK = RestKind(
    "--flink-rest", "Flink", "http://jobmanager:8081", 8081,
    re.compile(r"(?:/index\.html|(?:/v1)?(?:/(?:overview|config|jobs|taskmanagers|jobmanager|jars|cluster|datasets)(?:/.*)?)?)$"),
)  # fmt: skip
"""Paths: RestServerEndpoint's."""
CONNECT = RestKind(
    "--connect-rest", "Kafka Connect", "http://connect:8083", 8083, re.compile(r"(?:/(?:connectors|connector-plugins)(?:/.*)?)?$")
)
"""Paths: ConnectorsResource's."""
_CHUNK = 1 << 16


@dataclass(frozen=True)
class Answer:
    """What came of one GET: `body` is the parsed JSON, or `why` says in words what came instead. `at` is our clock, UTC."""

    path: str
    body: Any
    at: datetime
    why: str | None = None
    status: int | None = None

    @property
    def ok(self) -> bool:
        return self.why is None


class Rest(Protocol):
    """Something that answers GETs: a JobManager, or a recording of one."""

    @property
    def name(self) -> str:
        """What it is called in ``sources``."""

    def ask(self, paths: Sequence[str]) -> dict[str, Answer]:
        """One answer per path."""


@dataclass(frozen=True)
class RestLogin:
    """How to prove who we are; out of a file, never of an option."""

    header: str | None = field(default=None, repr=False)
    tls: Mapping[str, str] = field(default_factory=dict, repr=False)
    option: str = FLINK.login

    def context(self) -> ssl.SSLContext:
        """For https. Raises `UsageError` when a certificate file cannot be loaded."""
        given = self.tls
        try:
            context = ssl.create_default_context(cafile=given.get("ssl.ca.location"))
            if given.get("ssl.certificate.location"):
                context.load_cert_chain(given["ssl.certificate.location"], given.get("ssl.key.location"), given.get("ssl.key.password"))
        except (OSError, ssl.SSLError) as error:
            raise UsageError(f"{self.option}: cannot load the TLS certificates: {error}", "Give PEM files that you can read.") from error
        if given.get("enable.ssl.certificate.verification", "true").lower() == "false":
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
            urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)  # it was asked for
        return context


_TLS_KEYS = ("ssl.ca.location", "ssl.certificate.location", "ssl.key.location", "ssl.key.password", "enable.ssl.certificate.verification")


def read_login(path: Path | None, kind: RestKind = FLINK) -> RestLogin:
    """A properties file with ``username`` and ``password``, or ``token``, and ``ssl.*`` as librdkafka spells them. Raises `UsageError`."""
    if path is None:
        return RestLogin()
    try:
        given = parse_properties(small_file(path).decode("utf-8"))
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise UsageError(f"cannot read {kind.login} {path}: {why}", "Give a properties file that you can read.") from error
    unknown = [key for key in given if key not in (*_TLS_KEYS, "username", "password", "token")]
    if unknown:  # never print the key: a file that holds nothing but a token parses as one
        keys = ", ".join(_TLS_KEYS)
        raise UsageError(f"{kind.login} {path} has a line that is not understood.", f"Write username and password, or token; {keys}.")
    for key in _TLS_KEYS[:3]:
        if given.get(key) and (why := no_pipe(given[key])) is not None:
            raise UsageError(f"{kind.login} {path}: {key}={given[key]} {why}", "Name a file.")
    header = None
    if given.get("token"):
        header = f"Bearer {given['token']}"
    elif given.get("username"):
        header = "Basic " + base64.b64encode(f"{given['username']}:{given.get('password', '')}".encode()).decode("ascii")
    return RestLogin(header, {key: value for key, value in given.items() if key in _TLS_KEYS}, kind.login)


@dataclass(frozen=True)
class Address:
    """Where the REST interface is; `prefix` is the path of a proxy in front of it, without a slash at its end."""

    secure: bool
    host: str
    port: int
    prefix: str

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.secure else 'http'}://{host}:{self.port}{self.prefix}"


def parse_address(text: str, kind: RestKind = FLINK) -> Address:
    """``http://host:8081``, ``host:8081``, ``https://proxy/some/prefix/``, or the web UI's address as copied. Raises `UsageError`."""
    shown = f"…@{text.rpartition('@')[2]}" if "@" in text else text  # before it there may be a password
    hint = f"Write {kind.option} {kind.example}, with the path of a proxy if there is one."
    try:
        parts = urlsplit(text.strip() if "://" in text else f"http://{text.strip()}")
    except ValueError:  # a bracket of an IPv6 address that is not closed, and what is no address between two
        raise UsageError(f"{kind.option} {shown} is no address of a REST interface", hint) from None
    try:
        port = parts.port
    except ValueError:
        raise UsageError(f"{kind.option} {shown}: the port is no number", hint) from None
    try:
        host = (parts.hostname or "").encode("idna").decode()
    except UnicodeError:  # a label that is empty or too long, bytes that are no text
        host = ""
    if parts.scheme not in ("http", "https") or not host:
        raise UsageError(f"{kind.option} {shown} is no address of a REST interface", hint)
    if parts.username or parts.password:
        raise UsageError(f"{kind.option} holds a user name or password", f"Write them into a file: {kind.login} FILE.")
    secure = parts.scheme == "https"
    prefix = parts.path.rstrip("/")
    prefix = kind.pages.sub("", prefix)
    default = 443 if secure else kind.port if "://" not in text else 80
    return Address(secure, host, port or default, prefix)


@dataclass
class RestClient:
    """A live REST interface. Used as a context manager: its connections are closed at the end, also those in use."""

    address: Address
    login: RestLogin = field(default_factory=RestLogin, repr=False)
    budget_seconds: float = 20.0
    request_seconds: float = 8.0
    kind: RestKind = FLINK
    _deadline: float = field(default=0.0, init=False)
    _pool: urllib3.HTTPConnectionPool = field(init=False, repr=False)
    _appetite: Appetite = field(default_factory=Appetite, init=False, repr=False)

    def __post_init__(self) -> None:
        self._deadline = time.monotonic() + self.budget_seconds
        headers = {"Accept": "application/json", "User-Agent": "diag"}
        if self.login.header:
            headers["Authorization"] = self.login.header
        where = self.address
        settings: Any = {"maxsize": IN_FLIGHT, "retries": False, "headers": headers}
        if where.secure:
            self._pool = urllib3.HTTPSConnectionPool(where.host, where.port, ssl_context=self.login.context(), **settings)
        else:
            self._pool = urllib3.HTTPConnectionPool(where.host, where.port, **settings)

    @property
    def name(self) -> str:
        return self.address.url

    @property
    def seconds_left(self) -> float:
        return max(0.0, self._deadline - time.monotonic())

    def __enter__(self) -> RestClient:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.close()

    def ask(self, paths: Sequence[str]) -> dict[str, Answer]:
        """Ask all `paths`, at most `IN_FLIGHT` at a time; what does not fit into the budget is answered with why."""
        wanted = deque(dict.fromkeys(paths))
        answers: dict[str, Answer] = dict.fromkeys(wanted)  # type: ignore[assignment]  # keeps the order; every one is filled below
        said: queue.SimpleQueue[Answer] = queue.SimpleQueue()

        def work() -> None:
            while wanted:
                with contextlib.suppress(IndexError):
                    said.put(self._get(wanted.popleft()))

        for _ in range(min(IN_FLIGHT, len(wanted))):
            threading.Thread(
                target=work, daemon=True, name=self.kind.option.strip("-")
            ).start()  # daemon: a hung look-up of a name must not hold the exit
        for _ in answers:
            try:
                answer = said.get(timeout=self.seconds_left + 0.5)
            except queue.Empty:
                break
            answers[answer.path] = answer
        return {path: answer or _failed(path, self._over) for path, answer in answers.items()}

    @property
    def _over(self) -> str:
        return f"not answered: the {self.budget_seconds:g} s of --timeout were over"

    def _get(self, path: str) -> Answer:
        seconds = min(self.seconds_left, self.request_seconds)
        if seconds <= 0.05:
            return _failed(path, self._over)
        until = time.monotonic() + seconds
        try:
            response = self._pool.urlopen(
                "GET", self.address.prefix + path, timeout=seconds, redirect=False, preload_content=False, decode_content=False
            )
            content = self._read(response, until)
        except (OSError, ValueError, urllib3.exceptions.HTTPError, _TooLarge) as error:
            return _failed(path, self._in_words(_cause(error)))
        return _understood(path, response, content, self._appetite, self.kind)

    @staticmethod
    def _read(response: urllib3.BaseHTTPResponse, until: float) -> bytes:
        content = bytearray()
        try:
            while part := response.read1(_CHUNK):
                content += part
                if len(content) > MOST_BYTES:
                    raise _TooLarge
                if time.monotonic() > until:  # each byte came in time, the whole did not
                    raise TimeoutError
        except BaseException:
            response.close()
            raise
        response.release_conn()
        return bytes(content)

    def _in_words(self, error: Exception) -> str:
        where = f"{self.address.host}:{self.address.port}"
        if isinstance(error, ssl.SSLCertVerificationError):
            return f"the certificate of {where} is not trusted: {error.verify_message}"
        if isinstance(error, ssl.SSLError):
            return f"no TLS handshake with {where}: {error.reason or error}"
        if isinstance(error, socket.gaierror):
            return f"the name {self.address.host} does not resolve"
        if isinstance(error, (TimeoutError, urllib3.exceptions.TimeoutError)):
            return f"{where} did not answer within {min(self.request_seconds, self.budget_seconds):g} s"
        if isinstance(error, ConnectionRefusedError):
            return f"{where} refuses the connection: nothing listens there"
        if isinstance(error, _TooLarge):
            return f"the answer is larger than {MOST_BYTES >> 20} MB and was not read"
        if isinstance(error, (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError)):
            return f"{where} closed the connection without an answer" + ("" if self.address.secure else " (does it want https?)")
        if isinstance(error, http.client.IncompleteRead):
            return "the answer ended too early"
        if isinstance(error, http.client.HTTPException):
            return f"{where} does not speak HTTP" + ("" if self.address.secure else " (does it want https?)")
        if isinstance(error, ValueError):  # a name that cannot be one, a character that no request line or header can carry
            return f"no request to {where} can be written: {type(error).__name__}"
        return f"{where}: {getattr(error, 'strerror', None) or error}"


class _TooLarge(Exception):
    pass


def _cause(error: Exception) -> Exception:
    """The error of the socket, of TLS or of the protocol that urllib3 tells of."""
    inner = error.__cause__ if isinstance(error, urllib3.exceptions.NewConnectionError) else error.args[-1] if error.args else None
    return inner if isinstance(error, urllib3.exceptions.HTTPError) and isinstance(inner, Exception) else error


def _now() -> datetime:
    return datetime.now(timezone.utc)


def _failed(path: str, why: str, status: int | None = None) -> Answer:
    return Answer(path, None, _now(), why, status)


def _meaning(status: int, kind: RestKind) -> str | None:
    """What a status says where the answer itself says nothing."""
    return {
        401: f"it wants a login ({kind.login} FILE)",
        403: "it refuses this user",
        404: f"it does not know this (no longer there, or another version of {kind.product})",
    }.get(status)


def _understood(path: str, response: urllib3.BaseHTTPResponse, content: bytes, appetite: Appetite, kind: RestKind) -> Answer:
    status = response.status
    if 300 <= status < 400:  # never followed: a login must not be carried to another host
        target = response.headers.get("Location", "?").partition("?")[0]  # what follows may be a session's secret
        return _failed(path, f"it sends us to {target} (a login page?)", status)
    try:
        body = appetite.parsed(content)
    except TooMuchJson as error:
        return _failed(path, str(error), status)
    except (ValueError, RecursionError):
        text = content[:300].lstrip().lower()
        came = "a web page" if text.startswith((b"<!doctype", b"<html", b"<")) else "nothing" if not content else "no JSON"
        said = _meaning(status, kind)
        return _failed(path, f"HTTP {status}: {said}" if said else f"HTTP {status} with {came} instead of JSON", status)
    if status >= 400:
        return _failed(path, f"HTTP {status}: {_said(body) or _meaning(status, kind) or 'an error'}", status)
    return Answer(path, body, _now(), None, status)


def _said(body: object) -> str | None:
    """The first line of Flink's own error; behind an internal error the last cause that says something. Or the message of Connect's
    (ErrorMessage), unless it only repeats the status."""
    message = body.get("message") if isinstance(body, Mapping) and "error_code" in body else None
    if isinstance(message, str) and not re.fullmatch(r"\s*(?:HTTP \d+ )?[A-Z][A-Za-z ]{0,30}\s*", message):
        return message.strip().partition("\n")[0][:200]
    errors = body.get("errors") if isinstance(body, Mapping) else None
    if not isinstance(errors, list):
        return None
    texts = [str(e) for e in errors if e and not str(e).startswith("Internal server error")]
    lines = [line.strip() for text in texts for line in text.splitlines() if line.strip()]
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    return (causes[-1] if causes else lines[0])[:200] if lines else None
