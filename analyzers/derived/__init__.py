"""Tables made of tables by plain Python: what column expressions cannot say. A rule cannot tell them from collected ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from analyzers.derived.checkpoints.barrier_frontier import barrier_frontier
from analyzers.derived.checkpoints.batch_skips import batch_skips
from analyzers.derived.checkpoints.checkpoint_series import checkpoint_series
from analyzers.derived.checkpoints.sink_skips import sink_skips
from analyzers.derived.checkpoints.split_audit import split_audit
from analyzers.derived.checkpoints.unread_partitions import unread_partitions
from analyzers.derived.failures.resource_troubles import resource_troubles
from analyzers.derived.flow.bottlenecks import bottlenecks, has_shares
from analyzers.derived.flow.client_moments import client_moments
from analyzers.derived.flow.marks_apart import marks_apart
from analyzers.derived.flow.marks_at_minimum import marks_at_minimum
from analyzers.derived.flow.metric_troubles import metric_troubles
from analyzers.derived.flow.query_batches import query_batches
from analyzers.derived.flow.thread_waits import thread_waits
from analyzers.derived.flow.watermark_holders import has_marks, watermark_holders
from analyzers.derived.lag.connector_stands import connector_stands
from analyzers.derived.lag.group_moments import group_moments
from analyzers.derived.lag.lag_readers import readers_by_group
from analyzers.derived.lag.lag_status import Sampled, lag_status, reconciled, sampled_places
from analyzers.derived.lag.lag_truth import lag_truth
from analyzers.derived.lag.strange_starts import strange_starts
from analyzers.derived.lag.suspects import suspect_windows
from analyzers.derived.next_start.start_odds import start_odds
from analyzers.derived.planned.broker_removal import broker_removal
from analyzers.derived.planned.restore.questions import restore_answers
from analyzers.derived.planned.upgrade.questions import upgrade_answers
from analyzers.derived.settings_given import settings_given
from analyzers.logs.signatures.signature import OWN
from analyzers.tables import Row
from analyzers.tables.memory import gc_paused


def derive(tables: Mapping[str, Sequence[Row]], *, own: bool = False) -> dict[str, Sequence[Row]]:
    """`tables` and those derived from them, each where there is something to derive it from.

    Of notes and log events settings; of log events and a JobManager's exceptions jobs_seen, attempts, faults and job_state; of log
    events split_claims, job_lives, recurring_errors, checkpoint_expiries and strange_starts, with checkpoints skipped_state, with
    offsets dead_letters; of a JobManager's answers barrier_frontier, checkpoint_series, watermark_holders and bottlenecks; of saved
    metrics metric_troubles and marks_at_minimum; of clients' statistics client_moments; of an operator's resources resource_troubles;
    of thread dumps thread_waits; of progress, pasted or logged, query_batches; of these, of logs and of commits sink_skips; of splits
    split_audit; of logs and splits open_ends and unread_partitions; of probed bootstrap servers forecast and forecast_fixes; of planned
    changes preflight; of samples of offsets lag_status and lag_truth; of states of connectors connector_stands.

    `own`: rows of log events, of which there are many, may be changed.
    """
    out: dict[str, Sequence[Row]] = dict(tables)
    if "log_events" in out:
        # loaded for logs only: the expressions of all fault classes cost a fifth of the time of a command that only asks Kafka
        from analyzers.derived.checkpoints.checkpoint_expiries import checkpoint_expiries
        from analyzers.derived.checkpoints.skipped_state import skipped_state
        from analyzers.derived.checkpoints.split_claims import split_claims_of
        from analyzers.derived.failures.attempts import attempts_of
        from analyzers.derived.failures.dead_letters import dead_letters
        from analyzers.derived.failures.engines import spoken_by_engines
        from analyzers.derived.failures.faults import faults_of
        from analyzers.derived.failures.job_lives import job_lives_of
        from analyzers.derived.failures.jobs import jobs_seen, with_jobs
        from analyzers.derived.failures.progress import count_all, count_failures
        from analyzers.derived.failures.recurring_errors import recurring_errors

        logged = out["log_events"]
        mine = {id(event) for event in logged if event["signature"].startswith(OWN)} if out.get("scanned_patterns") else set[int]()
        own_events: list[Row] = []
        if mine:  # what a user looks for changes nothing of what is derived from the events that diag knows
            named = with_jobs([dict(event) for event in logged], own=True)
            own_events = [named[at] for at, event in enumerate(logged) if id(event) in mine]
            logged = [event for event in logged if id(event) not in mine]
        events = with_jobs(spoken_by_engines(logged), own=own)
        attempts = attempts_of(events)
        faults = faults_of(events, attempts, out)
        jobs = jobs_seen(events, attempts)
        count_all(attempts, jobs, events, out.get("log_counts", ()))
        count_failures(faults, attempts, events, out.get("log_counts", ()))
        out["log_events"] = [*events, *own_events] if own_events else events
        out["settings"] = settings_given(out)
        out["attempts"], out["faults"], out["jobs_seen"] = attempts, faults, jobs
        out["checkpoint_expiries"] = checkpoint_expiries(events, out.get("log_counts"))
        out["split_claims"] = split_claims_of(events, attempts)
        out["job_lives"] = job_lives_of(events, out["split_claims"])
        out["recurring_errors"] = recurring_errors(out)
        out["skipped_state"] = skipped_state(out)
        out["dead_letters"] = dead_letters(out)
        out["strange_starts"] = strange_starts(out)
    elif "log_remarks" in out:
        out["settings"] = settings_given(out)
    if "exceptions" in out:
        from analyzers.derived.failures.rest_faults import with_rest_faults

        out.update(with_rest_faults(out))
    if "checkpoint_acks" in out:
        out["barrier_frontier"] = barrier_frontier(out)
    if "jobs" in out and "checkpoints" in out:
        out["checkpoint_series"] = checkpoint_series(out)
    if "watermarks" in out and "vertices" in out:
        # of answers without these metrics (saved ones have what somebody saved) nobody can say that all is well
        if (holders := watermark_holders(out)) or not out["vertices"] or has_marks(out):
            out["watermark_holders"] = holders
        if not out["vertices"] or has_shares(out):
            out["bottlenecks"] = bottlenecks(out)
    if any(row["moment"] is not None for row in out.get("stack_samples", ())):
        out["thread_waits"] = thread_waits(out)
    if "splits" in out:
        out["split_audit"] = split_audit(out)
    if "bootstrap_servers" in out:
        out.update(start_odds(out))
    if "planned_changes" in out:
        out["preflight"] = [*broker_removal(out), *restore_answers(out), *upgrade_answers(out)]
    if "committed_offsets" in out:
        out.update(lag_of(out))
    if "connector_tasks" in out:
        out["connector_stands"] = connector_stands(out)
    if "pasted_groups" in out or "pasted_offsets" in out:
        out["group_moments"] = group_moments(out)
    if "metric_samples" in out:
        out["metric_troubles"] = metric_troubles(out)
        out["marks_at_minimum"] = marks_at_minimum(out)
        if apart := marks_apart(out):
            out["watermark_holders"] = [*out.get("watermark_holders", ()), *apart]
    if "custom_resources" in out:
        out["resource_troubles"] = resource_troubles(out)
    if "client_states" in out:
        out["client_moments"] = client_moments(out)
    if batches := query_batches(out):
        out["query_batches"] = batches
    if skips := [*sink_skips(out), *batch_skips(out)]:
        out["sink_skips"] = skips
    if "faults" in out:
        out["suspect_windows"] = suspect_windows(out)
    if "jobs_seen" in out or "jobs" in out:
        from analyzers.derived.failures.job_state import job_state

        out["job_state"] = job_state(out)
    if "splits" in out or "split_claims" in out:
        out["unread_partitions"] = unread_partitions(out)
    if "log_events" in out or "splits" in out:
        from analyzers.derived.open_ends import open_ends

        out["open_ends"] = open_ends(out)
    return out


def lag_of(tables: Mapping[str, Sequence[Row]], sampled: Sequence[Sampled] | None = None) -> dict[str, list[Row]]:
    """``lag_status`` and ``lag_truth``: does each group keep up, and is its lag real. `sampled`: `sampled_places`, where they are known."""
    with gc_paused():
        readers, sampled = readers_by_group(tables), sampled_places(tables) if sampled is None else sampled
        truth = lag_truth(tables, readers, sampled)
        return {"lag_status": reconciled(lag_status(tables, readers, sampled), truth), "lag_truth": truth}
