"""The window of a report: what lies in it, when it ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from analyzers.derived.failures.failure_signs import BROKER_LIFE
from analyzers.logs.layouts.timestamps import to_ms
from analyzers.report.durations import span
from analyzers.report.finding import Finding
from analyzers.tables import Row
from analyzers.tables.by_column import ByColumn, column

LOGS_GO_ON = timedelta(minutes=14)
"""Logs may go on after the last answer of a JobManager was saved. By more than this their clock may be another: zones differ by 15 min."""


_LASTS = ("BRK201",)
"""What has not ended by the end of the evidence, however long ago it began."""


def moment(when: datetime | timedelta | None, as_of: datetime | None) -> datetime | None:
    if isinstance(when, timedelta):
        return as_of - when if as_of else None
    return when


def within(tables: Mapping[str, Sequence[Row]], since: datetime | None, until: datetime | None) -> dict[str, Sequence[Row]]:
    """Copies of the rows that may be changed; log events without a time stay, as nobody can say that they are outside, and those that show
    which brokers had left when the window began. What is held by column, and stays as it is, is not copied."""
    bounded = since is not None or until is not None
    out: dict[str, Sequence[Row]] = {}
    for name, rows in tables.items():
        if isinstance(rows, ByColumn) and rows.is_dated:  # counts
            out[name] = _counted_within(rows, since, until) if bounded else rows
        elif name == "log_events":
            # many, and nobody changes them but for the moment of collection (and `derived.failures.jobs`, where they are not copied)
            out[name] = [
                row if row["as_of"] and until is None else dict(row)
                for row in rows
                if _overlaps(row["at"], row["at"], None if row["signature"] in BROKER_LIFE else since, until)
            ]
        elif name == "log_counts":
            out[name] = [dict(row) for row in rows if _overlaps(row["first_at"], row["last_at"], since, until)]
        else:
            out[name] = [dict(row) for row in rows]
    for name in ("log_files", "log_counts") if bounded else ():
        rows = out.get(name, ())
        for row in rows if not isinstance(rows, ByColumn) else ():
            _clip(row, since, until)
    for name, rows in out.items() if until is not None else ():
        # what was read later is not known to anybody here
        for row in rows if name.startswith("log_") and not isinstance(rows, ByColumn) else ():
            row["as_of"] = row["as_of"] and min(row["as_of"], until)
    return out


def nothing_within(
    tables: Mapping[str, Sequence[Row]], since: datetime | timedelta | None, until: datetime | timedelta | None
) -> str | None:
    """A clause where no line of the logs can lie in the window: that is no all-clear. None where one can, or that is not known."""
    files = tables.get("log_files", ())
    begins, ends = ([file[name] for file in files if file[name]] for name in ("first_at", "last_at"))
    newest = max(ends, default=None)
    from_, to = moment(since, newest), moment(until, newest)
    if newest is None or not ((from_ is not None and from_ > newest) or (to is not None and begins and to < min(begins))):
        return None
    reach = f"{min(begins or ends):%Y-%m-%d %H:%M:%S} to {newest:%Y-%m-%d %H:%M:%S} UTC"
    return f"no line of these logs is in the window; they reach from {reach}"


def ended_before(since: datetime | None, finding: Finding) -> bool:
    """Whether all of `finding` lies before the window: a JobManager and a broker list what is long over, too."""
    last = finding.until or finding.since
    return (
        since is not None
        and finding.code not in _LASTS
        and last is not None
        and last < since
        and all(each.at is not None and each.at < since for each in finding.evidence)
    )


def _counted_within(rows: ByColumn, since: datetime | None, until: datetime | None) -> ByColumn:
    """Those of `rows` that lie in the window, with the spans that they have in it: too many, of long logs, to make dicts of them."""
    spans = zip(rows.column("first_at"), rows.column("last_at"), strict=True)
    picked = rows.pick([at for at, (first, last) in enumerate(spans) if _overlaps(first, last, since, until)])
    picked.bounded("first_at", least=to_ms(since))
    picked.bounded("last_at", most=to_ms(until))
    if until is not None and picked:
        picked.same("as_of", min(picked[0]["as_of"], until))
    return picked


def _overlaps(first: datetime | None, last: datetime | None, since: datetime | None, until: datetime | None) -> bool:
    """Whether a span has a part of the window; of one without times nobody can say that it has not."""
    return (since is None or last is None or last >= since) and (until is None or first is None or first <= until)


def _clip(row: Row, since: datetime | None, until: datetime | None) -> None:
    """Let the span of `row`, in place, begin and end with the window."""
    if row["first_at"] is not None and since is not None:
        row["first_at"] = max(row["first_at"], since)
    if row["last_at"] is not None and until is not None:
        row["last_at"] = min(row["last_at"], until)


def number_from_the_start(window: Mapping[str, Sequence[Row]], events: Sequence[Row]) -> None:
    """Count attempts, in place, as the whole evidence does: ``--since`` must not make the fortieth attempt the first."""
    from analyzers.derived.failures.attempts import attempts_of
    from analyzers.derived.failures.engines import spoken_by_engines
    from analyzers.derived.failures.jobs import with_jobs

    def key(row: Row) -> tuple[object, ...]:
        return (row["scope"], row["job"], row["ended_at"] or row["started_at"])

    numbers = {key(row): row["attempt"] for row in attempts_of(with_jobs(spoken_by_engines(events)))}
    shifts: dict[tuple[str, str | None], int] = {}
    for row in window.get("attempts", ()):
        if row["ended_at"] or row["started_at"]:
            shifts.setdefault((row["scope"], row["job"]), numbers.get(key(row), row["attempt"]) - row["attempt"])
    for name in ("attempts", "faults", "split_claims"):
        for row in window.get(name, ()):
            if row["attempt"] is not None:
                row["attempt"] += shifts.get((row["scope"], row["job"]), 0)


def log_clocks(files: Sequence[Row]) -> list[str]:
    """``UTC+08:00`` and the like: the clocks of `files` whose times name no zone, but for those that run in UTC."""
    ahead = sorted({row["utc_minutes"] for row in files if row.get("utc_minutes")})
    return [f"UTC{'+' if minutes > 0 else '-'}{abs(minutes) // 60:02d}:{abs(minutes) % 60:02d}" for minutes in ahead]


def newest_per_scope(tables: Mapping[str, Sequence[Row]]) -> tuple[dict[str, datetime], dict[str, datetime]]:
    """Per scope: the newest event of the logs, and the stated moment of collection of everything else (never the wall clock)."""
    stated: dict[str, datetime] = {}
    seen: dict[str, datetime] = {}
    for name, rows in tables.items():
        times, which = (
            (seen, {"log_files": "last_at", "log_events": "at"}.get(name, "as_of")) if name.startswith("log_") else (stated, "as_of")
        )
        for scope, at in zip(column(rows, "scope"), column(rows, which), strict=True):
            if at is not None and (scope not in times or at > times[scope]):
                times[scope] = at
    return seen, stated


_STARTS = frozenset({"job-restored", "savepoint-restored", "job-initializing", "query-started", "query-resumed"})


def starts_before(since: datetime | None, tables: Mapping[str, Sequence[Row]]) -> list[str]:
    """The clause for a window that begins after the jobs did: `tables` are those of all that was read."""
    starts = [
        event["at"]
        for event in tables.get("log_events", ())
        if since and event["at"] and event["at"] < since and event["signature"] in _STARTS
    ]
    if not starts:
        return []
    what = "what is logged when a job starts or restores (its splits, its clients' settings)"
    return [f"{what}: that was at {max(starts):%H:%M:%S} UTC, before --since"]


def ends_early(until: datetime | None, logged: Mapping[str, datetime]) -> list[str]:
    """That the logs of each scope end long before the time up to which they were to be looked at."""
    last = max(logged.values(), default=None)
    if until is None or last is None or until - last < LOGS_GO_ON:
        return []
    return [f"the logs end at {last:%Y-%m-%d %H:%M:%S} UTC, {span(until - last)} before --until: what came after is in none of them"]
