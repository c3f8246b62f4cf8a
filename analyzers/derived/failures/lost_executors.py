"""Spark's shuffle data goes with the executor that held it: why that one was killed is why the query failed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

from analyzers.tables import Row

_WITHIN = timedelta(minutes=15)  # four tries of a stage, each with the stages before it
_EXECUTOR = re.compile(r"(?:\b[Ee]xecutor |BlockManagerId\()(\d+)\b")
_HOST = re.compile(
    r"(?:Failed to connect to |Connection (?:refused|reset|timed out): |BlockManagerId\(\d+, )(?:[\w.-]*/)?([\w.-]+?)(?::\d+|,)"
)
_LOST_ON = re.compile(r"\bLost executor \S+ on ([\w.-]+?):")
_GONE = frozenset({"executor-fetch", "executor-lost"})


def blame_kills(rows: Sequence[dict[str, Any]], events: Iterable[Row]) -> None:
    """Where a query failed for want of an executor, makes the kills that its driver logged just before the cause, in place.

    A driver logs them as losses that it survives, and they are: until a stage has failed as often as it may. Source: Spark's
    DAGScheduler (spark.stage.maxConsecutiveAttempts), ExecutorPodsLifecycleManager.
    """
    kills = [row for row in rows if row["fault"] == "container-killed" and not row["fatal"]]
    failed = [row for row in rows if row["fatal"] and row["fault"] in _GONE] if kills else []
    done = [event for event in events if event["signature"] == "query-progress" and event["at"] is not None] if failed else []
    for failure in failed:
        own = [kill for kill in kills if _before(kill, failure)]
        if not own or not any(_is_of_it(kill, failure) for kill in own) or _survived(max(k["_last_at"] for k in own), failure, done):
            continue
        for kill in own:
            kill.update({key: failure[key] for key in ("job", "attempt")}, fatal=True)
            kill["root_message"] = kill["root_message"] or _how_it_ended(kill["text"] or "")
        failure["consequence"] = True


def _how_it_ended(text: str) -> str | None:
    """The line below the driver's own, which says no more than that an executor is lost."""
    return next((line.strip() for line in text.splitlines()[1:] if line.strip()), None)


def _before(kill: dict[str, Any], failure: dict[str, Any]) -> bool:
    same = all(kill[key] == failure[key] for key in ("scope", "file")) and kill["job"] in (None, failure["job"])
    if not same or kill["_last_at"] is None or failure["at"] is None:
        return False
    return bool(failure["at"] - _WITHIN <= kill["_last_at"] <= failure["at"])


def _is_of_it(kill: dict[str, Any], failure: dict[str, Any]) -> bool:
    """Whether the failure names the executor or the host of the kill, or none at all."""
    said = "\n".join([failure["text"] or "", *(failure["chain"] or ())])
    executors, hosts, own = set(_EXECUTOR.findall(said)), set(_HOST.findall(said)), _LOST_ON.search(kill["text"] or "")
    return (not executors or kill["resource"] in executors) and (not hosts or own is None or own[1] in hosts)


def _survived(last_kill: datetime, failure: dict[str, Any], done: Iterable[Row]) -> bool:
    """Whether the query completed a batch between: then it got over those losses."""
    return any(event["scope"] == failure["scope"] and last_kill < event["at"] < failure["at"] for event in done)
