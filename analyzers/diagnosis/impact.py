"""What a verdict means for what the job writes, as far as the evidence shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta

from analyzers.report.durations import span
from analyzers.report.report import Verdict
from analyzers.tables import Row
from analyzers.tables.by_column import column

Tables = Mapping[str, Sequence[Row]]

_TIMES_USUAL = 3  # a pause between two checkpoints may be twice as long as usual on a busy host
_AT_LEAST_SECONDS = 30.0
_HALTS = frozenset(
    {
        "broker-unreachable", "external-system", "barrier-unacknowledged", "poison-record", "jobmanager-lost", "taskmanager-lost",
        "checkpoint-storage", "other",
    }
)  # fmt: skip


def impacts(verdicts: Sequence[Verdict], tables: Tables) -> list[str | None]:
    """Of each of `verdicts` one sentence, or None where nothing shows what is late or lost."""
    states = {(row["scope"], row["job"]): row for row in reversed(tables.get("job_state", ()))}
    own = [(verdict.scope, verdict.job) for verdict in verdicts]
    halted = [verdict.cause in _HALTS and job in states for verdict, job in zip(verdicts, own, strict=True)]
    started = _started(tables) if any(halted) else frozenset()
    return [_of(states[job], job in started) if halts else None for job, halts in zip(own, halted, strict=True)]


def _of(state: Row, is_seen_from_its_start: bool) -> str | None:
    unit = "batch" if state["kind"] == "spark" else "checkpoint"
    age, last = state["last_checkpoint_age_seconds"], state["last_checkpoint_at"]
    if last is None:
        begun = state["failures"] and state["last_checkpoint"] is None and is_seen_from_its_start
        return f"No {unit} has completed since the job started: nothing that was read is committed." if begun else None
    usual = state["usual_interval_seconds"] or 0.0
    if age is None or (age < max(_AT_LEAST_SECONDS, _TIMES_USUAL * usual) and not state["loops"]):
        return None
    if state["kind"] == "spark":
        return f"No batch has been committed since {last:%H:%M:%S} UTC ({_ago(age)})."
    then = "each restart reads again from there" if state["loops"] else "a restart would read again from there"
    return f"No checkpoint since {last:%H:%M:%S} UTC ({_ago(age)}): offsets are committed up to then, and {then}."


_STARTS = frozenset({"job-restored", "no-checkpoint-restored", "job-initializing", "query-started", "query-resumed", "job-submitted"})


def _started(tables: Tables) -> frozenset[tuple[str, str | None]]:
    """Jobs to a start of which the logs reach back: a fragment shows no checkpoint before it."""
    events = tables.get("log_events", ())
    by_column = (column(events, name) for name in ("scope", "job", "signature"))
    return frozenset((scope, job) for scope, job, signature in zip(*by_column, strict=True) if signature in _STARTS)


def _ago(seconds: float) -> str:
    return span(timedelta(seconds=seconds))
