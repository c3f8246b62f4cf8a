"""How the checkpoints of each living job go: the newest that completed, what failed since, how long it may take.

Which failures count against ``tolerable-failed-checkpoints``: Flink's CheckpointFailureManager; the window without a completed checkpoint:
the Kubernetes operator's ClusterHealthEvaluator, capped, as a tolerance of thousands is common and says nothing about patience.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from statistics import median
from typing import Any

from analyzers.derived.checkpoints.stuck_checkpoint import EXPIRED, milliseconds
from analyzers.tables import CHECKPOINT_SERIES, Row
from analyzers.tables.snapshots import newest_looks, of_scope

Tables = Mapping[str, Sequence[Row]]

COUNTED = (
    EXPIRED, "IO-problem detected", "Asynchronous task checkpoint failed", "Checkpoint was declined.", "Failure to finalize checkpoint",
    "Pending checkpoint could not be finalized", "expired",
)  # fmt: skip
"""Beginnings and parts of messages of CheckpointFailureReason that count."""

_READ = ("jobs", "checkpoints", "checkpoint_acks", "job_config", "metrics")
_PHASES = (("start_delay_ms", "start-delay"), ("alignment_ms", "alignment"), ("sync_ms", "sync"), ("async_ms", "async"))
_FEWEST_ACKS = 3
_ENDED = ("FAILED", "FINISHED", "CANCELED", "SUSPENDED")
_MOST_TOLERANCE = 2
_DEFAULT_TIMEOUT_MS = 600_000


_BY_RESTART = re.compile(r"Checkpoint ?Coordinator (?:is )?(?:suspending|shutdown)|FailoverRegion is restarting|The job has failed")
"""Messages of CheckpointFailureReason for a checkpoint that a restart or the end of the job took along: no failure of its own."""
_BACKLOG = "execution.checkpointing.interval-during-backlog"
"""Since 1.18: another interval while a source says that it reads a backlog (HybridSource, CDC); 0 = none is taken until then."""
_SIZES = {"": 1, "ms": 1, "s": 1000, "sec": 1000, "min": 60_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


def checkpoint_series(tables: Tables) -> list[Row]:
    """A row per living job whose checkpoints the JobManager told of."""
    looks = newest_looks({name: tables.get(name, ()) for name in _READ}, "jobs").values()
    # of a saved answer about checkpoints neither the settings nor the job's state need be known
    known = [look for look in looks if look["job_config"] or look["checkpoints"]]
    alive = [(look["jobs"][0], look) for look in known if look["jobs"][0]["state"] not in _ENDED]
    return [_series(job, look, _backlog(job, look, tables.get("job_config", ()))) for job, look in alive]


def _backlog(job: Row, look: Tables, config: Sequence[Row]) -> int | None:
    """Milliseconds of ``interval-during-backlog``, of the job or else of its cluster; null where none is set."""
    cluster = [row for row in of_scope(config, job) if row["job"] is None]
    told = [row["value"] for row in (*look["job_config"], *cluster) if row["key"] == _BACKLOG]
    found = re.fullmatch(r"(?:pt)?\s*(\d+)\s*(ms|s|sec|min|m|h|d|)", (told[0] or "").strip().lower()) if told else None
    return int(found[1]) * _SIZES[found[2]] if found else None


def _series(job: Row, look: Tables, backlog: int | None) -> Row:
    settings = {row["key"]: row["value"] for row in look["job_config"] if row["source"] == "checkpoints"}
    own = sorted((c for c in look["checkpoints"] if not c["savepoint"]), key=lambda c: c["checkpoint"])
    done = [c for c in own if c["status"] == "COMPLETED"]
    last, last_at = _newest(done, job)
    failed = [c for c in own if c["status"] == "FAILED" and (last is None or c["checkpoint"] > last)]
    failed = [c for c in failed if not _BY_RESTART.search(c["failure"] or "")]
    counted = [c for c in failed if counts(c["failure"] or "")]
    interval, timeout = milliseconds(settings.get("interval")), milliseconds(settings.get("timeout")) or _DEFAULT_TIMEOUT_MS
    # Flink begins no checkpoint sooner than min_pause after the last one (CheckpointCoordinator)
    longest = max(interval or 0, milliseconds(settings.get("min_pause")) or 0, timeout, backlog or 0)
    tolerable = milliseconds(settings.get("tolerable_failed_checkpoints"))
    since = last_at or job["started_at"]
    durations = [c["duration_ms"] for c in done if c["duration_ms"] is not None]
    states = [c["state_bytes"] for c in done if c["state_bytes"] is not None]
    values: dict[str, Any] = {
        **{name: job[name] for name in ("scope", "as_of", "job", "state", "captured_at")},
        "interval_ms": interval,
        "timeout_ms": timeout,
        "backlog_interval_ms": backlog,
        "tolerable": tolerable,
        "last_completed": last,
        "last_completed_at": last_at,
        "since": since,
        "restored_at": job["restored_at"],
        "idle_seconds": _seconds(since, job["captured_at"]),
        "allowed_seconds": longest * (min(tolerable or 0, _MOST_TOLERANCE) + 2) // 1000 if interval else None,
        "completed": len(done),
        "expired": sum(EXPIRED in (c["failure"] or "") for c in failed),
        "failed_counted": len(counted),
        "failed_ignored": len(failed) - len(counted),
        "failure": failed[-1]["failure"] if failed else None,
        "usual_ms": float(median(durations)) if durations else None,
        "longest_ms": max(durations, default=None),
        "first_state_bytes": states[0] if states else None,
        "last_state_bytes": states[-1] if states else None,
        "grows": len(states) >= 4 and all(a < b for a, b in pairwise(states)),
        **_slowest(look["checkpoint_acks"]),
        **_of_expired(look["checkpoint_acks"], failed),
        "replay_records": _replay(look["metrics"]),
    }
    return CHECKPOINT_SERIES.row(values)


def _of_expired(acks: Sequence[Row], failed: Sequence[Row]) -> dict[str, Any]:
    """In which phase the subtasks that did acknowledge the newest expired checkpoint spent most of their time: the median of them."""
    expired = [c["checkpoint"] for c in failed if EXPIRED in (c["failure"] or "")]
    own = [row for row in acks if expired and row["checkpoint"] == expired[-1] and row["status"] == "completed"]
    phases = [(median(times), name) for column, name in _PHASES if (times := [row[column] for row in own if row[column] is not None])]
    if len(own) < _FEWEST_ACKS or not phases:
        return {}
    longest, phase = max(phases)
    return {"expired_phase": phase, "expired_phase_ms": int(longest), "expired_phase_of": len(own)}


def counts(failure: str) -> bool:
    """Whether a failure counts against ``execution.checkpointing.tolerable-failed-checkpoints``."""
    return any(words in failure for words in COUNTED)


def _slowest(acks: Sequence[Row]) -> dict[str, Any]:
    """Who acknowledged the newest whole checkpoint last, and the phase that took it longest."""
    open_ones = {row["checkpoint"] for row in acks if row["status"] != "completed"}
    whole = [row for row in acks if row["checkpoint"] not in open_ones]
    if not whole:
        return {}
    newest = max(row["checkpoint"] for row in whole)
    last = max((row for row in whole if row["checkpoint"] == newest), key=lambda row: row["duration_ms"] or 0)
    phases = [(last[column], name) for column, name in _PHASES if last[column] is not None]
    longest, phase = max(phases, default=(None, None))
    of_task = {row["subtask"] for row in whole if (row["checkpoint"], row["vertex"]) == (newest, last["vertex"])}
    place = {"slowest_task": last["task"], "slowest_subtask": last["subtask"], "slowest_parallelism": len(of_task)}
    return {"slowest_checkpoint": newest, **place, "slowest_phase": phase, "slowest_phase_ms": longest}


def _newest(done: Sequence[Row], job: Row) -> tuple[int | None, datetime | None]:
    """The newest checkpoint that a restart would begin from, and since when it exists or was restored."""
    last = done[-1] if done else None
    restored = job["restored_checkpoint"]
    if last is not None and (restored is None or last["checkpoint"] >= restored):
        return last["checkpoint"], last["last_ack_at"]
    return restored, job["restored_at"]


def _seconds(since: datetime | None, until: datetime | None) -> int | None:
    return int((until - since).total_seconds()) if since is not None and until is not None else None


def _replay(metrics: Sequence[Row]) -> int | None:
    """Records between the readers' positions and their last commits, over all partitions that tell both; null where a commit failed.

    A restart begins at a checkpoint, and a commit shows where that lies only while each checkpoint's commit arrives.
    """
    if any(row["name"] == "commitsFailed" and (row["exact"] or 0) > 0 for row in metrics):
        return None
    places: dict[tuple[str, int], dict[str, int]] = {}
    for row in metrics:
        if row["name"] in ("currentOffset", "committedOffset") and row["topic"] and (row["exact"] or -1) >= 0:
            places.setdefault((row["topic"], row["partition"]), {})[row["name"]] = row["exact"]
    # currentOffset is the last record that was emitted, committedOffset the next one to read
    gaps = [max(0, p["currentOffset"] + 1 - p["committedOffset"]) for p in places.values() if len(p) == 2]
    return sum(gaps) if gaps else None
