"""Which signatures show that something failed, and which that it lives: what faults.py weighs events by."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from analyzers.logs.signatures import external, formats, jvm, zookeeper
from analyzers.tables import Row

FATAL = {
    "task-failed": 4,
    "fatal-task-error": 4,
    "query-failed": 4,
    "query-exception": 3,
    "spark-job-aborted": 2,
    "dstream-batch-failed": 2,
    "program-failed": 1,
    "spark-application-ended": 1,
    "coordinator-failed-job": 3,
    "enumerator-failed": 3,
    "global-failover": 3,
    "adaptive-restarting": 3,
    "entrypoint-fatal": 3,
    "uncaught-fatal": 3,
    "taskmanager-fatal": 3,
    "worker-terminated": 3,
    "pod-terminated": 3,
    "yarn-container-failed": 3,
    "container-memory-exceeded": 3,
    "container-exit-code": 2,
    "pod-evicted": 3,
    "adaptive-failing": 2,
    "job-state": 2,
    "slots-unavailable": 2,
    "job-terminal": 1,
    "restart-suppressed": 1,
    "connect-task-killed": 3,
    "streams-record-failed": 2,
    "streams-uncaught": 2,
    "streams-threads-dead": 1,
    "heartbeat-timeout-noted": 1,
    "taskexecutor-disconnected": 1,
    "remote-quarantined": 1,
}
"""Signatures that show a task, job or process fail, and how telling each is as the row that stands for the fault."""

BATCH_PLANNED = ("batch-planned", "batch-written")
"""Signatures with which a batch of a query begins."""
BATCH_DONE = ("query-progress", "batch-sunk")
"""Signatures of a batch that is done, or whose rows its sink has committed."""
BROKER_LEFT = (
    "broker-shutdown-granted", "broker-left-at-once", "broker-fenced", "broker-failure-callback", "broker-transition",
    "broker-shutting-down",
)  # fmt: skip
BROKER_BACK = ("broker-unfenced", "broker-unfence-granted", "broker-started", "broker-startup-callback")
BROKER_LIFE = (*BROKER_LEFT, *BROKER_BACK, "broker-address")
"""Which brokers are in the cluster: what was logged of it stays true until the next such line, also behind the beginning of a window."""


QUERY_OVER = ("query-stopped", "query-failed", "query-exception", "query-read-all", "query-cleaned-up", "spark-application-ended")
"""Signatures after which a streaming query runs no more."""

SAYS_ITSELF = {
    "yarn-container-failed": "container-killed",
    "container-memory-exceeded": "container-killed",
    "pod-evicted": "container-killed",
    "bootstrap-unresolvable": "bootstrap-unresolvable",
}
"""Signatures that name their fault without any exception."""

OF_ANY_PROGRAM = frozenset(
    {
        "error-logged",
        "exception-logged",
        *(s.id for module in (jvm, external, formats) for s in module.SIGNATURES),
        *(s.id for s in zookeeper.OF_CLIENTS),
    }
)
"""Signatures that every Java or Python program may print: they prove no streaming job."""

TRIES_AGAIN = frozenset(
    {
        "rdkafka-connect-failed",
        "rdkafka-hung-up",
        "rdkafka-handshake-broken",
        "rdkafka-brokers-down",
        "rdkafka-error-passing",
        "binding-connect-failed",
        "binding-error-passing",
        "connect-call-retried",
    }
)
"""What Kafka clients print as an error, and connectors as a warning, while they go on trying: BRK103, BRK202, BRK216 and RST503 weigh how
long."""

ENDS_OF_IT = re.compile(
    r"^(?:panic: |thread '[^'\n]*' panicked at |Unhandled exception\. |Node\.js v\d|exit status [1-9]|Traceback \(most recent)",
    re.MULTILINE,
)
"""What a program prints that ends of an error which its client would have tried again: Go, Rust, .NET, Node, Python."""

COMMITS_FAILED = ("commit-failed", "commit-failed-legacy", "partition-commit-failed", "offsets-commit-failed", "beam-commit-failed")
"""Signatures of a failed commit of offsets: whoever asked for it is called back, and reads on; LAG401 weighs how long."""

CONNECTIONS = frozenset({"heartbeat-timeout-noted", "taskexecutor-disconnected"})
WORKERS = frozenset(
    {"worker-terminated", "pod-terminated", "yarn-container-failed", "container-memory-exceeded", "container-exit-code", "pod-evicted"}
)

OF_LOST_WORKERS = frozenset({"heartbeat-lost", "connection-to-worker", "deploy-timeout", "quarantined"})
OF_WORKERS = frozenset({"connection-to-worker", "worker-left", "cancelled"})
MASTERS_END = frozenset({"uncaught-fatal", "entrypoint-fatal", "out-of-memory-exit"})
"""Signatures of a process that ends; in a JobManager's log it is the JobManager itself, not a worker."""

RELEASED = re.compile(
    r"(?i)idle time-?out|no longer needed|exit(?:ed)?(?: with)?(?: code|Code)?[ :=]+0\b|Completed\b|SUCCEEDED|released by"
)
"""A worker that Flink or the cluster gave back in order."""

REMOVED = re.compile(
    r"(?i)(?:killed|deleted) by driver|decommission|idle time-?out|another attempt succeeded|TaskKilled|stage cancelled|job \d+ cancelled"
    r"|exited unrelated to the running tasks"
)
"""An executor that Spark gave back in order or that the cluster took (Spark counts no such loss), or a task that it stopped itself."""

LIFE = frozenset(
    {
        "job-state",
        "task-failed",
        "task-transition",
        "query-started",
        "query-failed",
        "adaptive-restarting",
        "spark-job-started",
        "spark-job-finished",
        *BATCH_PLANNED,
        "batch-sunk",
    }
)
"""Signatures that show how jobs go; a scope without any is a fragment, in which a failure can only speak for itself."""

FAILED_TO_CONNECT = (
    "connection-failed",
    "bootstrap-disconnected",
    "node-setup-timeout",
    "node-connect-error",
    "bootstrap-unresolvable",
    "node-request-timeout",
)
ANSWERED = (
    "cluster-reached", "coordinator-found", "transaction-coordinator-found", "offset-committed-used", "offset-reset",
    "offset-not-committed", "producer-initialized", "binding-answered",
)  # fmt: skip
"""Signatures of a client that cannot reach a node, and of one that gets answers."""

OTHERS_FAILED = ("rdkafka-connect-failed", "rdkafka-hung-up", "binding-connect-failed")
"""The same of clients in other languages than Java; most of them print no answer."""

SPARK_LIVES = frozenset(
    {
        "spark-version",
        "spark-job-started",
        "spark-job-finished",
        "spark-application-ended",
        "query-progress",
        "query-started",
        *BATCH_PLANNED,
        "batch-sunk",
    }
)
"""Lines that show a Spark application at work. What it survives by trying again is then no failure: the end of a job tells."""


_WENT_WELL = frozenset({"spark-job-finished", *BATCH_DONE, *BATCH_PLANNED})
"""Lines behind which nothing that Spark lost before is missing: a batch is planned when the one before it is done."""


@dataclass
class SparkLife:
    """A Spark application at work: the place of the last job that it finished; whether it runs streaming queries, and one failed."""

    done: int = -1
    done_line: tuple[str, int] | None = None
    streams: bool = False
    failed: bool = False


def spark_telling(event: Row, telling: int, life: SparkLife) -> int:
    """How telling `event` is where a Spark application is seen at work: what it tries again is no failure."""
    if event["signature"] in WORKERS or (event["signature"] == "spark-application-ended" and event["to_state"] != "FAILED"):
        return 0
    if event["signature"] == "program-failed":
        # a traceback has no header of its own: it hangs on whatever line the JVM wrote last
        behind = (event["seq"] or 0) > life.done or (event["file"], event["line"]) == life.done_line
        return telling if event["chain"] and not life.failed and behind else 0
    if event["signature"] != "spark-job-aborted":
        return telling
    if (event["seq"] or 0) < life.done:
        return 0  # the program tried again, or went on without it
    return 1 if life.streams else telling  # the end of a query tells it better


def spark_lives(events: Iterable[Row]) -> dict[str, SparkLife]:
    """Scopes in which a Spark application is seen at work."""
    out: dict[str, SparkLife] = {}
    failed = set()
    for event in events:
        if event["signature"] == "query-failed":
            failed.add(event["scope"])
        if event["signature"] in SPARK_LIVES:
            life = out.setdefault(event["scope"], SparkLife())
            life.streams |= event["signature"].startswith(("query-", "batch-"))
            if event["signature"] in _WENT_WELL and (event["seq"] or 0) >= life.done:
                life.done, life.done_line = event["seq"] or 0, (event["file"], event["line"])
    for scope in failed & out.keys():
        out[scope].failed = True
    return out


def ignored_unresolvable_hosts(faults: Iterable[dict[str, Any]], events: Iterable[Row]) -> list[dict[str, Any]]:
    """Unresolvable bootstrap hosts of clients that started anyway: a client logs its version once it is made.

    Source: Kafka's ClientUtils.parseAndValidateAddresses, which warns per name and throws where none is left; AppInfoParser.
    """
    made: dict[tuple[str, str], int] = {}
    for event in events:
        if event["signature"] in ("kafka-clients-version", "kafka-client-started") or event["signature"] in ANSWERED:
            where = (event["scope"], event["file"])
            made[where] = max(made.get(where, -1), event["line"])
    named = [f for f in faults if f["signature"] == "bootstrap-unresolvable" and not f["chain"]]
    return [f for f in named if made.get((f["scope"], f["file"]), -1) > f["line"]]


def told_before(faults: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The ends of Kafka Streams instances whose reason is told by an exception of the same scope."""
    every = list(faults)
    reasons = {f["scope"] for f in every if f["fatal"] and f["fault"] != "streams-ended"}
    return [f for f in every if f["fault"] == "streams-ended" and f["scope"] in reasons]


_FEW = 2


def harmless_worker_losses(faults: Iterable[dict[str, Any]], attempts: Sequence[Row], events: Iterable[Row]) -> list[dict[str, Any]]:
    """Worker losses after which a checkpoint completed and no job failed in the scope.

    An idle TaskManager that is given back, or a standby that was killed, fails nothing. Where no attempt is seen, whose checkpoints
    complete is not known either: many losses are no luck then.
    """
    failed = {a["scope"] for a in attempts if a["ended"] in ("failed", "suspended")}
    lived = {a["scope"] for a in attempts}
    losses = [f for f in faults if f["fatal"] and f["signature"] in WORKERS]
    lost: Counter[str] = Counter()
    for loss in losses:
        lost[loss["scope"]] += loss["occurrences"]
    completed: dict[str, list[datetime]] = defaultdict(list)
    for event in events:
        if event["scope"] not in failed and event["signature"] == "checkpoint-completed" and event["at"]:
            completed[event["scope"]].append(event["at"])
    for times in completed.values():
        times.sort()

    def later(fault: Mapping[str, Any]) -> bool:
        times = completed.get(fault["scope"], [])
        return fault["at"] is not None and bisect_right(times, fault["at"]) < len(times)

    def few(fault: Mapping[str, Any]) -> bool:
        return fault["scope"] in lived or lost[fault["scope"]] <= _FEW

    return [loss for loss in losses if later(loss) and few(loss)]
