"""Which jobs there are: a place is the paths of one job, and what its verdicts are filed under."""

from __future__ import annotations

import glob
import os
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from analyzers.fleet.kubernetes import JobOfDump, clusters, jobs_of, read_dump
from analyzers.readers.log_crowds import ids_in
from analyzers.readers.object_stores import is_remote
from analyzers.readers.opening import TROUBLES, at_most, open_file
from analyzers.readers.remote_files import files_below, is_pattern, matching, remote_entries, remote_entry
from analyzers.readers.slices import Slice
from analyzers.readers.sources import is_bundle
from analyzers.readers.walking import Folder, walk

JOBS_BY = ("directory", "glob", "job-id", "kubernetes")
_HEAD = 1 << 20


@dataclass(frozen=True)
class Place:
    """One job: `scope` names it, `paths` hold its logs, checkpoints and saved answers, `size` in bytes; `slices`: its part of files that it
    shares with others."""

    scope: str
    paths: tuple[str, ...]
    size: int
    slices: tuple[Slice, ...] = ()


def places(paths: Sequence[str], by: str = "directory", notes: list[str] | None = None) -> list[Place]:
    """The jobs at `paths`, in order of name.

    ``directory``: each entry of a named directory is a job (bundles and archives, too); ``glob``: each path that is named or matches,
    is one; ``job-id``: files of a named directory that name the same job are one; ``kubernetes``: pods of one owner, as a dump of their
    namespace shows them. `notes` takes what is of no job. Raises ``FileNotFoundError`` for what is not there, any other ``OSError`` where
    a store cannot be asked, ``ValueError`` for a dump without pods.
    """
    named: list[str] = []
    for path in paths:
        if is_remote(path):
            named += _remote_named(path)
            continue
        found = [path] if os.path.lexists(path) else sorted(glob.glob(path, recursive=True))
        if not found:
            raise FileNotFoundError(path)
        named += found
    if by == "kubernetes":
        return _by_pods(named, notes if notes is not None else [])
    entries: dict[str, tuple[str, ...]]
    if by == "glob" or (by == "directory" and not any(_is_directory(path) and not is_bundle(path) for path in named)):
        entries = {path: (path,) for path in named}
    elif by == "job-id":
        entries = _by_id(named)
    else:
        entries = {entry: (entry,) for path in named for entry in _entries(path)}
    top = _top(list(entries))
    # a name that is no UTF-8 is spelled out: tables and reports are
    named_as = {name: _relative(name, top).encode("utf-8", "backslashreplace").decode() for name in entries}
    return sorted((_place(named_as[name], own) for name, own in entries.items()), key=lambda place: place.scope)


def _remote_named(path: str) -> list[str]:
    """A URI, or what matches it. Raises `OSError`; ``FileNotFoundError`` where nothing does."""
    found = matching(path) if is_pattern(path) else [remote_entry(path).path.rstrip("/")]
    if not found:
        raise FileNotFoundError(path)
    return found


def _is_directory(path: str) -> bool:
    return remote_entry(path).directory if is_remote(path) else os.path.isdir(path)


def _relative(name: str, top: str) -> str:
    return name.removeprefix(top).lstrip("/") if is_remote(name) else os.path.relpath(name, top)


def _entries(path: str) -> list[str]:
    if is_remote(path):
        below = remote_entries(path) if _is_directory(path) else [remote_entry(path)]
        return [entry.path.rstrip("/") for entry in below if not entry.name.startswith(".")]
    if not os.path.isdir(path) or is_bundle(path):
        return [path]
    return [entry.path for entry in os.scandir(path) if not entry.name.startswith(".")]


def _by_id(named: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Files by the first job that their beginning names; those that name none are one job by themselves."""
    found: dict[str, list[str]] = defaultdict(list)
    for root in named:
        files = _files(root)
        for file in files:
            try:
                with open_file(file) as stream:
                    ids = sorted(ids_in(at_most(stream, _HEAD)))
            except TROUBLES:
                ids = []
            found[os.path.join(root if _is_directory(root) else os.path.dirname(root), ids[0].decode() if ids else "no job")].append(file)
    return {name: tuple(files) for name, files in found.items()}


def _by_pods(named: Sequence[str], notes: list[str]) -> list[Place]:
    """Jobs of the dumps that are `named`: of one where each namespace is in one of them only, else of several clusters."""
    top = _top(named)
    found: list[Place] = []
    for root, dump in clusters({root: read_dump(_files(root)) for root in named}).items():
        within = _relative(root, top) if root else ""
        found += [_of_dump("/".join(filter(None, (within, *key))), key[1], job) for key, job in jobs_of(dump).items()]
        notes += dump.notes
    if not found:
        raise ValueError(f"there is no list of pods in {', '.join(named)}")
    return sorted(found, key=lambda place: place.scope)


def _of_dump(scope: str, owner: str, job: JobOfDump) -> Place:
    slices = job.slices(owner)
    place = _place(scope, tuple(job.logs))
    return replace(place, size=place.size + sum(len(each.text) for each in slices), slices=slices)


def _files(root: str) -> list[str]:
    if not _is_directory(root):
        return [root]
    if is_remote(root):
        return sorted(each.path for each in files_below(root) if not isinstance(each, OSError))
    return sorted(os.path.join(at, name) for at, _, names in _walked(root) for name in names)


def _top(names: Sequence[str]) -> str:
    if any(map(is_remote, names)):
        return os.path.commonprefix([os.path.dirname(name) + "/" for name in names]).rpartition("/")[0]  # noqa: RUF071  # cut at a slash
    return (os.path.commonpath([os.path.dirname(os.path.abspath(name)) for name in names]) or ".") if names else "."


def _place(scope: str, paths: tuple[str, ...]) -> Place:
    return Place(scope, tuple(path if is_remote(path) else os.path.abspath(path) for path in paths), sum(map(_size, paths)))


def _size(path: str) -> int:
    if is_remote(path):
        entry = remote_entry(path)
        return sum(each.size for each in files_below(path) if not isinstance(each, OSError)) if entry.directory else entry.size
    if os.path.isfile(path):
        return os.path.getsize(path)
    return sum(_file_size(os.path.join(at, name)) for at, _, names in _walked(path) for name in names)


def _walked(path: str) -> Iterator[Folder]:
    """All below `path`. What cannot be listed, or is not searched, is reported when the place is read."""
    return walk(path, follow=False, failed=lambda error: None, left_out=lambda folder, why: None)


def _file_size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0  # it is told when the place is read
