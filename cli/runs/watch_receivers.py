"""Who gets the messages of `diag watch`: standard output, a webhook, a command. None of them can hold up the next look for long."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import signal
import subprocess
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import unquote, urlsplit, urlunsplit
from urllib.request import getproxies, proxy_bypass

import urllib3

from analyzers.bundle.small_files import small_file
from analyzers.watching.state import Item, Message
from cli.renderers import alerts
from cli.shell.exits import CannotLook, UsageError

if TYPE_CHECKING:
    from cli.shell.environment import Environment

FORMATS = ("json", "slack", "alertmanager")
WEBHOOK_SECONDS = 10.0
EXEC_SECONDS = 30.0
_GRACE_SECONDS = 1.0
_TAKEN = range(200, 300)


class Undelivered(Exception):
    """A receiver did not take its messages; why, a clause without any secret. `pause`: how many seconds it asks to be left alone."""

    def __init__(self, why: str, pause: float = 0.0) -> None:
        super().__init__(why)
        self.why, self.pause = why, pause


@dataclass(frozen=True)
class Delivery:
    """What one delivery is made of: the messages, how many were dropped before, what is remembered, and when (ISO-8601 UTC)."""

    messages: Sequence[Message]
    dropped: int
    items: Sequence[Item]
    at: str
    version: str

    @property
    def document(self) -> dict[str, Any]:
        return alerts.document(self.messages, self.dropped, version=self.version, at=self.at)


class Receiver(Protocol):
    """`key` is its name in the state file, `name` what people read; neither has a secret. `beats`: it wants to hear of each look;
    `apart`: it may take its time, and is delivered to in a thread of its own."""

    key: str
    name: str
    beats: bool
    apart: bool

    def deliver(self, delivery: Delivery) -> None:
        """Raises `Undelivered`."""

    def stop(self) -> None:
        """End what a delivery has started and left."""


@dataclass
class Screen:
    """Standard output, in the format `form`; `cards` by the id of the message that opens."""

    environment: Environment
    form: str
    cards: dict[str, str] = field(default_factory=dict)
    key: str = "stdout"
    name: str = "standard output"
    beats: bool = False
    apart: bool = False

    def stop(self) -> None: ...

    def deliver(self, delivery: Delivery) -> None:
        """Raises `Undelivered` where it has no reader any more."""
        if delivery.dropped and self.form != "json":
            self.environment.complain(f"diag: {delivery.dropped} earlier messages were dropped")
        try:
            for text in self._texts(delivery):
                self.environment.write(text)
        except CannotLook as error:  # a full disk behind `> changes.txt`
            raise Undelivered(error.message) from error
        if self.environment.stdout_closed:
            raise Undelivered("its reader has gone")

    def _texts(self, delivery: Delivery) -> Iterator[str]:
        if self.form == "json":
            yield alerts.encoded(delivery.document).decode("utf-8", "backslashreplace") + "\n"
            return
        for message in delivery.messages:
            card = self.cards.pop(message.id, "")
            yield alerts.plain(message) if self.form == "plain" else alerts.line(message) + (f"\n{card}\n" if card else "")


class Webhook:
    """An address that is sent a POST. Its path and login may be secrets: neither is ever shown or saved."""

    apart = True

    def __init__(self, url: str, form: str, every: float, seconds: float = WEBHOOK_SECONDS) -> None:
        """Raises `UsageError` for what is no address."""
        hint = "Write --webhook https://HOST/PATH, or --webhook @FILE where FILE has the address."
        try:
            parts = urlsplit(url.strip())
            port = parts.port
        except ValueError:
            raise UsageError("--webhook is no address", hint) from None
        if parts.scheme not in ("http", "https") or not parts.hostname or re.search(r"\s", url.strip()):
            raise UsageError("--webhook is no http or https address", hint)
        host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
        place = host if port is None else f"{host}:{port}"
        path = parts.path
        if form == "alertmanager" and not path.rstrip("/").endswith("/api/v2/alerts"):
            path = f"{path.rstrip('/')}/api/v2/alerts"
        self._url = urlunsplit((parts.scheme, place, path or "/", parts.query, ""))
        self._headers = {"Content-Type": "application/json", "User-Agent": "diag-watch"}
        if parts.username is not None:
            login = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            self._headers |= urllib3.make_headers(basic_auth=login)
        self._form, self._seconds = form, seconds
        self._lasts = timedelta(seconds=max(4 * every, 300.0))
        self._hanging: threading.Thread | None = None
        self.key = f"webhook-{form}-{hashlib.sha256(url.strip().encode()).hexdigest()[:12]}"
        self.name = f"the webhook at {parts.scheme}://{place} ({form})"
        self.beats = form == "alertmanager"
        proxy = None if proxy_bypass(place) else getproxies().get(parts.scheme)
        self._pool = _pool(proxy)

    def deliver(self, delivery: Delivery) -> None:
        if self._form == "slack":
            body: Any = alerts.slack(delivery.messages, delivery.dropped)
        elif self._form == "alertmanager":
            body = alerts.alertmanager(delivery.messages, delivery.items, at=delivery.at, lasts=self._lasts)
            if not body:
                return
        else:
            body = delivery.document
        if self._hanging is not None and self._hanging.is_alive():
            raise Undelivered("the request before still hangs")
        found: list[Undelivered | None] = []
        # a server that sends a byte now and then keeps any time limit of a socket from ending: the thread is left behind
        thread = threading.Thread(target=lambda: found.append(self._post(alerts.encoded(body))), name="diag-webhook", daemon=True)
        thread.start()
        thread.join(self._seconds + _GRACE_SECONDS)
        if not found:
            self._hanging = thread
            raise Undelivered(f"it gave no whole answer within {self._seconds:g} s")
        if found[0] is not None:
            raise found[0]

    def stop(self) -> None: ...

    def _post(self, body: bytes) -> Undelivered | None:
        """What went wrong, if anything; in words of our own: those of the library name the path."""
        try:
            answer = self._pool.request(
                "POST", self._url, body=body, headers=self._headers, retries=False, redirect=False, preload_content=False,
                timeout=urllib3.Timeout(total=self._seconds),
            )  # fmt: skip
        except urllib3.exceptions.NewConnectionError as error:  # in some versions one of those that timed out
            return Undelivered(f"it cannot be reached: {_reason(error)}")
        except urllib3.exceptions.TimeoutError:
            return Undelivered(f"it gave no answer within {self._seconds:g} s")
        except (urllib3.exceptions.HTTPError, OSError, ValueError) as error:
            return Undelivered(f"it cannot be reached: {_reason(error)}")
        with suppress(Exception):
            answer.close()
        if answer.status in _TAKEN:
            return None
        return Undelivered(f"it answered {answer.status}", _asked_pause(answer.headers.get("Retry-After")))


def _pool(proxy: str | None) -> urllib3.PoolManager:
    if proxy is None:
        return urllib3.PoolManager(num_pools=1)
    login = urlsplit(proxy).username
    headers = None
    if login is not None:
        headers = urllib3.make_headers(proxy_basic_auth=f"{unquote(login)}:{unquote(urlsplit(proxy).password or '')}")
    return urllib3.ProxyManager(proxy, proxy_headers=headers)


def _reason(error: BaseException) -> str:
    """The system's own words, without those of a library that quotes addresses."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, OSError) and seen.strerror:
            return seen.strerror
        seen = seen.__cause__ or seen.__context__
    return type(error).__name__


def _asked_pause(text: str | None) -> float:
    return float(text) if text is not None and re.fullmatch(r"\d{1,5}", text.strip()) else 0.0


class Command:
    """A command that gets the JSON on its standard input, within a time limit. No shell reads it."""

    beats, apart = False, True

    def __init__(self, words: str, seconds: float = EXEC_SECONDS) -> None:
        """Raises `UsageError` for what is no command."""
        try:
            self._words = shlex.split(words)
        except ValueError as error:
            raise UsageError(f"--exec: {error}", "Quote it as a shell wants it; for a shell write --exec \"sh -c '…'\".") from None
        if not self._words:
            raise UsageError("--exec names no command", "Write --exec /usr/local/bin/page-me.")
        if shutil.which(self._words[0]) is None:
            raise UsageError(
                f"--exec: {self._words[0]} is no command that can be started",
                "Name an executable file, or a command of PATH; for a script without a #! line write --exec 'sh FILE'.",
            )
        self._seconds = seconds
        self._process: subprocess.Popen[bytes] | None = None
        self.key = f"exec-{hashlib.sha256(words.encode()).hexdigest()[:12]}"
        self.name = f"the command {os.path.basename(self._words[0])}"

    def deliver(self, delivery: Delivery) -> None:
        try:
            process = subprocess.Popen(
                self._words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, start_new_session=True, close_fds=True
            )
        except (OSError, ValueError) as error:
            raise Undelivered(f"it cannot be started: {getattr(error, 'strerror', None) or error}") from error
        self._process = process
        try:
            process.communicate(alerts.encoded(delivery.document), self._seconds)
        except subprocess.TimeoutExpired:
            raise Undelivered(f"it did not end within {self._seconds:g} s and was ended") from None
        except BrokenPipeError:
            process.wait(self._seconds)
        finally:
            if process.poll() is None:
                self.stop()
                process.wait()
        if process.returncode:
            raise Undelivered(f"it ended with {process.returncode}")

    def stop(self) -> None:
        """End the command, and what it has started."""
        if self._process is not None and self._process.returncode is None:
            with suppress(OSError):
                os.killpg(self._process.pid, signal.SIGKILL)


def webhooks(addresses: Iterable[str], form: str, every: float) -> list[Webhook]:
    """Those that ``--webhook`` names, each an address or ``@FILE``. Raises `UsageError`."""
    if form not in FORMATS:
        raise UsageError(f"--webhook-format: {form!r} is unknown", f"Choose from {', '.join(FORMATS)}.")
    return [Webhook(_address(each), form, every) for each in addresses]


def _address(text: str) -> str:
    if not text.startswith("@"):
        return text
    try:
        return small_file(Path(text[1:])).decode("utf-8").strip()
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise UsageError(f"--webhook: {text[1:]} cannot be read: {why}", "Name a file that has the address alone.") from error
