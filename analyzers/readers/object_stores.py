"""Checkpoints in object stores and other remote file systems, through fsspec: listed, and read where a reader asks for bytes.

The drivers are extras of the distribution. Credentials are the driver's own business (environment, instance role, its files): none is
taken here. ``s3a:`` and ``s3p:`` are Flink's names of S3; ``_entropy_`` in a path is taken out, as Flink does for `_metadata`.
"""

from __future__ import annotations

import errno
import queue
import re
import threading
from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from typing import Any, TypeVar

from analyzers.bundle.confined import OUTSIDE, is_confined
from analyzers.readers.trees import Entry

# Scheme in a path: (fsspec's protocol, extra of this distribution that brings the driver; None = fsspec alone is enough).
_PROTOCOLS: Mapping[str, tuple[str, str | None]] = {
    "s3": ("s3", "s3"),
    "s3a": ("s3", "s3"),
    "s3p": ("s3", "s3"),
    "s3n": ("s3", "s3"),
    "gs": ("gs", "gcs"),
    "abfs": ("abfs", "azure"),
    "abfss": ("abfs", "azure"),
    "wasb": ("abfs", "azure"),
    "wasbs": ("abfs", "azure"),
    "hdfs": ("hdfs", None),
    "webhdfs": ("webhdfs", None),
    "memory": ("memory", None),
}
_DRIVERS = {None: "fsspec", "s3": "s3fs", "gcs": "gcsfs", "azure": "adlfs"}
"""What an extra of ours brings. Its own name is said: no index has ours, and whoever puts something there would be installed."""
Answer = TypeVar("Answer")

ANSWER_SECONDS = 30.0  # for one listing, look or opening; drivers try again for minutes, and some wait for ever
READ_SECONDS = 180.0  # for the bytes of one file: a `_metadata` may have a hundred megabytes
_URI = re.compile(r"([a-z][a-z0-9+.-]*)://", re.I)


def is_remote(path: str) -> bool:
    """Whether `path` names a file system that is not this machine's."""
    scheme = _URI.match(path)
    return scheme is not None and scheme[1].lower() != "file"


def without_entropy(path: str) -> str:
    """`path` as Flink writes it for `_metadata`: the marker that spreads state files over prefixes is taken out."""
    return path.replace("/_entropy_/", "/").replace("_entropy_", "")


class NoAnswer(TimeoutError):
    """A store did not answer in time; the text says what it was asked."""


def within(seconds: float, ask: Callable[[], Answer], what: str) -> Answer:
    """The answer of `ask`, or what it raises. Raises :class:`NoAnswer` when there is none in `seconds`.

    In a daemon thread of its own: a driver that waits for ever cannot be interrupted, and must not keep the process from ending.
    """
    told: queue.SimpleQueue[tuple[Answer | None, BaseException | None]] = queue.SimpleQueue()

    def run() -> None:
        try:
            told.put((ask(), None))
        except BaseException as error:  # raised again where it is waited for
            told.put((None, error))

    threading.Thread(target=run, name=f"store: {what}"[:60], daemon=True).start()
    try:
        answer, error = told.get(timeout=seconds)
    except queue.Empty:
        raise NoAnswer(
            f"cannot {what}: the store did not answer in {seconds:g} s: look at its address, credentials and the way to it (proxy)"
        ) from None
    if error is not None:
        raise error
    return answer  # type: ignore[return-value]  # None only where `ask` answers None


class RemoteTree:
    """Files below a URI. Every method raises `OSError` with a sentence that says what was asked of whom."""

    cheap = False

    def __init__(self, root: str) -> None:
        self.root = without_entropy(root)
        self.scheme = _scheme(root)
        self._silent: str | None = None
        self._files = within(ANSWER_SECONDS, lambda: _file_system(self.scheme, root), f"open {root}")

    def entries(self, directory: str) -> list[Entry]:
        """What lies in `directory`, sorted by name; objects that vanish while they are listed are left out."""
        found = self._asked("list", directory, lambda path: self._files.ls(path, detail=True))
        below = [self._entry(one) for one in found]
        # some stores list the directory's own marker among its files
        return sorted(entry for entry in below if entry.name and entry.path.rstrip("/") != directory.rstrip("/"))

    def entry(self, path: str) -> Entry:
        return self._entry(self._asked("look at", path, self._files.info))

    def read(self, path: str, start: int = 0, size: int | None = None) -> bytes:
        end = None if size is None else start + size
        data: bytes = self._asked("read", path, lambda own: self._files.cat_file(own, start=start or None, end=end))
        return data

    def own(self, path: str) -> str | None:
        """`path` when it lies in the same kind of store (a checkpoint may say s3a: where it is read as s3:)."""
        scheme = _URI.match(path)
        if scheme is None or _PROTOCOLS.get(scheme[1].lower(), ("", None))[0] != _PROTOCOLS[self.scheme][0]:
            return None
        return self.scheme + path[path.index("://") :]

    def _asked(self, what: str, path: str, ask: Any) -> Any:
        if self._silent is not None:  # asked a thousand times more, it would be waited for a thousand times
            raise TimeoutError(self._silent)
        known = self._files._strip_protocol(self._as_known(path))
        try:
            return within(READ_SECONDS if what == "read" else ANSWER_SECONDS, lambda: ask(known), f"{what} {path}")
        except NoAnswer as silent:
            self._silent = str(silent)
            raise
        except FileNotFoundError:
            raise FileNotFoundError(f"no such file or directory: {path}") from None
        except NotADirectoryError:
            raise
        except PermissionError as error:
            raise PermissionError(13, f"access denied by {self.scheme}: cannot {what} {path}") from error
        except Exception as error:  # every driver has errors of its own: a missing credential, a time-out, a wrong region
            raise OSError(f"cannot {what} {path}: {type(error).__name__}: {error}") from error

    def _as_known(self, path: str) -> str:
        """`path` under the one scheme that the driver knows."""
        return _PROTOCOLS[self.scheme][0] + path[path.index("://") :]

    def _entry(self, found: Mapping[str, Any]) -> Entry:
        name = str(found["name"]).rstrip("/")
        shown = f"{self.scheme}:" + str(self._files.unstrip_protocol(name)).partition(":")[2]
        return Entry(name.rsplit("/", 1)[-1], shown, found.get("type") == "directory", int(found.get("size") or 0), _modified(found))


def _scheme(path: str) -> str:
    scheme = _URI.match(path)
    assert scheme is not None, path
    return scheme[1].lower()


def _file_system(scheme: str, path: str) -> Any:
    if is_confined():
        raise OSError(errno.EACCES, OUTSIDE, path)
    if scheme not in _PROTOCOLS:
        known = ", ".join(f"{name}:" for name in _PROTOCOLS if name != "memory")
        raise OSError(f"{scheme}: is no file system that diag can read ({known} or a local path)")
    protocol, extra = _PROTOCOLS[scheme]
    install = f"pip install {_DRIVERS[extra]}"
    try:
        import fsspec
    except ImportError:
        raise OSError(f"reading {scheme}: needs a driver: {install}") from None
    try:
        return fsspec.core.url_to_fs(protocol + path[path.index("://") :], use_listings_cache=False)[0]
    except (ImportError, ValueError) as error:
        raise OSError(f"reading {scheme}: needs a driver ({error}): {install}") from None
    except Exception as error:  # a driver that cannot find its credentials or libraries says so in its own way
        raise OSError(f"cannot open {path}: {type(error).__name__}: {error}") from error


def _modified(found: Mapping[str, Any]) -> datetime | None:
    """Under the names that the drivers use for it."""
    for key in ("mtime", "LastModified", "last_modified", "updated", "created", "modificationTime"):
        value = found.get(key)
        if isinstance(value, datetime):
            return (value if value.tzinfo else value.replace(tzinfo=timezone.utc)).astimezone(timezone.utc)
        if isinstance(value, str):
            try:
                return datetime.fromisoformat(value.replace("Z", "+00:00")).astimezone(timezone.utc)
            except (ValueError, OverflowError):
                continue
        if isinstance(value, int | float) and not isinstance(value, bool):
            seconds = value / 1000 if value > 1e11 else value  # WebHDFS counts milliseconds
            return datetime.fromtimestamp(seconds, tz=timezone.utc)
    return None
