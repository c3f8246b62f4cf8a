"""Names of directories that tell whose systems these are: ``/srv/acme-payments/logs`` says as much as a host name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

_EVERYBODYS = frozenset({
    ".", "..", "~", "app", "apps", "archive", "beam", "checkpoint", "checkpoints", "commits", "conf", "containers", "data", "driver",
    "executor", "flink", "ha", "hadoop", "home", "in", "input", "jobmanager", "jobs", "kafka", "lib", "local", "log", "logs", "metadata",
    "mnt", "offsets", "old", "opt", "out", "output", "pods", "private", "raw", "rocksdb", "root", "run", "runs", "savepoints", "server",
    "share", "shared", "sources", "spark", "srv", "state", "storage", "taskmanager", "taskowned", "tmp", "user", "userlogs", "Users",
    "usr", "var", "work", "yarn", "zookeeper",
})  # fmt: skip
_NUMBERED = re.compile(
    r"\d+|(?:jobmanager|taskmanager|executor|driver|broker|worker|chk)-?\d+|(?:application|appattempt|container)_[\w-]+|savepoint-[0-9a-f-]+|[0-9a-f-]{16,}|_\w+"
)
_COMPONENT = re.compile(r"(?<![^/!])[^/!]+(?=/)")
_HOMES = re.compile(r"(?:^|/)(?:homes?|[Uu]sers?)/\Z")

_URI = re.compile(r"\b(?:file|hdfs|viewfs|webhdfs|s3[an]?|gs|abfss?|wasbs?|oss|cosn|obs|swift|dbfs|alluxio):/+[^\s'\"<>|()\[\]{},;]+")
_AUTHORITY = re.compile(r"\w+:(?://[^/]+(?=/|$)|/*(?=/))")
_TRAILING = ".:"


def directories_in(text: str) -> Iterator[str]:
    """The directories of the URIs that `text` names, without scheme and authority; a last part without an ending counts as one."""
    for match in _URI.finditer(text):
        path = _AUTHORITY.sub("", match[0], count=1).rstrip(_TRAILING)
        if path.startswith("/"):
            yield place_of(path)


def place_of(path: str) -> str:
    """The directory that `path` is, or that the file with an ending lies in."""
    return directory_of(path) if "." in path.rpartition("/")[2] else path.rstrip("/")


def directory_of(path: str) -> str:
    """`path` up to its last slash; members of archives stand behind ``!``. Empty for a name alone."""
    return path.rpartition("/")[0]


def without_names(directory: str, token: Callable[[str], str]) -> str:
    """`directory` with `token` of each name in it that is not everybody's, a number or an id; names of users are left to who knows them."""

    def one(match: re.Match[str]) -> str:
        name = match[0]
        kept = name in _EVERYBODYS or _NUMBERED.fullmatch(name) or name.endswith(":") or _HOMES.search(match.string[: match.start()])
        return name if kept else token(name)

    return _COMPONENT.sub(one, directory + "/")[:-1]
