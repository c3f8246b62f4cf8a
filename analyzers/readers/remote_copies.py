"""What is read as a whole, brought here from an object store: bundles, and saved answers of a JobManager."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from analyzers.budget import BUDGET
from analyzers.bundle.held import HeldDirectory
from analyzers.readers.remote_files import files_below, open_remote, remote_entry
from analyzers.readers.trees import Entry

MOST_FILES = BUDGET.copied_files
MOST_BYTES = BUDGET.copied_bytes


def fetched(uri: str, suffix: str = "") -> HeldDirectory:
    """A copy of all files below `uri` whose names end with `suffix`, or of the one that it names; it goes with the object that is returned.

    Raises ``OSError``, and ``ValueError`` where it is more than MOST_FILES or MOST_BYTES.
    """
    copy = HeldDirectory("copy")
    left = MOST_BYTES
    for number, entry in enumerate(_files(uri, suffix)):
        left -= entry.size
        if number >= MOST_FILES or left < 0:
            raise ValueError(f"{uri} has more than {MOST_FILES:,} files or {MOST_BYTES >> 30} GB: copy what matters of it here")
        target = copy.path / _below(uri, entry.path)
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with open_remote(entry.path) as stream, target.open("wb") as stored:
            while piece := stream.read(1 << 20):
                stored.write(piece)
        if entry.modified is not None:  # when answers were saved
            os.utime(target, (entry.modified.timestamp(),) * 2)
    return copy


def _files(uri: str, suffix: str) -> Iterator[Entry]:
    whole = remote_entry(uri)
    if not whole.directory:
        yield whole
        return
    for entry in files_below(uri):
        if isinstance(entry, OSError):
            raise entry
        if entry.name.endswith(suffix):
            yield entry


def _below(root: str, path: str) -> PurePosixPath:
    """Where `path` lies below `root`; a driver may spell the store itself in another way. Names of a store can be any text."""
    root, path = (re.sub(r"^[^:]+://", "", each).strip("/") for each in (root, path))
    if root == path:
        root = root.rpartition("/")[0]
    parts = PurePosixPath(path.removeprefix(root).lstrip("/")).parts
    if not parts or ".." in parts or not path.startswith(f"{root}/"):
        raise ValueError(f"{path} is a name that no copy can have")
    return PurePosixPath(*parts)
