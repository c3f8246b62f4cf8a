"""Who holds a barrier: from the acknowledgements of a checkpoint along the job's graph to the subtask that has to be looked at.

The *frontier* is every vertex that lacks acknowledgements although all its inputs gave theirs: the barrier reached it and stopped there. A
frontier subtask that is back-pressured is a *victim*: the *culprit* is the first vertex downstream that is busy and not back-pressured. One
that is busy itself is the culprit. One that is idle has taken the snapshot and cannot finish it. Without busy shares it stays *frontier*:
nobody is accused. (Flink's REST interface; seen on 1.19 and 2.3.)
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from analyzers.derived.checkpoints.stuck_checkpoint import age_ms, milliseconds, record, stuck_checkpoint
from analyzers.tables import BARRIER_FRONTIER, Row
from analyzers.tables.snapshots import newest_looks

Tables = Mapping[str, Sequence[Row]]

_READ = ("checkpoints", "checkpoint_acks", "vertices", "subtasks", "stack_samples", "metrics", "job_config")
PRESSED = 0.5
"""Share of its time that a back-pressured subtask waits for downstream: Flink's own mark of "high"."""
BUSY = 0.5
_SKEWED = 3.0
_SETTLED_SECONDS = 15
_SHARES_SECONDS = 60

SYNC_FRAMES = ("SubtaskCheckpointCoordinatorImpl.takeSnapshotSync", "SubtaskCheckpointCoordinatorImpl.buildOperatorSnapshotFutures")
PARKED_FRAMES = ("TaskMailboxImpl.take", "TaskMailboxImpl.poll")
ASYNC_QUEUE_FRAMES = ("AsyncWaitOperator.addToWorkQueue", "AsyncWaitOperator.processElement")
STORAGE_FRAMES = ("FsCheckpointStateOutputStream", "CheckpointStateOutputStream", "RecoverableFsDataOutputStream")
_WAITS = ("WAITING", "TIMED_WAITING", "BLOCKED")


def barrier_frontier(tables: Tables) -> list[Row]:
    """Rows of ``barrier_frontier``; empty where checkpoints complete, or nothing tells who acknowledged."""
    out: list[Row] = []
    for look in newest_looks({name: tables.get(name, ()) for name in _READ}, "checkpoints").values():
        picture = _Picture.of(look)
        stuck = stuck_checkpoint(look["checkpoints"], picture.settings)
        if stuck is not None:
            out.extend(picture.rows(stuck))
    return out


@dataclass
class _Picture:
    """What is known of one job at its newest look."""

    vertices: dict[str, Row]
    subtasks: dict[tuple[str, int], Row]
    acks: dict[int, dict[str, dict[int, Row]]]
    stacks: list[Row]
    checkpoints: Sequence[Row]
    rates: dict[tuple[str, int], float]
    settings: dict[str, str | None]
    behind: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    @classmethod
    def of(cls, look: Tables) -> _Picture:
        acks: dict[int, dict[str, dict[int, Row]]] = defaultdict(lambda: defaultdict(dict))
        for row in look["checkpoint_acks"]:
            acks[row["checkpoint"]][row["vertex"]][row["subtask"]] = row
        vertices: dict[str, Row] = {row["vertex"]: row for row in sorted(look["vertices"], key=lambda row: row["position"] or 0)}
        for row in look["checkpoint_acks"] if not vertices else ():  # saved answers without that of the job
            one = vertices.setdefault(row["vertex"], {"task": row["task"] or row["vertex"], "inputs": (), "parallelism": 0})
            one["parallelism"] = max(one["parallelism"], row["subtask"] + 1)
        picture = cls(
            vertices,
            {(row["vertex"], row["subtask"]): row for row in look["subtasks"]},
            acks,
            list(look["stack_samples"]),
            look["checkpoints"],
            {
                (row["vertex"], row["subtask"]): row["value"]
                for row in look["metrics"]
                if row["name"] == "numRecordsInPerSecond" and row["operator"] is None and row["value"] is not None
            },
            {row["key"]: row["value"] for row in look["job_config"] if row["source"] == "checkpoints"},
        )
        for vertex, row in vertices.items():
            for before in row["inputs"] or ():
                picture.behind[before].append(vertex)
        return picture

    def rows(self, stuck: Row) -> list[Row]:
        acks = self.acks.get(stuck["checkpoint"], {})
        missing = {vertex: self._missing(vertex, acks.get(vertex, {})) for vertex in self.vertices}
        frontier = [v for v in self.vertices if missing[v] and self._reached(v, missing, acks)]
        behind = sum(len(m) for v, m in missing.items() if v not in frontier)
        out: list[Row] = []
        for vertex in frontier:
            out.extend(self._of_frontier(stuck, vertex, missing[vertex], behind))
        return _once(out)

    def _missing(self, vertex: str, acks: Mapping[int, Row]) -> list[int]:
        """Subtasks that owe an acknowledgement; a finished one owes none (FLIP-147)."""
        owed = (s for s, row in sorted(acks.items()) if row["status"] == "pending")
        return [s for s in owed if self.subtasks.get((vertex, s), {}).get("status") != "FINISHED"]

    def _reached(self, vertex: str, missing: Mapping[str, list[int]], acks: Mapping[str, object]) -> bool:
        """Whether all inputs acknowledged; one that nobody tells of is seen through."""
        seen, left = {vertex}, [vertex]
        while left:
            for before in self.vertices[left.pop()]["inputs"] or ():
                if before in seen or before not in self.vertices:
                    continue
                if missing[before]:
                    return False
                seen.add(before)
                if before not in acks:
                    left.append(before)
        return True

    def _of_frontier(self, stuck: Row, vertex: str, missing: list[int], behind: int) -> list[Row]:
        out: list[Row] = []
        pressed = [s for s in missing if self._pressed(vertex, s, stuck)]
        for subtask in missing:
            if subtask in pressed:
                continue
            role, reason, phase = self._judged(stuck, vertex, subtask, len(missing))
            out.append(self._row(stuck, vertex, subtask, role, reason, phase, len(missing), behind))
        if pressed:
            culprits = self._downstream(vertex, stuck)
            end = self.vertices[culprits[0][0]]["task"] if culprits else None
            role = "victim" if culprits else "frontier"
            out.extend(self._row(stuck, vertex, s, role, "back-pressure", "start-delay", len(missing), behind, end) for s in pressed)
            for other, subtask in culprits:
                _, reason, phase = self._judged(stuck, other, subtask, len([c for c in culprits if c[0] == other]), slows=True)
                out.append(self._row(stuck, other, subtask, "culprit", reason, phase, len(culprits), behind))
        return out

    def _pressed(self, vertex: str, subtask: int, stuck: Row) -> bool:
        share = self._share(vertex, subtask, "backpressured", stuck)
        return share is not None and share >= PRESSED

    def _share(self, vertex: str, subtask: int, name: str, stuck: Row) -> float | None:
        """A share of time, unless the subtask runs only since after the barrier: then it tells nothing about it."""
        row = self.subtasks.get((vertex, subtask))
        if row is None or _later(row["started_at"], stuck["triggered_at"]) or _young(row) or _past(stuck):
            return None
        value = row[name]
        return float(value) if value is not None else None

    def _downstream(self, vertex: str, stuck: Row) -> list[tuple[str, int]]:
        """The first subtasks downstream that are busy and not back-pressured: nearest vertices first."""
        seen, level = {vertex}, list(dict.fromkeys(self.behind[vertex]))  # two ways lead to one vertex: it counts once
        while level:
            found = []
            for other in level:
                for subtask in sorted(s for v, s in self.subtasks if v == other):
                    busy = self._share(other, subtask, "busy", stuck)
                    if busy is not None and busy >= BUSY and not self._pressed(other, subtask, stuck):
                        found.append((other, subtask))
            if found:
                return found
            seen.update(level)
            level = list(dict.fromkeys(v for other in level for v in self.behind[other] if v not in seen))
        return []

    def _judged(self, stuck: Row, vertex: str, subtask: int, alike: int, *, slows: bool = False) -> tuple[str, str | None, str | None]:
        """Role, reason and phase of a subtask that holds the barrier; `slows`: others wait for it, `alike`: so many of its vertex do."""
        busy = self._share(vertex, subtask, "busy", stuck)
        main, parallelism = self.stack(vertex, subtask), self.vertices[vertex]["parallelism"] or 1
        if main is not None and _has(main, SYNC_FRAMES):
            return "culprit", "slow-sync", "sync"
        # a thread that is in the user's code now is busy now, whatever the mean of the last minute says
        at_work = main is not None and (main["user_frame"] is not None or _has(main, ASYNC_QUEUE_FRAMES))
        if at_work or (busy is not None and busy >= BUSY):
            return "culprit", self._busy_with(vertex, subtask, main, alike, parallelism, slows), "start-delay"
        uploads = self._uploads(vertex, subtask)
        if uploads:
            return "culprit", "storage" if any(_has(u, STORAGE_FRAMES) for u in uploads) else "slow-async", "async"
        # without a barrier to wait for it has taken the snapshot; what expired was aborted, and then idle says nothing
        parked = main is not None and _has(main, PARKED_FRAMES)
        idle = self._share(vertex, subtask, "idle", stuck)
        for_long = idle is not None and idle >= BUSY and age_ms(stuck) >= _SHARES_SECONDS * 1000
        if stuck["status"] == "IN_PROGRESS" and not slows and (parked or (main is None and for_long)):
            return "culprit", "slow-async", "async"
        return "frontier", None, None

    def _busy_with(self, vertex: str, subtask: int, main: Row | None, alike: int, parallelism: int, slows: bool) -> str:
        rate = self.rates.get((vertex, subtask))
        if main is not None and _has(main, ASYNC_QUEUE_FRAMES) and main["state"] in _WAITS:
            return "stuck-call"
        if alike < parallelism:
            held = main is not None and main["state"] in ("WAITING", "BLOCKED")  # for ever, whatever the rate of the last minute was
            if not held and (rate is None or rate > 0):
                own = self.subtasks.get((vertex, subtask), {}).get("records_in")
                beside = (row["records_in"] for (v, s), row in self.subtasks.items() if v == vertex and s != subtask)
                others = sorted(n for n in beside if n is not None)
                if own and others and own >= _SKEWED * max(1, others[len(others) // 2]):
                    return "skew"
            return "stuck-call"
        if rate == 0 and main is not None and main["state"] in _WAITS:
            return "stuck-call"
        return "back-pressure" if slows else "blocking-code"

    def stack(self, vertex: str, subtask: int) -> Row | None:
        """The task's own thread."""
        task = str(self.vertices[vertex]["task"])
        own = [s for s in self.stacks if s["subtask"] == subtask and s["task"] and _named(task, s["task"])]
        own = [s for s in own if not s["thread"].startswith("Source Data Fetcher")]
        return max(own, key=lambda s: (s["thread"].startswith("Legacy Source"), len(s["frames"] or ())), default=None)

    def _uploads(self, vertex: str, subtask: int) -> list[Row]:
        """Threads on the same worker that write a snapshot: Flink names them after no task."""
        worker = self.subtasks.get((vertex, subtask), {}).get("resource")
        return [s for s in self.stacks if s["task"] is None and worker is not None and s["resource"] == worker]

    def _row(
        self, stuck: Row, vertex: str, subtask: int, role: str, reason: str | None, phase: str | None, missing: int, behind: int,
        held_by: str | None = None,
    ) -> Row:  # fmt: skip
        own, known = self.vertices[vertex], self.subtasks.get((vertex, subtask), {})
        main = self.stack(vertex, subtask)
        values: dict[str, Any] = {
            **{name: stuck[name] for name in ("scope", "as_of", "job", "checkpoint", "status", "triggered_at", "captured_at")},
            "age_ms": age_ms(stuck),
            "timeout_ms": milliseconds(self.settings.get("timeout")),
            "interval_ms": milliseconds(self.settings.get("interval")),
            **record(self.checkpoints),
            "unaligned": (stuck["kind"] or "").startswith("UNALIGNED"),
            "vertex": vertex,
            "task": own["task"],
            "subtask": subtask,
            "parallelism": own["parallelism"],
            "role": role,
            "reason": reason,
            "phase": phase,
            "alike": missing,
            "behind": behind,
            "held_by": held_by,
            "host": known.get("host"),
            "resource": known.get("resource"),
            **{name: self._share(vertex, subtask, name, stuck) for name in ("busy", "backpressured", "idle")},
            "records_per_second": self.rates.get((vertex, subtask)),
            "thread_state": main["state"] if main else None,
            "user_frame": main["user_frame"] if main else None,
            "waits_in": next(iter(main["frames"] or ()), None) if main else None,
            "async_queue_full": _has(main, ASYNC_QUEUE_FRAMES) if main else None,
        }
        return BARRIER_FRONTIER.row(values)


def _named(task: str, thread: str) -> bool:
    """Whether a thread's name is that of a task: long names are clipped."""
    return task == thread or (len(thread) >= 64 and task.startswith(thread.rstrip(".…")))


def _has(stack: Row, wanted: Sequence[str]) -> bool:
    return any(name in frame for frame in stack["frames"] or () for name in wanted)


def _later(started: datetime | None, triggered: datetime | None) -> bool:
    return started is not None and triggered is not None and started > triggered


def _young(subtask: Row) -> bool:
    """Busy shares are counted from the start of a task: while it begins to run it looks busy."""
    started, seen = subtask["started_at"], subtask["captured_at"]
    return started is not None and seen is not None and (seen - started).total_seconds() < _SETTLED_SECONDS


def _past(stuck: Row) -> bool:
    """Busy shares are means of the last minute: they are not those of a checkpoint that expired before."""
    failed, seen = stuck["failed_at"], stuck["captured_at"]
    return failed is not None and seen is not None and (seen - failed).total_seconds() > _SHARES_SECONDS


def _once(found: list[Row]) -> list[Row]:
    """A culprit that several victims lead to stands once; who is a culprit is not also a victim."""
    order = {"culprit": 0, "frontier": 1, "victim": 2}
    kept: dict[tuple[str, int], Row] = {}
    for row in sorted(found, key=lambda row: order[row["role"]]):
        kept.setdefault((row["vertex"], row["subtask"]), row)
    return list(kept.values())
