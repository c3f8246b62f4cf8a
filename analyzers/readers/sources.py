"""Finding logs: files, directories, globs, stdin, archives; what is no log is passed over, what cannot be read is said."""

from __future__ import annotations

import glob
import os
import re
import stat
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from analyzers.budget import BUDGET
from analyzers.bundle.confined import OUTSIDE, is_outside, refuse_outside
from analyzers.logs.wrappings import cluster_events
from analyzers.readers.object_stores import is_remote
from analyzers.readers.opening import TROUBLES, at_most, open_file
from analyzers.readers.trees import Entry
from analyzers.readers.walking import walk
from analyzers.states.recognise import might_hold

_BLOCK = 512
"""Bytes of what `stat` counts in, on each file system."""
FILES_LIMIT = BUDGET.searched_files
# Never logs, whatever they hold: what stands beside logs in a collected directory. (A file that the user names is read all the same.)
_NO_LOGS = re.compile(
    r"(?:^|/)(?:_metadata|label\.json|expect\.json|manifest\.json|_SUCCESS)$"
    r"|\.(?:crc|ls|parquet|orc|avro|jar|class|py|pyc|java|scala|md|ya?ml|properties|xml|html?|css|js|so|hprof|jfr|png|jpe?g|gif|svg|pdf|sst|delta|snapshot|tmp|swp|pid|conf|cfg|ini|toml|sh|sql|db|bin|dat|h|c|whl)$"
    r"|/chk-\d+/|/(?:shared|taskowned)/[0-9a-f-]{36}$",
    re.IGNORECASE,
)
NOTES = re.compile(r"(?:^|/)(?!readme|changelog|contributing|license|security|code_of_conduct)[^/]*\.(?:md|markdown)$", re.IGNORECASE)
"""Texts that describe as often as they quote: read only where there is nothing else."""
_ASIDES = re.compile(r"\.(?:java|scala|kt|py|rs|go|cs|js|ts|sql|ya?ml|properties|xml|conf|cfg|ini|toml|env)$", re.IGNORECASE)
"""Settings and sources: no evidence of a failure, but a line of them may name what a failure is about."""
_YAML = re.compile(r"\.ya?ml$", re.IGNORECASE)
_MOST_OF_YAML = BUDGET.fragment_bytes
MANIFEST, MANIFEST_HEAD = "manifest.json", 4096
MOST_NOTES = 40
"""More texts than that are a project or a documentation."""
_ROTATED = re.compile(
    r"^(?P<base>.*?(?:\.(?:log|out|err|txt|json))?)(?:[.-](?P<date>\d{4}-?\d\d-?\d\d(?:[-_.T]?\d\d(?:[-:]?\d\d){0,2})?))?(?:\.(?P<number>\d{1,5}))?"
    r"(?:\.log)?(?P<packed>\.(?:gz|zst|bz2|xz|lz4|zip))?$",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Candidate:
    """One file that may be a log. `named` = the user named it, so that silence about it would be wrong; `root` = the path it came from."""

    path: str
    display: str
    size: int
    mtime: float
    named: bool
    root: str


@dataclass
class Discovery:
    """What was found; `passed_over` counts files that are no logs, `empty` those of them that hold nothing, `troubles` are (name, why,
    whether it failed as a whole), `bundles` are directories in which diag saved tables, `asides` a few settings and sources that lie beside
    the logs."""

    candidates: list[Candidate] = field(default_factory=list)
    passed_over: int = 0
    empty: int = 0
    troubles: list[tuple[str, str, bool]] = field(default_factory=list)
    bundles: list[str] = field(default_factory=list)
    notes: list[Candidate] = field(default_factory=list)
    asides: list[Candidate] = field(default_factory=list)
    full: bool = False

    def has_room(self, root: str) -> bool:
        """Whether one more file is read; what is left out is told once."""
        if len(self.candidates) < FILES_LIMIT:
            return True
        if not self.full:
            self.troubles.append((root, f"more than {FILES_LIMIT:,} files were found; no more of them were looked at", False))
            self.full = True
        return False


def series_key(name: str) -> tuple[str, str, int, int]:
    """Sorts a rotated series from oldest to newest: `.log.2`, `.log.1`, `.log`; dated ones before the one without a date."""
    folder, _, base = name.rpartition("/")
    m = _ROTATED.match(base)
    if m is None:
        return (f"{folder}/{base}", "~", 0, 0)
    date = re.sub(r"\D", "", m["date"] or "") or "~"
    number = int(m["number"]) if m["number"] else 0
    # within one date, log4j's %i counts upwards; without a date, .1 is the newest
    return (f"{folder}/{m['base']}", date, number if m["date"] else -number, 0)


def discover(paths: Sequence[str]) -> Discovery:
    """All files behind `paths` in reading order. Never raises for what lies on disk: that becomes a trouble."""
    found = Discovery()
    seen: set[tuple[int, int]] = set()
    for path in paths:
        if is_remote(path):
            _remote(path, found)
            continue
        targets: Iterable[str] = (path,)
        if not os.path.lexists(path) and glob.has_magic(path):
            targets = sorted(glob.glob(path, recursive=True))
            if not targets:
                found.troubles.append((path, "no file matches this pattern", True))
        for target in targets:
            _target(target, target == path, found, seen)
    found.candidates.sort(key=lambda c: series_key(c.path))
    return found


def _target(path: str, named: bool, found: Discovery, seen: set[tuple[int, int]]) -> None:
    try:
        refuse_outside(path)
        status = os.stat(path)
    except OSError as error:
        found.troubles.append((path, f"cannot be opened: {error.strerror or error}", True))
        return
    if stat.S_ISDIR(status.st_mode):
        _walk(path, found, seen)
    elif stat.S_ISREG(status.st_mode):
        _add(path, path, status, named or not _NO_LOGS.search(path), found, seen)
    else:
        found.troubles.append((path, "is neither a file nor a directory", True))


def _remote(path: str, found: Discovery) -> None:
    """What a URI names, or what matches it, and all below."""
    from analyzers.readers.remote_files import files_below, is_pattern, matching, remote_entry

    try:
        targets = matching(path) if is_pattern(path) else [path]
        if not targets:
            found.troubles.append((path, "no object matches this pattern", True))
        for target in targets:
            entry = remote_entry(target)
            for each in files_below(target) if entry.directory else (entry,):
                if isinstance(each, OSError):
                    found.troubles.append((target, each.strerror or str(each), False))
                elif entry.directory and _NO_LOGS.search(each.path) and not _holds_objects(each.path):
                    found.passed_over += 1
                else:
                    _candidate(each, target, not entry.directory and target == path, found)
    except OSError as error:
        found.troubles.append((path, error.strerror or str(error), True))


def _candidate(entry: Entry, root: str, named: bool, found: Discovery) -> None:
    if found.has_room(root):
        changed = entry.modified.timestamp() if entry.modified else 0.0
        found.candidates.append(Candidate(entry.path, entry.path, entry.size, changed, named, root))


def _add(path: str, root: str, status: os.stat_result, named: bool, found: Discovery, seen: set[tuple[int, int]]) -> None:
    identity = (status.st_dev, status.st_ino)
    if identity in seen:
        return
    seen.add(identity)
    if found.has_room(root):
        size = _written(status)
        if size < status.st_size:
            held = f"{status.st_blocks * _BLOCK >> 10:,} kB on the disk for {status.st_size >> 20:,} MB"
            found.troubles.append(
                (path, f"has {held}: all else are holes; what stands behind the first {size >> 20:,} MB was not read", False)
            )
        found.candidates.append(Candidate(path, path, size, status.st_mtime, named, root))


def _walk(root: str, found: Discovery, seen: set[tuple[int, int]]) -> None:
    """All files below `root`; symbolic links are followed once, so that a loop ends, and never to a folder that `root` lies in."""

    def trouble(error: OSError) -> None:
        found.troubles.append((str(error.filename or root), f"cannot be listed: {error.strerror or error}", False))

    visited: set[tuple[int, int]] = set()
    place = os.path.realpath(root)
    while _first_visit(place, visited) and place != os.path.dirname(place):
        place = os.path.dirname(place)

    def left_out(folder: str, why: str) -> None:
        found.troubles.append((folder, why, folder == root))

    for folder, folders, files in walk(root, follow=True, failed=trouble, left_out=left_out):
        for name in [name for name in (*folders, *files) if is_outside(os.path.join(folder, name))]:
            found.troubles.append((os.path.join(folder, name), OUTSIDE, False))
            (folders if name in folders else files).remove(name)
        folders[:] = sorted(name for name in folders if not name.startswith(".") and _first_visit(os.path.join(folder, name), visited))
        saved = "manifest.json" in files and is_bundle(folder)
        if saved:
            found.bundles.append(folder)
        for name in sorted(files):
            path = os.path.join(folder, name)
            hidden = name.startswith(".") or (saved and name.endswith(".jsonl"))
            if hidden or (_NO_LOGS.search(path) and not _holds_objects(path)):
                found.passed_over += 1
                if NOTES.search(path) and len(found.notes) <= MOST_NOTES:
                    _note(path, root, found.notes)
                elif _ASIDES.search(path) and len(found.asides) <= MOST_NOTES:
                    _note(path, root, found.asides)
                continue
            try:
                status = os.stat(path)
            except OSError as error:
                found.troubles.append((path, f"cannot be opened: {error.strerror or error}", False))
                continue
            if stat.S_ISREG(status.st_mode):
                _add(path, root, status, False, found, seen)
            else:
                found.passed_over += 1


def _holds_objects(path: str) -> bool:
    """Whether YAML is what `kubectl get -o yaml` printed, and shows more than the settings of objects."""
    if not _YAML.search(path):
        return False
    with suppress(*TROUBLES), open_file(path) as stream:
        head = at_most(stream, 4096)
        if cluster_events.begins_in_yaml(head):
            head += at_most(stream, _MOST_OF_YAML - len(head))
            return cluster_events.are_in(head) or might_hold(head)
    return False


def _written(status: os.stat_result) -> int:
    """The bytes of a file that are read: a few blocks of a disk may claim to be terabytes, and compress as no log does.

    A file system that counts no blocks says nothing of that.
    """
    if not status.st_blocks:
        return status.st_size
    return min(status.st_size, BUDGET.unpacked_least_bytes + BUDGET.unpacked_times * status.st_blocks * _BLOCK)


def _note(path: str, root: str, notes: list[Candidate]) -> None:
    with suppress(OSError):
        status = os.stat(path)
        if stat.S_ISREG(status.st_mode):
            notes.append(Candidate(path, path, status.st_size, status.st_mtime, False, root))


def is_bundle(folder: str) -> bool:
    """Whether diag saved its tables there: they hold the lines of logs, which would count twice beside the logs themselves."""
    try:
        path = os.path.join(folder, MANIFEST)
        if not stat.S_ISREG(os.stat(path).st_mode):  # opening a pipe would wait for its writer
            return False
        with open(path, "rb") as manifest:
            return of_bundle(manifest.read(MANIFEST_HEAD))
    except OSError:
        return False


def of_bundle(head: bytes) -> bool:
    """Whether a ``manifest.json`` that begins with `head` is of diag; others have files of that name, too."""
    return b'"bundle_format"' in head


def _first_visit(path: str, visited: set[tuple[int, int]]) -> bool:
    try:
        status = os.stat(path)
    except OSError:
        return True  # os.walk reports it
    identity = (status.st_dev, status.st_ino)
    if identity in visited:
        return False
    visited.add(identity)
    return True
