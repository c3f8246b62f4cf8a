"""The contract of the report, held against every report that any test makes: what `judge` gives and what a command prints."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import jsonschema

if TYPE_CHECKING:
    from analyzers.report.report import Report

MADE: list[Report] = []
"""By the test that runs; they are looked at when it has ended, as they are then."""
_ROWS = 5  # of each table: the rest are like them
_MOST_FINDINGS = 200  # the report of all bundles at once has a test of its own


def noted(make: Callable[..., Any], report_of: Callable[[tuple[Any, ...], Any], Report]) -> Callable[..., Any]:
    """`make`, and the report that `report_of` sees in its arguments and result is noted."""

    @functools.wraps(make)
    def call(*arguments: Any, **options: Any) -> Any:
        result = make(*arguments, **options)
        MADE.append(report_of(arguments, result))
        return result

    return call


def watch() -> None:
    """From now on note the reports that are made. To be called before tests import what makes them."""
    from analyzers.diagnosis import diagnose
    from cli.shell import output

    diagnose.judge = noted(diagnose.judge, lambda _, report: report)
    output.emit = noted(output.emit, lambda arguments, _: arguments[0])


@lru_cache
def _schema() -> jsonschema.Draft202012Validator:
    from analyzers.report.schema import report_schema

    return jsonschema.Draft202012Validator(report_schema(), format_checker=jsonschema.FormatChecker())


def breaches() -> list[str]:
    """How the reports since the last call break the contract."""
    from cli.renderers.json import document

    made = {id(report): report for report in MADE}
    MADE.clear()
    return [
        f"{list(error.absolute_path)}: {error.message[:200]}"
        for report in made.values()
        if len(report.findings) <= _MOST_FINDINGS
        for error in _schema().iter_errors(document(replace(report, facts={name: rows[:_ROWS] for name, rows in report.facts.items()})))
    ]
