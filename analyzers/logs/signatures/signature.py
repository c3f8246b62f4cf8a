"""What a signature is. Signatures are data (`analyzers/logs/signatures/`): each has the sample line that proves it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Where = Literal["message", "line", "event"]

SHORTEST_LITERAL = 6  # below that a literal hits so often that the scan pays for it on every line
NEVER_CAPTURED = frozenset(
    (
        "scope", "as_of", "at", "zone", "file", "line", "seq", "role", "host", "level", "logger", "thread", "signature", "detail",
        "exception", "root_exception", "root_message", "chain", "user_frame", "frames", "text",
    )
)  # fmt: skip
"""Columns of ``log_events`` that the reader fills from the header, the file or the stack trace."""
OWN = "own-"
"""How the ids of signatures of a user's own rules begin (`analyzers/own_rules/`)."""
_GROUP = re.compile(r"\(\?P<(\w+)>")
_ID = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")


@dataclass(frozen=True)
class Signature:
    """One recognisable log text.

    ``literals``: byte strings (given as text) of which at least one must stand on a line of the event; they are what the
    matcher scans for, so each is as long and as rare as the text allows, at least 6 characters.
    ``pattern``: expression with named groups, *searched* in: ``message`` (first line after the header), ``line`` (the line,
    header or continuation, on which the literal stands, stripped), ``event`` (message and all continuation lines, clipped to
    64 kB). None = the literal alone is enough.
    Named groups become columns of ``log_events`` when they carry a column's name (task, subtask1 = counted from 1, parallelism,
    attempt, execution, checkpoint, topic, partition, tp = "topic-partition", offset, broker, address, resource, group, client,
    operator, vertex, from_state, to_state, duration_ms, job); every other name goes to ``detail``.
    ``logger``: suffix that the event's logger must end with, *where a logger is known* (abbreviated loggers compare by class name).
    ``keep``: how many events of one (signature, job, task, exception, role of the log) group survive selection: the first n and the last m.
    ``apart``: named groups whose values make groups of their own, too: of two brokers that do not answer, each one's lines survive.
    ``family``: name of the signatures that mean something only beside each other (lost, found): of a job they survive for the same times.
    """

    id: str
    literals: tuple[str, ...]
    sample: str
    says: str
    pattern: str | None = None
    where: Where = "message"
    logger: str | None = None
    levels: tuple[str, ...] = ()
    ref: str | None = None
    versions: str = "all"
    keep: tuple[int, int] = (5, 1)
    apart: tuple[str, ...] = ()
    family: str | None = None

    def __post_init__(self) -> None:
        """Raises ``ValueError`` with a sentence for what would never match, or would fill a column that is not its own."""
        if wrong := self._wrong():
            raise ValueError(f"signature {self.id}: {wrong}")

    def _wrong(self) -> str | None:
        if not _ID.fullmatch(self.id):
            return "an id is words in lower case with hyphens between them, such as checkpoint-expired"
        short = self.sample and any(len(literal) < SHORTEST_LITERAL or "\n" in literal for literal in self.literals)
        if not self.literals or short:
            return f"it needs literals of at least {SHORTEST_LITERAL} characters, each on one line"
        if self.sample and not any(literal in self.sample for literal in self.literals):
            return f"none of its literals stands in its sample: {', '.join(self.literals)}"
        if self.sample and self.levels and not any(re.search(rf"\b{level}\b", self.sample.partition("\n")[0]) for level in self.levels):
            return f"its sample has none of its levels ({', '.join(self.levels)}): name the level where the sample is made"
        names = set(_GROUP.findall(self.pattern or ""))
        if taken := names & NEVER_CAPTURED:
            return f"a group may not be called {', '.join(sorted(taken))}: that column is filled by the reader; choose another name"
        if unknown := set(self.apart) - names:
            return f"apart names {', '.join(sorted(unknown))}, which is no group of its pattern"
        if {"subtask", "subtask1"} <= names:
            return "subtask counts from 0 and subtask1 from 1: one of the two"
        return None
