"""Which checkpoint of a job does not come to its end, how old it is, and how those before it ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from analyzers.tables import Row

EXPIRED = "expired before completing"
"""What Flink's REST interface gives as the reason of a checkpoint that timed out."""
_QUIET_MS = 5_000
_TIMES_USUAL = 5
"""How much longer than the slowest completed checkpoint one in progress must take before anybody is suspected."""
_DEFAULT_TIMEOUT_MS = 600_000
_NEVER_MS = 1 << 50  # Flink prints Long.MAX_VALUE where checkpoints are switched off


def stuck_checkpoint(checkpoints: Sequence[Row], settings: Mapping[str, str | None]) -> Row | None:
    """The checkpoint that shows who does not answer: the open one when it takes too long, else the newest when it expired.

    None when the newest that ended completed and the open one is no older than usual: a barrier on its way is no trouble.
    """
    newest_first = sorted((c for c in checkpoints if not c["savepoint"]), key=lambda c: -c["checkpoint"])
    opened = next((c for c in reversed(newest_first) if c["status"] == "IN_PROGRESS"), None)
    ended = next((c for c in newest_first if c["status"] != "IN_PROGRESS"), None)
    expired = ended if ended is not None and ended["status"] == "FAILED" and EXPIRED in (ended["failure"] or "") else None
    if opened is not None and opened["triggered_at"] and opened["captured_at"]:
        usual = max((c["duration_ms"] or 0 for c in newest_first if c["status"] == "COMPLETED"), default=0)
        timeout = milliseconds(settings.get("timeout")) or _DEFAULT_TIMEOUT_MS
        patience = min(max(_QUIET_MS, usual * _TIMES_USUAL), timeout // 2)
        if age_ms(opened) >= (min(_QUIET_MS, patience) if expired is not None else patience):
            return opened
    return expired


def milliseconds(text: str | None) -> int | None:
    """A setting of ``/checkpoints/config``; None for what is none."""
    try:
        found = int(text or "")
    except ValueError:
        return None
    return found if 0 <= found < _NEVER_MS else None


def age_ms(checkpoint: Row) -> int:
    """How long a checkpoint took until it ended or was looked at."""
    until = checkpoint["failed_at"] or checkpoint["captured_at"]
    if checkpoint["status"] != "IN_PROGRESS" and checkpoint["duration_ms"] and not checkpoint["failed_at"]:
        return int(checkpoint["duration_ms"])
    return int((until - checkpoint["triggered_at"]).total_seconds() * 1000) if until and checkpoint["triggered_at"] else 0


def record(checkpoints: Sequence[Row]) -> dict[str, Any]:
    """How the remembered checkpoints ended: since (when the first that failed began), usual_ms, expired, last_completed(_at)."""
    done = [c for c in checkpoints if c["status"] == "COMPLETED" and not c["savepoint"]]
    last = max(done, key=lambda c: c["checkpoint"], default=None)
    after = [c for c in checkpoints if last is None or c["checkpoint"] > last["checkpoint"]]
    late = [c["triggered_at"] for c in after if c["triggered_at"] and (c["status"] == "IN_PROGRESS" or EXPIRED in (c["failure"] or ""))]
    return {
        "since": min(late, default=None),
        "usual_ms": max((c["duration_ms"] or 0 for c in done), default=None),
        "expired": sum(c["status"] == "FAILED" and EXPIRED in (c["failure"] or "") for c in after),
        "last_completed": last["checkpoint"] if last else None,
        "last_completed_at": last["last_ack_at"] if last else None,
    }
