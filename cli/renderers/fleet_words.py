"""How one thing of a fleet is said in every format for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import datetime, timezone

from analyzers.report.durations import counted
from analyzers.report.fleet import OUTCOMES, FleetReport, JobRow, Root
from cli.renderers.wording import printable

WORD = {"ill": "ill", "at-risk": "at risk", "unread": "not readable", "undecided": "undecided", "clear": "well"}
MEANS = {
    "ill": "a verdict names what is wrong",
    "at-risk": "findings of a warning or more, and no verdict",
    "unread": "nothing of it could be read",
    "undecided": "too little was read, or an error that no rule explains",
    "clear": "nothing wrong found in what was read",
}
EXPLAINED = ("at-risk", "undecided")
"""Outcomes whose words alone do not say what they mean."""
_KINDS = {"frame": "code", "cluster": "Kafka cluster"}
_ID = 8
"""Digits of an id that are enough to keep jobs of one name apart."""
_NAMES = "address, host, Kafka cluster, broker, topic, storage, image or line of code"
_OF_JOBS = ("cluster", "bootstrap")
"""What any verdict may stand on, without naming it."""


def called(row: JobRow, *, alone: bool = False) -> str:
    """The scope, and the job's name where it says more; of the only job of a scope the scope, unless that is an address, or ends in the id
    of a job whose name is known: ``pay/orders (5f0e64a1)``."""
    name = row.name or row.job
    home, slash, last = row.scope.rpartition("/")
    if row.name and last == row.job:
        return printable(f"{home}{slash}{row.name} ({last[:_ID]})")
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


def explained(report: FleetReport) -> list[str]:
    """What those words of `summary` mean that do not explain themselves."""
    there = {row.outcome for row in report.jobs}
    return [f"{WORD[outcome]}: {MEANS[outcome]}" for outcome in EXPLAINED if outcome in there]


def changed(report: FleetReport) -> dict[str, int]:
    """How many verdicts are new, still there and gone; empty where there is no run before."""
    count = Counter(verdict.change for row in report.jobs for verdict in row.verdicts if verdict.change)
    return {"new": count["new"], "still": count["still"], "gone": len(report.gone)} if count or report.gone else {}


def no_root(report: FleetReport) -> str | None:
    """Why no shared root is shown: none was found, or none could be. None where there is one, or fewer than two jobs are ill."""
    ill = [row for row in report.jobs if row.verdicts]
    if len(ill) < 2 or any(root.link == "explains" for root in report.roots):
        return None
    able = sum(map(_names_something, ill))
    if able < 2:
        return f"no shared root could be looked for: {able or 'none'} of {len(ill):,} ill jobs names an {_NAMES} and a time"
    return f"no shared root: {able:,} of {len(ill):,} ill jobs name an {_NAMES}; none is named by two jobs at one time"


def _names_something(row: JobRow) -> bool:
    around = any(name.kind in _OF_JOBS for name in row.names)
    return any((verdict.since or verdict.until) and (verdict.names or around) for verdict in row.verdicts)


def thing(root: Root) -> str:
    """What stands behind them: ``address ledger.shop.internal:5432``."""
    return f"{_KINDS.get(root.kind, root.kind)} {printable(root.value)}"


def causes_of(root: Root) -> str:
    return ", ".join(root.causes or (root.cause,))


def gone_words(gone: Mapping[str, str]) -> str:
    return f"{printable(gone['scope'])}: {printable(gone['says'])}"


def short(at: datetime | None, now: datetime | None) -> str:
    """UTC, to the minute; of another year than `now` the day, with its year, as ``ls -l`` has it."""
    if at is None:
        return ""
    at = at.astimezone(timezone.utc)
    return at.strftime("%m-%d %H:%M" if now is None or at.year == now.astimezone(timezone.utc).year else "%Y-%m-%d")


_SIZE = {"y": 365 * 86_400, "d": 86_400, "h": 3_600, "m": 60, "s": 1}
_AGES = (
    (120, "s", ""), (600, "m", "s"), (3 * 3_600, "m", ""), (8 * 3_600, "h", "m"), (48 * 3_600, "h", ""), (8 * 86_400, "d", "h"),
    (2 * 365 * 86_400, "d", ""), (8 * 365 * 86_400, "y", "d"),
)  # fmt: skip
"""Up to so many seconds an age is in this unit, with a finer one behind it."""


def age(at: datetime | None, now: datetime | None) -> str:
    """How long ago, as the column AGE of ``kubectl get`` has it: 90s, 5m30s, 125m, 3h20m, 26h, 3d4h, 120d, 2y30d."""
    if at is None or now is None:
        return ""
    seconds = max(0, int((now - at).total_seconds()))
    unit, finer = next(((unit, finer) for below, unit, finer in _AGES if seconds < below), ("y", ""))
    whole, rest = divmod(seconds, _SIZE[unit])
    more = rest // _SIZE[finer] if finer else 0
    return f"{whole}{unit}" + (f"{more}{finer}" if more else "")
