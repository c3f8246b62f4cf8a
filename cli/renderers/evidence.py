"""Which rows prove a verdict: the same ones, in the same order, in every format for people."""

from __future__ import annotations

from collections.abc import Iterable

from analyzers.finding import Evidence, Finding
from analyzers.report import Verdict


def telling(verdict: Verdict, findings: Iterable[Finding]) -> list[Evidence]:
    """What proves `verdict`, most telling first: rows of its own rule, then one of each other rule of its chain; each place once."""
    of_job = [f for f in findings if f.job == verdict.job]
    own = [f for f in of_job if f.code == verdict.code]
    others = [f for code in verdict.chain for f in of_job if f.code == code and code != verdict.code]
    first = [e for f in own for e in f.evidence[:2]] + [e for f in others for e in f.evidence[:1]]
    rest = [e for f in own for e in f.evidence[2:]]
    seen: dict[tuple[str | None, int | None, str], Evidence] = {}
    for evidence in first + rest:
        seen.setdefault((evidence.file, evidence.line, evidence.text), evidence)
    return list(seen.values())
