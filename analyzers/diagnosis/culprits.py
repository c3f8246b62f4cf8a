"""The culprit by name: what the evidence of a finding names and its rule has no column for.

Only what all lines agree on that name it at all: a subject is never guessed. What a rule says itself stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

from analyzers.derived.failures.needed_words import Expressions
from analyzers.derived.failures.owners import application_of, connector_of, deployment_of

_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_NAMED = Expressions(
    # Structured Streaming: StreamExecution.prettyIdString, and the MDC of Spark 4
    rf"\[id = (?P<query>{_UUID}), runId = (?P<run>{_UUID})\]",
    rf"\"?\bquery_id(?:\" ?: ?\"|=)(?P<query>{_UUID})",
    rf"\"?\brun_id(?:\" ?: ?\"|=)(?P<run>{_UUID})",
    r"\bbatch_id=(?P<batch>\d+)",
    r"\bexecutor_id=(?P<executor>\w+)",
    # kafkajs and others whose records have fields
    r"\bgroupId=(?P<group>[^,\]\s]+)",
    r"\bclientId=(?P<client>[^,\]\s]+)",
    r"\btopic=(?P<topic>[\w.-]+), partition=(?P<partition>\d+)(?:, offset=(?P<offset>\d+))?",
    r"\bbroker=(?P<address>[\w.-]+:\d+)",
    r"\baddr=(?P<address>[\w.-]+:\d+)",
    r"\b(?P<container>container_(?:e\d+_)?\d{4,}_\d+_\d+_\d+)\b",
    r"\bfor operator (?P<task>[^\n]{1,200}?) \((?P<subtask>\d+)/(?P<parallelism>\d+)\)",
    r"\b(?:checkpoint|Checkpoint) (?P<checkpoint>\d+)\b",
    r"(?P<path>(?:s3[an]?|hdfs|gs|abfss?|wasbs?|oss|file|swift)://?[^\s'\",;)\]]*/(?:chk-\d+|savepoint-[0-9a-f-]+)(?:/[^\s'\",;)\]]*)?)",
    # consumers; a thread of a Spring listener container is named after the listener, whose id is the group's unless set otherwise
    r"\[(?:[\w.]*ListenerEndpointContainer#)?(?P<group>[A-Za-z][\w-]*?)-\d+-C-\d+\]",
    r"\bcommit failed for group (?P<group>[\w.-]+):",
    r"\btaskId[=:] ?(?P<streams_task>\d+_\d+)",
    r"\btask \[(?P<streams_task>\d+_\d+)\]",
    # a record, as Kafka Streams, Kafka Connect and consumers name it
    r"\btopic[=:]? ?'?(?P<topic>[\w.-]+)'?,? partition[=:]? ?(?P<partition>\d+),? (?:at )?offset[=:]? ?(?P<offset>\d+)",
    r"\bfailed to send record to (?P<topic>[\w.-]+):",
    # Spring and Streams: topic-partition@offset; librdkafka's clients: topic[partition]@offset, topic [[partition]] @offset
    r"(?<![\w.@-])(?P<topic>[A-Za-z][\w.-]*)-(?P<partition>\d{1,5})@(?P<offset>\d+)\b",
    r"(?<![\w.@-])(?P<topic>[A-Za-z][\w.-]*) ?\[{1,2}(?P<partition>\d{1,5})\]{1,2} ?@ ?(?P<offset>\d+)\b",
)
_WORKERS = Expressions(
    # Spark's TaskSetManager and TaskSchedulerImpl
    r"\(TID \d+\) ?\((?P<on_host>[^\s()]+) executor (?P<executor>\w+)\)",
    r"\b[Ll]ost executor (?P<executor>\d+) on (?P<on_host>[^\s:]+)",
    r"\b[Ee]xecutor (?P<executor>\d+)\b(?P<on_host>)",
    # Flink's Execution.toString and JobMaster
    r" (?:on|at) (?P<resource>\S+) @ (?P<on_host>\S+) \(dataPort=",
    r"\bTaskManager with id (?P<resource>[^\s(]+)\((?P<on_host>[^\s:()]+)(?::\d+[^)]*)?\)",
)
"""Executors and TaskManagers, with the host that each runs on."""
_OF_ANY_MACHINE = frozenset({"localhost", "127.0.0.1", "0.0.0.0", "::1", "localhost.localdomain"})
"""Where a worker runs that shares its driver's machine, or binds to all: no name of a machine."""
_NUMBERS = frozenset({"batch", "subtask", "parallelism", "checkpoint", "connector_task", "partition", "offset"})
_TOGETHER = (("task", "subtask", "parallelism"), ("topic", "partition", "offset"))
"""Keys that mean one thing: where one of them is known otherwise, or not agreed on, the others are left out."""
_OFFSET = re.compile(r"(?:partition |for )(?P<topic>[\w.-]+)-(?P<partition>\d+) at offset (?P<offset>\d+)")
_ATTEMPT = re.compile(r"_(\d+)\) switched from |#(\d+)(?: \([0-9a-f_]+\))? switched from ")


def named_by(texts: Sequence[str], known: Mapping[str, Any]) -> dict[str, Any]:
    """What `texts`, the lines of one finding, name beyond its subject as far as it is `known`."""
    seen: dict[str, list[Any]] = {}
    offsets, attempts = [], []
    for text in texts:
        for key, value in _of_line(text):
            values = seen.setdefault(key, [])
            if value not in values:
                values.append(value)
        offsets += [m["offset"] for m in _OFFSET.finditer(text) if (m["topic"], int(m["partition"])) == _partition(known)]
        attempts += [int(m[1] or m[2]) for m in _ATTEMPT.finditer(text)]
    found = {key: values[0] for key, values in seen.items() if len(values) == 1 and known.get(key) is None}
    for keys in _TOGETHER:
        if any(known.get(key) is not None or len(seen.get(key, ())) > 1 for key in keys):
            found = {key: value for key, value in found.items() if key not in keys}
    executors = seen.get("executor", [])
    if len(executors) > 1 and known.get("resource") in executors:
        found["executor"] = known["resource"]
    clear = len(executors) < 2 or "executor" in found
    if known.get("host") is None and clear and len(hosts := hosts_of(texts, {**found, **known})) == 1:
        found["host"] = hosts.pop()
    if offsets and known.get("offset") is None and "offset" not in found:
        found["offset"] = int(offsets[-1])
    if attempts and known.get("attempt") is None:
        found["attempt"] = max(attempts)  # of a loop the last one is the story
    return found


def hosts_of(texts: Iterable[str], known: Mapping[str, Any]) -> set[str]:
    """Where the executor or the TaskManager runs: of a known one its own host, else the one that all of them share."""
    return {
        m["on_host"]
        for text in texts
        for m in _WORKERS.matches(text)
        if m["on_host"]
        and m["on_host"] not in _OF_ANY_MACHINE
        and all(known.get(key, value) == value for key, value in m.groupdict().items() if key != "on_host")
    }


def _partition(known: Mapping[str, Any]) -> tuple[Any, Any]:
    return known.get("topic"), known.get("partition")


def _of_line(text: str) -> Iterable[tuple[str, Any]]:
    if (connector := connector_of(text)) is not None:
        yield "connector", connector[0]
        if connector[1] is not None:
            yield "connector_task", connector[1]
    if (deployment := deployment_of(text)) is not None:
        yield "deployment", deployment
    if (application := application_of(text)) is not None:
        yield "application", application
    for m in chain(_NAMED.matches(text), _WORKERS.matches(text)):
        for key, value in m.groupdict().items():
            if key == "on_host" or value is None or (key == "group" and value == "null"):
                continue  # asked for when it is clear of whom: `hosts_of`
            yield key, (int(value) - (key == "subtask")) if key in _NUMBERS else value


def owner_words(subject: Mapping[str, Any]) -> str | None:
    """Whose fault it is, in words: what a reader of a crowded log has to know first."""
    if connector := subject.get("connector"):
        task = subject.get("connector_task")
        return f"connector {connector}" + ("" if task is None else f", task {task}")
    if deployment := subject.get("deployment"):
        return f"deployment {deployment}"
    if application := subject.get("application"):
        task = subject.get("streams_task")
        return f"application {application}" + ("" if task is None else f", task {task}")
    return None
