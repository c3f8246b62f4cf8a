"""What a rule is. `analyzers/rules/catalogue.py` finds them; nothing is registered by hand."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from analyzers.report.advice import Line
from analyzers.report.effects import EFFECTS
from analyzers.report.finding import CAUSES, STAGES, Severity
from analyzers.runbooks import advice_by_reason, by_reason, engines_by_reason, page, sections
from analyzers.tables import TABLES, Row
from analyzers.tables.processes import JOBS
from analyzers.vocabulary.quick_looks import STAY, captured, grouped, is_failure, persisted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    Judge = Callable[..., DataFrame]
else:
    Judge = Callable[..., Any]

Text = str | Mapping[str, str]
"""One template, or one per ``reason`` (key ``""`` = any other reason)."""

IfGiven: TypeAlias = Annotated["DataFrame", "if given"]
"""An input table that may be missing: the rule then gets an empty frame of its columns."""

Need = Callable[[Sequence[Row], Mapping[str, Any]], bool]
"""A quick look at the rows of a rule's first table, with its thresholds: False only where the rule cannot find anything in them."""


@dataclass(frozen=True)
class Rule:
    """One rule: its function, what it reads, and the words it speaks.

    ``tables``: required input tables, ``optional``: those that may be missing, ``emptied``: those of them that are then empty, not None.
    ``reason``: of all its findings, where the rule's frame has no such column. ``signatures`` / ``faults``: the rule sees only the
    rows of ``log_events`` and ``log_counts`` / ``faults`` with these ids, and is clean without Spark when there are none, or when
    ``needs`` says that what is there cannot be enough: most rules find nothing in most evidence, and Spark needs a fifth of a second to
    say so.
    ``logs_of``: whose logs can show what a rule about logs looks for; without any of them it is not checked. None named: any log can.
    """

    code: str
    title: str
    cause: str | None
    stage: str
    severity: Severity
    says: Text
    fix: Text
    headline: Text
    advice: Mapping[str, tuple[Line, ...]]
    no_help: Text
    danger: Text
    judge: Judge
    tables: tuple[str, ...]
    optional: tuple[str, ...]
    emptied: frozenset[str]
    signatures: frozenset[str]
    faults: frozenset[str]
    inferred: Text | None = None
    missing: Text | None = None
    next_command: Text | None = None
    logs_of: tuple[str, ...] = JOBS
    needs: Need | None = None
    reason: str | None = None
    thresholds: Mapping[str, Any] = field(default_factory=dict)
    shows: str | None = None
    """The effect (`report.effects`) that a finding states, where it is another than that of its cause."""
    engines: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By reason, the engine (and what stands beside it) in which alone the rule finds this; key ``""``: for any other reason."""
    scanned: frozenset[str] = frozenset()
    """Signatures of a user's own for which the logs must have been scanned (table ``scanned_patterns``): else it is not checked."""

    @property
    def page(self) -> str:
        return f"{self.code}.md"


def rule(
    code: str,
    *,
    title: str,
    stage: str,
    severity: Severity,
    says: Text,
    cause: str | None = None,
    reason: str | None = None,
    signatures: tuple[str, ...] = (),
    faults: tuple[str, ...] = (),
    inferred: Text | None = None,
    missing: Text | None = None,
    next_command: Text | None = None,
    logs_of: tuple[str, ...] = JOBS,
    needs: Need | None = None,
    shows: str | None = None,
) -> Callable[[Judge], Rule]:
    """Make a rule of a function whose positional parameters are its input tables and whose keyword parameters are its thresholds.

    A table annotated ``DataFrame`` is required. One annotated `IfGiven` may be missing, and is then an empty frame of its columns; one
    annotated ``DataFrame | None`` is None then: for a rule to which "nobody looked" says something else than "nothing there".

    The frame it returns has ``scope`` and ``job`` and any of: ``cause``, ``reason``, ``severity``, ``since``, ``until``,
    ``confidence``, ``evidence`` (see `found`); every other column is a fact for the templates, and part of the subject when
    its name is one of ``RULE_KEYS``; columns whose names begin with ``_`` are scratch and left out. Templates are ``str.format`` texts
    over these facts; a part in ``[[…]]`` is dropped when one of its fields is null. In ``says`` ``{headline}`` is the
    headline of the rule's page without its full stop. In ``next_command`` ``{shown_at}`` is where the first
    line of the evidence stands, as ``less`` takes it; a rule without ``next_command`` has to read there. The advice of a finding stands
    on the rule's page (`analyzers/runbooks/`: Headline, Fix, No help, Danger), one text per reason.

    Raises ``ValueError`` for an unknown cause, stage or table, and for a page without advice.
    """
    if cause is not None and cause not in CAUSES:
        raise ValueError(f"{code}: unknown cause {cause}")
    if stage not in STAGES:
        raise ValueError(f"{code}: unknown stage {stage}")
    if shows is not None and shows not in EFFECTS:
        raise ValueError(f"{code}: unknown effect {shows}")

    def make(judge: Judge) -> Rule:
        required: list[str] = []
        optional: list[str] = []
        emptied: set[str] = set()
        thresholds: dict[str, Any] = {}
        for parameter in inspect.signature(judge).parameters.values():
            if parameter.kind is inspect.Parameter.KEYWORD_ONLY:
                thresholds[parameter.name] = parameter.default
            elif parameter.name not in TABLES:
                raise ValueError(f"{code}: no table {parameter.name}")
            elif "if given" in str(parameter.annotation) or parameter.annotation == "IfGiven":  # written out where annotations are texts
                optional.append(parameter.name)
                emptied.add(parameter.name)
            else:
                (optional if "None" in str(parameter.annotation) else required).append(parameter.name)
            if optional and parameter.name in required:
                raise ValueError(f"{code}: {parameter.name} is required and stands behind a table that may be missing")
        if not required:
            raise ValueError(f"{code}: a rule needs at least one table that it cannot do without")
        text = sections(page(code))
        fix = by_reason(text.get("Fix", ""))
        headline, no_help, danger = (by_reason(text.get(name, "")) for name in ("Headline", "No help", "Danger"))
        if not fix:
            raise ValueError(f"{code}: its page has no text under ## Fix")
        return Rule(
            code, title, cause, stage, severity, says, fix, headline, advice_by_reason(text["Fix"]), no_help, danger, judge,
            tuple(required), tuple(optional), frozenset(emptied), frozenset(signatures), frozenset(faults), inferred, missing,
            next_command, logs_of, needs, reason, thresholds, shows, engines_by_reason(code),
        )  # fmt: skip

    return make


def some(holds: Callable[[Row], Any], at_least: int | str = 1) -> Need:
    """The need for `at_least` rows (a number, or the name of a threshold) for which `holds`, or for one beside lines that are only
    counted."""

    def enough(rows: Sequence[Row], thresholds: Mapping[str, Any]) -> bool:
        return _are_enough(sum(1 for row in rows if holds(row)), _number(at_least, thresholds), rows)

    return enough


def has(at_least: int | str = 1, **columns: Collection[Any]) -> Need:
    """As `some`, for rows that have in each of `columns` one of the given values."""

    def enough(rows: Sequence[Row], thresholds: Mapping[str, Any]) -> bool:
        mine = rows
        for name, values in columns.items():
            mine = [row for row in mine if row[name] in values]
        return _are_enough(len(mine), _number(at_least, thresholds), rows)

    return enough


def _are_enough(number: int, at_least: float, rows: Iterable[Row]) -> bool:
    return number >= at_least or (number > 0 and any(row.get("left_out") for row in rows))


def for_long(*, by: str, **columns: str) -> Need:
    """The need for ``enough`` rows of one `by` with these values in `columns`, over ``lasting`` seconds (thresholds of the rule)."""

    def long(rows: Sequence[Row], thresholds: Mapping[str, Any]) -> bool:
        own = (row for row in rows if all(row[name] == value for name, value in columns.items()))
        return any(persisted(same, enough=thresholds["enough"], lasting=thresholds["lasting"]) for same in grouped(own, by).values())

    return long


def _number(at_least: int | str, thresholds: Mapping[str, Any]) -> float:
    number: float = thresholds[at_least] if isinstance(at_least, str) else at_least
    return min(number, STAY)


def matching(pattern: str, captured_as: str | None = None, at_least: int | str = 1) -> Need:
    """The need for rows that have the regular expression `pattern` in their text, or in what they have captured under that name."""
    return some(lambda row: re.search(pattern, (captured(row, captured_as) if captured_as else row["text"]) or ""), at_least)


def either(*needs: Need) -> Need:
    """The need for any of `needs`."""
    return lambda rows, thresholds: any(need(rows, thresholds) for need in needs)


FAILING = some(is_failure)
"""The need for a fault that failed something and is no consequence of another: `failures` knows of no others."""
