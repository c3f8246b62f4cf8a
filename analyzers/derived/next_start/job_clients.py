"""What the job's own logs tell of its Kafka client: version, connector, how many clients must start, and its time-outs."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from analyzers.forecast.clients import parse_version
from analyzers.tables import Row

Said = dict[str, str]
"""Keys and values as `analyzers.forecast.what_if` reads them: client, connector, parallelism, timeout, request_timeout, setup_timeout."""

_VERSION = re.compile(r"kafka-clients[ :]+(\S+)")
_PROPERTY = re.compile(
    r"^\s*(?P<key>default\.api\.timeout\.ms|request\.timeout\.ms|socket\.connection\.setup\.timeout\.ms) = (?P<value>\d+)\s*$", re.M
)
_KEYS = {
    "default.api.timeout.ms": "timeout",
    "request.timeout.ms": "request_timeout",
    "socket.connection.setup.timeout.ms": "setup_timeout",
}
_MARKS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("legacy", re.compile(r"FlinkKafkaConsumer|connectors\.kafka\.internals")),
    ("beam", re.compile(r"beam\.sdk\.io\.kafka")),
    ("spark", re.compile(r"spark\.sql\.kafka010")),
    ("kafka-source", re.compile(r"connector\.kafka\.source")),
)
_CONFIG_OF = {"legacy": "Consumer", "beam": "Consumer", "plain": "Consumer", "kafka-source": "AdminClient", "spark": "AdminClient"}


def logged_client(scope: str, tables: Mapping[str, Sequence[Row]]) -> Said:
    """What the logs of `scope` say; keys that they do not tell are absent. Of several versions the oldest counts."""
    events = [e for e in tables.get("log_events", ()) if e["scope"] == scope and e["role"] != "kafka-broker"]
    files = [f for f in tables.get("log_files", ()) if f["scope"] == scope and f["role"] != "kafka-broker"]
    said: Said = {}
    versions = _understood(version for f in files for client in f["clients"] or () for version in _VERSION.findall(client))
    if versions:
        said["client"] = min(versions, key=parse_version)
    seen = Counter(name for event in events if (name := _connector(event)))
    if seen:
        said["connector"] = seen.most_common(1)[0][0]
    sources = _parallelism(events)
    if sources:
        said["parallelism"] = str(sources)
    wanted = _CONFIG_OF[said.get("connector", "plain")]
    for event in events:
        if event["signature"] == "kafka-client-config" and (event["detail"] or {}).get("config_of") == wanted:
            said.update({_KEYS[m["key"]]: f"{m['value']}ms" for m in _PROPERTY.finditer(event["text"] or "")})
    return said


def logged_bootstrap(scope: str, tables: Mapping[str, Sequence[Row]]) -> list[str]:
    """The bootstrap list that the job's consumers print most often; empty where none does."""
    lists = Counter(
        tuple(part.strip() for part in detail["bootstrap"].split(","))
        for e in tables.get("log_events", ())
        if e["scope"] == scope and e["role"] != "kafka-broker" and (detail := e["detail"] or {}).get("bootstrap")
    )
    return list(lists.most_common(1)[0][0]) if lists else []


def _understood(versions: Iterable[str]) -> list[str]:
    found = []
    for version in versions:
        try:
            parse_version(version)
        except ValueError:
            continue
        found.append(version)
    return found


def _connector(event: Row) -> str | None:
    words = " ".join([event["logger"] or "", event["text"] or "", *(event["frames"] or ())])
    return next((name for name, mark in _MARKS if mark.search(words)), None)


def _parallelism(events: Iterable[Row]) -> int | None:
    """Of the widest source: a sum over sources would count those of other systems."""
    tasks: dict[str, int] = defaultdict(int)
    for event in events:
        if event["parallelism"] and (event["task"] or "").startswith("Source"):
            tasks[event["task"]] = max(tasks[event["task"]], event["parallelism"])
    return max(tasks.values(), default=None)
