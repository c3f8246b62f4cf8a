"""Logs of many files in one: `yarn logs` and `tail` name each file above its lines."""

from __future__ import annotations

import re

from analyzers.logs.matching.expressions import expression

_CONTAINER = expression(rb"Container: (container_\S+) on (\S+?)(?:_\d+)?\s*$")
_LOG_TYPE = expression(rb"LogType: ?(\S+)\s*$")
_YARN_NOISE = expression(
    rb"(?:LogAggregationType|Log Upload Time|LogLastModifiedTime|LogLength|Log Length|LogContents|Log Contents|End of LogType ?"
    rb"|End of LogType\S*): ?.*$|=+\s*$|\*+\s*$"
)
_TAIL_HEAD = expression(rb"==> (.+) <==\s*$")
_ANY = expression(rb"^(?:Container: container_\S+ on \S+|LogType: ?\S+\s*$|==> .+ <==\s*$)", re.MULTILINE)


_SIGNS = (b"Container: container_", b"LogType:", b"==> ")  # found ten times as quickly as the beginnings of lines
OPENERS = b"CL="  # first bytes of a line that names a file


def has_sections(head: bytes) -> bool:
    """Whether a text names files above their lines."""
    return any(sign in head for sign in _SIGNS) and bool(_ANY.search(head))


def is_named(text: bytes, start: int) -> bool:
    """Whether the line at `start` names a file."""
    return bool(_ANY.match(text, start))


def heading(line: bytes, above: list[str]) -> list[str] | None:
    """The names that stand for what follows below `line`, where those `above` did so far; None: it is no heading but a line of the log."""
    if m := _CONTAINER.match(line):
        return [m[1].decode("utf-8", "replace")]
    if m := _LOG_TYPE.match(line):
        return [*above[:1], m[1].decode("utf-8", "replace")]
    if m := _TAIL_HEAD.match(line):
        return [m[1].decode("utf-8", "replace")]
    return above if above and _YARN_NOISE.match(line) else None
