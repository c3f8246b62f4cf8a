"""Directories and what is in them, within bounds: of entries, of time, and never into a file system that the kernel makes up.

``/proc`` has a million files of no size, made as they are read, some without an end; a network file system that hangs, or one of a program,
may list for ever. What was not searched is said.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from functools import lru_cache

from analyzers.budget import BUDGET

_MOST_ENTRIES = BUDGET.searched_entries
_MOST_SECONDS = BUDGET.search_seconds
_ENTRIES_A_SECOND = BUDGET.searched_entries_a_second
_OF_THE_KERNEL = frozenset((
    "autofs", "binfmt_misc", "bpf", "cgroup", "cgroup2", "configfs", "debugfs", "devpts", "devtmpfs", "efivarfs", "fusectl", "hugetlbfs",
    "mqueue", "nsfs", "proc", "pstore", "rpc_pipefs", "securityfs", "selinuxfs", "sysfs", "tracefs",
))  # fmt: skip
Folder = tuple[str, list[str], list[str]]
"""A directory, and the names of the directories and of the other entries in it. Who removes some of the former does not enter them."""


def walk(root: str, *, follow: bool, failed: Callable[[OSError], None], left_out: Callable[[str, str], None]) -> Iterator[Folder]:
    """As ``os.walk``, top down; `follow`: also where symbolic links lead. `failed` hears of what cannot be listed, `left_out` of a
    directory that is not searched, and why. Before Python 3.12 ``os.walk`` goes no deeper than the interpreter's stack; this does."""
    left, entries, began = [root], 0, time.monotonic()
    while left:
        folder = left.pop()
        if (kind := made_by_the_kernel(folder)) is not None:
            left_out(folder, f"is a file system of the kernel ({kind}), where no program writes a log: it was not searched")
            continue
        if entries > _MOST_ENTRIES:
            left_out(root, f"has more than {_MOST_ENTRIES:,} entries: what lies behind {folder} was not searched")
            return
        if time.monotonic() - began > _MOST_SECONDS + entries / _ENTRIES_A_SECOND:
            left_out(root, f"took more than {_MOST_SECONDS:.0f} s to list {entries:,} entries: what lies behind {folder} was not searched")
            return
        folders: list[str] = []
        files: list[str] = []
        try:
            with os.scandir(folder) as listing:
                for entry in listing:
                    entries += 1
                    (folders if _leads_on(entry, follow) else files).append(entry.name)
                    if entries > _MOST_ENTRIES:
                        break
        except OSError as error:
            failed(error)
            continue
        yield folder, folders, files
        left.extend(os.path.join(folder, name) for name in reversed(folders))


def made_by_the_kernel(folder: str) -> str | None:
    """The kind of the file system that `folder` is in, where that is one of the kernel's; None of any other, and where it is unknown."""
    try:
        return kind_of_kernel(os.stat(folder).st_dev)
    except (OSError, ValueError):
        return None


def kind_of_kernel(device: int) -> str | None:
    """The same of the file system on a device, as `os.stat` numbers it."""
    return _kinds().get(device)


@lru_cache(1)
def _kinds() -> dict[int, str]:
    """By device. Source: proc(5), mountinfo: the third field is major:minor, the one behind the dash the kind."""
    found = {}
    try:
        with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as lines:
            for line in lines:
                before, _, behind = line.partition(" - ")
                major, _, minor = before.split()[2].partition(":")
                if (kind := behind.split(" ", 1)[0]) in _OF_THE_KERNEL:
                    found[os.makedev(int(major), int(minor))] = kind
    except (OSError, ValueError, IndexError):
        return {}
    return found


def _leads_on(entry: os.DirEntry[str], follow: bool) -> bool:
    try:
        return entry.is_dir(follow_symlinks=follow)
    except OSError:
        return False
