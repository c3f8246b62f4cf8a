"""What a verdict means for what the job writes, as far as the evidence shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta

from analyzers.report.durations import span
from analyzers.report.report import Verdict
from analyzers.tables import Row

Tables = Mapping[str, Sequence[Row]]

_TIMES_USUAL = 3  # a pause between two checkpoints may be twice as long as usual on a busy host
_AT_LEAST_SECONDS = 30.0
_HALTS = frozenset(
    {
        "broker-unreachable", "external-system", "barrier-unacknowledged", "poison-record", "jobmanager-lost", "taskmanager-lost",
        "checkpoint-storage", "other",
    }
)  # fmt: skip


def impact(verdict: Verdict, tables: Tables) -> str | None:
    """One sentence, or None where nothing shows what is late or lost."""
    state = next((row for row in tables.get("job_state", ()) if (row["scope"], row["job"]) == (verdict.scope, verdict.job)), None)
    if state is None or verdict.cause not in _HALTS:
        return None
    unit = "batch" if state["kind"] == "spark" else "checkpoint"
    age, last = state["last_checkpoint_age_seconds"], state["last_checkpoint_at"]
    if last is None:
        begun = state["failures"] and _is_seen_from_its_start(verdict, tables)
        return f"No {unit} has completed since the job started: nothing that was read is committed." if begun else None
    usual = state["usual_interval_seconds"] or 0.0
    if age is None or (age < max(_AT_LEAST_SECONDS, _TIMES_USUAL * usual) and not state["loops"]):
        return None
    if state["kind"] == "spark":
        return f"No batch has been committed since {last:%H:%M:%S} UTC ({_ago(age)})."
    then = "each restart reads again from there" if state["loops"] else "a restart would read again from there"
    return f"No checkpoint since {last:%H:%M:%S} UTC ({_ago(age)}): offsets are committed up to then, and {then}."


_STARTS = frozenset({"job-restored", "no-checkpoint-restored", "job-initializing", "query-started", "query-resumed", "job-submitted"})


def _is_seen_from_its_start(verdict: Verdict, tables: Tables) -> bool:
    """Whether the logs reach back to a start of the job: a fragment shows no checkpoint before it."""
    return any(
        event["signature"] in _STARTS and event["scope"] == verdict.scope and event["job"] == verdict.job
        for event in tables.get("log_events", ())
    )


def _ago(seconds: float) -> str:
    return span(timedelta(seconds=seconds))
