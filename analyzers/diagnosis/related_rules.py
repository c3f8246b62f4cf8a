"""Which rule a line is about: found from what the rules read."""

from __future__ import annotations

from functools import lru_cache

from analyzers.rules.catalogue import load_rules

_FIRST_TO_READ: dict[str, str | None] = {
    "process-stop-requested": None,  # what follows a stop that was asked for is other rules' concern
    "signal-received": None,
    "leadership-revoked": "RST302",
    "zookeeper-connection-lost": "RST302",
    "checkpoint-expired": "CKP101",
    "checkpoint-failed": "CKP101",
    "checkpoint-tolerance-exceeded": "CKP101",
    "connection-failed": "BRK103",
    "bootstrap-disconnected": "BRK101",
    "bootstrap-unresolvable": "BRK101",
    "node-request-timeout": "BRK106",
    "node-setup-timeout": "BRK103",
    "node-connect-error": "BRK103",
    "request-timed-out": "BRK106",
    "coordinator-unavailable": "BRK105",
    "coordinator-disconnected": "BRK105",
    "partition-commit-failed": "LAG401",
    "unknown-topic-or-partition": "LAG302",
    "zookeeper-not-serving": "BRK207",
    "produce-error": "BRK216",
    "not-enough-replicas": "BRK216",
}
"""Of signatures that several rules read, whose page to open first where the rule of the fewest signatures is not the one."""

_FIRST_OF_FAULT = {"heartbeat-lost": "RST401"}

SPEAK_BY_THEIR_TRACE = frozenset(
    {
        "error-logged", "exception-logged", "task-failed", "global-failover", "adaptive-restarting", "query-failed", "query-exception",
        "operator-failed", "host-unknown", "disk-full",
    }
)  # fmt: skip
"""Signatures that say that something failed: why, their exceptions say."""


def related_rule(signature: str, fault: str | None = None) -> str | None:
    """The code of the rule that lines of `signature` with this class of `fault` are about, None where no rule is.

    Of several the one that reads the fewest others: it is about little else.
    """
    by_signature, by_fault = _read()
    of_fault = by_fault.get(fault or "")
    return of_fault if signature in SPEAK_BY_THEIR_TRACE else by_signature.get(signature, of_fault)


@lru_cache(maxsize=1)
def _read() -> tuple[dict[str, str | None], dict[str, str]]:
    """The rule of each signature, and of each class of faults."""
    by_signature: dict[str, str | None] = {}
    by_fault: dict[str, str] = {}
    for rule in sorted(load_rules(), key=lambda rule: (len(rule.signatures), rule.code), reverse=True):
        by_signature |= dict.fromkeys(rule.signatures, rule.code)
    for rule in sorted(load_rules(), key=lambda rule: (len(rule.faults), rule.code), reverse=True):
        by_fault |= dict.fromkeys(rule.faults, rule.code)
    return by_signature | _FIRST_TO_READ, by_fault | _FIRST_OF_FAULT
