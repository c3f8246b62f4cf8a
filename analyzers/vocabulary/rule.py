"""What a rule is, and how the rules are found: a module in `analyzers/rules/` is a rule; nothing is registered by hand."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from analyzers.diagnosis.coverage import JOBS
from analyzers.report.finding import CAUSES, STAGES, Severity
from analyzers.tables import TABLES, Row

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    Judge = Callable[..., DataFrame]
else:
    Judge = Callable[..., Any]

Text = str | Mapping[str, str]
"""One template, or one per ``reason`` (key ``""`` = any other reason)."""

Need = Callable[[Sequence[Row], Mapping[str, Any]], bool]
"""A quick look at the rows of a rule's first table, with its thresholds: False only where the rule cannot find anything in them."""


@dataclass(frozen=True)
class Rule:
    """One rule: its function, what it reads, and the words it speaks.

    ``tables``: required input tables, ``optional``: those that may be None. ``signatures`` / ``faults``: the rule sees only the
    rows of ``log_events`` and ``log_counts`` / ``faults`` with these ids, and is clean without Spark when there are none, or when
    ``needs`` says that what is there cannot be enough: most rules find nothing in most evidence, and Spark needs a fifth of a second to
    say so.
    ``logs_of``: whose logs can show what a rule about logs looks for; without any of them it is not checked.
    """

    code: str
    title: str
    cause: str | None
    stage: str
    severity: Severity
    says: Text
    fix: Text
    judge: Judge
    tables: tuple[str, ...]
    optional: tuple[str, ...]
    signatures: frozenset[str]
    faults: frozenset[str]
    inferred: Text | None = None
    missing: Text | None = None
    next_command: Text | None = None
    logs_of: tuple[str, ...] = JOBS
    needs: Need | None = None
    thresholds: Mapping[str, Any] = field(default_factory=dict)

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
    fix: Text,
    cause: str | None = None,
    signatures: tuple[str, ...] = (),
    faults: tuple[str, ...] = (),
    inferred: Text | None = None,
    missing: Text | None = None,
    next_command: Text | None = None,
    logs_of: tuple[str, ...] = JOBS,
    needs: Need | None = None,
) -> Callable[[Judge], Rule]:
    """Make a rule of a function whose positional parameters are its input tables and whose keyword parameters are its thresholds.

    The frame it returns has ``scope`` and ``job`` and any of: ``cause``, ``reason``, ``severity``, ``since``, ``until``,
    ``confidence``, ``evidence`` (see `exemplars`); every other column is a fact for the templates, and part of the subject when
    its name is one of ``SUBJECT_KEYS``. Templates are ``str.format`` texts over these facts; a part in ``[[…]]`` is dropped when one
    of its fields is null. In ``next_command`` ``{shown_at}`` is where the first line of the evidence stands, as ``less`` takes it; a
    rule without ``next_command`` has to read there.

    Raises ``ValueError`` for an unknown cause, stage or table.
    """
    if cause is not None and cause not in CAUSES:
        raise ValueError(f"{code}: unknown cause {cause}")
    if stage not in STAGES:
        raise ValueError(f"{code}: unknown stage {stage}")

    def make(judge: Judge) -> Rule:
        required: list[str] = []
        optional: list[str] = []
        thresholds: dict[str, Any] = {}
        for parameter in inspect.signature(judge).parameters.values():
            if parameter.kind is inspect.Parameter.KEYWORD_ONLY:
                thresholds[parameter.name] = parameter.default
            elif parameter.name not in TABLES:
                raise ValueError(f"{code}: no table {parameter.name}")
            else:
                (optional if "None" in str(parameter.annotation) else required).append(parameter.name)
        if not required:
            raise ValueError(f"{code}: a rule needs at least one table that it cannot do without")
        return Rule(
            code, title, cause, stage, severity, says, fix, judge, tuple(required), tuple(optional),
            frozenset(signatures), frozenset(faults), inferred, missing, next_command, logs_of, needs, thresholds,
        )  # fmt: skip

    return make


def has(at_least: int | str = 1, **columns: Collection[Any]) -> Need:
    """The need for `at_least` rows (a number, or the name of a threshold) that have in each of `columns` one of the given values."""

    def enough(rows: Sequence[Row], thresholds: Mapping[str, Any]) -> bool:
        wanted = thresholds[at_least] if isinstance(at_least, str) else at_least
        return sum(all(row[name] in values for name, values in columns.items()) for row in rows) >= wanted

    return enough


FAILING = has(fatal=(True,), consequence=(False, None))
"""The need for a fault that failed something and is no consequence of another: `failures` knows of no others."""


def exemplars(table: str = "log_events", most: int = 5, where: Column | None = None) -> Column:
    """Aggregate: the first `most` rows of a group as evidence (table, file, line, at, text), ordered by time, file and line."""
    from pyspark.sql import functions as F

    # a fault began when the first line told of it, and is shown by the line that tells most
    row = F.struct(
        (F.coalesce("line_at", "at") if table == "faults" else F.col("at")).alias("at"),
        F.col("file").alias("file"),
        F.col("line").alias("line"),
        F.lit(table).alias("table"),
        F.col("text").alias("text"),
    )
    kept = row if where is None else F.when(where, row)
    return F.slice(F.array_sort(F.collect_set(kept)), 1, most).alias("evidence")


def rule_codes() -> list[str]:
    """The codes of all rules, told by their file names alone: nothing is imported to refuse a mistyped ``--only``."""
    import analyzers.rules as house

    return sorted(module.name.partition("_")[0].upper() for module in pkgutil.iter_modules(house.__path__) if "_" in module.name)


@lru_cache(maxsize=1)
def load_rules() -> tuple[Rule, ...]:
    """Every rule of `analyzers/rules/`, ordered by code. Raises ``ValueError`` when two share a code or a file name tells another one."""
    import pyspark  # noqa: F401  # whole, before rules import its parts: the thread that starts Spark imports it too, and half of it would be seen

    import analyzers.rules as house

    found: dict[str, Rule] = {}
    for module_info in pkgutil.iter_modules(house.__path__):
        module = importlib.import_module(f"{house.__name__}.{module_info.name}")
        for value in vars(module).values():
            if isinstance(value, Rule) and value.judge.__module__ == module.__name__:
                if value.code in found or not module_info.name.startswith(value.code.lower() + "_"):
                    raise ValueError(f"{module_info.name}: {value.code} is taken, or the file is not named after it")
                found[value.code] = value
    return tuple(found[code] for code in sorted(found))
