"""When JobManagers started, and whether anything shows high availability: what rules about a lost JobManager share."""

from __future__ import annotations

import re

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from analyzers.derived.failures.job_lives import ENTRYPOINT, started
from analyzers.tables import Row
from analyzers.vocabulary.columns import detail, event
from analyzers.vocabulary.quick_looks import captured

__all__ = ["HA_EVIDENCE", "high_availability", "is_jobmanager_start", "jobmanager_starts", "shows_availability", "started", "whose"]

HA_EVIDENCE = ("ha-evidence", "leader-elected", "checkpoints-found", "checkpoints-recovering", "job-recovering", "configuration-property")
"""Signatures that show high availability; a configuration line does so by key and value only."""

_OF_ROLLED = r"(?:\.\d+)?(?:\.gz|\.zst)?$|-previous"
"""What the name of a rolled log has more than the first one's."""


def is_jobmanager_start() -> Column:
    """Whether a line is the start banner of a JobManager's JVM."""
    return event("flink-banner") & F.rlike(F.coalesce(detail("component"), F.lit("")), F.lit(ENTRYPOINT))


def jobmanager_starts(log_events: DataFrame) -> DataFrame:
    """The start banners of JobManagers, with ``whose``: the host, else the file without the number of a rolled log."""
    file = F.regexp_replace("file", _OF_ROLLED, "")
    return log_events.where(is_jobmanager_start()).withColumn("whose", F.coalesce("host", file))


def whose(start: Row) -> str:
    """Of one start banner the ``whose`` of `jobmanager_starts`."""
    return start["host"] or re.sub(_OF_ROLLED, "", start["file"] or "")


def shows_availability(row: Row) -> bool:
    """Whether a row of ``log_events`` shows high availability, like `high_availability`."""
    if row["signature"] == "configuration-property":
        named = captured(row, "key") in ("high-availability", "high-availability.type")
        return named and (captured(row, "value") or "").strip(" ").lower() not in ("none", "")
    return row["signature"] in HA_EVIDENCE and "StandaloneCompletedCheckpointStore" not in (row["text"] or "")


def high_availability(log_events: DataFrame) -> DataFrame:
    """The scopes whose logs show high availability: a leader election, a store of checkpoints or jobs, or the setting."""
    value = F.lower(F.trim(F.coalesce(detail("value"), F.lit(""))))
    named = event("configuration-property") & detail("key").isin("high-availability", "high-availability.type")
    store = event("ha-evidence", "leader-elected", "checkpoints-found", "checkpoints-recovering", "job-recovering")
    standalone = F.contains(F.coalesce("text", F.lit("")), F.lit("StandaloneCompletedCheckpointStore"))
    return log_events.where((named & ~value.isin("none", "")) | (store & ~standalone)).select("scope").distinct()
