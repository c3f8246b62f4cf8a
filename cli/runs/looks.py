"""One of two looks that are compared: a report that was saved, a bundle, or logs. The last two are judged here."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from analyzers.budget import BUDGET
from analyzers.bundle.small_files import small_file
from analyzers.comparison.sides import NotComparable, Side, side_of
from analyzers.readers.object_stores import is_remote
from analyzers.readers.opening import at_most, open_file
from analyzers.report.without_secrets import without_secrets
from analyzers.tables.evidence import Evidence
from cli.options.shared import RunOptions
from cli.renderers.json import document
from cli.runs.evidence import Interrupted, Progress, from_bundle, judged
from cli.runs.fleet_evidence import PACKED, holds_bundle
from cli.runs.gathering import gathered
from cli.shell.exits import CannotLook, UsageError

if TYPE_CHECKING:
    from analyzers.report.report import Report
    from cli.engine.spark import Engine

_HEAD_BYTES = 200
_OF_A_REPORT = re.compile(rb'\s*\{\s*"format"\s*:\s*\d+\s*,\s*"tool"\s*:\s*"diag"')
"""How each report begins that no other program has rewritten."""


def saved_report(place: str) -> Side | None:
    """The report that was saved in the file `place`; None where that is none of diag, and so a log, a bundle or a directory.

    Raises `NotComparable` for one that is damaged, or of another format, and `CannotLook` for a file that cannot be read.
    """
    if is_remote(place) or not os.path.isfile(place):
        return None
    try:
        with open_file(place) as stream:
            head = at_most(stream, _HEAD_BYTES)
        ours = _OF_A_REPORT.match(head) is not None
        if not head.lstrip().startswith(b"{") or (not ours and os.path.getsize(place) > BUDGET.baseline_bytes):
            return None
        said = json.loads(small_file(Path(place), BUDGET.baseline_bytes))
    except OSError as error:
        raise CannotLook(f"{place} cannot be read: {error.strerror or error}.", "Look at its permissions and its size.") from error
    except (ValueError, RecursionError) as error:
        if not ours:  # a log of JSON lines
            return None
        raise NotComparable(f"{place} is a damaged report: {error}", "Save it again: diag triage … -o json=FILE") from error
    return side_of(place, said) if isinstance(said, dict) and said.get("tool") == "diag" else None


def look(place: str, options: RunOptions, engine: Engine, *, version: str, progress: Progress) -> Side:
    """The bundle or the logs at `place`, judged by all rules. Raises `CannotLook` and `UsageError` where nothing could be read."""
    found = _evidence(place, options, engine, progress)
    try:
        report = judged(found, replace(options, only=(), ignore=()), engine, command="triage", version=version)
    except Interrupted as early:  # half of a look would make differences
        raise early.stop from None
    return side_of_run(place, report, found)


def side_of_run(name: str, report: Report, found: Evidence) -> Side:
    """What was just judged, as one of two looks."""
    return Side(name, document(without_secrets(report)), found.tables, found.redaction.get("key"))


def _evidence(place: str, options: RunOptions, engine: Engine, progress: Progress) -> Evidence:
    if holds_bundle(place):
        return from_bundle(replace(options, bundle=Path(place)), engine, progress)
    try:
        return gathered([place], options, engine, None, [], progress)
    except CannotLook as error:
        if not place.endswith(PACKED):
            raise
        try:
            return from_bundle(replace(options, bundle=Path(place)), engine, progress)
        except UsageError:  # it is not one: what was wrong with its logs stands
            raise error from None


def chosen(side: Side, keeps: Callable[[Any], bool]) -> tuple[Side, list[str]]:
    """`side` without the findings that the options leave out, and the codes of these."""
    kept, left = [], []
    for each in side.document["findings"]:
        if keeps(_named(each)):
            kept.append(each)
        else:
            left.append(each["code"])
    return replace(side, document={**side.document, "findings": kept}), left


def _named(each: Mapping[str, Any]) -> SimpleNamespace:
    return SimpleNamespace(code=each["code"], job=each.get("job"), subject=each["subject"])
