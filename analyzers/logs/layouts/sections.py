"""Logs of many files in one: `yarn logs`, `tail` and `kubectl cluster-info dump` name each file, or container, above its lines."""

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
_POD_BEGINS = expression(rb"==== START logs for container (?P<container>\S+) of pod [^\s/]+/(?P<pod>\S+) ====\s*$")
_POD_ENDS = expression(rb"==== END logs for container \S+ of pod \S+ ====\s*$")
_ANY = expression(
    rb"^(?:Container: container_\S+ on \S+|LogType: ?\S+\s*$|==> .+ <==\s*$|==== START logs for container \S+ of pod \S+ ====\s*$)",
    re.MULTILINE,
)


_SIGNS = (
    b"Container: container_",
    b"LogType:",
    b"==> ",
    b"==== START logs for container ",
)  # found ten times as quickly as the beginnings of lines
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
    if m := _POD_BEGINS.match(line):
        return [f"{m['pod'].decode('utf-8', 'replace')}/{m['container'].decode('utf-8', 'replace')}"]
    return above if above and (_YARN_NOISE.match(line) or _POD_ENDS.match(line)) else None
