"""A redacted recording has the verdicts of the recording: code, reason, time, and a subject that differs in its names only."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import pytest

from analyzers.bundle.redact import Redactor
from analyzers.diagnosis.diagnose import judge
from analyzers.report.finding import Finding
from analyzers.report.report import Verdict
from analyzers.tables import Row
from tests.bundles import FIXTURES, Case, shown_by

if TYPE_CHECKING:
    from cli.engine.spark import Engine

ILL = (
    "broker-shrink-restart-loop", "lab-beam-duplicate-kafka-rescaled", "lab-commits-denied", "lab-poison-deserialiser", "lab-registry-503",
    "lab-spark-kafka-failing-batch", "lab-topic-recreated-while-down", "stuck-async-barrier",
)  # fmt: skip
HEALTHY = ("lab-healthy-poison-deserialiser-left-out", "lab-healthy-commits-saw-tooth")
CASES = [Case(FIXTURES / "incidents" / "ill" / name) for name in ILL] + [
    Case(FIXTURES / "incidents" / "healthy" / name) for name in HEALTHY
]
NAMES = frozenset(
    {"host", "resource", "topic", "address", "group", "client", "split", "source", "task", "operator", "user_frame", "user_line", "path"}
)
"""A task is called after the topic that it reads, a directory of code after the team."""
_MARK = "!redacted"
Said = dict[str, list[tuple[str, ...]]]


@pytest.fixture(scope="module")
def both(engine: Engine) -> tuple[Said, Said]:
    """Verdicts and findings per scope, of the recordings and of them redacted, judged in one run."""
    tables: dict[str, list[Row]] = defaultdict(list)
    for case in CASES:
        shown = shown_by(case)
        redactor = Redactor(b"0123456789abcdef")
        redactor.learn(shown)
        for name, rows in redactor.tables(shown).items():
            tables[name] += [*shown[name], *(row | {"scope": case.scope + _MARK} for row in rows)]
    report = judge(dict(tables), engine.session, command="triage", version="1")
    verdicts, findings = defaultdict(list), defaultdict(list)
    for verdict in report.verdicts:
        verdicts[verdict.scope].append(_key(verdict))
    for finding in report.findings:
        findings[finding.scope].append((*_key(finding), finding.severity.value))
    return verdicts, findings


def _key(one: Verdict | Finding) -> tuple[str, ...]:
    subject: dict[str, Any] = {key: "…" if key in NAMES else value for key, value in one.subject.items()}
    return (one.code, str(one.reason), str(one.cause), str(one.job), str(one.since), json.dumps(subject, sort_keys=True, default=str))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.path.name)
def test_verdicts_and_findings_are_the_same_before_and_after(both: tuple[Said, Said], case: Case) -> None:
    for said in both:
        assert sorted(said[case.scope + _MARK]) == sorted(said[case.scope])


def test_the_ill_ones_have_verdicts(both: tuple[Said, Said]) -> None:
    assert all(both[0][case.scope] for case in CASES[: len(ILL)])
