"""Which process writes what: a rule is clean only where a log was read that could have shown it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from analyzers.logs.layouts.roles import role_of
from analyzers.logs.signatures import ANYBODYS
from analyzers.report.finding import NotChecked

if TYPE_CHECKING:
    from analyzers.tables import Row
    from analyzers.vocabulary.rule import Rule

Tables = Mapping[str, Sequence["Row"]]

JOBMANAGER = ("jobmanager",)
FLINK = ("jobmanager", "taskmanager", "client", "beam")
SPARK_DRIVER = ("spark-driver",)
JOBS = (*FLINK, "kafka-client", "spark-driver", "spark-executor")
"""Every process of a job. Brokers know nothing of its failures."""
CLIENTS = ("taskmanager", "beam", "kafka-client", "spark-driver", "spark-executor")
"""Where a job's Kafka clients run; the JobManager has one too, but it neither reads records nor commits."""
TASKMANAGER = ("taskmanager",)
BROKER = ("kafka-broker",)
ZOOKEEPER = ("zookeeper",)
ANY = (*JOBS, *BROKER, *ZOOKEEPER)

_WANTED = {
    JOBMANAGER: "no JobManager log was given",
    FLINK: "no Flink log was given",
    SPARK_DRIVER: "no log of a Spark driver was given",
    (*JOBMANAGER, *SPARK_DRIVER): "no log of a JobManager or a Spark driver was given",
    JOBS: "no log of a job was given, only those of brokers",
    BROKER: "no log of a Kafka broker was given",
    CLIENTS: "no log of a process that reads from Kafka was given (a TaskManager, a Spark executor)",
    (*JOBS, *BROKER): "no log of a job or of a Kafka broker was given",
    (*CLIENTS, *BROKER): "no log of a process that reads from Kafka was given (a TaskManager, a Spark executor), nor of a broker",
    ZOOKEEPER: "no log of ZooKeeper was given",
    TASKMANAGER: "no TaskManager log was given",
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


_OURS = re.compile(r"(?:org\.apache\.|o\.a\.)(?:flink|kafka|beam|spark|zookeeper)\b|kafka\.[a-z]")


def recognised(tables: Tables) -> set[str | None]:
    """The files with an event that only Flink, Kafka, Beam or Spark prints, or with a logger of theirs."""
    nobodys = {"error-logged", "exception-logged", *ANYBODYS}
    events = tables.get("log_events", ())
    return {event["file"] for event in events if event["signature"] not in nobodys or _OURS.match(event["logger"] or "")}


def _roles_seen(tables: Tables) -> set[str] | None:
    """Who wrote the logs that were read: by the file, and by each logger, as one file may hold several processes.

    A file of which nobody can tell who wrote it speaks for nobody; None = there are no others, and lines of ours in it.
    """
    files = [row for row in tables.get("log_files", ()) if row["lines"] != 0]  # of others nothing was read
    loggers = {event["logger"] for event in tables.get("log_events", ()) if event["logger"]}
    told = {role_of("", f"{logger} [] - ".encode()) for logger in loggers}
    seen = {role for role in (*told, *(row["role"] for row in files)) if role}
    return seen or (None if recognised(tables) or not tables.get("log_files") else set())
