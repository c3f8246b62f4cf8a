"""Spark's shuffle data goes with the executor that held it: why that one was killed is why the query failed."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

_WITHIN = timedelta(minutes=15)  # four tries of a stage, each with the stages before it
_GONE = frozenset({"executor-fetch", "executor-lost"})


def blame_kills(rows: Sequence[dict[str, Any]]) -> None:
    """Where a query failed for want of an executor, makes the kills that its driver logged just before the cause, in place.

    A driver logs them as losses that it survives, and they are: until a stage has failed as often as it may. Source: Spark's
    DAGScheduler (spark.stage.maxConsecutiveAttempts), ExecutorPodsLifecycleManager.
    """
    kills = [row for row in rows if row["fault"] == "container-killed" and not row["fatal"]]
    for failure in (row for row in rows if row["fatal"] and row["fault"] in _GONE) if kills else ():
        own = [kill for kill in kills if _before(kill, failure)]
        for kill in own:
            kill.update({key: failure[key] for key in ("job", "attempt")}, fatal=True)
            kill["root_message"] = kill["root_message"] or _how_it_ended(kill["text"] or "")
        failure["consequence"] = failure["consequence"] or bool(own)


def _how_it_ended(text: str) -> str | None:
    """The line below the driver's own, which says no more than that an executor is lost."""
    return next((line.strip() for line in text.splitlines()[1:] if line.strip()), None)


def _before(kill: dict[str, Any], failure: dict[str, Any]) -> bool:
    same = all(kill[key] == failure[key] for key in ("scope", "file")) and kill["job"] in (None, failure["job"])
    if not same or kill["_last_at"] is None or failure["at"] is None:
        return False
    return bool(failure["at"] - _WITHIN <= kill["_last_at"] <= failure["at"])
