"""Which effect brings about which, and how the two must be joined to be believed. Declared between effects, never between rules."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

Proof = Literal["proves", "explains", "suggests"]

WEIGHT = {"proves": 1.0, "explains": 0.8, "suggests": 0.5}
"""How much a link adds to the belief in its cause."""


@dataclass(frozen=True)
class Link:
    """`cause` brings about `effect` within the time `within`; joined by a shared entity of kind `via`, else more weakly by the scope."""

    cause: str
    effect: str
    via: str
    within: timedelta = timedelta(minutes=10)
    proof: Proof = "explains"
    alone: bool = True
    """Whether the scope joins them where one side names no entity of the kind `via`."""


_HOUR = timedelta(hours=1)


def _links() -> tuple[Link, ...]:
    ends: tuple[tuple[str, Proof], ...] = (("memory-exhausted", "proves"), ("native-crash", "proves"), ("disk-full", "explains"))
    ends_a_process = [
        Link(cause, effect, "worker", proof=proof) for cause, proof in ends for effect in ("worker-gone", "leader-gone", "broker-gone")
    ]
    return (
        *ends_a_process,
        Link("process-killed", "worker-gone", "worker", alone=False),
        Link("program-fails", "worker-gone", "task"),
        Link("memory-exhausted", "attempt-fails", "worker"),
        Link("memory-exhausted", "call-unanswered", "worker", proof="suggests", alone=False),
        Link("memory-exhausted", "broker-unreached", "worker", proof="suggests", alone=False),
        Link("native-crash", "attempt-fails", "worker"),
        Link("disk-full", "broker-unreached", "broker", _HOUR),
        Link("disk-full", "snapshot-fails", "host"),
        Link("disk-full", "barrier-held", "host", _HOUR),
        Link("login-refused", "broker-unreached", "broker", _HOUR, "proves"),
        Link("login-refused", "call-unanswered", "service", _HOUR),
        Link("leadership-lost", "leader-gone", "host"),
        Link("name-unresolved", "broker-unreached", "broker", _HOUR),
        Link("name-unresolved", "call-unanswered", "service"),
        Link("thread-waits", "barrier-held", "subtask", _HOUR, "proves"),
        Link("thread-waits", "commit-refused", "group", _HOUR),
        Link("lock-held", "barrier-held", "subtask", _HOUR, "proves"),
        Link("lock-held", "commit-refused", "group", _HOUR),
        Link("event-loop-blocked", "commit-refused", "group", _HOUR, "proves"),
        Link("event-loop-blocked", "member-expelled", "group", _HOUR, "proves"),
        Link("work-slow", "commit-refused", "group", _HOUR),
        Link("work-slow", "member-expelled", "group", _HOUR),
        Link("call-unanswered", "barrier-held", "task", _HOUR),
        Link("call-refused", "barrier-held", "task", _HOUR),
        Link("record-fails", "commit-refused", "group", _HOUR, "suggests"),
    )


LINKS = _links()
