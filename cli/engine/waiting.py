"""A JVM that the last command left for the next one of the same user (`--keep-warm`): found, taken by exactly one, or ended.

It is held by a small process (`holder.py`), which has the write end of the JVM's stdin: the JVM ends when no process has that end any more.
Whoever takes the JVM gets it over a socket in a directory of mode 0700, and the holder ends. What fits is decided by one key, a digest of
all that a JVM of one's own would depend on; one that does not fit is ended by whoever meets it.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import resource
import select
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from analyzers.bundle.held import release
from cli.engine.java import Java
from cli.engine.jvm import Gateway, jvm_options, signed, spark_jars

IDLE_SECONDS = 600.0
RECORD, SOCKET, LOCK = "waiting", "socket", "lock"
_ANSWER_SECONDS = 5.0
_OF_THE_TERMINAL = {
    "_", "SHLVL", "PWD", "OLDPWD", "COLUMNS", "LINES", "TERM", "COLORTERM", "NO_COLOR", "PAGER", "LESS", "LS_COLORS", "PS1", "WINDOWID",
    "WINDOW", "STY", "TMUX", "TMUX_PANE", "TERM_SESSION_ID", "SSH_CLIENT", "SSH_CONNECTION", "SSH_TTY", "SSH_AUTH_SOCK", "XDG_SESSION_ID",
    "INVOCATION_ID", "JOURNAL_STREAM", "DIAG_KEEP_WARM", "DIAG_DEBUG", "PYTEST_CURRENT_TEST",
}  # fmt: skip
"""Variables that differ between two terminals of one user and that no JVM asks for. Any other one that differs makes another key."""


@dataclass(frozen=True)
class Waiting:
    """What a holder says of the JVM that it holds; no secret is in it. Times are seconds of the system's clock."""

    key: str
    holder: int
    java: int
    since: float
    ends: float

    def resident_mb(self) -> int | None:
        """Memory of JVM and holder; None where the system does not tell. Of pages that several processes map each bears its part."""
        try:
            lines = [Path(f"/proc/{process}/smaps_rollup").read_text() for process in (self.java, self.holder)]
            return sum(int(line.split()[1]) for text in lines for line in text.splitlines() if line.startswith("Pss:")) >> 10
        except (OSError, ValueError):
            return None


def key_of(java: Java, memory: str, settings: Mapping[str, str]) -> str:
    """A digest of what a JVM with these Spark `settings`, started here and now, depends on."""
    from cli.version import version

    digest = hashlib.sha256()
    facts: list[object] = [version(), sys.executable, sys.version, sys.path, java, jvm_options(memory), sorted(settings.items()), *_here()]
    facts.append(sorted((name, value) for name, value in os.environ.items() if name not in _OF_THE_TERMINAL))
    for jar in spark_jars():
        status = jar.stat()
        facts.append((str(jar), status.st_size, status.st_mtime_ns))
    for fact in facts:
        digest.update(repr(fact).encode("utf-8", "backslashreplace") + b"\0")
    return digest.hexdigest()


def _here() -> Iterable[object]:
    """This user on this host in this directory: Python workers open relative paths in that of their JVM."""
    yield from (os.getcwd(), os.getuid(), os.geteuid(), os.getgid(), sorted(os.getgroups()), platform.node(), os.cpu_count())
    if hasattr(os, "sched_getaffinity"):
        yield sorted(os.sched_getaffinity(0))
    for name in ("RLIMIT_NOFILE", "RLIMIT_AS", "RLIMIT_FSIZE", "RLIMIT_CORE"):
        yield resource.getrlimit(getattr(resource, name))
    for space in ("net", "mnt", "pid", "user"):  # a JVM in another container is not to be reached, or sees other files
        with suppress(OSError):
            yield os.readlink(f"/proc/self/ns/{space}")


def place() -> Path | None:
    """The directory of this user on this host, mode 0700; None where there can be none, or another user's stands in its place."""
    directory = Path(tempfile.gettempdir()) / f"diag-warm-{os.geteuid()}"
    try:
        directory.mkdir(mode=0o700, exist_ok=True)
        found = directory.lstat()
    except OSError:
        return None
    return directory if stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o077 else None


def seen(directory: Path | None) -> Waiting | None:
    """The JVM that waits in `directory`, without taking it."""
    try:
        return Waiting(**json.loads((directory / RECORD).read_text())) if directory is not None else None
    except (OSError, ValueError, TypeError):
        return None


def take(directory: Path | None, key: str | None) -> ClaimedJvm | None:
    """The JVM that waits in `directory`, if it has this `key`; one with another key, or that is over its time, is ended. Of several callers
    one gets it. A JVM that is only being made ready is ended, too: it would take the CPU that the caller needs."""
    if directory is None:
        return None
    mine = directory / f"taken-{os.getpid()}-{time.monotonic_ns()}"
    try:
        os.rename(directory / RECORD, mine)
    except OSError:
        _end_preparation(directory)
        return None
    try:
        found = Waiting(**json.loads(mine.read_text()))
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(_ANSWER_SECONDS)
            connection.connect(str(directory / SOCKET))
            said, descriptors, _, _ = socket.recv_fds(connection, 4096, 2, getattr(socket, "MSG_CMSG_CLOEXEC", 0))
        claimed = ClaimedJvm(descriptors, **json.loads(said))
    except (OSError, ValueError, TypeError):  # its holder has gone, and the JVM with it
        return None
    finally:
        mine.unlink(missing_ok=True)
    if found.key != key or not found.since <= time.time() < found.ends or claimed.has_ended:
        claimed.stop()
        return None
    return claimed


def end(directory: Path | None) -> Waiting | None:
    """End the JVM that waits in `directory`, or is made ready there; what it was."""
    found = seen(directory)
    take(directory, None)
    return found


class Next:
    """What the next command shall find. Made before PySpark is loaded, which changes the environment and the path of this process."""

    def __init__(self, directory: Path, key: str, master: str, memory: str) -> None:
        self._order = {"directory": str(directory), "key": key, "master": master, "memory": memory, "idle": IDLE_SECONDS}
        self._environment = dict(os.environ)
        self._code = f"import sys; sys.path[:] = {sys.path!r}; from cli.engine.keeper import main; main()"

    def leave(self) -> None:
        """Begin, when this process has ended, to make a JVM ready. What goes wrong with it is of no concern to this command."""
        with suppress(OSError):
            keeper = subprocess.Popen(
                [sys.executable, "-c", self._code],
                stdin=subprocess.PIPE,  # stays open for as long as this process lives
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=self._environment,
                start_new_session=True,
            )
            assert keeper.stdin is not None
            keeper.stdin.write(json.dumps(self._order).encode() + b"\n")
            keeper.stdin.flush()
            keeper.returncode = 0  # nobody waits for it
            _keepers.append(keeper)


_keepers: list[subprocess.Popen[bytes]] = []  # else their stdin would be closed too early


def _end_preparation(directory: Path) -> None:
    """The lock is held by whoever makes a JVM ready or holds one."""
    import fcntl

    with suppress(OSError, ValueError), (directory / LOCK).open() as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.kill(int(lock.read()), signal.SIGTERM)


class ClaimedJvm:
    """A JVM that waited, as `Jvm`; not a child of this process, but it ends with it: this process alone has the other end of its stdin."""

    archive = archive_in_use = recording = None

    def __init__(self, descriptors: list[int], *, group: int, run_directory: str, port: int, secret: str) -> None:
        self._stdin, self._status = descriptors
        self._group, self._gateway = group, Gateway(port, secret)
        self.run_directory = Path(run_directory)

    def connect(self) -> Gateway:
        return self._gateway

    def refused_archive(self) -> bool:
        return False

    @property
    def has_ended(self) -> bool:
        return bool(select.select([self._status], [], [], 0)[0])

    def answers(self, within: float = 2.0) -> bool:
        """Whether it takes its secret in so many seconds. One that was stopped (SIGSTOP, a debugger) is there, accepts connections,
        and gives no answer; what else listens on its port does not know what to say."""
        with suppress(OSError), socket.create_connection(("127.0.0.1", self._gateway.port), within) as connection:
            connection.settimeout(within)
            connection.sendall(f"A\n{self._gateway.secret}\n".encode())  # py4j.protocol.AUTH_COMMAND_NAME
            return connection.recv(16).startswith(b"!y")
        return False

    def ended(self, within: float) -> int | None:
        """As `Jvm.ended`; the shell around it writes down its exit code, unless it is killed as well."""
        if not select.select([self._status], [], [], within)[0]:
            return None
        said = os.read(self._status, 16).split()
        return signed(int(said[0])) if said else -signal.SIGKILL

    def last_words(self) -> str:
        return "it said nothing"

    def stop(self, *, keep_recording: bool = False) -> None:
        """End the JVM now."""
        if not self.has_ended:  # else the number may be another's by now
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._group, signal.SIGKILL)
            select.select([self._status], [], [], _ANSWER_SECONDS)
        for descriptor in (self._stdin, self._status):
            with suppress(OSError):
                os.close(descriptor)
        release(self.run_directory)
