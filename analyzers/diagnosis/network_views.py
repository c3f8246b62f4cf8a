"""The probe and the job's logs disagree: then what this host alone has seen is believed less."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from analyzers.report.finding import Finding

DISAGREES = "BRK117"
SEEN_FROM_HERE = frozenset({"BRK111", "BRK112", "BRK211"})
"""Rules that rest on what this host could reach."""


def weigh_disagreement(findings: Sequence[Finding]) -> list[Finding]:
    """`findings`, those that rest on the probe at most as sure as the disagreement, where there is one in their scope."""
    doubts = {finding.scope: finding for finding in findings if finding.code == DISAGREES}
    out = []
    for finding in findings:
        doubt = doubts.get(finding.scope)
        if doubt is not None and finding.code in SEEN_FROM_HERE:
            said = f"Another address that answers this host does not answer the job ({DISAGREES}): it may see another network."
            inferred = f"{finding.inferred} {said}" if finding.inferred else said
            out.append(replace(finding, confidence=min(finding.confidence, doubt.confidence), inferred=inferred))
        else:
            out.append(finding)
    return out
