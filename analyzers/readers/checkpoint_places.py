"""Finds the checkpoints below a path: which kind of thing the path is, is found out, not asked."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from posixpath import abspath, basename, dirname, realpath

from analyzers.budget import BUDGET
from analyzers.readers.file_trees import ArchiveTree, LocalTree, open_tree
from analyzers.readers.trees import Entry, Tree

_JOB = re.compile(r"[0-9a-f]{32}\Z")
_CHECKPOINT = re.compile(r"chk-(\d{1,19})\Z")
_SAVEPOINT = re.compile(r"savepoint-[0-9a-f]{6}-[0-9a-f]{12}\Z")
_MAGIC = b"\x49\x60\x67\x2d"

# State, not checkpoints: never looked into, they may hold millions of files.
_STATE_DIRECTORIES = frozenset({"shared", "taskowned", "state"})
_MAX_DEPTH = BUDGET.checkpoint_depth


@dataclass(frozen=True)
class Place:
    """One checkpoint: `kind` is metadata (a `_metadata` file), empty (``chk-N`` without one) or streaming (Structured Streaming).

    `path` is what the tree takes, `shown` what people see; `directory` holds the state files named relatively (absolute, no slash at its
    end). A place of the kind ``never`` is a job's directory with room for shared state and without a single checkpoint.
    """

    tree: Tree
    kind: str
    path: str
    shown: str
    directory: str
    job: str | None = None
    checkpoint: int | None = None
    holds: str = "unknown"
    size: int = 0
    modified: datetime | None = None


@dataclass(frozen=True)
class Problem:
    """Something that was asked for or met and could not be read."""

    name: str
    why: str


def find_places(path: str) -> tuple[list[Place], list[Problem]]:
    """Every checkpoint at or below `path` (a file, a directory, an archive), ordered by directory and checkpoint id."""
    problems: list[Problem] = []
    try:
        tree = open_tree(path)
    except OSError as error:
        return [], [Problem(path, _why(error))]
    if isinstance(tree, ArchiveTree):
        places = list(_below(tree, "", problems, _MAX_DEPTH, set()))
        if tree.problem is not None:
            problems.append(Problem(path, tree.problem))
    else:
        try:
            entry = tree.entry(tree.root)
            places = list(_below(tree, tree.root, problems, _MAX_DEPTH, set())) if entry.directory else [_file(tree, entry)]
        except OSError as error:
            return [], [Problem(path, _why(error))]
    places.sort(key=lambda place: (dirname(place.directory), -1 if place.checkpoint is None else place.checkpoint, place.path))
    return places, problems


def _why(error: OSError) -> str:
    if "://" in str(error):
        return error.strerror or str(error)  # a remote tree has said what it asked, and of whom
    if isinstance(error, FileNotFoundError):
        return "no such file or directory"
    if isinstance(error, PermissionError):
        return "permission denied"
    return error.strerror or str(error)


def _shown(tree: Tree, path: str) -> str:
    return f"{tree.root}!{path}" if isinstance(tree, ArchiveTree) else path


def _metadata(tree: Tree, entry: Entry) -> Place:
    directory = dirname(entry.path)
    name = basename(_whole(tree, directory))
    number = _CHECKPOINT.match(name)
    holds = "checkpoint" if number else "savepoint" if _SAVEPOINT.match(name) else "unknown"
    return Place(
        tree, "metadata", entry.path, _shown(tree, entry.path), _whole(tree, directory), _job_of(tree, directory),
        int(number[1]) if number else None, holds, entry.size, entry.modified,
    )  # fmt: skip


def _whole(tree: Tree, directory: str) -> str:
    """The directory with the names above it, which tell job and checkpoint also when a relative path was given."""
    return abspath(directory) if isinstance(tree, LocalTree) else directory.rstrip("/")


def _job_of(tree: Tree, directory: str) -> str | None:
    name = basename(dirname(_whole(tree, directory)))
    return name if _JOB.match(name) else None


def _file(tree: Tree, entry: Entry) -> Place:
    place = _metadata(tree, entry)
    if entry.name != "_metadata" and tree.read(entry.path, 0, 4) != _MAGIC:
        raise OSError("neither a _metadata file nor a tar archive")
    return place


def _below(tree: Tree, directory: str, problems: list[Problem], depth: int, seen: set[str]) -> Iterator[Place]:
    try:
        entries = tree.entries(directory)
    except OSError as error:
        problems.append(Problem(_shown(tree, directory), _why(error)))
        return
    files = {entry.name: entry for entry in entries if not entry.directory}
    directories = {entry.name: entry for entry in entries if entry.directory}
    if "_metadata" in files:
        yield _metadata(tree, files["_metadata"])
        return
    if "offsets" in directories and ("commits" in directories or "sources" in directories or "metadata" in files):
        yield Place(tree, "streaming", directory, _shown(tree, directory), directory)
        return
    number = _CHECKPOINT.match(basename(_whole(tree, directory)))
    if number is not None:
        modified = max((entry.modified for entry in entries if entry.modified is not None), default=None)
        yield Place(
            tree, "empty", directory, _shown(tree, directory), _whole(tree, directory), _job_of(tree, directory), int(number[1]),
            "checkpoint", 0, modified,
        )  # fmt: skip
        return
    if _never_completed(tree, directory, directories):
        modified = max((entry.modified for entry in entries if entry.modified is not None), default=None)
        job = basename(_whole(tree, directory))
        yield Place(
            tree, "never", directory, _shown(tree, directory), _whole(tree, directory), job if _JOB.match(job) else None, None,
            "checkpoint", 0, modified,
        )  # fmt: skip
        return
    own = realpath(directory) if isinstance(tree, LocalTree) else directory
    if own in seen:
        return  # a link leads back: a few of them would be walked for hours
    seen.add(own)
    for entry in directories.values():
        if entry.name in _STATE_DIRECTORIES or entry.name.startswith("."):
            continue
        if depth == 0:
            problems.append(Problem(_shown(tree, directory), f"not looked into: more than {_MAX_DEPTH} directories deep"))
            return
        yield from _below(tree, entry.path, problems, depth - 1, seen)


def _never_completed(tree: Tree, directory: str, directories: dict[str, Entry]) -> bool:
    """Flink makes shared/ and taskowned/ when the job starts: with no chk-N beside them it has kept no checkpoint."""
    if any(_CHECKPOINT.match(name) or _SAVEPOINT.match(name) for name in directories):
        return False
    if {"shared", "taskowned"} <= directories.keys():
        return True
    return bool(_JOB.match(basename(_whole(tree, directory)))) and bool({"shared", "taskowned"} & directories.keys())
