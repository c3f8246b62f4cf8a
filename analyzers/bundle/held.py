"""Temporary files and directories that are held while their process lives, so that a later run can remove those of one that was killed.

Whoever makes one holds a lock on it, which the system lets go with the process, however that ended; what is held no longer is left
over. Other users' files, links, and what is too young to be held already are left alone.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import tempfile
import time
import weakref
from contextlib import suppress
from pathlib import Path

_SIGN = "diag-held-"
_YOUNG_SECONDS = 60
"""Between making a file and holding it goes no time at all; a host that sleeps in between is given a minute."""

_held: dict[Path, int] = {}
_swept: set[Path] = set()


class HeldDirectory:
    """A `held_directory` that goes with this object."""

    def __init__(self, kind: str) -> None:
        self.path = held_directory(kind)
        weakref.finalize(self, release, self.path)


def held_directory(kind: str) -> Path:
    """A new directory of mode 0700 in the system's place for temporary files; those that killed runs left there are removed first."""
    _sweep_once(Path(tempfile.gettempdir()))
    return _hold(Path(tempfile.mkdtemp(prefix=f"{_SIGN}{kind}-")))


def held_file(kind: str) -> tuple[int, Path]:
    """Descriptor and path of a new file of mode 0600, as `held_directory`."""
    _sweep_once(Path(tempfile.gettempdir()))
    descriptor, name = tempfile.mkstemp(prefix=f"{_SIGN}{kind}-")
    return descriptor, _hold(Path(name))


def held_beside(target: Path) -> Path:
    """A new directory of mode 0700 beside `target`, to make in it what takes its place; what killed runs left for it is removed first."""
    sweep(target.parent, f".{target.name}.{_SIGN}")
    return _hold(Path(tempfile.mkdtemp(prefix=f".{target.name}.{_SIGN}", dir=target.parent)))


def release(path: Path) -> None:
    """Remove `path` and hold it no longer. What is gone already is no error."""
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
    let_go(path)


def let_go(path: Path) -> None:
    """Hold `path` no longer; whoever has it removes it."""
    descriptor = _held.pop(path, None)
    if descriptor is not None:
        os.close(descriptor)


def is_held(real: str) -> bool:
    """Whether the resolved path `real` is one of this process's own, or lies below one."""
    return any(real == own or real.startswith(own + os.sep) for own in map(os.path.realpath, _held))


def locks(path: Path) -> tuple[int, ...]:
    """The descriptors of the lock on `path`, for a child that uses it: it then holds it, too, also when this process is gone."""
    return (_held[path],) if path in _held else ()


def sweep(directory: Path, sign: str = _SIGN) -> None:
    """Remove what runs that were killed left in `directory`."""
    with suppress(OSError), os.scandir(directory) as entries:
        for entry in entries:
            if entry.name.startswith(sign):
                with suppress(OSError):
                    _remove_if_left(Path(entry.path))


def _sweep_once(directory: Path) -> None:
    if directory not in _swept:
        _swept.add(directory)
        sweep(directory)


def _hold(path: Path) -> Path:
    with suppress(OSError):  # a file system without locks: it is removed when this process ends, not when it is killed
        descriptor = os.open(path, os.O_RDONLY)
        _held[path] = descriptor
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return path


def _remove_if_left(path: Path) -> None:
    found = path.lstat()
    ours = found.st_uid == os.getuid() and (stat.S_ISDIR(found.st_mode) or stat.S_ISREG(found.st_mode))
    if not ours or path in _held or time.time() - found.st_ctime < _YOUNG_SECONDS:
        return
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)  # raises where it is held
        if stat.S_ISDIR(found.st_mode):
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink()
    finally:
        os.close(descriptor)
