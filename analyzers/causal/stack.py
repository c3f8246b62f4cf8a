"""Where a thread waits: the call of a client or driver on top of its stack, and the line of the user's own code that made it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from analyzers.logs.layouts.exceptions import is_framework

_FRAME = re.compile(r"^[ \t]*(?:at )?(?:[\w.@-]+/{1,2})?(?P<call>(?:[A-Za-z_$][\w$]*\.)+[\w$<>]+)\((?P<place>[^()\n]*)\)", re.MULTILINE)
_OF_RUNTIME = re.compile(r"(?:java|javax|jdk|sun|com\.sun|scala|kotlin)\.")
_OF_ENGINE = re.compile(r"org\.apache\.(?:flink|spark|beam)\.|akka\.|org\.apache\.pekko\.|py4j\.")
_ENOUGH = 2
"""Frames: one alone may be a word in brackets."""


@dataclass(frozen=True)
class Waiting:
    """The top call that is neither the runtime's nor the engine's, and the first one of the user's code, each with its place."""

    call: str | None
    own: str | None

    @property
    def words(self) -> str:
        """``org.postgresql.jdbc.PgStatement.execute(PgStatement.java:12), called from acme.Lookup.map(Lookup.java:7)``."""
        return ", called from ".join(filter(None, (self.call, self.own)))


def _client(name: str) -> str:
    """The first two words of a package: whose client it is."""
    return ".".join(name.split(".")[:2])


@lru_cache(maxsize=256)
def waits_in(text: str) -> Waiting | None:
    """What the first stack in `text` waits in; None where it holds none, or only frames of the runtime and the engine."""
    call = own = client = None
    frames = 0
    for frame in _FRAME.finditer(text):
        frames += 1
        name = frame["call"]
        if _OF_RUNTIME.match(name) or _OF_ENGINE.match(name):
            continue
        shown = f"{name}({frame['place']})"
        if not is_framework(name.rpartition(".")[0]):
            own = shown
            break
        client = client or _client(name)
        if _client(name) == client:  # the frame through which the caller went into the client says most
            call = shown
    return Waiting(call, own) if frames >= _ENOUGH and (call or own) else None
