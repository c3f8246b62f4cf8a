"""What a host does to a process: no memory, no room on a disk, no more files or threads. Not diag's fault, and nothing that it can mend."""

from __future__ import annotations

import errno
import os
import resource

from cli.shell.exits import CannotLook

_ROOM = "Free some space, or set TMPDIR to a directory with room."
_LESS = "Give it more (ulimit -v, the container's limit), or look at less (--since, --until, one directory at a time)."
_FILES = "Raise the limit: ulimit -n 1024"
_PROCESSES = "Raise the limit (ulimit -u, the container's pids limit), or use fewer cores: --cores 1"
_SAYS: dict[int, tuple[str, str]] = {
    errno.ENOSPC: ("there is no room left on a disk", _ROOM),
    errno.EDQUOT: ("the quota of this user on a disk is used up", _ROOM),
    errno.EFBIG: ("a file would become larger than this process may write", "Raise the limit: ulimit -f unlimited"),
    errno.EROFS: ("a directory for temporary files is read-only", "Set TMPDIR to a directory that can be written."),
    errno.EMFILE: ("this process has as many files open as it may", _FILES),
    errno.ENFILE: ("this host has as many files open as it can", _FILES),
    errno.ENOMEM: ("this host gave no more memory", _LESS),
    errno.EAGAIN: ("this host gave no more threads or processes", _PROCESSES),
}


_FILES_OF_SPARK, _SPACE_OF_SPARK = 512, 8 << 30


def limit_met() -> str | None:
    """Which limit of this process a JVM has probably met, and what to do; None where there is none."""
    files, space = resource.getrlimit(resource.RLIMIT_NOFILE)[0], resource.getrlimit(resource.RLIMIT_AS)[0]
    if files != resource.RLIM_INFINITY and files < _FILES_OF_SPARK:
        return f"This process may have {files} files open, and Spark needs some 300: ulimit -n 1024"
    if space != resource.RLIM_INFINITY and space < _SPACE_OF_SPARK:
        return f"This process may use {space >> 20:,} MB of address space, and Spark needs some 5,000: ulimit -v unlimited"
    return None


def of_the_host(error: BaseException) -> CannotLook | None:
    """`error` as one for the user, where the host is what failed; None where it is not."""
    for each in _chain(error):
        if isinstance(each, MemoryError):
            return CannotLook("this process ran out of memory.", _LESS)
        if isinstance(each, RuntimeError) and str(each).startswith("can't start new thread"):
            return CannotLook("this host gave no more threads or processes.", _PROCESSES)
        if isinstance(each, OSError) and each.errno in _SAYS:
            says, hint = _SAYS[each.errno]
            name = f" ({os.fsdecode(each.filename)})" if isinstance(each.filename, (str, bytes)) else ""
            return CannotLook(f"{says}{name}.", hint)
        if isinstance(each, FileNotFoundError) and "No usable temporary directory" in str(each):  # of `tempfile`
            return CannotLook("there is no directory for temporary files that can be written.", _ROOM)
        if isinstance(each, FileNotFoundError) and each.filename is None and _is_gone():
            return CannotLook("the directory in which diag was started is gone.", "Change to one that is there: cd")
    return None


def _chain(error: BaseException | None) -> list[BaseException]:
    found: list[BaseException] = []
    while error is not None and error not in found:
        found.append(error)
        error = error.__cause__ or error.__context__
    return found


def _is_gone() -> bool:
    try:
        os.getcwd()
    except OSError:
        return True
    return False
