"""Looks whether the state files that `_metadata` names are where a restore will look for them: by listing and stat, never by reading.

A checkpoint names files of its own relatively, what it shares with others absolutely. A copied directory therefore holds files that the
copy does not use: a restore from it reads the stated place. What cannot be seen from here (another file system, a part that was not
copied) is *unchecked*, never missing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from posixpath import dirname, join
from typing import Any, NamedTuple

from analyzers.budget import BUDGET
from analyzers.checkpoints.handles import Reference
from analyzers.readers.checkpoint_places import Place
from analyzers.readers.state_files import ANCHORS, candidates, stated_place
from analyzers.readers.trees import Entry, Tree

Values = dict[str, Any]

# One row a file, up to here; what is beyond is one row that counts. A lost shared/ has thousands of files, and says one thing.
_MOST_ROWS = 100

_MOST_DIRECTORIES = 8
_MOST_REQUESTS = BUDGET.state_requests
_MAX_DEPTH = 4


class Found(NamedTuple):
    """Where a file was looked for: `state` present, elsewhere (only in this copy), missing, wrong-size or unchecked; `at` where it lies."""

    state: str
    at: str | None
    size: int | None


class Listings:
    """What lies in the directories of one tree; each is listed once."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, str], dict[str, Entry] | None] = {}
        self._trees: list[Tree] = []  # kept, so that no other tree takes over the id
        self.unreadable: set[str] = set()
        self.requests = 0

    def of(self, tree: Tree, directory: str) -> dict[str, Entry] | None:
        """Entries by name; ``None`` for a directory that does not exist or cannot be listed."""
        key = (id(tree), directory)
        if key not in self._known:
            self._trees.append(tree)
            self._known[key] = None
            try:
                self._known[key] = {entry.name: entry for entry in tree.entries(directory)}
            except (FileNotFoundError, NotADirectoryError, ValueError):
                pass  # ValueError: a name with a NUL character
            except OSError:
                self.unreadable.add(directory)
        return self._known[key]

    def one(self, tree: Tree, path: str) -> Entry | None:
        """The file at `path`, asked for by itself."""
        self.requests += 1
        try:
            return tree.entry(path)
        except (FileNotFoundError, NotADirectoryError, ValueError):
            return None
        except OSError:
            self.unreadable.add(dirname(path))
            return None


class StateFileCheck:
    """One per run: what is known of directories, and which files some checkpoint names."""

    def __init__(self, rebase: Sequence[tuple[str, str]]) -> None:
        self.rebase = rebase
        self.listings = Listings()
        self.named: set[str] = set()
        self.jobs: dict[str, list[Place]] = {}
        self.unsure: set[str] = set()

    def checkpoint(self, place: Place, number: int | None) -> CheckpointCheck:
        """The check of one checkpoint, whose id in the file is `number`."""
        if place.checkpoint is not None and place.holds == "checkpoint":
            self.jobs.setdefault(dirname(place.directory), []).append(place)
        return CheckpointCheck(self, place, number)

    def orphans(self) -> Iterator[Values]:
        """One row per part of a job's directory with files that no checkpoint read here names: orphaned (older than the newest), newer."""
        for directory, places in self.jobs.items():
            newest = max(places, key=lambda p: p.checkpoint or 0)
            if directory in self.unsure or newest.modified is None:
                continue
            parts = [*(join(directory, anchor) for anchor in ANCHORS), *(p.directory for p in places)]
            for part in parts:
                below = _files_below(self.listings, newest.tree, part, _MAX_DEPTH)
                unnamed = [entry for entry in below if entry.path not in self.named and entry.name != "_metadata" and entry.modified]
                older = [entry for entry in unnamed if entry.modified and entry.modified < newest.modified]
                yield from _many(newest, part, "orphaned", older)
                yield from _many(newest, part, "newer", [e for e in unnamed if e.modified and e.modified >= newest.modified])


def _files_below(listings: Listings, tree: Tree, directory: str, depth: int) -> Iterator[Entry]:
    for entry in (listings.of(tree, directory) or {}).values():
        if not entry.directory:
            yield entry
        elif depth:
            yield from _files_below(listings, tree, entry.path, depth - 1)


def _many(newest: Place, part: str, state: str, files: Sequence[Entry]) -> Iterator[Values]:
    if files:
        yield {
            "job": newest.job, "path": newest.shown, "checkpoint": newest.checkpoint, "file": part, "state": state, "files": len(files),
            "size_bytes": sum(entry.size for entry in files), "found_at": files[0].path,
            "mtime": max(entry.modified for entry in files if entry.modified),
        }  # fmt: skip


class CheckpointCheck:
    """The files of one checkpoint; `rows` are those that are not simply there."""

    def __init__(self, run: StateFileCheck, place: Place, number: int | None) -> None:
        self.run = run
        self.place = place
        self.number = number
        self.counts = dict.fromkeys(("present", "elsewhere", "missing", "wrong-size", "unchecked"), 0)
        self.rows: list[Values] = []
        beside = run.listings.of(place.tree, place.directory)
        self.alone = beside is not None and set(beside) <= {"_metadata"}
        self.outside = 0
        self.outside_in: dict[str, None] = {}
        self._seen: dict[tuple[str, int], Found] = {}
        self._more: dict[str, Values] = {}

    def add(self, operator: str, subtask: int | None, references: Sequence[Reference]) -> None:
        """Look for the files that one subtask names; a file that several name is counted once."""
        for reference in references:
            wanted = reference.start + reference.size
            key = (reference.path, wanted if reference.kind == "segment" else reference.size)
            if key in self._seen:
                continue
            found = self._look(reference, wanted)
            self._seen[key] = found
            self.counts[found.state] += 1
            if reference.kind != "relative" and not self._own(reference.path):
                self.outside += 1
                if len(self.outside_in) < _MOST_DIRECTORIES:
                    self.outside_in[dirname(reference.path)] = None
            if found.state != "present":
                self._note(reference, found, wanted, operator, subtask)

    def _own(self, path: str) -> bool:
        """Whether a restore finds the file in the checkpoint's own directory."""
        stated = self.place.tree.own(path)
        return stated is not None and stated.startswith(self.place.directory + "/")

    def _note(self, reference: Reference, found: Found, wanted: int, operator: str, subtask: int | None) -> None:
        row: Values = {
            "job": self.place.job, "path": self.place.shown, "checkpoint": self.number, "file": reference.path,
            "storage": reference.kind, "state": found.state, "operator": operator, "subtask": subtask, "expected_bytes": wanted,
            "size_bytes": found.size, "found_at": found.at, "files": 1,
        }  # fmt: skip
        if self.counts[found.state] <= _MOST_ROWS:
            self.rows.append(row)
        elif found.state not in self._more:
            self._more[found.state] = {**row, "file": None, "operator": None, "subtask": None, "expected_bytes": None, "found_at": None}
        else:
            self._more[found.state]["files"] += 1

    def _look(self, reference: Reference, wanted: int) -> Found:
        stated = stated_place(self.place, reference.kind, reference.path)
        wrong: Found | None = None
        hidden = False
        for path in candidates(self.place, self.run.rebase, reference.kind, reference.path):
            entry = self._entry(path)
            self.run.named.add(path)
            hidden = hidden or dirname(path) in self.run.listings.unreadable
            if entry is None or entry.directory:
                continue
            fits = entry.size >= wanted if reference.kind == "segment" else entry.size == wanted
            if not fits:
                wrong = wrong or Found("wrong-size", entry.path, entry.size)
                continue
            return Found("present" if path == stated or self._rebased(reference.path) else "elsewhere", entry.path, entry.size)
        if wrong is not None:
            return wrong
        return Found("missing" if not hidden and self._visible(reference, stated) else "unchecked", None, None)

    def _rebased(self, path: str) -> bool:
        return any(path.startswith(old) for old, _ in self.run.rebase)

    def _entry(self, path: str) -> Entry | None:
        directory, _, name = path.rpartition("/")
        listings, tree = self.run.listings, self.place.tree
        if path.startswith(self._job_directory() + "/") or tree.cheap:
            known = listings.of(tree, directory)
            return None if known is None else known.get(name)
        return listings.one(tree, path) if listings.requests < _MOST_REQUESTS else None

    def _job_directory(self) -> str:
        return dirname(self.place.directory)

    def _visible(self, reference: Reference, stated: str | None) -> bool:
        """Whether a file that is not found must be missing: its place can be seen from here, or lies in a part that was copied whole."""
        if reference.kind == "relative":
            return True
        listings, tree = self.run.listings, self.place.tree
        if stated is not None and listings.requests < _MOST_REQUESTS and (stated.startswith(self._job_directory() + "/") or not tree.cheap):
            return True
        if stated is not None and tree.cheap and listings.of(tree, dirname(stated)) is not None:
            return True
        parts = reference.path.split("/")
        copied = [anchor for anchor in ANCHORS if anchor in parts]
        return any(listings.of(tree, join(self._job_directory(), anchor)) is not None for anchor in copied)

    def rows_of(self, operator: str, name: str | None) -> list[Values]:
        """The rows so far, given away when their operator has ended and its name is known."""
        rows, self.rows = self.rows, []
        for row in rows:
            row["name"] = name if row["operator"] == operator else None
        return rows

    def rest(self) -> list[Values]:
        """One row per state for the files that have none of their own."""
        return list(self._more.values())

    def summary(self, whole: bool) -> Values:
        """Columns of the checkpoint's own row; what is orphaned is unknown where a `_metadata` is not `whole`."""
        if not whole:
            self.run.unsure.add(self._job_directory())
        counts = self.counts
        return {
            "state_files": sum(counts.values()),
            "state_files_missing": counts["missing"],
            "state_files_wrong_size": counts["wrong-size"],
            "state_files_elsewhere": counts["elsewhere"],
            "state_files_unchecked": counts["unchecked"],
            "metadata_alone": self.alone,
            "state_files_outside": self.outside,
            "outside": list(self.outside_in),
        }
