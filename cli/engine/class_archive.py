"""The class-data archive of Spark's JVM (AppCDS; from Java 25 on an AOT cache, JEP 514): halves the start, and is never needed for it.

The first run that used SQL records it at the exit of its JVM, in the background, under a temporary name; it is renamed only when a
second, short JVM could map it. Its name carries the size, so that a truncated or overwritten file is never offered to a JVM. The JVM
itself validates the class path, the jars' modification times, its own version and, as asked here, the checksum; whatever does not fit is
ignored (-Xshare:auto and -XX:AOTMode=auto are the defaults; spelt out, the former forbids the latter).
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from cli.engine.java import Java

SWITCH = "DIAG_NO_ARCHIVE"  # =1: neither use nor record one
ROOM_BYTES = 600 << 20  # an archive has 160 to 190 MB, and the dump needs a while to become one
KEEP = 3  # archives of other versions of Java or Spark on this machine
RECORDING_SECONDS = 300  # a temporary file older than this belongs to a recording that died
RETRY_SECONDS = 600  # after a second recording in a row that did not become an archive; doubled for each more
_LONGEST_SECONDS = 24 * 3600


@dataclass(frozen=True)
class Failure:
    """Recordings in a row that did not become an archive: how many, why the last one did not, and in how many seconds the next may try."""

    times: int
    why: str
    wait: float


@dataclass(frozen=True)
class ClassArchive:
    """Where the archive of one combination of Java, Spark and options lives."""

    directory: Path
    key: str
    ahead_of_time: bool

    def options_to_use(self, archive: Path) -> list[str]:
        """Return the JVM options; VerifySharedSpaces checks the checksum, without it flipped bits crash the JVM or worse."""
        return [f"-XX:AOTCache={archive}" if self.ahead_of_time else f"-XX:SharedArchiveFile={archive}", "-XX:+VerifySharedSpaces"]

    def options_to_record(self, recording: Path) -> list[str]:
        return [f"-XX:AOTCacheOutput={recording}" if self.ahead_of_time else f"-XX:ArchiveClassesAtExit={recording}"]

    def options_to_check(self, recording: Path) -> list[str]:
        """Return the JVM options with which a short run fails when the recording cannot be mapped."""
        return ["-XX:AOTMode=on" if self.ahead_of_time else "-Xshare:on", *self.options_to_use(recording)]

    def usable(self) -> Path | None:
        """Return the archive if there is a complete one that belongs to this user, else None."""
        for path in sorted(self.directory.glob(f"spark-{self.key}-*.jsa")):
            with suppress(OSError, ValueError):
                status = path.stat()
                if status.st_uid == os.geteuid() and status.st_size == int(path.stem.rsplit("-", 1)[1]):
                    os.utime(path)  # so that the archives in use are the last to be removed
                    return path
            self.discard(path)
        return None

    def start_recording(self) -> Path | None:
        """Return the temporary file to record into, None when this is no moment to record."""
        with suppress(OSError), _alone_in(self.directory):
            now = time.time()
            if self.usable() is not None:
                return None  # somebody has just made one
            for other in self.directory.glob(f"spark-{self.key}.recording-*"):
                if now - other.stat().st_mtime < RECORDING_SECONDS:
                    return None
                other.unlink()
            failure = self.failure(now)
            if failure is not None and failure.wait > 0:
                return None
            if shutil.disk_usage(self.directory).free < ROOM_BYTES:
                return None
            self._remove_others()
            recording = self.directory / f"spark-{self.key}.recording-{os.getpid()}"
            recording.touch(mode=0o600)  # also finds out whether the directory can be written
            return recording
        return None

    @property
    def failure_mark(self) -> Path:
        return self.directory / f"spark-{self.key}.failed"

    def note_failure(self, why: str) -> None:
        """As the shell of a recording does: a line for each."""
        with suppress(OSError), self.failure_mark.open("a") as mark:
            mark.write(f"{why}\n")

    def failure(self, now: float) -> Failure | None:
        """What is known of recordings that failed since the last one that did not. After the first one the next run tries again: most
        fail for what has passed by then, a host that was full or stopped."""
        try:
            said = self.failure_mark.read_text(errors="replace").splitlines() or [""]
            age = now - self.failure_mark.stat().st_mtime
        except OSError:
            return None
        wait = min(_LONGEST_SECONDS, RETRY_SECONDS << min(len(said) - 2, 20)) if len(said) > 1 else 0
        return Failure(len(said), said[-1].strip() or "it did not say why", max(0.0, wait - age))

    def discard(self, path: Path) -> None:
        """Remove an archive with which the JVM did not live long; the next run records anew."""
        with suppress(OSError):
            path.unlink()

    def _remove_others(self) -> None:
        archives = sorted(self.directory.glob("spark-*.jsa"), key=lambda path: path.stat().st_mtime, reverse=True)
        for path in archives[KEEP:]:
            self.discard(path)


@contextmanager
def _alone_in(directory: Path) -> Iterator[None]:
    """Of several starts at one moment one goes on: raises BlockingIOError while another one is in there."""
    opened = os.open(directory, os.O_RDONLY)
    try:
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise
        except OSError:
            pass  # a file system without locks: two may record, and both make the same
        yield
    finally:
        os.close(opened)


def cache_directory() -> Path:
    """Return the directory of diag in the user's cache directory (XDG_CACHE_HOME is respected); it may not exist."""
    from platformdirs import user_cache_path

    return user_cache_path("diag")


def archive_for(java: Java, jars: Sequence[Path], options: Sequence[str]) -> ClassArchive | None:
    """Return the archive of this Java, these jars and JVM options; None when there can be none.

    A directory that is not this user's alone is refused: the JVM runs what is in the archive, and `sudo` often keeps the HOME of another.
    """
    if os.environ.get(SWITCH, "") not in ("", "0"):
        return None
    # An AppCDS archive is a layer on top of the JDK's own, which Java from a wheel lacks; an AOT cache needs none.
    ahead_of_time = java.version >= 25
    if not ahead_of_time and not (java.home / "lib" / "server" / "classes.jsa").is_file():
        return None
    try:
        directory = cache_directory()
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = directory.stat()
        if status.st_uid != os.geteuid() or status.st_mode & 0o022:
            return None
        return ClassArchive(directory, _key(java, jars, options), ahead_of_time)
    except (OSError, RuntimeError):  # RuntimeError: no home directory
        return None


def _key(java: Java, jars: Sequence[Path], options: Sequence[str]) -> str:
    digest = hashlib.sha256()
    for fact in (java.full_version, str(java.home), str(java.path.stat().st_mtime_ns), *options):
        digest.update(fact.encode() + b"\0")
    for jar in jars:
        status = jar.stat()
        digest.update(f"{jar}\0{status.st_size}\0{status.st_mtime_ns}\0".encode())
    return digest.hexdigest()[:16]
