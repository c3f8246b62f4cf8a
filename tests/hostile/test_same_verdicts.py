"""A redacted recording has the verdicts of the recording: code, reason, time, and a subject that differs in its names only."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Any

import pytest

from analyzers.report.finding import Finding
from analyzers.report.report import Report, Verdict
from tests.bundles import Case
from tests.copies import HIDDEN, ILL, REDACTED

NAMES = frozenset({
    "address", "client", "connector", "group", "host", "operator", "path", "query", "resource", "source", "split", "task", "topic",
    "user_frame", "user_line",
})  # fmt: skip
"""A task is called after the topic that it reads, a directory of code after the team."""
Said = dict[str, list[tuple[str, ...]]]


@pytest.fixture(scope="module")
def both(redacted: list[str], judgement: Report) -> tuple[Said, Said]:
    """Verdicts and findings per scope, of the recordings and of them redacted."""
    assert len(redacted) == len(REDACTED)
    verdicts, findings = defaultdict(list), defaultdict(list)
    for verdict in judgement.verdicts:
        verdicts[verdict.scope].append(_key(verdict))
    for finding in judgement.findings:
        findings[finding.scope].append((*_key(finding), finding.severity.value))
    return verdicts, findings


def _key(one: Verdict | Finding) -> tuple[str, ...]:
    subject: dict[str, Any] = {key: "…" if key in NAMES else value for key, value in one.subject.items()}
    return (one.code, str(one.reason), str(one.cause), str(one.job), str(one.since), json.dumps(subject, sort_keys=True, default=str))


@pytest.mark.parametrize("case", REDACTED, ids=lambda case: case.path.name)
def test_verdicts_and_findings_are_the_same_before_and_after(both: tuple[Said, Said], case: Case) -> None:
    for said in both:
        assert sorted(said[case.scope + HIDDEN]) == sorted(said[case.scope])


def test_the_ill_ones_have_verdicts(both: tuple[Said, Said]) -> None:
    assert all(both[0][case.scope] for case in ILL)
