"""Which process writes what: a rule is clean only where a log was read that could have shown it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from analyzers.finding import NotChecked
from analyzers.logs.roles import role_of

if TYPE_CHECKING:
    from analyzers.rule import Rule
    from analyzers.tables import Row

Tables = Mapping[str, Sequence["Row"]]

JOBMANAGER = ("jobmanager",)
FLINK = ("jobmanager", "taskmanager", "client", "beam")
SPARK_DRIVER = ("spark-driver",)
JOBS = (*FLINK, "kafka-client", "spark-driver", "spark-executor")
"""Every process of a job. Brokers know nothing of its failures."""
ANY = (*JOBS, "kafka-broker")
BROKER = ("kafka-broker",)

_WANTED = {
    JOBMANAGER: "no JobManager log was given",
    FLINK: "no Flink log was given",
    SPARK_DRIVER: "no log of a Spark driver was given",
    (*JOBMANAGER, *SPARK_DRIVER): "no log of a JobManager or a Spark driver was given",
    JOBS: "no log of a job was given, only those of brokers",
    BROKER: "no log of a Kafka broker was given",
}


def unshown(rules: Iterable[Rule], tables: Tables) -> list[NotChecked]:
    """Those of `rules` (which found nothing) of whose processes no log was read. None where nobody can tell who wrote what."""
    seen = _roles_seen(tables)
    if seen is None:
        return []
    out = []
    for rule in rules:
        asked = "exceptions" in tables and "log_events" not in rule.tables  # the JobManager itself told of its failures
        if seen.isdisjoint(rule.logs_of) and not (asked and "jobmanager" in rule.logs_of):
            wanted = FLINK if rule.logs_of == JOBMANAGER and seen.isdisjoint(FLINK) else rule.logs_of
            out.append(NotChecked(rule.code, _WANTED.get(wanted) or f"no log of {' or '.join(wanted)} was given"))
    return out


def _roles_seen(tables: Tables) -> set[str] | None:
    """Who wrote the logs that were read: by the file, and by each logger, as one file may hold several processes."""
    files = tables.get("log_files", ())
    loggers: dict[str | None, set[str]] = defaultdict(set)
    for event in tables.get("log_events", ()):
        if event["logger"]:
            loggers[event["file"]].add(event["logger"])
    told = {file: {role_of("", f"{logger} [] - ".encode()) for logger in own} - {None} for file, own in loggers.items()}
    if not files or any(not row["role"] and not told.get(row["file"]) for row in files):
        return None
    return {row["role"] for row in files} | {role for roles in told.values() for role in roles if role}
