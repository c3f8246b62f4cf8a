"""Which process writes what: a rule is clean only where a log was read that could have shown it."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import timedelta
from functools import lru_cache
from types import ModuleType
from typing import TYPE_CHECKING

from analyzers import components
from analyzers.derived.failures.progress import MIN_DROPPED_ROWS
from analyzers.derived.lag.lag_status import MEMBER_STILL_SECONDS
from analyzers.logs.layouts.roles import role_of
from analyzers.logs.signatures import ANYBODYS
from analyzers.logs.signatures.signature import OWN
from analyzers.report.durations import few, span
from analyzers.report.finding import NotChecked
from analyzers.states import metric_answers, prometheus
from analyzers.tables import Row, Table, checkpoints, clients, connectors, flink, kafka, logs, metrics, planned, resources
from analyzers.tables.by_column import column
from analyzers.tables.processes import BROKER, CLIENTS, FLINK, JOBMANAGER, JOBS, SPARK_DRIVER, TASKMANAGER, ZOOKEEPER

if TYPE_CHECKING:
    from analyzers.vocabulary.rule import Rule

Tables = Mapping[str, Sequence[Row]]


_LOG_NAMES = {
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


def rules_without_logs(rules: Iterable[Rule], tables: Tables) -> list[NotChecked]:
    """Rules that found nothing because no log of the process they read was given. None where the logs do not show who wrote them."""
    seen = _roles_seen(tables)
    if seen is None:
        return []
    out = []
    for rule in rules:
        asked = "exceptions" in tables and "log_events" not in rule.tables  # the JobManager itself told of its failures
        if seen.isdisjoint(rule.logs_of) and not (asked and "jobmanager" in rule.logs_of):
            wanted = FLINK if rule.logs_of == JOBMANAGER and seen.isdisjoint(FLINK) else rule.logs_of
            out.append(NotChecked(rule.code, _LOG_NAMES.get(wanted) or f"no log of {' or '.join(wanted)} was given"))
    return out


_ABBREVIATED = re.compile(r"o\.a\.(?:flink|kafka|beam|spark|zookeeper)\b")
_KNOWN = frozenset(("engine", "kafka", "peer", "ha", "state", "checkpoint", "connect"))


def recognised(tables: Tables) -> set[str | None]:
    """The files with an event that only Flink, Kafka, Beam or Spark prints, or with a logger of theirs."""
    nobodys = {"error-logged", "exception-logged", *ANYBODYS}
    events = tables.get("log_events", ())
    return {
        event["file"]
        for event in events
        if not (event["signature"] in nobodys or event["signature"].startswith(OWN)) or _knows(event["logger"])
    }


def _knows(logger: str | None) -> bool:
    return logger is not None and (bool(_ABBREVIATED.match(logger)) or components.role_of(logger) in _KNOWN)


def _roles_seen(tables: Tables) -> set[str] | None:
    """Who wrote the logs that were read: by the file, and by each logger, as one file may hold several processes.

    A file of which nobody can tell who wrote it speaks for nobody; None = there are no others, and lines of ours in it.
    """
    files = [row for row in tables.get("log_files", ()) if row["lines"] != 0]  # of others nothing was read
    loggers = {event["logger"] for event in tables.get("log_events", ()) if event["logger"]}
    named = set(map(_role_of_logger, loggers))
    seen = {role for role in (*named, *(row["role"] for row in files)) if role}
    return seen or (None if recognised(tables) or not tables.get("log_files") else set())


@lru_cache(4096)
def _role_of_logger(logger: str) -> str | None:
    return role_of("", f"{logger} [] - ".encode())


def _of(module: ModuleType) -> list[str]:
    return [table.name for table in vars(module).values() if isinstance(table, Table)]


FOREIGN = "none of the files looks like a Flink, Kafka, Beam or Spark log"


LOG_TABLES = frozenset(_of(logs))


NOT_SCANNED = "these logs were not scanned for its pattern (collect them again with --rules)"
"""Of a rule of a user's own, about a bundle."""

_STREAMING = ("batches", "batch_offsets", "state_store_files", "query_leftovers")


ABSENT: Mapping[str, str] = {
    **dict.fromkeys(_of(logs), "no logs were given"),
    **dict.fromkeys(_of(kafka), "no broker was asked (--bootstrap-server)"),
    **dict.fromkeys(("records", "suspect_windows"), "no records were looked at (diag lag-report --peek)"),
    **dict.fromkeys(_of(flink), "no JobManager was asked (--flink-rest)"),
    **dict.fromkeys(_of(checkpoints), "no Flink checkpoint directory was read"),
    **dict.fromkeys(_STREAMING, "no Structured Streaming checkpoint was read"),
    "thread_waits": "no thread dump was given",
    "group_moments": "no table of a consumer group was given",
    "keyed_records": "no records with their keys were given (kcat -f)",
    "pod_containers": "no view of a pod was given (kubectl)",
    "query_batches": "no progress of a query was given",
    **dict.fromkeys(_of(metrics), "no metrics were given"),
    **dict.fromkeys(_of(resources), "no status of an operator's resource was given (kubectl get -o yaml)"),
    **dict.fromkeys(_of(clients), "no statistics of a librdkafka client were given"),
    "sink_skips": "neither snapshots of a table nor lines of its sink were given",
    "sink_commits": "no snapshots of Iceberg and no commits of Delta were given",
    "publication_tables": "no tables of a publication of PostgreSQL were given (psql)",
    "replication_slots": "no replication slots of PostgreSQL were given (psql)",
    **dict.fromkeys(_of(planned), "no change is planned (diag preflight)"),
    "connector_configs": "no configuration of a connector was given",
    **dict.fromkeys(_of(connectors), "no worker of Kafka Connect was asked (--connect-rest)"),
}
"""Why a table is missing, in the words of *not checked*."""


_OF_KIND: Mapping[str, Sequence[str]] = {
    "kafka": _of(kafka),
    "flink-rest": _of(flink),
    "checkpoint": _of(checkpoints),
    "connect-rest": _of(connectors),
}
"""The tables that a source of each kind would have filled."""


UNLISTED = {"state_files": "nobody looked for the state files of a checkpoint (diag checkpoint-inspect)"}


UNMEASURED = {
    "watermark_holders": "the JobManager's answers hold no watermark of a source",
    "bottlenecks": "the JobManager's answers hold no busy or back-pressured share",
}
"""Why these are missing where a JobManager did answer."""


def unread(tables: Mapping[str, Sequence[Row]]) -> dict[str, str]:
    """Why tables are missing whose source was asked for and could not be read."""
    told: dict[str, str] = {}
    if any(row["kind"] == "kafka" and row["state"] != "failed" for row in tables.get("sources", ())):
        told |= dict.fromkeys((*_of(kafka), "lag_status", "lag_truth"), "the brokers were not asked for this")
        told |= {name: ABSENT[name] for name in ("records", "suspect_windows")}
    for row in tables.get("sources", ()):
        if row["state"] == "failed" and row["kind"] in _OF_KIND:
            why = str(row["why"] or f"{row['name']} could not be read")
            told |= dict.fromkeys(_OF_KIND[row["kind"]], why.split(". ")[0].rstrip("."))  # what to try stands among the sources
    return told


def no_topic(tables: Mapping[str, Sequence[Row]]) -> dict[str, str]:
    """Why no partition is there although a broker was asked for some."""
    rows = [row for row in tables.get("sources", ()) if row["kind"] == "kafka" and row["name"].startswith("topics")]
    if not rows:
        return {}
    told = sorted({str(row["why"]) for row in rows if row["why"]})
    return {"partitions": "; ".join(told) or "the brokers have no topic, or none of those that were asked for"}


def foreign_lines(tables: Mapping[str, Sequence[Row]]) -> list[str]:
    """A note that an all-clear over lines without any known layout or logger is none."""
    return [f"{FOREIGN}, so this is not an all-clear"] if unrecognised(tables) else []


NOT_UNDERSTOOD = "read, not understood: "
"""How a note begins that names files of no known kind."""
_MOST_UNKNOWN = 3


def not_understood(tables: Mapping[str, Sequence[Row]]) -> list[str]:
    """A note that names files of which no line has a known layout, and whose writer is unknown."""
    known = recognised(tables)
    none = unrecognised(tables)
    known |= {row["name"] for row in tables.get("sources", ()) if row["kind"] == "states"}
    strange = [row for row in tables.get("log_files", ()) if row["lines"] and not row["role"] and row["file"] not in known]
    names = [row["file"] for row in strange if none or not row["layout"]]
    more = f" and {len(names) - _MOST_UNKNOWN} more" if len(names) > _MOST_UNKNOWN else ""
    return [f"{NOT_UNDERSTOOD}{', '.join(names[:_MOST_UNKNOWN])}{more} (no shape that diag knows)"] if names else []


def asked_elsewhere(tables: Mapping[str, Sequence[Row]]) -> bool:
    """Whether something else than logs and saved states was looked at: a system that was asked, or files of a checkpoint."""
    sources = [row["kind"] for row in tables.get("sources", ()) if row["state"] != "failed"]
    if "states" not in sources:
        return any(rows and name not in LOG_TABLES and name != "sources" for name, rows in tables.items())
    return any(kind not in ("logs", "states") for kind in sources) or bool(tables.get("checkpoint_files"))


def unrecognised(tables: Mapping[str, Sequence[Row]]) -> bool:
    """Whether the logs are no job's at all: no line and no file was recognized (a quiet stretch of a TaskManager's log is still one)."""
    files = tables.get("log_files", ())
    if any(row["kind"] == "states" and not _only_metrics(row) for row in tables.get("sources", ())):
        return False
    return bool(files) and not any(file["role"] for file in files) and not recognised(tables)


_METRICS = (prometheus.SHAPE, metric_answers.SHAPE)


def _only_metrics(source: Row) -> bool:
    """Whether a file holds numbers of metrics alone: they say nothing of whose the logs beside it are."""
    shapes = (source["shapes"] or "").split(", ")
    return all(shape.partition(" ")[2] in _METRICS for shape in shapes)


MISSING_LOG_TEXTS: Mapping[str, str] = {
    "brokers": "no broker told the cluster's metadata",
    "partitions": "no topic was shown: no broker answered, or this user may not DESCRIBE any",
    "groups": "no consumer group was seen",
    "committed_offsets": "no committed offset was seen",
    "lag_status": "no committed offset was seen",
    "lag_truth": "no committed offset was seen",
    "records": "no record was read",
    "topic_configs": "no setting of a topic was told (it needs DESCRIBE_CONFIGS on the topic)",
}
"""Tables that are never empty where there was something to judge: without rows nothing was seen, and nothing can be called clean."""


def because(table: str, absent: Mapping[str, str]) -> str:
    return absent.get(table) or f"no {table.replace('_', ' ')} were collected"


def rules_without_rows(rules: Iterable[Rule], tables: Tables) -> list[NotChecked]:
    """Rules that found nothing, and of whose lines whole kinds were dropped: there were so many jobs that not each kept its own."""
    held: dict[tuple[str, str], set[str | None]] = defaultdict(set)
    events = tables.get("log_events", ())
    for scope, signature, job in zip(*(column(events, name) for name in ("scope", "signature", "job")), strict=True):
        held[scope, signature].add(job)
    dropped: dict[str, Counter[tuple[str, str | None]]] = defaultdict(Counter)
    counts = tables.get("log_counts", ())
    wanted = ("scope", "signature", "job", "events")
    for scope, signature, job, number in zip(*(column(counts, name) for name in wanted), strict=True):
        kept = held[scope, signature]
        if (job not in kept) if job else not kept:
            dropped[signature][scope, job] += number
    out = []
    for rule in rules:
        lost = sum((dropped[each] for each in rule.signatures if each in dropped), Counter[tuple[str, str | None]]())
        if lost.total() >= MIN_DROPPED_ROWS:
            whose = f" of {len(lost):,} jobs" if len(lost) > 1 else ""
            out.append(
                NotChecked(rule.code, f"{lost.total():,} of its lines{whose} were counted, and none of them was kept: there are too many")
            )
    return out


_STANDS, _FALLS_BEHIND, _CONNECTOR_STANDS = "LAG105", "LAG106", "LAG511"


_OPEN_TRUTHS = ("real", "unknown", None)
"""Truths that leave open whether the group reads."""


def too_short(clean: Collection[str], tables: Tables) -> list[NotChecked]:
    """Those of the `clean` rules that could not tell of a group, as its samples span too little."""
    truths = {_place(row): row["truth"] for row in tables.get("lag_truth", ())}
    short = [
        row for row in tables.get("lag_status", ()) if row["status"] == "not-enough-samples" and truths.get(_place(row)) in _OPEN_TRUTHS
    ]
    commits: dict[tuple[str, str, str, int], set[int]] = defaultdict(set)
    for row in tables.get("committed_offsets", ()):
        commits[_place(row)].add(row["committed"])
    unmoved = [row for row in short if len(commits[_place(row)]) < 2]
    of_rules = ((_STANDS, unmoved), (_FALLS_BEHIND, short))
    found = [NotChecked(code, _watched_too_briefly(rows)) for code, rows in of_rules if rows and code in clean]
    because = _unmoved_connectors(tables) if _CONNECTOR_STANDS in clean else None
    return [*found, NotChecked(_CONNECTOR_STANDS, because)] if because is not None else found


def _unmoved_connectors(tables: Tables) -> str | None:
    """Why it is open whether sinks stand that say RUNNING: nothing shows whether records wait for them, or the looks span too little."""
    commits: dict[tuple[str, str], dict[tuple[str, int], set[int]]] = defaultdict(lambda: defaultdict(set))
    for row in tables.get("connector_offsets", ()):
        if None not in (row["connector"], row["topic"], row["partition"], row["committed"]):
            commits[row["scope"], row["connector"]][row["topic"], row["partition"]].add(row["committed"])
    unmoved = {key for key, places in commits.items() if any(len(each) == 1 for each in places.values())}
    unmoved -= {(row["scope"], row["connector"]) for row in tables.get("connector_tasks", ()) if row["state"] != "RUNNING"}
    if not unmoved:
        return None
    if not tables.get("committed_offsets") and not tables.get("pasted_offsets"):
        return (
            f"no broker was asked (--bootstrap-server), so that nothing shows whether records wait for {few(sorted(n for _, n in unmoved))}"
        )
    stood = [row for row in tables.get("connector_stands", ()) if (row["scope"], row["connector"]) in unmoved]
    short = [row for row in stood if row["stands_seconds"] < MEMBER_STILL_SECONDS]
    if not short:
        return None
    longest = span(timedelta(seconds=max(row["stands_seconds"] for row in short)))
    names = few(sorted({row["connector"] for row in short}))
    return f"{names} stood for {longest} while records waited, and a worker commits once a minute: --connect-wait 150s"


_OF_RECORDS, _OF_TRANSACTIONS, _OF_TOPICS = ("LAG305",), ("LAG102",), ("LAG305",)


def not_looked_at(clean: Collection[str], tables: Tables) -> list[NotChecked]:
    """Those of the `clean` rules that cannot speak for all partitions: of a large cluster only the worst are looked into."""
    records = tables.get("records", ())
    read = {_place(row) for row in records if row.get("why") == "committed" and row.get("group") is not None}
    seen = {_log(row) for row in records if row.get("why") == "last-stable"}
    configured = {(row["scope"], row["topic"]) for row in tables.get("topic_configs", ())}
    newest = {_place(row): row for row in sorted(tables.get("committed_offsets", ()), key=lambda row: row["at"])}.values()
    behind = [row for row in newest if row["lag_records"]]
    held = {
        _log(row)
        for row in newest
        if None not in (row["last_stable"], row["high_watermark"]) and row["last_stable"] < row["high_watermark"]
    }
    unread = [row for row in behind if _place(row) not in read] if read else []
    unset = {row["topic"] for row in behind if (row["scope"], row["topic"]) not in configured} if configured else set()
    told = (
        (_OF_RECORDS, len(unread), f"the record at the commit was not read on {len(unread):,} of {len(behind):,} partitions"),
        (
            _OF_TRANSACTIONS,
            len(held - seen) if records else 0,
            f"the open transaction was not looked at on {len(held - seen):,} of {len(held):,} partitions",
        ),
        (_OF_TOPICS, len(unset), f"the retention of {len(unset):,} topics is not known"),
    )
    why: dict[str, list[str]] = defaultdict(list)
    for codes, number, words in told:
        for code in codes:
            if number and code in clean:
                why[code].append(words)
    return [NotChecked(code, "; ".join(words)) for code, words in why.items()]


def _log(row: Row) -> tuple[str, str, int]:
    return row["scope"], row["topic"], row["partition"]


def _place(row: Row) -> tuple[str, str, str, int]:
    return row["scope"], row["group"], row["topic"], row["partition"]


def _watched_too_briefly(short: Sequence[Row]) -> str:
    groups = sorted({row["group"] for row in short})
    worst = max(short, key=lambda row: (row["lag_records"] or 0, _place(row)))
    others = f" and {len(groups) - 1} more" if len(groups) > 1 else ""
    return f"group {worst['group']}{others} was watched for too short a time: {worst['because']}"
