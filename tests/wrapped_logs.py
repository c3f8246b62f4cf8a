# ruff: noqa: E501 -- log lines are what they are
"""One log in every wrapping that people have: as files, streams, services and tools hand it on."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
import tarfile
import textwrap
import zipfile
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from typing import Any

import pyarrow
import zstandard

from analyzers.logs.signatures.signature import Signature
from tests.kubernetes_dump import dumped

JOB = "f83dbb7e04f400ccfd1258d03b96d7ad"
SIGNATURES = (
    Signature(
        "job-state", ("switched from state",), "", "", r"^Job (?P<name>.*) \((?P<job>[0-9a-f]{32})\) switched from state (?P<from_state>\w+) to (?P<to_state>\w+)\.$",
        logger="executiongraph.ExecutionGraph",
    ),
    Signature("task-failed", (" to FAILED on ",), "", "", r"^(?P<task>.*) \((?P<subtask1>\d+)/(?P<parallelism>\d+)\) \((?P<execution>[0-9a-f]{32})\) switched from RUNNING to FAILED"),
    Signature("checkpoint-expired", ("expired before completing",), "", "", r"^Checkpoint (?P<checkpoint>\d+) of job (?P<job>\w+) expired"),
    Signature("deserialise", ("Error deserializing VALUE",), "", "", r"Error deserializing VALUE for partition (?P<tp>\S+) at offset (?P<offset>\d+)", where="line"),
)  # fmt: skip
EG, CC = "org.apache.flink.runtime.executiongraph.ExecutionGraph", "org.apache.flink.runtime.checkpoint.CheckpointCoordinator"
TRACE = """java.lang.RuntimeException: One or more fetchers have encountered exception
\tat org.apache.flink.connector.base.source.reader.fetcher.SplitFetcherManager.checkErrors(SplitFetcherManager.java:263) ~[flink-connector-files-1.20.0.jar:1.20.0]
\tat java.base/java.lang.Thread.run(Thread.java:829) [?:?]
Caused by: org.apache.kafka.common.errors.RecordDeserializationException: Error deserializing VALUE for partition orders-eu-3 at offset 4711. If needed, please seek past the record to continue consumption.
\tat org.apache.kafka.clients.consumer.internals.CompletedFetch.parseRecord(CompletedFetch.java:331) ~[job.jar:?]
\tat com.acme.orders.OrderDecoder.decode(OrderDecoder.java:42) ~[job.jar:?]
\t... 6 more
Caused by: java.lang.IllegalArgumentException: no such currency: 'X' <null> & co
\tat com.acme.orders.Currency.of(Currency.java:17) ~[job.jar:?]
\t... 9 more"""
EVENTS = (
    (0, "INFO", EG, f"Job enrich orders (v2) ({JOB}) switched from state CREATED to RUNNING.", ""),
    (1500, "INFO", CC, f"Triggering checkpoint 1 (type=CheckpointType{{name='Checkpoint', sharingFilesStrategy=FORWARD_BACKWARD}}) @ 1732010001499 for job {JOB}.", ""),
    (2000, "WARN", "org.apache.kafka.clients.NetworkClient", "[Consumer clientId=orders-0, groupId=orders] Connection to node 3 (kafka-3/10.0.0.3:9092) could not be established. Node may not be available.", ""),
    (61000, "INFO", CC, f"Checkpoint 1 of job {JOB} expired before completing.", ""),
    (61500, "INFO", EG, f"Source: orders -> enrich (2/4) ({'a1' * 16}) switched from RUNNING to FAILED on tm-1:41001-ab12cd @ tm-1 (dataPort=41002).", TRACE),
    (61600, "INFO", EG, f"Job enrich orders (v2) ({JOB}) switched from state RUNNING to RESTARTING.", ""),
    (62000, "ERROR", "com.acme.orders.Sink", "cannot write", "java.net.ConnectException: Connection refused\n\tat com.acme.orders.Sink.open(Sink.java:9)"),
)  # fmt: skip
START = datetime(2024, 11, 19, 9, 53, 20, tzinfo=timezone.utc)


def moments() -> Iterator[tuple[datetime, str, str, str, str]]:
    for ms, level, logger, message, stack in EVENTS:
        yield START + timedelta(milliseconds=ms), level, logger, message, stack


def plain() -> list[tuple[datetime, str]]:
    """The canonical log (Flink's own layout), line by line with the time of its event."""
    lines = []
    for at, level, logger, message, stack in moments():
        header = f"{at:%Y-%m-%d %H:%M:%S},{at.microsecond // 1000:03d} {level:<5} {logger:<60} [] - {message}"
        lines += [(at, line) for line in (header, *stack.split("\n")) if line]
    return lines


def rfc3339(at: datetime, nanos: str = "123456") -> str:
    return f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03d}{nanos}Z"


def text(lines: list[str], end: str = "\n") -> bytes:
    return "".join(line + end for line in lines).encode()


def plain_events() -> list[tuple[datetime, str]]:
    """Each event with its trace in one text, as collectors that know stack traces send it."""
    return [
        (at, f"{at:%Y-%m-%d %H:%M:%S},{at.microsecond // 1000:03d} {level:<5} {logger} [] - {message}" + (f"\n{stack}" if stack else ""))
        for at, level, logger, message, stack in moments()
    ]


def otlp(events: list[tuple[datetime, str, str, str, str]]) -> dict[str, Any]:
    """The file exporter of an OpenTelemetry collector."""
    kept = [
        {
            "timeUnixNano": str(int(at.timestamp() * 1000) * 1_000_000),
            "severityText": level,
            "body": {"stringValue": message},
            "attributes": [
                {"key": "logger_name", "value": {"stringValue": logger}},
                *([{"key": "exception.stacktrace", "value": {"stringValue": stack}}] if stack else []),
            ],
        }
        for at, level, logger, message, stack in events
    ]
    return {"resourceLogs": [{"resource": {"attributes": []}, "scopeLogs": [{"scope": {}, "logRecords": kept}]}]}


def records(make: Callable[[datetime, str, str, str, str], dict[str, Any]]) -> bytes:
    return text([json.dumps(make(*event)) for event in moments()])


def each(wrap: Callable[[datetime, str], str]) -> bytes:
    return text([wrap(at, line) for at, line in plain()])


def cri() -> bytes:
    lines = []
    for number, (at, line) in enumerate(plain()):
        if number % 3 == 0 and len(line) > 20:  # the runtime cuts long lines
            lines.append(f"{rfc3339(at)} stdout P {line[:17]}")
            line = line[17:]
        lines.append(f"{rfc3339(at)} stdout F {line}")
    return text(lines)


def frames(stack: str) -> list[dict[str, str]]:
    return [{"class": "com.acme.orders.Sink", "method": "open", "file": "Sink.java", "line": "9"}] if "Sink.java" in stack else []


def thrown(stack: str) -> dict[str, Any]:
    """The trace as log4j2's JsonLayout nests it."""
    outer: dict[str, Any] | None = None
    inner: dict[str, Any] = {}
    for line in stack.split("\n"):
        if line.startswith("\tat "):
            inner["extendedStackTrace"].append(line.strip()[3:])
        elif not line.startswith("\t..."):
            name, _, message = line.removeprefix("Caused by: ").partition(": ")
            below = {"name": name, "message": message, "extendedStackTrace": []}
            if outer is None:
                outer = inner = below
            else:
                inner["cause"], inner = below, below
    return outer or {}


def ecs(at: datetime, level: str, logger: str, message: str, stack: str) -> dict[str, Any]:
    more = {"error.type": stack.split(":")[0], "error.stack_trace": stack} if stack else {}
    return {
        "@timestamp": rfc3339(at, ""),
        "log.level": level,
        "message": message,
        "log.logger": logger,
        "process.thread.name": "main",
        **more,
    }


def ecs_nested(at: datetime, level: str, logger: str, message: str, stack: str) -> dict[str, Any]:
    return {
        "@timestamp": rfc3339(at, ""),
        "log": {"level": level, "logger": logger},
        "message": message,
        **({"error": {"stack_trace": stack}} if stack else {}),
    }


def logstash(at: datetime, level: str, logger: str, message: str, stack: str) -> dict[str, Any]:
    more = {"exception": {"exception_class": stack.split(":")[0], "exception_message": "x", "stacktrace": stack}} if stack else {}
    return {
        "@version": 1,
        "@timestamp": rfc3339(at, ""),
        "level": level,
        "logger_name": logger,
        "thread_name": "main",
        "message": message,
        **more,
    }


def json_layout(at: datetime, level: str, logger: str, message: str, stack: str) -> dict[str, Any]:
    instant = {"epochSecond": int(at.timestamp()), "nanoOfSecond": at.microsecond * 1000}
    return {
        "instant": instant,
        "thread": "main",
        "level": level,
        "loggerName": logger,
        "message": message,
        **({"thrown": thrown(stack)} if stack else {}),
    }


def gcp(at: datetime, level: str, logger: str, message: str, stack: str) -> dict[str, Any]:
    severity = {"WARN": "WARNING"}.get(level, level)
    return {
        "timestampSeconds": int(at.timestamp()), "timestampNanos": at.microsecond * 1000, "severity": severity, "message": message + ("\n" + stack if stack else ""),
        "logger": logger, "thread": "main",
    }  # fmt: skip


def gelf(at: datetime, level: str, logger: str, message: str, stack: str) -> dict[str, Any]:
    number = {"ERROR": 3, "WARN": 4, "INFO": 6}[level]
    more = {"full_message": stack} if stack else {}
    return {
        "version": "1.1",
        "host": "tm-1",
        "short_message": message,
        "timestamp": at.timestamp(),
        "level": number,
        "_logger": logger,
        "_thread": "main",
        **more,
    }


def spark_layout(at: datetime, level: str, logger: str, message: str, stack: str) -> dict[str, Any]:
    return {
        "ts": rfc3339(at, ""),
        "level": level,
        "msg": message,
        "logger": logger.rsplit(".", 1)[-1],
        **({"exception": {"class": "x", "msg": "y", "stacktrace": stack}} if stack else {}),
    }


def aws(at: datetime, level: str, logger: str, message: str, stack: str) -> dict[str, Any]:
    inner = {
        "messageType": level,
        "logger": logger,
        "message": message,
        "threadName": "main",
        **({"throwableInformation": stack.split("\n")} if stack else {}),
    }
    return {"timestamp": int(at.timestamp() * 1000), "ingestionTime": 0, "logStreamName": "kinesis-analytics", "message": json.dumps(inner)}


def yarn() -> bytes:
    body = [line for _, line in plain()]
    return text([
        "Container: container_e08_1700000000000_0001_01_000001 on node-1_45454", "LogAggregationType: AGGREGATED", "=" * 40, "LogType:jobmanager.log",
        "LogLastModifiedTime:Tue Nov 19 10:00:00 +0000 2024", "LogLength:4711", "LogContents:", *body, "End of LogType:jobmanager.log", "*" * 40, "",
        "Container: container_e08_1700000000000_0001_01_000002 on node-2_45454", "LogAggregationType: AGGREGATED", "=" * 40, "LogType:taskmanager.err", "LogContents:", "",
        "End of LogType:taskmanager.err",
    ])  # fmt: skip


def cluster_dump() -> bytes:
    """What `kubectl cluster-info dump` writes for a pod, whose init container printed nothing."""
    return (
        dumped("shop", "jm-0", {"prepare": ""}) + dumped("shop", "jm-0", {"flink": text([line for _, line in plain()]).decode()})
    ).encode()


def two_pods() -> bytes:
    """The lines of two pods, interleaved one by one: a stack trace belongs to the pod that printed it."""
    lines = []
    for at, line in plain():
        lines += [f"[pod/jm-0/main] {line}", f"[pod/tm-0/main] {at:%Y-%m-%d %H:%M:%S},000 DEBUG some.Logger [] - heartbeat"]
    return text(lines)


def journald_json() -> bytes:
    return text([
        json.dumps({"__REALTIME_TIMESTAMP": str(int(at.timestamp() * 1e6)), "_HOSTNAME": "tm-1", "SYSLOG_IDENTIFIER": "flink", "PRIORITY": "6", "MESSAGE": line})
        for at, line in plain()
    ])  # fmt: skip


def loki() -> bytes:
    values = [[str(int(at.timestamp() * 1000)) + "000000", line] for at, line in plain()]
    return json.dumps(
        {"status": "success", "data": {"resultType": "streams", "result": [{"stream": {"pod": "jm-0"}, "values": values[::-1]}]}}, indent=1
    ).encode()


def elasticsearch() -> bytes:
    hits = [{"_index": "logs", "_source": ecs(*event)} for event in moments()]
    return json.dumps({"took": 3, "hits": {"total": {"value": 7}, "hits": hits[::-1]}}).encode()


def cloudwatch() -> bytes:
    events = [{"timestamp": int(at.timestamp() * 1000), "message": line, "ingestionTime": 1} for at, line in plain()]
    return json.dumps({"events": events, "nextForwardToken": "f/1"}, indent=2).encode()


def as_csv() -> bytes:
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(["@timestamp", "kubernetes.pod_name", "message"])
    for at, level, logger, message, stack in moments():
        writer.writerow(
            [
                rfc3339(at, ""),
                "jm-0",
                f"{at:%Y-%m-%d %H:%M:%S},{at.microsecond // 1000:03d} {level} {logger} [] - {message}" + (f"\n{stack}" if stack else ""),
            ]
        )
    return out.getvalue().encode()


def hard_wrapped() -> bytes:
    lines = []
    for _, line in plain():
        lines += [line[n : n + 120] for n in range(0, len(line), 120)]
    return text(lines)


def mailed() -> bytes:
    """As a mailer breaks it: between words, at column 76."""
    return text(
        [
            piece
            for _, line in plain()
            for piece in ([line] if line.startswith("\t") else textwrap.wrap(line, 76, break_long_words=False, break_on_hyphens=False))
        ]
    )


def tarred(packed: bool) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz" if packed else "w") as archive:
        for name, data in (
            ("logs/jobmanager.log.gz", gzip.compress(PLAIN)),
            ("logs/notes.md", b"# notes\n"),
            ("logs/core", bytes(range(256)) * 40),
        ):
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def lz4(data: bytes) -> bytes:
    out = pyarrow.BufferOutputStream()
    with pyarrow.CompressedOutputStream(out, "lz4") as packed:
        packed.write(data)
    return bytes(out.getvalue().to_pybytes())


def logfmt() -> bytes:
    """As Go prints it: what has blanks or quotes is quoted, and a line break escaped."""

    def pair(key: str, value: str) -> str:
        plain_word = value and not set(value) & set(' ="' + "\n\t")
        return f"{key}={value if plain_word else json.dumps(value, ensure_ascii=False)}"

    return text([" ".join(pair(key, str(value)) for key, value in ecs(*e).items()) for e in moments()])


def zipped() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a/jobmanager.log", PLAIN)
    return out.getvalue()


PLAIN = text([line for _, line in plain()])
HTML = PLAIN.decode().replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").encode()
WRAPPED: dict[str, Callable[[], bytes]] = {
    "crlf": lambda: text([line for _, line in plain()], "\r\n"),
    "ansi": lambda: each(lambda at, line: f"\x1b[32m{line[:23]}\x1b[0m{line[23:]}\x1b[m"),
    "bom": lambda: b"\xef\xbb\xbf" + PLAIN,
    "utf-16-le": lambda: b"\xff\xfe" + PLAIN.decode().encode("utf-16-le"),
    "utf-16-be-no-mark": lambda: PLAIN.decode().encode("utf-16-be"),
    "nul-head": lambda: b"\0" * 5000 + PLAIN,
    "gz": lambda: gzip.compress(PLAIN[:900]) + gzip.compress(PLAIN[900:]),
    "zst": lambda: zstandard.ZstdCompressor().compress(PLAIN),
    "bz2": lambda: bz2.compress(PLAIN),
    "xz": lambda: lzma.compress(PLAIN),
    "lz4": lambda: lz4(PLAIN[:900]) + lz4(PLAIN[900:]),
    "tar.lz4": lambda: lz4(tarred(False)),
    "tar": lambda: tarred(False),
    "tar.gz": lambda: tarred(True),
    "tar.zst": lambda: zstandard.ZstdCompressor().compress(tarred(False)),
    "zip": zipped,
    "cri": cri,
    "docker-json-file": lambda: each(lambda at, line: json.dumps({"log": line + "\n", "stream": "stdout", "time": rfc3339(at)})),
    "docker-json-file-ecs": lambda: text([json.dumps({"log": json.dumps(ecs(*e)) + "\n", "stream": "stdout", "time": rfc3339(e[0])}) for e in moments()]),
    "logfmt": logfmt,
    "kubectl-prefix-logfmt": lambda: text([f"[pod/flink-jm-0/main] {line}" for line in logfmt().decode().splitlines()]),
    "kubectl-timestamps": lambda: each(lambda at, line: f"{rfc3339(at)} {line}"),
    "kubectl-prefix": lambda: each(lambda at, line: f"[pod/flink-jm-0/main] {line}"),
    "kubectl-prefix-timestamps": lambda: each(lambda at, line: f"[pod/flink-jm-0/main] {rfc3339(at)} {line}"),
    "kubectl-prefix-json": lambda: text([f"[pod/flink-jm-0/main] {json.dumps(ecs(*e))}" for e in moments()]),
    "two-pods": two_pods,
    "stern": lambda: text(["+ flink-jm-0 › main"]) + each(lambda at, line: f"flink-jm-0 main {line}"),
    "compose": lambda: each(lambda at, line: f"jobmanager-1  | {line}"),
    "journald-short": lambda: text(["-- Logs begin at Mon 2024-11-18. --"]) + each(lambda at, line: f"{at:%b %d %H:%M:%S} node-1 flink[812]: {line}"),
    "journald-iso": lambda: each(lambda at, line: f"{at:%Y-%m-%dT%H:%M:%S}+0000 node-1 flink[812]: {line}"),
    "journald-json": journald_json,
    "syslog-3164": lambda: each(lambda at, line: f"<14>{at:%b %d %H:%M:%S} node-1 flink: {line}"),
    "syslog-5424": lambda: each(lambda at, line: f'<14>1 {rfc3339(at, "")} node-1 flink 812 - [x@1 a="b]"] {line}'),
    "yarn": yarn,
    "cluster-info dump": cluster_dump,
    "tail": lambda: b"==> logs/jobmanager.log <==\n" + PLAIN,
    "grep": lambda: each(lambda at, line: f"logs/jobmanager.log:{line}"),
    "logcli": lambda: each(lambda at, line: f'{rfc3339(at)} {{app="flink", pod="jm-0"}} {line}'),
    "aws-tail": lambda: each(lambda at, line: f"{rfc3339(at)[:-1]}+00:00 flink/jm-0 {line}"),
    "ecs": lambda: records(ecs),
    "ecs-nested": lambda: records(ecs_nested),
    "logstash": lambda: records(logstash),
    "json-layout": lambda: records(json_layout),
    "gcp": lambda: records(gcp),
    "gelf": lambda: records(gelf),
    "spark-layout": lambda: records(spark_layout),
    "aws": lambda: records(aws),
    "loki": loki,
    "elasticsearch": elasticsearch,
    "cloudwatch": cloudwatch,
    "csv": as_csv,
    "quoted": lambda: each(lambda at, line: f"> {line}"),
    "indented": lambda: each(lambda at, line: f"    {line}"),
    "fenced": lambda: b"```log\n" + PLAIN + b"```\n",
    "inline code": lambda: b"`" + PLAIN.rstrip(b"\n") + b"`\n",
    "html": lambda: b"<pre><code>\n" + HTML + b"</code></pre>\n",
    "hard-wrapped": hard_wrapped,
    "mailed": mailed,
    "insights-json": lambda: json.dumps([{"@timestamp": f"{at:%Y-%m-%d %H:%M:%S.%f}"[:-3], "@message": ecs(at, *e), "@logStream": "jm"} for at, *e in moments()], indent=1).encode(),
    "datadog-json": lambda: json.dumps({"data": [{"id": str(i), "type": "log", "attributes": {"timestamp": rfc3339(at, "000"), "status": "info", "host": "i-1", "message": line}} for i, (at, line) in enumerate(reversed(plain_events()))]}).encode(),
    "otlp-lines": lambda: text([json.dumps(otlp([e])) for e in moments()]),
    "otlp-document": lambda: json.dumps(otlp(list(moments())), indent=1).encode(),
    "cut-export": lambda: json.dumps({"events": [{"timestamp": int(at.timestamp() * 1000), "message": line, "logStreamName": "jm"} for at, line in plain_events()] + [{"timestamp": 1732010003000, "message": "x" * 90}]}, indent=1).encode()[:-70],
    "own-key": lambda: each(lambda at, line: json.dumps({"logEvent": line, "@timestamp": f"{at:%Y-%m-%d_%H:%M:%S}"})),
    "one-record-per-lines": lambda: json.dumps([ecs(*event) for event in moments()], indent=4).encode(),
}  # fmt: skip
