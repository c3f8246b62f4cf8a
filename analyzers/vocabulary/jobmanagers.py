"""When JobManagers started, and whether anything shows high availability: what rules about a lost JobManager share."""

from __future__ import annotations

import re

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from analyzers.tables import Row

HA_EVIDENCE = ("ha-evidence", "leader-elected", "checkpoints-found", "checkpoints-recovering", "job-recovering", "configuration-property")
"""Signatures that show high availability; a configuration line does so by key and value only."""

_ENTRYPOINT = r"ClusterEntry[Pp]oint|JobManager|MiniCluster"  # components of the start banner: EnvironmentInformation.logEnvironmentInfo


def is_jobmanager_start() -> Column:
    """Whether a line is the start banner of a JobManager's JVM."""
    return (F.col("signature") == "flink-banner") & F.rlike(F.coalesce(F.col("detail")["component"], F.lit("")), F.lit(_ENTRYPOINT))


def started(row: Row) -> bool:
    """`is_jobmanager_start` of a row outside Spark."""
    component = (row["detail"] or {}).get("component") or ""
    return row["signature"] == "flink-banner" and re.search(_ENTRYPOINT, component) is not None


def series() -> Column:
    """Whose log a line stands in, as one name for all processes that were this JobManager one after the other.

    The host, else the file; without the numbers of rolled logs, pods, containers and attempts. Directories keep theirs, as they name
    clusters, unless they are themselves named after a JobManager or container.
    """
    above, folder, name = (F.regexp_extract("file", part, 1) for part in ("^(.*)/[^/]*/[^/]*$", "([^/]*)/[^/]*$", "([^/]*)$"))
    own = F.rlike(F.lower(folder), F.lit(r"job-?manager|container_|\bjm\b|[-_]jm[-_\d]|attempt"))
    path = F.concat_ws("/", above, F.when(own, _unnumbered(folder)).otherwise(folder), _unnumbered(name))
    return F.coalesce(_unnumbered(F.col("host")), path)


def _unnumbered(name: Column) -> Column:
    """`name` without words that hold a digit, without Kubernetes' five random letters and without the endings of packed files."""
    random = r"(?<=-)[bcdfghjklmnpqrstvwxz2456789]{5}(?=[-./]|$)"
    rest = F.regexp_replace(name, rf"[A-Za-z0-9]*\d[A-Za-z0-9]*|{random}|previous|\b(?:gz|zst|lz4|bz2|xz)$", "")
    return F.regexp_replace(F.regexp_replace(rest, r"[-_.]+", "."), r"^\.|\.$", "")


def jobmanager_starts(log_events: DataFrame) -> DataFrame:
    """The start banners of JobManagers, with ``whose``: the host, else the file without the number of a rolled log."""
    file = F.regexp_replace("file", r"(?:\.\d+)?(?:\.gz|\.zst)?$|-previous", "")
    return log_events.where(is_jobmanager_start()).withColumn("whose", F.coalesce("host", file))


def high_availability(log_events: DataFrame) -> DataFrame:
    """The scopes whose logs show high availability: a leader election, a store of checkpoints or jobs, or the setting."""
    key, value = F.col("detail")["key"], F.lower(F.trim(F.coalesce(F.col("detail")["value"], F.lit(""))))
    set_to = (
        (F.col("signature") == "configuration-property")
        & key.isin("high-availability", "high-availability.type")
        & (value != "none")
        & (value != "")
    )
    store = F.col("signature").isin("ha-evidence", "leader-elected", "checkpoints-found", "checkpoints-recovering", "job-recovering")
    standalone = F.contains(F.coalesce("text", F.lit("")), F.lit("StandaloneCompletedCheckpointStore"))
    return log_events.where(set_to | (store & ~standalone)).select("scope").distinct()
