"""Two observers who disagree: the one that does not sit where the job runs is believed less."""

from __future__ import annotations

from analyzers.diagnosis.network_views import weigh_disagreement
from analyzers.report.finding import Finding, Severity


def found(code: str, confidence: float, scope: str = "") -> Finding:
    return Finding(
        code, None, None, "access", Severity.WARNING, confidence, None, {}, None, None, "says", None, "fix", (), f"{code}.md", scope
    )  # fmt: skip


def test_what_this_host_alone_has_seen_is_believed_less() -> None:
    seen = weigh_disagreement([found("BRK111", 1.0), found("BRK101", 0.9), found("BRK117", 0.6), found("BRK111", 1.0, "elsewhere")])
    assert [(f.code, f.confidence) for f in seen] == [("BRK111", 0.6), ("BRK101", 0.9), ("BRK117", 0.6), ("BRK111", 1.0)]
    assert "may see another network" in str(seen[0].inferred)


def test_nothing_changes_where_they_agree() -> None:
    agreed = [found("BRK111", 1.0), found("BRK101", 0.9)]
    assert weigh_disagreement(agreed) == agreed
