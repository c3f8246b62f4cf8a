"""Rows of marks, one a case, as ``results.jsonl`` keeps them; its first line says what was measured with what."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import statistics
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from benchmarks.incidents.adapters import Adapter
from benchmarks.incidents.cases import Case
from benchmarks.incidents.marks import Answer, Marks, marked
from benchmarks.measuring import Cost, cpu, middle, peak, run

RESULTS = Path(__file__).with_name("results.jsonl")
ALONE = ("open/ill/broker-shrink-restart-loop", "open/ill/poison-record-deserialiser", "open/ill/stuck-async-barrier")
"""The cases whose seconds and memory are measured, a command each: they have logs and REST answers, so everything can be asked."""


@dataclass(frozen=True)
class Measured:
    """Of one adapter: `seconds` a case within the bench; CPU seconds and peak memory of one command for one case, the median of `ALONE`."""

    about: str
    seconds: float | None = None
    alone_cpu: float | None = None
    peak_mb: float | None = None


@dataclass
class Results:
    """Case → adapter → marks; `healthy` and `rest` are names of cases, `cases` the digest of their truths."""

    cases: str
    machine: str
    adapters: dict[str, Measured] = field(default_factory=dict)
    healthy: set[str] = field(default_factory=set)
    rest: set[str] = field(default_factory=set)
    marks: dict[str, dict[str, Marks]] = field(default_factory=dict)


def digest(cases: Iterable[Case]) -> str:
    """Changes with any truth: marks of other cases are not shown beside these."""
    return hashlib.blake2b("\n".join(f"{case.name} {case.truth}" for case in cases).encode(), digest_size=8).hexdigest()


def begin(cases: Sequence[Case]) -> Results:
    """Results without any marks."""
    names = {case.name for case in cases if case.truth.healthy}
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    made = Results(digest(cases), machine, healthy=names, rest={case.name for case in cases if case.rest})
    made.marks = {case.name: {} for case in cases}
    return made


def mark(results: Results, adapter: Adapter, cases: Sequence[Case], *, cost: bool, show: bool = False) -> None:
    """Ask `adapter` about all `cases`; `cost`: measure single commands, too; `show`: print the answers to stderr."""
    own = []
    for case, outcome in adapter.answers(cases):
        if show:
            shown = outcome.text if isinstance(outcome, Answer) else f"not asked: {outcome}"
            print(f"== {case.name}: {adapter.name}\n{shown}\n", file=sys.stderr)
        if isinstance(outcome, Answer):
            own += [] if outcome.seconds is None else [outcome.seconds]
            results.marks[case.name][adapter.name] = marked(case.truth, outcome)
    spent = statistics.fmean(own) if own else None
    costs = [_cost(adapter, case) for case in cases if case.name in ALONE] if cost else []
    known = [each for each in costs if each is not None]
    alone, most = (middle(known, cpu), middle(known, peak)) if known else (None, None)
    results.adapters[adapter.name] = Measured(adapter.about, _short(spent), _short(alone), _short(most))


def _cost(adapter: Adapter, case: Case) -> Cost | None:
    command = adapter.command(case)
    return None if command is None else run(command, memory=True)


def _short(number: float | None) -> float | None:
    return None if number is None else float(f"{number:.3g}")


def keep(results: Results, older: Results | None, name: str) -> bool:
    """Take the marks of adapter `name`, which cannot run here, from `older`, if they are of the same cases."""
    if older is None or older.cases != results.cases or name not in older.adapters:
        return False
    results.adapters[name] = older.adapters[name]
    for case, marks in older.marks.items():
        if name in marks:
            results.marks[case][name] = marks[name]
    return True


def dump(results: Results) -> str:
    """The text of ``results.jsonl``."""
    about = {name: asdict(each) for name, each in results.adapters.items()}
    lines = [json.dumps({"cases": results.cases, "machine": results.machine, "adapters": about}, ensure_ascii=False)]
    for case, marks in results.marks.items():
        row = {"case": case, "healthy": case in results.healthy, "rest": case in results.rest}
        lines.append(json.dumps(row | {name: list(asdict(each).values()) for name, each in marks.items()}, ensure_ascii=False))
    return "\n".join(lines) + "\n"


def stored(path: Path = RESULTS) -> Results | None:
    """What was measured last; None if nothing was, or what is there has another form."""
    try:
        return _read(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _read(text: str) -> Results:
    head, *rows = map(json.loads, text.splitlines())
    made = Results(head["cases"], head["machine"], {name: Measured(**each) for name, each in head["adapters"].items()})
    for row in rows:
        case = row.pop("case")
        for is_it, names in ((row.pop("healthy"), made.healthy), (row.pop("rest"), made.rest)):
            if is_it:
                names.add(case)
        made.marks[case] = {name: Marks(*each) for name, each in row.items()}
    return made
