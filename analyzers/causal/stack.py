"""Where a thread waits: the call of a client or driver on top of its stack, and the line of the user's own code that made it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from analyzers.components import is_user, role_of, system_of

_FRAME = re.compile(r"^[ \t]*(?:at )?(?:[\w.@-]+/{1,2})?(?P<call>(?:[A-Za-z_$][\w$]*\.)+[\w$<>]+)\((?P<place>[^()\n]*)\)", re.MULTILINE)
_BELOW = frozenset({"runtime", "engine", "library"})
"""Roles of frames that neither call a system themselves nor are the user's."""
_ENOUGH = 2
"""Frames: one alone may be a word in brackets."""


@dataclass(frozen=True)
class Waiting:
    """The top call that is neither the runtime's nor the engine's, and the first one of the user's code, each with its place."""

    call: str | None
    own: str | None
    system: str | None = None
    """What the client calls: PostgreSQL."""

    @property
    def words(self) -> str:
        """``a call of PostgreSQL, org.postgresql.PgStatement.execute(PgStatement.java:12), called from acme.Lookup.map(Lookup.java:7)``."""
        calls = ", called from ".join(filter(None, (self.call, self.own)))
        return f"a call of {self.system}, {calls}" if self.system else calls


def _client(name: str) -> str:
    """The first two words of a package: whose client it is."""
    return ".".join(name.split(".")[:2])


_MOST_OWN = 2


@lru_cache(maxsize=256)
def own_frames(text: str) -> str | None:
    """The innermost frames of the user's own code: ``Wkb.read (Wkb.java:91), called from PolygonCache.load (PolygonCache.java:58)``."""
    found: list[str] = []
    for frame in _FRAME.finditer(text):
        name = frame["call"]
        shown = f"{'.'.join(name.split('.')[-2:])} ({frame['place']})"
        if is_user(name) and shown not in found:
            found.append(shown)
        if len(found) == _MOST_OWN:
            break
    return ", called from ".join(found) or None


def client_call(frames: Sequence[str]) -> str | None:
    """The frame through which a stack, innermost frame first, went into the client on its top: ``PgPreparedStatement.executeBatch``."""
    call = client = None
    for name in frames:
        if role_of(name) in _BELOW and client is None:
            continue
        if client is not None and _client(name) != client:
            break
        call, client = name, _client(name)
    return ".".join(call.split(".")[-2:]) if call is not None and not is_user(call) else None


@lru_cache(maxsize=256)
def waits_in(text: str) -> Waiting | None:
    """What the first stack in `text` waits in; None where it holds none, or only frames of the runtime and the engine."""
    call = own = client = None
    frames = 0
    for frame in _FRAME.finditer(text):
        frames += 1
        name = frame["call"]
        if role_of(name) in _BELOW:
            continue
        shown = f"{name}({frame['place']})"
        if is_user(name):
            own = shown
            break
        client = client or _client(name)
        if _client(name) == client:  # the frame through which the caller went into the client says most
            call = shown
    return Waiting(call, own, system_of(call.partition("(")[0]) if call else None) if frames >= _ENOUGH and (call or own) else None
