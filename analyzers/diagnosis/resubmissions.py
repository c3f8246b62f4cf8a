"""A job that fails is often submitted again, with another id: one cause of one job, one verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timezone

from analyzers.report.report import Verdict
from analyzers.tables import Row

_UNNAMED = frozenset({"Flink Streaming Job", "Flink Batch Job"})  # StreamGraphGenerator's own names: two of them need not be one job
_EARLY = datetime.min.replace(tzinfo=timezone.utc)


def one_per_name(verdicts: Sequence[Verdict], jobs: Sequence[Row]) -> list[Verdict]:
    """`verdicts` in order; of jobs of one name that follow one another and fail of the same, only the last, which says so."""
    seen = {(row["scope"], row["job"]): row for row in jobs if row["name"] and row["name"] not in _UNNAMED}
    out: list[Verdict] = []
    for verdict in verdicts:
        place = next((n for n, other in enumerate(out) if _same(other, verdict, seen)), None)
        if place is None:
            out.append(verdict)
        else:
            first, last = sorted((out[place], verdict), key=lambda each: _began(each, seen))
            says = f"{last.says.rstrip('.')}. {_told(first, seen)}"
            out[place] = replace(last, since=_earlier(first.since, last.since), says=says, weight=out[place].weight)
    return out


def _same(one: Verdict, other: Verdict, seen: dict[tuple[str, str], Row]) -> bool:
    """Whether two verdicts are of one job under two ids: same name, cause and task, and the first had ended when the second began."""
    rows = [seen.get((each.scope, each.job or "")) for each in (one, other)]
    alike = (one.scope, one.cause, one.reason, one.code) == (other.scope, other.cause, other.reason, other.code)
    if not alike or one.job == other.job or one.subject.get("task") != other.subject.get("task"):
        return False
    first, last = rows
    if first is None or last is None or first["name"] != last["name"]:
        return False
    earlier, later = sorted((first, last), key=lambda row: row["first_at"] or _EARLY)
    return earlier["last_at"] is not None and later["first_at"] is not None and earlier["last_at"] <= later["first_at"]


def _began(verdict: Verdict, seen: dict[tuple[str, str], Row]) -> datetime:
    return seen[verdict.scope, verdict.job or ""]["first_at"] or _EARLY


def _told(first: Verdict, seen: dict[tuple[str, str], Row]) -> str:
    ended = seen[first.scope, first.job or ""]["last_at"]
    return f"Before that it ran as job {first.job} and failed of the same, until {ended:%Y-%m-%d %H:%M:%S} UTC"


def _earlier(one: datetime | None, other: datetime | None) -> datetime | None:
    return min((at for at in (one, other) if at is not None), default=None)
