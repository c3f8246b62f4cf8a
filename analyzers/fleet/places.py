"""Which jobs there are: a place is the paths of one job, and what its verdicts are filed under."""

from __future__ import annotations

import glob
import os
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from analyzers.fleet.kubernetes import JobOfDump, clusters, jobs_of, read_dump
from analyzers.fleet.roots import is_drawn
from analyzers.readers.log_crowds import ids_in
from analyzers.readers.object_stores import is_remote
from analyzers.readers.opening import TROUBLES, at_most, open_file
from analyzers.readers.remote_files import files_below, is_pattern, matching, remote_entries, remote_entry
from analyzers.readers.slices import Slice
from analyzers.readers.sources import is_bundle
from analyzers.readers.walking import Folder, walk
from analyzers.report.durations import few

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
        entries = _by_id(named, notes if notes is not None else [])
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


def flat_directory(paths: Sequence[str]) -> str | None:
    """That a directory of `paths` holds files of which each was taken for a job; None where none holds several. Raises `OSError`."""
    for path in paths:
        if not (is_remote(path) and is_pattern(path)) and _is_directory(path) and not is_bundle(path):
            files = [entry for entry in _entries(path) if not entry.endswith(_PACKED) and not _is_directory(entry)]
            if len(files) > 1:
                what = f"{path} holds {len(files):,} files, and each was taken for a job"
                return f"{what}: --jobs-by job-id joins files that name the same job; if they are of one job: diag triage {path}"
    return None


_PACKED = (".tar", ".tar.gz", ".tgz", ".tar.zst", ".zip")
_CLUSTER = re.compile(rb"(?:kubernetes|high-availability)\.cluster-id(?:\s*[,:=]\s*|\s+)([\w./-]+)")
_NAMED_JOB = re.compile(rb"[Jj]ob '?([^'\n()]{1,200}?)'? \(([0-9a-f]{32})\)")


@dataclass(frozen=True)
class _Mark:
    """What the beginning of a file says of its job: an id, and of one that was not drawn what it is called beside that."""

    id: str | None = None
    cluster: str = ""
    name: str = ""


def _mark(head: bytes) -> _Mark:
    ids = sorted(each.decode() for each in ids_in(head))
    if not ids:
        return _Mark()
    own = next((each for each in ids if not _is_shared(each)), ids[0])
    if not _is_shared(own):
        return _Mark(own)
    cluster = _CLUSTER.search(head)
    name = next((name for name, id_ in _NAMED_JOB.findall(head) if id_.decode() == own), b"")
    return _Mark(own, *(each.decode("utf-8", "replace").strip("/ ").replace("/", "-") for each in (cluster[1] if cluster else b"", name)))


def _is_shared(id_: str) -> bool:
    """Whether it is an id of Flink that many jobs have."""
    return _OF_FLINK.fullmatch(id_) is not None and not is_drawn(id_)


_OF_FLINK = re.compile(r"[0-9a-f]{32}")


def _by_id(named: Sequence[str], notes: list[str]) -> dict[str, tuple[str, ...]]:
    """Files by the first job that their beginning names; those that name none are one job by themselves. An id that many jobs have, as all
    have in application mode, holds within one entry of the directory, one cluster id and, where several are named, one job name."""
    found: dict[str, list[str]] = defaultdict(list)
    shared: dict[tuple[str, str, str], list[tuple[str, _Mark]]] = defaultdict(list)
    for root in named:
        for file in _files(root):
            try:
                with open_file(file) as stream:
                    mark = _mark(at_most(stream, _HEAD))
            except TROUBLES:
                mark = _Mark()
            top = root if _is_directory(root) else os.path.dirname(root)
            if mark.id is None or not _is_shared(mark.id):
                found[os.path.join(top, mark.id or "no job")].append(file)
            else:
                entry, _, below = _relative(file, top).partition("/")
                shared[os.path.join(top, entry) if below else top, mark.cluster, mark.id].append((file, mark))
    for (home, cluster, id_), files in shared.items():
        names = {mark.name for _, mark in files if mark.name}
        for file, mark in files:
            found[os.path.join(home, *filter(None, (cluster, mark.name if len(names) > 1 else "", id_)))].append(file)
    if shared:
        ids = sorted({id_ for _, _, id_ in shared})
        notes.append(
            f"job id {few(ids, 2)} is of application mode, where many jobs have one id: its files are joined within one directory, "
            "cluster id and job name only"
        )
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
