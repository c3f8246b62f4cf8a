"""Signatures made ready to match, and their named groups turned into columns of `log_events`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np

from analyzers.logs.matching.expressions import expression
from analyzers.logs.matching.matcher import Backend, Matcher
from analyzers.logs.scan.memo import DIGIT, Memo, sees_digits
from analyzers.logs.scan.remarks import REMARK_WORDS
from analyzers.logs.scan.selection import Sated
from analyzers.logs.signatures.signature import OWN, Signature
from analyzers.tables import LOG_EVENTS

# What the kernel itself wants to see: errors, exceptions, start banners, client versions, remarks.
ERROR_WORDS = (b"ERROR", b"FATAL", b"SEVERE", b"CRITICAL", b"[error", b"- error", b"[crit", b" E! ")
EXCEPTION_WORDS = (b"Exception", b"Error", b"Throwable", b"Traceback (most recent call last)", b"Caused by: ")
BANNER_WORDS = (b" (Version: ", b"Kafka version: ", b"Kafka version : ", b"Running Spark version ")
UNCLEAN = b"[Stage "  # what Spark's console redraws in place, without a line break
INTERNAL = (*ERROR_WORDS, *EXCEPTION_WORDS, *BANNER_WORDS, *REMARK_WORDS, UNCLEAN)
# What a literal is: one of the four kinds of words, a literal of signatures, and of such that care which digit stands where
# or that may look at the time stamp; or it is no hit at all, but the sign that the text is not clean.
ERROR, EXCEPTION, START, SIGNED, DIGITS, STAMPED, DIRTY, REMARK = 1, 2, 4, 8, 16, 32, 64, 128

_INTEGERS = {column.name for column in LOG_EVENTS.columns if column.type == "long"}
_COLUMNS = {column.name for column in LOG_EVENTS.columns} - {
    "scope", "as_of", "at", "zone", "file", "line", "seq", "signature", "detail", "chain", "frames", "text",
}  # fmt: skip
_KINDS = {**dict.fromkeys(_COLUMNS, str), **dict.fromkeys(_INTEGERS, int)}
_COORDINATOR = 2_147_483_647  # a group coordinator's connection has the id MAX_INT - broker id (kafka-clients AbstractCoordinator)
_TASK_THREAD = re.compile(r"(?:Legacy Source Thread - |Source Data Fetcher for )?(\S.*) \((\d+)/(\d+)\)#(\d+)(?: \(.*\))?")
"""Names of the threads of a task: `Task` and `SourceStreamTask` of Flink 1.12 and later."""
_CLIENT = re.compile(r"\[(?:Consumer|Producer|AdminClient) (?:instanceId=[^,\]]*, )?clientId=([^,\]]*)(?:, groupId=([^,\]]*))?")


@dataclass(frozen=True)
class Prepared:
    """One signature and its expression."""

    signature: Signature
    pattern: re.Pattern[str] | None
    logger_class: str | None
    names: frozenset[str] = frozenset()  # of the groups of its expression

    @property
    def picky(self) -> bool:
        """Whether level or logger matter to it."""
        return bool(self.signature.levels or self.signature.logger)

    @property
    def sees_digits(self) -> bool:
        """Whether two lines that differ in their digits only may not be the same to it."""
        return sees_digits(self.signature.pattern or "") or bool(DIGIT.search(self.signature.logger or ""))

    def fits(self, level: str | None, logger: str | None) -> bool:
        """Whether level and logger allow it; what is unknown allows everything. An abbreviated logger compares by class name."""
        if self.signature.levels and level is not None and level not in self.signature.levels:
            return False
        wanted = self.signature.logger
        if not wanted or not logger:
            return True
        return logger.endswith(wanted) or (_abbreviated(logger) and logger.rsplit(".", 1)[-1] == self.logger_class)


def _abbreviated(logger: str) -> bool:
    return "." not in logger or any(len(part) == 1 for part in logger.split(".")[:-1])


_GROUP = re.compile(r"\(\?P<(\w+)>")


def prepare(signature: Signature) -> Prepared:
    """With its expression, which is compiled when it is first asked."""
    flags = re.DOTALL if signature.where == "event" else 0
    pattern, names = _expression_of(signature.pattern, flags) if signature.pattern else (None, frozenset[str]())
    logger_class = signature.logger.rsplit(".", 1)[-1] if signature.logger else None
    return Prepared(signature, pattern, logger_class, names)


@cache
def _expression_of(pattern: str, flags: int) -> tuple[re.Pattern[str], frozenset[str]]:
    """With the names of its groups. One for all clusters that are read: there are more expressions than `re` remembers."""
    return expression(pattern, flags), frozenset(_GROUP.findall(pattern))


class Catalogue:
    """All signatures, the matcher over their literals, and what a literal speaks for: signatures, and `flags`."""

    def __init__(self, signatures: Sequence[Signature], backend: Backend | None = None) -> None:
        self.prepared = [prepare(signature) for signature in signatures]
        literals: dict[bytes, list[int]] = {word: [] for word in INTERNAL}
        for number, signature in enumerate(signatures):
            for literal in signature.literals:
                literals.setdefault(literal.encode(), []).append(number)
        self.by_literal = [[(number, self.prepared[number]) for number in numbers] for numbers in literals.values()]
        self.flags = np.array(
            [_flags_of(word) | _flags_for(word, known) for word, known in zip(literals, self.by_literal, strict=True)], np.uint8
        )
        self.matcher = Matcher(list(literals), backend)
        self.has_own = any(signature.id.startswith(OWN) for signature in signatures)
        self.memo = Memo()
        self.sated: Sated = {}

    def sparing(self, sated: Sated) -> Catalogue:
        """The same, with what need not be kept any more."""
        other = copy(self)
        other.sated = sated
        return other


def _flags_of(word: bytes) -> int:
    kinds = ((ERROR, ERROR_WORDS), (EXCEPTION, EXCEPTION_WORDS), (START, BANNER_WORDS), (REMARK, REMARK_WORDS), (DIRTY, (UNCLEAN,)))
    return sum(kind for kind, words in kinds if word in words)


def _flags_for(word: bytes, known: Sequence[tuple[int, Prepared]]) -> int:
    digits = any(p.sees_digits for _, p in known) or bool(DIGIT.search(word.decode()))
    return SIGNED * bool(known) | DIGITS * digits | STAMPED * any(p.signature.where == "line" for _, p in known)


@lru_cache(maxsize=8)
def _cached(signatures: tuple[Signature, ...], backend: Backend | None) -> Catalogue:
    return Catalogue(signatures, backend)


def catalogue(signatures: Sequence[Signature] | None = None, backend: Backend | None = None, own: tuple[Signature, ...] = ()) -> Catalogue:
    """The catalogue of `signatures` (None = all of the package's) and of a user's `own`, made once per process."""
    if signatures is None and not own:
        return _of_package(backend)
    return _cached((*(_all() if signatures is None else signatures), *own), backend)


def _all() -> tuple[Signature, ...]:
    from analyzers.logs.signatures import SIGNATURES  # here: the kernel must be usable, and testable, without them

    return SIGNATURES


@cache
def _of_package(backend: Backend | None) -> Catalogue:
    """Found without a look at each signature: to hash them all takes a millisecond, as does the scan of a small file."""
    return _cached(_all(), backend)


def columns(groups: dict[str, str | None]) -> dict[str, object]:
    """Named groups as columns; those that carry no column's name go to ``detail``. Groups that took no part are left out."""
    found: dict[str, object] = {}
    detail: dict[str, str] = {}
    for name, value in groups.items():
        if value is None:
            continue
        kind = _KINDS.get(name)
        if kind is str:
            found[name] = value
        elif kind is int:
            number = _integer(value)
            if number is None:
                detail[name] = value
            else:
                found[name] = _broker(number) if name == "broker" else number
        elif name == "tp":
            topic, _, partition = value.rpartition("-")
            if topic and partition.isdigit():
                found["topic"], found["partition"] = topic, int(partition)
            else:
                detail[name] = value
        elif name == "subtask1":
            found["subtask"] = int(value) - 1
        else:
            detail[name] = value
    if detail:
        found["detail"] = detail
    return found


def _integer(text: str) -> int | None:
    try:
        number = int(text.replace(",", ""))
    except ValueError:
        return None
    return number if -(2**63) <= number < 2**63 else None


def _broker(number: int) -> int:
    """Coordinator connections folded back to the broker's id; negative ids (bootstrap entries) stay."""
    return _COORDINATOR - number if number > _COORDINATOR - 1_000_000 else number


def client_columns(message: str) -> dict[str, object]:
    """Client and group of the tag that kafka-clients prints in front of each message (LogContext)."""
    m = _CLIENT.search(message)
    return {} if m is None else {"client": m[1], **({"group": m[2]} if m[2] and m[2] != "null" else {})}


def task_columns(thread: str) -> dict[str, object]:
    """Task, subtask, attempt and role by the name of a thread, nothing where it names no task: such threads run in TaskManagers."""
    m = _TASK_THREAD.fullmatch(thread)
    return {} if m is None else {"task": m[1], "subtask": int(m[2]) - 1, "attempt": int(m[4]), "role": "taskmanager"}
