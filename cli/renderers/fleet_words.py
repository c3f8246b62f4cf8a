"""How one thing of a fleet is said in every format for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from analyzers.report.durations import counted
from analyzers.report.fleet import OUTCOMES, FleetReport, JobRow, Root
from cli.renderers.wording import printable, when

WORD = {"ill": "ill", "at-risk": "at risk", "unread": "not readable", "undecided": "undecided", "clear": "well"}
_KINDS = {"frame": "code", "cluster": "Kafka cluster"}


def called(row: JobRow, *, alone: bool = False) -> str:
    """The scope, and the job's name where it says more; of the only job of a scope the scope, unless that is an address."""
    name = row.name or row.job
    if not name or name == row.scope or (alone and "://" not in row.scope):
        return printable(row.scope)
    return printable(f"{row.scope}: {name}")


def summary(report: FleetReport) -> str:
    """How many jobs are how; against the run before, where there is one."""
    count = Counter(row.outcome for row in report.jobs)
    parts = [f"{count[outcome]:,} {WORD[outcome]}" for outcome in OUTCOMES if count[outcome]]
    changes = changed(report)
    against = ", ".join(f"{number:,} {change}" for change, number in changes.items()) if changes else ""
    said = f"{counted(len(report.jobs), 'job')}: {', '.join(parts) or 'none'}"
    return said + (f"; verdicts against the run before: {against}" if against else "")


def changed(report: FleetReport) -> dict[str, int]:
    """How many verdicts are new, still there and gone; empty where there is no run before."""
    count = Counter(verdict.change for row in report.jobs for verdict in row.verdicts if verdict.change)
    return {"new": count["new"], "still": count["still"], "gone": len(report.gone)} if count or report.gone else {}


def thing(root: Root) -> str:
    """What stands behind them: ``address ledger.shop.internal:5432``."""
    return f"{_KINDS.get(root.kind, root.kind)} {printable(root.value)}"


def causes_of(root: Root) -> str:
    return ", ".join(root.causes or (root.cause,))


def root_words(root: Root) -> str:
    """What stands behind how many jobs, since when."""
    since = f" since {when(root.since)} UTC" if root.since else ""
    return f"{thing(root)}: {causes_of(root)}{since}: {counted(len(root.jobs) or len(root.scopes), 'job')}"


def gone_words(gone: Mapping[str, str]) -> str:
    return f"{printable(gone['scope'])}: {printable(gone['says'])}"
