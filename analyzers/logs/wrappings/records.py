# ruff: noqa: E501 -- tables of aliases
"""Structured log records (JSON objects) and the canonical line that stands for each of them.

Keys differ by layout and shipper, so they are found by alias, dotted or nested. A record becomes
``2024-12-03T02:18:06.996Z LEVEL logger [thread] - message`` and the lines of its stack trace; one whose message already is a whole
log line, or that has no level, becomes that text alone, with the record's time as envelope time.
Sources: log4j2 JsonLayout and JsonTemplateLayout templates (EcsLayout, LogstashJsonEventLayoutV1, GcpLayout, GelfLayout), Spark's
SparkLayout.json, docker json-file, systemd.journal-fields, CloudWatch, Loki and Elasticsearch exports.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from analyzers.logs.layouts.layouts import level_of, severity_level
from analyzers.logs.layouts.timestamps import parse, to_datetime
from analyzers.logs.matching.expressions import expression
from analyzers.logs.wrappings.query_listener import of_listener
from analyzers.logs.wrappings.serilog import TEMPLATE, filled
from analyzers.logs.wrappings.shapes import Shape, Shaped, at

_SECONDS = "timestampSeconds"
_TIME = (
    _SECONDS, "@timestamp", "timestamp", "time", "ts", "instant", "timeMillis", "timestampMillis", "timestamp_ms", "timestamp_ns", "tsNs", "datetime", "asctime", "eventTime", "date",
    "__REALTIME_TIMESTAMP", "_SOURCE_REALTIME_TIMESTAMP", "_time", "receiveTimestamp", "ingestionTime", "Time", "Timestamp", "log_time", "written_at", "Date", "@t",
    "timeUnixNano", "observedTimeUnixNano",
)  # fmt: skip
_LEVEL = (
    "level",
    "log.level",
    "severity",
    "loglevel",
    "log_level",
    "logLevel",
    "levelname",
    "messageType",
    "lvl",
    "Level",
    "LEVEL",
    "severityText",
    "severity_text",
    "priority",
    "LogLevel",
    "@l",
)
_LOGGER = (
    "logger",
    "log.logger",
    "logger_name",
    "loggerName",
    "_logger",
    "logger.name",
    "name",
    "category",
    "className",
    "class",
    "source_class",
    "loggername",
    "Properties.SourceContext",
    "SourceContext",
    "Category",
)
_THREAD = ("thread", "thread_name", "threadName", "process.thread.name", "_thread", "_thread_name", "threadname")
_MESSAGE = (
    "message", "msg", "short_message", "log", "MESSAGE", "textPayload", "@message", "line", "Line", "body", "formattedMessage", "renderedMessage", "_raw", "log.message", "Message",
    "event.original", "text", "content", "RenderedMessage", "@m",
)  # fmt: skip
_STACK = (
    "error.stack_trace", "stack_trace", "stackTrace", "stacktrace", "exception.stacktrace", "exception.stack_trace", "exception.stackTrace", "exception", "thrown", "throwable",
    "throwableInformation", "full_message", "exc_info", "error.stack", "throwable.stackTrace", "log.exception", "err.stack", "Exception", "@x",
)  # fmt: skip
_THROWN = ("error.type", "exception_class", "exception.exception_class", "exception.class")
_THROWN_MESSAGE = ("error.message", "exception.exception_message", "exception.msg")
_NESTED = ("message", "msg", "log", "@message", "body", "textPayload")
_POD = (
    "kubernetes.pod_name",
    "kubernetes.pod.name",
    "pod",
    "pod_name",
    "resource.labels.pod_name",
    "k8s.pod.name",
    "labels.pod",
    "stream.pod",
    "POD_NAME",
)
_CONTAINER = (
    "kubernetes.container_name", "kubernetes.container.name", "container", "container_name", "container.name", "resource.labels.container_name", "k8s.container.name", "labels.container",
)  # fmt: skip
_STREAM = ("logStreamName", "logStream", "@logStream", "log_stream", "CONTAINER_NAME")
_HOST = ("_HOSTNAME", "host.name", "hostname", "source_host", "host", "agent.hostname", "instance", "filename")
_JOB = (
    "flink-job-id",
    "contextMap.flink-job-id",
    "mdc.flink-job-id",
    "labels.flink-job-id",
    "context.flink-job-id",
    "_flink-job-id",
    "context.query_id",
)

_ABOUT = (
    *("run_id", "batch_id", "executor_id", "stage_id", "task_id", "task_attempt_id"),
    *("broker", "addr", "clientId", "groupId", "group", "topic", "partition", "offset", "error", "err"),
)
"""What records of Kafka clients and Spark name beside their message: the fields of kafkajs, of franz-go with a logger of Go (zap, zerolog,
logrus, slog), and Spark's MDC."""
_SAYS_MORE = ("context.batch_id", "context.executor_id", "context.run_id", "clientId", "groupId", "addr", "partition", "err", "caller")
"""One of these makes a record one of those; so does an error beside the message where no logger is named, as in Go."""
_ERROR = ("error",)
_HEADER = expression(
    r"\[?(?:[0-9]{4}[-/.][0-9]{2}[-/.][0-9]{2}[ T][0-9]{2}:[0-9]{2}:[0-9]{2}|[0-9]{2}/[0-9]{2}/[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2})"
)
# Flink's banner begins with one blank, too: " Starting TaskManager (Version: …"
_CONTINUES = expression(r"\s+at |[^\S ]| (?=\s|$)|Caused by: |\.\.\. \d+ more|Suppressed: ")
_MESSAGE_LIKE = expression(r"log|msg|mess|event|line|text|entry|payload", re.IGNORECASE)  # a shipper's own name for the message
_JOB_ID = expression(r"[0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")  # Flink's, and the id of a Spark query
_SAFE = expression(r"[^\w.$/@-]")
_KIBANA = expression(r"([A-Z][a-z]{2} \d{1,2}, \d{4}) @ (\d\d:\d\d:\d\d(?:\.\d+)?)")


@dataclass
class Record:
    """One structured record, by what it says. `docker`: its message is a raw piece of output that may end in the middle of a line."""

    message: str
    time_ms: int | None = None
    level: str | None = None
    logger: str | None = None
    thread: str | None = None
    stack: str | None = None
    stream: str | None = None
    channel: str = ""
    job: str | None = None
    docker: bool = False
    local: bool = False
    about: str | None = None

    @property
    def structured(self) -> bool:
        """Whether level and message stand apart, so that the record is an event of its own."""
        if self.level is None or self.docker:
            return False
        return not (is_header(self.message) or (self.stack is None and _CONTINUES.match(self.message)))

    def lines(self) -> list[bytes]:
        """The canonical lines."""
        message = self.message.rstrip("\r\n")
        if self.structured:
            second = None if self.time_ms is None else second_text(self.time_ms // 1000)
            stamp = (
                f"{second}{self.time_ms % 1000:03d}{'' if self.local else 'Z'} " if second is not None and self.time_ms is not None else ""
            )
            message = f"{stamp}{self.level} {origin_text(self.logger, self.thread, self.job)}- {message}"
        if self.about:
            message += f"\n    with {self.about}"
        if self.stack and not ("\n\tat " in message or (len(self.stack) > 40 and self.stack[:200] in message)):
            message += "\n" + self.stack.strip("\r\n")
        return [line.rstrip("\r").encode("utf-8", "replace") for line in message.split("\n")]


def origin_text(logger: str | None, thread: str | None, job: str | None) -> str:
    """Logger, thread and job as the canonical line states them, with a blank behind."""
    thread = " ".join((thread or "").split()) + (f"|job:{job}" if job else "")
    return f"{_SAFE.sub('_', logger) if logger else '-'} {f'[{thread}] ' if thread else ''}"


def logger_in(found: str | None) -> str | None:
    """What is no logger's name has blanks."""
    return found if found and " " not in found else None


def job_in(found: str | None) -> str | None:
    return found if found and _JOB_ID.fullmatch(found) else None


def is_continued(message: str) -> bool:
    """Whether a message has a header of its own or continues an event, so that its record is no event of its own."""
    return is_header(message) or bool(_CONTINUES.match(message))


@lru_cache(maxsize=4096)
def second_text(second: int) -> str | None:
    """`2024-12-03T02:18:06.` of a second since 1970; None if it lies outside of the calendar."""
    moment = to_datetime(second * 1000)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") if moment is not None else None


def is_header(line: str) -> bool:
    """Whether a line begins with a full date and time of its own, as `dated_lines` sees it."""
    return bool(_HEADER.match(line))


_scan = json.JSONDecoder(strict=False).raw_decode


def parsed(line: bytes) -> Any:
    """The value that JSON text holds, None if it is none: `json.loads`, but the decoder is made once."""
    try:
        if line[:1] != b"{" or line[1:2] == b"\0":  # blanks before it, UTF-16: rare
            return json.loads(line, strict=False)
        text = line.decode("utf-8", "surrogatepass")
        value, end = _scan(text)
    except (ValueError, RecursionError):  # nested by thousands: no logger writes such a record
        return None
    return value if end == len(text) or not text[end:].strip(" \t\n\r") else None


def record_of(line: bytes) -> Record | None:
    """The record that a line of JSON holds; None if it is no JSON object or no log record."""
    value = parsed(line) if line.rstrip()[-1:] == b"}" or b"\0" in line else None  # what ends otherwise is no object; UTF-16: rare
    return from_dict(value) if isinstance(value, dict) else None


def from_dict(value: dict[str, Any]) -> Record | None:
    """The record of a JSON object; None if it has no message or nothing that makes it a log record."""
    if isinstance(value.get("log"), str) and isinstance(value.get("time"), str) and (len(value) <= 4 and "stream" in value):
        return Record(value["log"], time_of(value["time"]), channel=str(value["stream"]), stream=_attr_stream(value), docker=True)
    if "runId" in value or isinstance(value.get("progress"), dict):
        told = of_listener(value)
        if told is not None:
            return Record(told.message, time_of(told.time), told.level, told.logger, stack=told.trace)
    shaped = Shaped(value)
    if _is_mute(shaped.shape):
        return None
    message = filled(shaped)
    if message is None:
        message = shaped.first(_MESSAGE)
    stack = _stack(shaped)
    if message is None:
        listed = shaped.first(_MESSAGE, list)
        message = str(listed[0]) if listed and isinstance(listed[0], str) else None
    inner = shaped.first(_NESTED, dict) if message is None and stack is None else None
    if inner:
        return from_dict({**{k: v for k, v in value.items() if v is not inner}, **inner})
    time_ms, local = _time(shaped)
    if message is None and stack is None and time_ms is not None:
        message = next((v for k, v in value.items() if isinstance(v, str) and " " in v and _MESSAGE_LIKE.search(k)), None)
    if message is None and stack is None:
        return None
    level = _level(shaped)
    if level is None and "@t" in value:
        level = "INFO"  # Serilog's compact format leaves it out
    logger = shaped.first(_LOGGER)
    if time_ms is None and level is None and logger is None:
        return None
    job = shaped.first(_JOB)
    record = Record(
        message or "", time_ms, level, logger_in(logger), shaped.first(_THREAD), stack, _stream(shaped), "",
        job_in(job), False, local, _about(shaped),
    )  # fmt: skip
    return unfolded(record)


def _about(shaped: Shaped) -> str | None:
    """What a record of a Kafka client or of Spark names beside its message, as ``key=value, …``."""
    if not _says_more(shaped.shape):
        return None
    context = shaped.first(("context",), dict)
    place = {**(context or {}), **shaped.value}
    known = ((key, place.get(key)) for key in _ABOUT)
    shown = [f"{key}={' '.join(str(value).split())}" for key, value in known if isinstance(value, (str, int)) and value != ""]
    return ", ".join(shown) or None


def _says_more(shape: Shape) -> bool:
    return bool(shape.paths(_SAYS_MORE) or (shape.paths(_ERROR) and not shape.paths(_LOGGER)))


def _is_mute(shape: Shape) -> bool:
    """Whether no object of that shape is a log record."""
    if shape.mute is None:
        spoken = any(shape.paths(names) for names in (_MESSAGE, _STACK, _NESTED, TEMPLATE))
        shape.mute = not spoken and not (shape.paths(_TIME) and any(map(_MESSAGE_LIKE.search, shape.keys)))
    return shape.mute


class Named(NamedTuple):
    """The values of an object that make its record, not yet understood."""

    message: str
    time: Any
    level: Any
    logger: str | None
    thread: str | None
    job: str | None
    streams: tuple[str | None, str | None, str | None, str | None]  # the arguments of `stream_name`
    trace: tuple[str | None, str | None, str | None]  # the arguments of `stack_text`


def named(value: dict[str, Any]) -> Named | None:
    """What `from_dict` looks at; None where that depends on more than names (Docker's records, traces and times in parts)."""
    shaped = Shaped(value)
    message = shaped.first(_MESSAGE)
    docker = len(value) <= 4 and "log" in value and "time" in value and "stream" in value
    stack = shaped.first(_STACK, (str, dict, list))
    if message is None or docker or isinstance(stack, (dict, list)):
        return None
    path, time = next(shaped.named(_TIME), ((), None))
    if isinstance(time, (dict, list, bool)) or _SECONDS in path or _says_more(shaped.shape) or shaped.shape.paths(TEMPLATE):
        return None
    return Named(
        message, time, shaped.first(_LEVEL, (str, int)), shaped.first(_LOGGER), shaped.first(_THREAD), shaped.first(_JOB),
        (shaped.first(_POD), shaped.first(_CONTAINER), shaped.first(_STREAM), shaped.first(_HOST)),
        (None, None, None) if stack is None else (stack, shaped.first(_THROWN), shaped.first(_THROWN_MESSAGE)),
    )  # fmt: skip


def unfolded(record: Record) -> Record:
    """The record that the message of another one holds as JSON, with what only the outer one says; else the record itself."""
    inner = record_of(record.message.encode("utf-8", "replace")) if record.message.startswith("{") and record.stack is None else None
    if inner is None:
        return record
    if inner.time_ms is None:
        inner.time_ms, inner.local = record.time_ms, record.local
    inner.level, inner.logger = inner.level or record.level, inner.logger or record.logger
    inner.stream = record.stream or inner.stream
    return inner


def _attr_stream(value: dict[str, Any]) -> str | None:
    attrs = value.get("attrs")
    return str(attrs.get("tag") or attrs.get("name")) if isinstance(attrs, dict) and (attrs.get("tag") or attrs.get("name")) else None


def _stream(shaped: Shaped) -> str | None:
    return stream_name(shaped.first(_POD), shaped.first(_CONTAINER), shaped.first(_STREAM), shaped.first(_HOST))


def stream_name(pod: str | None, container: str | None, stream: str | None, host: str | None) -> str | None:
    """How the stream of a record is called by what it says of where it comes from."""
    if pod:
        return f"{pod}/{container}" if container else pod
    return container or stream or host or None


def _level(shaped: Shaped) -> str | None:
    found = shaped.first(_LEVEL, (str, int))
    return None if found is None else level_in(found)


def level_in(found: str | int) -> str | None:
    """The level that a record states by name or number; None if it is none."""
    if isinstance(found, str) and not found.isdigit():
        return level_of(found)
    number = int(found)
    if number <= 7:
        return severity_level(number)
    return {10: "TRACE", 20: "DEBUG", 30: "INFO", 40: "WARN", 50: "ERROR", 60: "FATAL"}.get(number)  # bunyan, pino


def _time(shaped: Shaped) -> tuple[int | None, bool]:
    for path, found in shaped.named(_TIME):
        if path[-1] == _SECONDS:
            ms = _epoch(found, at(shaped.value, path[:-1]).get("timestampNanos"))
            if ms is not None:
                return ms, False
            continue
        if isinstance(found, list) and found:
            found = found[0]
        if isinstance(found, dict):
            ms = _epoch(found.get("epochSecond", found.get("seconds")), found.get("nanoOfSecond", found.get("nanos")))
            if ms is not None:
                return ms, False
        elif found is not None and not isinstance(found, bool):
            stamp = stamp_of(found)
            if stamp is not None:
                return stamp
    return None, False


def _epoch(seconds: Any, nanos: Any) -> int | None:
    """Milliseconds of an instant in two numbers; None where they are none, or beyond the year 5000."""
    if not isinstance(seconds, int) or not 0 <= seconds < 1e11:
        return None
    return seconds * 1000 + (nanos // 1_000_000 if isinstance(nanos, int) and 0 <= nanos < 1e9 else 0)


def time_of(value: Any) -> int | None:
    """Milliseconds of a record's time: epoch in s, ms, µs or ns (number or digits), or text; None if it is no time."""
    stamp = stamp_of(value)
    return stamp[0] if stamp else None


def stamp_of(value: Any) -> tuple[int, bool] | None:
    """Milliseconds and whether they are local time (no zone was stated)."""
    if isinstance(value, str):
        text = value.strip()
        if m := _KIBANA.fullmatch(text):
            text = f"{m[1]} {m[2]}"
        if not re.fullmatch(r"\d{9,19}(?:\.\d+)?", text):
            stamp = parse(text.replace("_", " ", 1))
            return (stamp.ms, not stamp.stated) if stamp is not None else None
        value = float(text) if "." in text else int(text)
    if not isinstance(value, (int, float)) or value <= 1e8:
        return None
    for limit, factor in ((1e11, 1000.0), (1e14, 1.0), (1e17, 1e-3), (1e20, 1e-6)):
        if value < limit:
            return (int(value * 1000) if factor == 1000.0 else int(value // round(1 / factor)), False)
    return None


def _stack(shaped: Shaped) -> str | None:
    found = shaped.first(_STACK, (str, dict, list))
    if found is None:
        return None
    if isinstance(found, str):
        return stack_text(found, shaped.first(_THROWN), shaped.first(_THROWN_MESSAGE))
    if isinstance(found, list):
        return "\n".join(_frame(item) for item in found) or None
    return "\n".join(_trace(found, "")) or None


def stack_text(found: str, kind: str | None, message: str | None) -> str | None:
    """A printed trace, with class and message of what was thrown where it lacks them; None if it is none."""
    if kind and re.match(r"\s*at ", found):
        return f"{kind}{f': {message}' if message else ''}\n{found}"
    if kind and message and "\n" in found:
        return _with_message(found, kind, message)
    return found if "\n" in found or "Exception" in found or "Error" in found else None


def _with_message(trace: str, kind: str, message: str | None) -> str:
    """`trace`, its first line with the whole message where it has only the beginning of it: Spark's layout has both side by side."""
    first, _, rest = trace.partition("\n")
    name, _, said = first.partition(": ")
    cut = bool(message) and name.strip() == kind and len(message or "") > len(said) and (message or "").startswith(said)
    return f"{kind}: {message}\n{rest}" if cut else trace


def _trace(thrown: dict[str, Any], prefix: str, depth: int = 0) -> Iterator[str]:
    """A structured exception as it would have been printed."""
    kind = (
        thrown.get("name")
        or thrown.get("class")
        or thrown.get("exception_class")
        or thrown.get("type")
        or thrown.get("className")
        or "java.lang.Throwable"
    )
    message = next((thrown[k] for k in ("message", "msg", "exception_message", "localizedMessage") if thrown.get(k)), None)
    stack = next(
        (
            thrown[k]
            for k in ("extendedStackTrace", "stacktrace", "stack_trace", "stackTrace", "stackTraceElements", "frames")
            if thrown.get(k)
        ),
        None,
    )
    if isinstance(stack, str) and not re.match(r"\s*(?:\[?\s*)at |\[", stack) and "\n" in stack:
        yield from _with_message(stack, str(kind), message if isinstance(message, str) else None).split("\n")
        return
    yield f"{prefix}{kind}{f': {message}' if message else ''}"
    if isinstance(stack, str):
        yield from (f"\t{line.strip()}" for line in stack.split("\n"))
    elif isinstance(stack, list):
        yield from (_frame(item) for item in stack)
    cause = thrown.get("cause")
    if isinstance(cause, dict) and depth < 20:
        yield from _trace(cause, "Caused by: ", depth + 1)


def _frame(item: Any) -> str:
    if isinstance(item, dict):
        line = f":{item['line']}" if item.get("line") not in (None, "") else ""
        return f"\tat {item.get('class', '')}.{item.get('method', '')}({item.get('file') or 'Unknown Source'}{line})"
    text = str(item)
    return (
        text
        if text.startswith(("Caused by", "\t", " ")) or not re.match(r"at |[\w.$/@<>-]+\(", text.strip())
        else f"\t{text if text.startswith('at ') else 'at ' + text}"
    )
