"""Evidence in which every string is one and the same: rows of every table, a report with something in every field, and a fleet's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from typing import Any

from analyzers.report.fleet import FleetReport, JobRow, JobVerdict, Root
from analyzers.report.history import Lane, Mark, Span
from analyzers.report.noticed import Noticed
from analyzers.report.report import Name, Report
from analyzers.tables import TABLES, Row
from tests.report_samples import AT, JOB, finding, incident, minutes, verdict

CLOSED = {("Span", "kind"), ("Mark", "kind"), ("Verdict", "cause"), ("JobVerdict", "cause"), ("JobRow", "outcome"), ("JobRow", "severity")}
"""What only code of ours writes, from a closed list."""


def row_of(name: str, x: str) -> Row:
    """A row of the table `name` whose every text is `x`."""
    values: dict[str, Any] = {"string": x, "strings": [x, x], "map": {x: x}, "long": 1, "double": 1.5, "boolean": True, "timestamp": AT}
    row = {column.name: values[column.type] for column in TABLES[name].columns}
    return {**row, **({"subtask": 0} if "subtask" in row else {})}


def filled(value: Any, x: str) -> Any:
    """`value` with `x` for every string within that is no key of ours."""
    if isinstance(value, Enum):
        return value
    if isinstance(value, str):
        return x
    if is_dataclass(value) and not isinstance(value, type):
        name = type(value).__name__
        return replace(value, **{f.name: filled(getattr(value, f.name), x) for f in fields(value) if (name, f.name) not in CLOSED})
    if isinstance(value, Mapping):
        return {key: filled(each, x) for key, each in value.items()}
    return type(value)(filled(each, x) for each in value) if isinstance(value, (list, tuple)) else value


def report(x: str, *, ill: bool) -> Report:
    """A report with something in every field and in every table; `ill` has verdicts."""
    marks = tuple(Mark(minutes(n / 10), kind, "m", "f", n) for n, kind in enumerate(("failed", "completed", "left", "back", "expired")))
    evidence = (*finding().evidence,)
    noticed = Noticed(
        "s", "RST101", "says", "means", 3, AT, AT, {"task": "t", "topic": "o"}, evidence, "ERROR", job="j", next_command="diag triage x"
    )
    more: dict[str, Any] = dict.fromkeys(("headline", "no_help", "danger", "missing"), "m")
    hurt = verdict(**more, cause="barrier-unacknowledged", impact="m", steps=("a", "b"))
    told = replace(finding(**more, inferred="m", steps=("a",)), evidence=evidence)
    whole = replace(
        incident(),
        verdicts=[hurt, replace(hurt, job="other")] if ill else [],
        findings=[told, replace(told, code="BRK103", job=None)] if ill else [],
        history=[Lane("job", JOB, "", (Span(AT, minutes(5), "tries"), Span(AT, minutes(5), "works")), marks)],
        noticed=[noticed],
        unseen=["u"],
        log_clocks=["UTC+08:00"],
        fragment=None if ill else "2 lines",
    )
    made: Report = filled(whole, x)
    return replace(
        made,
        noticed=[*made.noticed, *(replace(each, level="ERROR", signature="n") for each in made.noticed)],
        job_names={x: x},
        job_state=[row_of("job_state", x)],
        barriers={name: [row_of(name, x)] for name in ("vertices", "checkpoint_acks", "barrier_frontier")},
        facts={name: [row_of(name, x)] for name in TABLES},
    )


def fleet(x: str) -> FleetReport:
    own = JobVerdict("i", "BRK101", "c", "r", AT, {"host": "h"}, "s", "h", "new", AT, [Name("host", "h")])
    row = JobRow("s", "j", "n", "ill", "critical", "t", AT, "s", [own], 0, ["d"])
    made: FleetReport = filled(FleetReport("1", [row, replace(row, verdicts=[])], [Root("k", "v", "c", AT, ("a", "b"))], [], ["n"]), x)
    return replace(made, gone=[{"scope": x, "id": x, "says": x}])
