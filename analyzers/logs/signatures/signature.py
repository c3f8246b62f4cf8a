"""What a signature is. Signatures are data (`analyzers/logs/signatures/`): each has the sample line that proves it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Where = Literal["message", "line", "event"]


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
