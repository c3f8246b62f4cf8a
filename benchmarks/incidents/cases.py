"""The cases: a directory of evidence, and what is true of it.

No label is kept twice. The split ``open`` was recorded on real servers: ``expect.json`` has the cause and what was done, ``truth.json``
what an answer must say, and ``healing.json`` of the lab the fixes that were tried. The split ``told`` has all of it in ``case.json``.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
FIXTURES = ROOT / "fixtures"
REST = ROOT / "tests" / "data" / "rest"
"""Answers of JobManagers, as they were recorded with some cases of ``open``; a folder has the name of its case."""
SPLITS = ("open", "told")
SCHEMA = Path(__file__).with_name("truth.schema.json")


@dataclass(frozen=True)
class Tried:
    """A fix that was executed in the lab on the living incident; `number` is what it was judged by."""

    fix: str
    healed: bool
    number: str


@dataclass(frozen=True)
class Truth:
    """What is true of a case. `decisive` are expressions that any right answer matches, `entities` what it must name: any spelling counts.

    `cause_class` is None where its writer gave none, `twin` the name of a healthy case that looks alike.
    """

    healthy: bool
    root_cause: str
    cause_class: str | None
    decisive: tuple[str, ...]
    entities: Mapping[str, tuple[str, ...]]
    fix: str | None = None
    tried: tuple[Tried, ...] = ()
    harmful: str | None = None
    twin: str | None = None
    source: str | None = None


@dataclass(frozen=True)
class Case:
    """`name` is ``open/ill/lab-stuck-async`` or ``told/014-pg-outbox-slot``."""

    name: str
    path: Path
    truth: Truth

    @property
    def split(self) -> str:
        return self.name.partition("/")[0]

    @property
    def evidence(self) -> Path:
        """What an adapter may read, and nothing beside it: logs and pasted texts, or a bundle of tables."""
        return self.path / "raw" if (self.path / "raw").is_dir() else self.path

    @property
    def rest(self) -> Path | None:
        """A directory of recorded REST answers, or a bundle whose tables were made of such."""
        recorded = REST / self.path.name
        if self.split == "open" and recorded.is_dir():
            return recorded
        return self.path if (self.path / "vertices.jsonl").is_file() else None

    def texts(self) -> dict[str, str]:
        """File name → text, without labels; of tables the lines of the log that they hold."""
        found = {}
        for path in sorted(self.evidence.rglob("*")):
            if not path.is_file() or path.name in ("expect.json", "truth.json", "manifest.json"):
                continue
            content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
            text = content.decode("utf-8", "replace")
            if path.name == "log_events.jsonl" and self.evidence == self.path:
                text = "\n".join(json.loads(line)["text"] for line in text.splitlines())
            found[path.relative_to(self.evidence).as_posix()] = text
        return found


def load(only: str = "") -> list[Case]:
    """All cases whose name contains `only`, or of the split `only`, in the order of their names."""
    found = [_recorded(path) for path in (FIXTURES / "incidents").glob("*/*") if (path / "expect.json").is_file()]
    found += [_modelled(path) for path in (FIXTURES / "told").glob("*") if (path / "case.json").is_file()]
    return sorted((case for case in found if (case.split == only if only in SPLITS else only in case.name)), key=lambda case: case.name)


def _recorded(path: Path) -> Case:
    expect = _json(path / "expect.json")
    truth = _json(path / "truth.json") if (path / "truth.json").is_file() else {}
    tried = tuple(each for incident, each in _healing() if incident == truth.get("incident"))
    healed = next((each.fix for each in tried if each.healed), None)
    return Case(
        f"open/{path.parent.name}/{path.name}",
        path,
        Truth(
            healthy=expect.get("healthy", False),
            root_cause=expect["why"],
            cause_class=expect.get("cause"),
            decisive=tuple(truth.get("must_say", ())),
            entities=entities(truth),
            fix=truth.get("fix", healed),
            tried=tried,
            harmful=truth.get("harmful"),
            twin=f"open/{truth['healthy_twin']}" if "healthy_twin" in truth else None,
            source="the lab",
        ),
    )


def _modelled(path: Path) -> Case:
    label = _json(path / "case.json")
    return Case(
        f"told/{path.name}",
        path,
        Truth(
            healthy=label.get("healthy", False),
            root_cause=label["root_cause"],
            cause_class=label.get("class"),
            decisive=tuple(label["must_say"]),
            entities=entities(label),
            fix=label.get("fix"),
            harmful=label.get("harmful"),
            source=label["source"],
        ),
    )


def entities(label: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """What an answer must name, each with its spellings."""
    facts = label.get("key_facts", {})
    return {name: tuple(str(one) for one in (value if isinstance(value, list) else [value])) for name, value in facts.items()}


@cache
def _healing() -> tuple[tuple[str, Tried], ...]:
    rows = json.loads((FIXTURES / "lab" / "healing.json").read_text(encoding="utf-8"))
    return tuple((row["incident"], Tried(row["fix"], row["healed"], row["number"])) for row in rows)


def _json(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def problems(case: Case) -> list[str]:
    """What is wrong with the label of `case`, a sentence each; none if it can be marked."""
    truth, found = case.truth, []
    if not truth.root_cause:
        found.append("it has no root cause")
    if not truth.healthy and not truth.decisive:
        found.append("nothing is named that a right answer must say")
    if not truth.healthy and not truth.fix and case.split == "open":
        found.append("it has no fix: neither its own nor one that healed it in the lab")
    for expression in truth.decisive:
        try:
            re.compile(expression)
        except re.error as error:
            found.append(f"`{expression}` is no expression: {error}")
    evidence = "\n".join(case.texts().values())
    if not evidence.strip():
        found.append("it has no evidence")
    if case.split == "open":
        absent = (each[0] for each in truth.entities.values() if not any(one in evidence for one in each))
        found += [f"`{entity}` is not in its evidence" for entity in absent]
    if truth.twin is not None and not (FIXTURES / "incidents" / truth.twin.removeprefix("open/") / "expect.json").is_file():
        found.append(f"its twin {truth.twin} is missing")
    if case.split == "open" and (case.path / "truth.json").is_file():
        incident = _json(case.path / "truth.json").get("incident")
        if incident and not truth.tried:
            found.append(f"no fix of `{incident}` was tried in the lab")
    return found
