"""The closed vocabulary of effects, each with the clause that the story of a verdict uses for it."""

from __future__ import annotations

from collections.abc import Mapping

EFFECTS: Mapping[str, str] = {
    # a call of something outside of the job
    "call-refused": "a service refuses a call",
    "call-unanswered": "a service does not answer",
    "login-refused": "a server refuses a client's login",
    "name-unresolved": "a host name does not resolve",
    "broker-unreached": "a broker cannot be reached",
    "broker-gone": "a broker is gone",
    # a record, the program, the position, the state
    "record-fails": "a record cannot be processed",
    "program-fails": "the program cannot run",
    "position-gone": "the wanted position is gone",
    "state-lost": "state is lost",
    "restore-fails": "state cannot be restored",
    "snapshot-fails": "a checkpoint cannot be stored",
    "commit-refused": "an offset commit is refused",
    "commit-missing": "what was written is not made visible",
    "never-running": "the job does not start",
    "fenced": "a writer is fenced",
    "split-twice": "a split is read twice",
    # a machine or a process
    "memory-exhausted": "memory is exhausted",
    "disk-full": "a disk cannot be written",
    "native-crash": "native code crashes",
    "process-killed": "a process is asked to end",
    "worker-gone": "a worker is gone",
    "leader-gone": "the JobManager is gone",
    "leadership-lost": "leadership is lost",
    # a thread, a barrier, a group
    "thread-waits": "a thread waits in a call",
    "lock-held": "a lock is held during a call",
    "event-loop-blocked": "a call blocks the event loop",
    "work-slow": "one piece of work takes too long",
    "barrier-held": "a barrier is held",
    "member-expelled": "a member is expelled from its group",
    "progress-held": "no results come",
    "attempt-fails": "an attempt of the job fails",
}

OF_CAUSE: Mapping[str, str] = {
    "broker-unreachable": "broker-unreached",
    "external-system": "call-unanswered",
    "barrier-unacknowledged": "barrier-held",
    "no-progress": "progress-held",
    "poison-record": "record-fails",
    "duplicate-split": "split-twice",
    "offset-commit": "commit-refused",
    "offset-reset": "position-gone",
    "jobmanager-lost": "leader-gone",
    "taskmanager-lost": "worker-gone",
    "checkpoint-storage": "snapshot-fails",
    "other": "attempt-fails",
}
"""The effect that a finding shows, by the cause that its rule declares (`report.finding.CAUSES`)."""
