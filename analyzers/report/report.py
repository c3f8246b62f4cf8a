"""The report: everything a renderer needs, and its one JSON form (format 1). See DESIGN.md, section 4."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from analyzers.report.baseline import COUNTS_AS_NEW, Baseline
from analyzers.report.finding import Defect, Finding, NotChecked, Quote, Severity
from analyzers.report.history import Lane
from analyzers.report.noticed import Noticed
from analyzers.tables import Row

RESTARTED_BECAUSE = "Restarted because of "
"""How a verdict begins whose trigger is another fault than its cause."""


def shown_state(row: Row) -> str:
    """The state of a row of ``job_state`` in one word: between two restarts of a loop a job is RUNNING, and is not well."""
    return "RESTARTING" if row["loops"] and row["state"] == "RUNNING" else str(row["state"] or "")


@dataclass(frozen=True)
class Moment:
    """One line of a verdict's timeline."""

    at: datetime | None
    code: str
    says: str


@dataclass(frozen=True)
class Because:
    """An observation that explains a verdict: its effect (`causal.effects`), a clause for people, and where it was reported."""

    effect: str
    says: str
    at: datetime | None = None
    file: str | None = None
    line: int | None = None


@dataclass(frozen=True)
class Verdict:
    """One independent cause of one job."""

    cause: str
    reason: str | None
    code: str
    job: str | None
    since: datetime | None
    trigger: str | None
    subject: dict[str, Any]
    says: str
    fix: str
    confidence: float
    chain: tuple[str, ...]
    timeline: tuple[Moment, ...]
    missing: str | None = None
    next_command: str | None = None
    scope: str = ""
    headline: str | None = None
    steps: tuple[str, ...] = ()
    no_help: str | None = None
    danger: str | None = None
    impact: str | None = None
    """What is late, repeated or lost by it, as far as the evidence shows."""
    weight: tuple[Any, ...] = ()
    """The least comes first; of verdicts of other runs, too."""
    certainty: str = "stated"
    """``stated``, ``implied`` or ``inferred``: how the cause is known."""
    words: tuple[Quote, ...] = ()
    """The decisive words, those of the deepest cause first."""
    because: tuple[Because, ...] = ()
    """What explains it, the deepest cause first."""
    component: str | None = None
    """The connector or client in whose code it failed, with its version where the trace names its jar."""
    advice: tuple[str, ...] = ()
    """What the product itself advises, in its own words."""
    beside: tuple[Quote, ...] = ()
    """What other lines say of the same things, the most telling first: of other processes, of notes, and below an error."""
    changed: tuple[Quote, ...] = ()
    """What was changed before it began, as a line says that names the same things or is near."""
    settings: tuple[Quote, ...] = ()
    """Lines of the evidence that give what its steps would have changed."""
    before: tuple[Quote, ...] = ()
    """The line that stands before each of its failures, word for word: the record, file or batch that fails again."""
    named: Mapping[str, Any] = field(default_factory=dict)
    """What all its lines agree on beside the subject: topic, group, transactional id, file, …"""


@dataclass(frozen=True)
class Source:
    """What was looked at: state is ok, partial or failed."""

    name: str
    kind: str
    state: str
    why: str | None = None


@dataclass(frozen=True)
class Name:
    """What a verdict or a job names that may be the same thing for several jobs: `kind` is address, broker, storage, frame, …"""

    kind: str
    value: str


@dataclass
class Report:
    """All that one run found. Lists are already in their final order."""

    tool: str
    version: str
    command: str
    as_of: datetime | None
    window: tuple[datetime | None, datetime | None]
    sources: list[Source] = field(default_factory=list)
    verdicts: list[Verdict] = field(default_factory=list)
    facts: Mapping[str, Sequence[Row]] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    clean: list[str] = field(default_factory=list)
    not_checked: list[NotChecked] = field(default_factory=list)
    defects: list[Defect] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """Sentences for people: planned restarts, what the numbers rest on, inferred time zones."""
    looked_at: str = ""
    """One clause for the all-clear: "7 files, 4,312 events, 2 jobs"."""
    job_names: Mapping[str, str] = field(default_factory=dict)
    """What the jobs are called, by id: who is on call knows a name, not 32 digits."""
    job_state: Sequence[Row] = ()
    """Rows of the table of this name."""
    history: Sequence[Lane] = ()
    barriers: Mapping[str, Sequence[Row]] = field(default_factory=dict)
    """``vertices``, ``checkpoint_acks`` and ``barrier_frontier`` of the jobs whose verdict is a barrier that is not acknowledged."""
    log_clocks: Sequence[str] = ()
    """How far the clocks of logs without a zone are ahead of UTC, where they are: ``UTC+08:00``. All times of the report are UTC."""
    unseen: list[str] = field(default_factory=list)
    """What this evidence cannot show: the all-clear says so."""
    noticed: Sequence[Noticed] = ()
    """Every WARN, ERROR and fault of the logs by kind, those that findings explain, too."""
    counts: Mapping[str, int] = field(default_factory=dict)
    """The numbers of `looked_at`, by what was counted."""
    log_roles: Mapping[str, int] = field(default_factory=dict)
    """How many logs there were of each role: jobmanager, taskmanager, kafka-broker, …; empty where that was not counted."""
    baseline: Baseline | None = None
    """The earlier look that its findings are compared with."""
    left_out: Sequence[str] = ()
    """Codes of findings that the options of the run left out."""
    surroundings: Sequence[Name] = ()
    """What its jobs stand on, by names that mean the same in every cluster: a Kafka cluster, nodes, images. A fleet's alone."""
    own_rules: Mapping[str, str] = field(default_factory=dict)
    """The rules of a user's own that the run had: titles by code."""
    fragment: str | None = None
    """"2 lines, 1 process", where that is too little for a verdict."""

    @property
    def verdict(self) -> Verdict | None:
        return self.verdicts[0] if self.verdicts else None

    @property
    def found(self) -> list[Finding]:
        """The findings but for those that only say what the evidence does not show (see `unseen`)."""
        return [finding for finding in self.findings if finding.severity is not Severity.UNDECIDED]

    @property
    def unexplained(self) -> list[Noticed]:
        """What no finding explains, but for kinds all of whose lines are of a kind before, too: one event is one."""
        rows: list[Noticed] = []
        seen: set[tuple[str, str | None, int | None]] = set()
        for each in self.noticed:
            places = {(each.scope, one.file, one.line) for one in each.evidence}
            if each.explained_by is None and not (places and places <= seen):
                rows.append(each)
                seen |= places
        return rows

    @property
    def failing(self) -> list[Finding]:
        """The findings that a run may fail by: all that were found, and beside a baseline those that it does not have as they are."""
        return [finding for finding in self.found if finding.change is None or finding.change in COUNTS_AS_NEW]

    @property
    def worst(self) -> Severity | None:
        """The gravest of what the run may fail by."""
        return max((f.severity for f in self.failing), key=lambda s: s.rank, default=None)
