"""What a rule says about a job: found, clean, or not checked, because."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import Any

from analyzers.report.advice import Line


class Severity(str, Enum):
    """How bad; ``CRITICAL`` stops or falsifies the job. ``UNDECIDED``: the evidence ends where it would show whether all is well."""

    UNDECIDED = "undecided"
    INFO = "info"
    WARNING = "warning"
    CRITICAL = "critical"

    @property
    def rank(self) -> int:
        return ("undecided", "info", "warning", "critical").index(self.value)


CAUSES = (
    "broker-unreachable", "external-system", "barrier-unacknowledged", "no-progress", "poison-record", "duplicate-split",
    "offset-commit", "offset-reset", "jobmanager-lost", "taskmanager-lost", "checkpoint-storage", "other",
)  # fmt: skip
"""The closed list of causes, part of the JSON contract."""

STAGES = ("access", "failure", "restart", "checkpoint", "commit", "lag", "risk")
"""Stages in causal order: an earlier one explains a later one."""

RULE_KEYS = (
    "task", "subtask", "parallelism", "operator", "host", "resource", "topic", "partition", "offset", "broker", "address",
    "attempt", "checkpoint", "split", "group", "client", "execution", "source", "query", "batch", "exit_code", "exception", "user_frame",
    "connector", "connector_task", "deployment", "application", "streams_task", "run", "executor", "container", "path",
)  # fmt: skip
"""Keys of a subject that a rule's columns of the same names fill."""

NAMED_KEYS = ("user_line", "error", "setting", "quota", "requested", "limit", "pod", "image", "wanted", "earliest", "worker")
"""Keys that only the evidence fills: the line of the user's own code as the trace prints it, the decisive word of the failure as its
product spells it, the setting or quota that it names, the pod and image, the position that a source wants and the first
one left, the Connect worker of a task."""

SUBJECT_KEYS = (*RULE_KEYS, *NAMED_KEYS)
"""Keys that a finding's subject may carry; only the known ones are present. ``subtask`` counts from 0."""


@dataclass(frozen=True)
class Evidence:
    """One row that shows it."""

    table: str
    file: str | None
    line: int | None
    at: datetime | None
    text: str


@dataclass(frozen=True)
class Quote:
    """The decisive words of a process, as it printed them: `thrown` is the class of the exception whose message they are."""

    words: str
    thrown: str | None = None
    file: str | None = None
    line: int | None = None
    count: int = 1
    """In how many lines the same was said."""


@dataclass(frozen=True)
class Finding:
    """One finding of one rule on one job; see DESIGN.md, section 4, for the JSON contract."""

    code: str
    cause: str | None
    reason: str | None
    stage: str
    severity: Severity
    confidence: float
    job: str | None
    subject: dict[str, Any]
    since: datetime | None
    until: datetime | None
    says: str
    inferred: str | None
    fix: str
    evidence: tuple[Evidence, ...]
    page: str
    scope: str = ""
    headline: str | None = None
    """What is broken, and where, in at most 25 words."""
    steps: tuple[str, ...] = ()
    """The advice in at most three steps that can be typed or pasted."""
    no_help: str | None = None
    """What is often tried and does not help."""
    danger: str | None = None
    """What can be lost by following the advice."""
    missing: str | None = None
    """What the evidence cannot hold about the culprit, and the source that has it."""
    detail: dict[str, Any] = field(default_factory=dict)
    """Facts of the rule that are neither subject nor contract (never in JSON)."""
    passed: bool = False
    """It is over: the job went on, or had ended before it."""
    words: tuple[Quote, ...] = ()
    """Of a run without a verdict the decisive words."""
    beside: tuple[Quote, ...] = ()
    """Of a run without a verdict what other lines say of the same things."""
    changed: tuple[Quote, ...] = ()
    """Of a run without a verdict what was changed before it began."""
    advice: tuple[Line, ...] = ()
    """All that its page advises, of which `steps` and `fix` are what holds for the program (never in JSON)."""
    change: str | None = None
    """What became of it since the baseline of the run (`report/baseline.py`); None where there is none."""
    was: str | None = None
    """How it differs from what the baseline has, or why that could not see it, a clause."""
    engines: tuple[str, ...] = ()
    """The engine (and what stands beside it) in which alone its rule finds this (never in JSON)."""


@dataclass(frozen=True)
class NotChecked:
    """A rule that could not judge, and why."""

    code: str
    because: str


@dataclass(frozen=True)
class Defect:
    """A rule of ours that crashed. `errno`: what the system answered, where that was it."""

    code: str
    error: str
    errno: int | None = None
