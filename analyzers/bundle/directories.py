"""Names of directories that tell whose systems these are: ``/srv/acme-payments/logs`` says as much as a host name."""

from __future__ import annotations

import re
from collections.abc import Callable

_EVERYBODYS = frozenset({
    ".", "..", "~", "app", "apps", "archive", "beam", "containers", "data", "driver", "executor", "flink", "hadoop", "home", "jobmanager",
    "jobs", "kafka", "lib", "local", "log", "logs", "mnt", "old", "opt", "pods", "private", "raw", "root", "run", "server", "share",
    "spark", "srv", "storage", "taskmanager", "tmp", "user", "userlogs", "Users", "usr", "var", "work", "yarn", "zookeeper",
})  # fmt: skip
_NUMBERED = re.compile(
    r"\d+|(?:jobmanager|taskmanager|executor|driver|broker|worker|chk)-?\d+|(?:application|appattempt|container)_[\w-]+|[0-9a-f-]{16,}"
)
_COMPONENT = re.compile(r"(?<![^/!])[^/!]+(?=/)")
_HOMES = re.compile(r"(?:^|/)(?:home|Users|user)/\Z")


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
