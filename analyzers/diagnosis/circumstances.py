"""What all failures of a job have in common, and what that asks for: one host, the restored state, the same words each time."""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from dataclasses import dataclass

from analyzers.diagnosis.culprits import hosts_of
from analyzers.tables import Row

_ENOUGH = 3
"""Failures: two on one host may be chance where there are few hosts."""
_RESTORES = re.compile(
    r"\.(?!restore(?:Internal|AndInvoke|StateAndGates|Gates)?\()(?:restore|recover)\w*\("
    r"|\b(?:streamOperatorStateContext|OperatorStateRestoreOperation|BackendRestorerProcedure)\b"
)
"""Frames of a task that reads what a checkpoint holds; those of `StreamTask` and `Task` that are left out stand in every trace."""
_OF_MACHINE = re.compile(
    r"(?i)(?<![\w:/.])/(?!/)[\w.-]+/[\w./-]+|\b(?:no space left|read-only file system|input/output error|address already in use"
    r"|cannot allocate|cannot open shared object|UnsatisfiedLink|too many open files|disk)"
)
"""What a message says of the machine itself: a local path, a disk, a port, a library."""


@dataclass(frozen=True)
class Circumstances:
    """`host`: where every failure was, though the job also ran elsewhere; `failures` of it. `restores`: each failed while it set up its
    state; `checkpoint`: the one they began from."""

    failures: int
    host: str | None = None
    restores: bool = False
    checkpoint: int | None = None

    def steps(self, task: str | None, *, in_state: bool = True) -> list[str]:
        """Imperative sentences; none where the failures have nothing in common. `in_state`: another state may end them."""
        found = []
        if self.host is not None:
            found.append(
                f"Take {self.host} out of service, or repair it: each of the {self.failures} failures was there and on no other host."
            )
        if self.restores and in_state:
            whose = f" of {task}" if task else ""
            begin = f" from checkpoint {self.checkpoint}" if self.checkpoint is not None else ""
            found.append(
                f"*flink:* The restored state{whose} is what fails each attempt{begin}: start from another checkpoint or savepoint; "
                "only if none is whole, without that operator's state (a new uid, --allowNonRestoredState)."
            )
        return found


def circumstances(faults: Sequence[Row], attempts: Sequence[Row], hosts: Set[str]) -> Circumstances:
    """Of one job: its fatal `faults` with a trace, its `attempts`, and all `hosts` that its tasks were deployed to."""
    traced = [row for row in faults if row["fatal"] and row["chain"] and row["task"]]
    failures = len({row["attempt"] for row in traced})
    ended = [row for row in attempts if row["ended"] == "failed"]
    restored = {row["restored_checkpoint"] for row in ended if row["restored_checkpoint"] is not None}
    never_ran = bool(ended) and not any(row["checkpoints_completed"] for row in ended[1:] or ended)
    return Circumstances(
        failures,
        _only_host(traced, hosts) if failures >= _ENOUGH else None,
        bool(traced) and never_ran and all(_RESTORES.search(row["text"] or "") for row in traced),
        restored.pop() if len(restored) == 1 else None,
    )


def _only_host(traced: Sequence[Row], hosts: Set[str]) -> str | None:
    """The host of all failures, where the job has others."""
    own = [hosts_of([row["text"] or ""], {}) for row in traced]
    here = {host for hosts in own for host in hosts}
    if len(here) != 1 or not all(own):
        return None
    one_subtask = len({(row["task"], row["subtask"]) for row in traced}) == 1
    if one_subtask and not all(_OF_MACHINE.search(row["root_message"] or "") for row in traced):
        return None  # its state or its records may be what fails, wherever it runs
    return next(iter(here)) if hosts - here else None
