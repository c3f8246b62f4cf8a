"""Logs of many files in one: `yarn logs` and `tail` name each file above its lines."""

from __future__ import annotations

import re

_CONTAINER = re.compile(rb"Container: (container_\S+) on (\S+?)(?:_\d+)?\s*$")
_LOG_TYPE = re.compile(rb"LogType: ?(\S+)\s*$")
_YARN_NOISE = re.compile(
    rb"(?:LogAggregationType|Log Upload Time|LogLastModifiedTime|LogLength|Log Length|LogContents|Log Contents|End of LogType ?"
    rb"|End of LogType\S*): ?.*$|=+\s*$|\*+\s*$"
)
_TAIL_HEAD = re.compile(rb"==> (.+) <==\s*$")
_ANY = re.compile(rb"^(?:Container: container_\S+ on \S+|LogType: ?\S+\s*$|==> .+ <==\s*$)", re.MULTILINE)


def has_sections(head: bytes) -> bool:
    """Whether a text names files above their lines."""
    return bool(_ANY.search(head))


def heading(line: bytes, above: list[str]) -> list[str] | None:
    """The names that stand for what follows below `line`, where those `above` did so far; None: it is no heading but a line of the log."""
    if m := _CONTAINER.match(line):
        return [m[1].decode("utf-8", "replace")]
    if m := _LOG_TYPE.match(line):
        return [*above[:1], m[1].decode("utf-8", "replace")]
    if m := _TAIL_HEAD.match(line):
        return [m[1].decode("utf-8", "replace")]
    return above if above and _YARN_NOISE.match(line) else None
