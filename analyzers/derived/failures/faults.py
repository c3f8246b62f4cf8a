"""Each failure once, classified: the same trace is printed by the task, the JobManager, the job's switch and the client."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from types import MappingProxyType
from typing import Any

from analyzers.derived.failures.attempts import FAILED_STATES
from analyzers.derived.failures.drains import drains_of, plan_drained
from analyzers.derived.failures.echoes import by_event, without_echoes
from analyzers.derived.failures.endings import TOLD, Endings, plan_told
from analyzers.derived.failures.failure_signs import (
    COMMITS_FAILED,
    CONNECTIONS,
    ENDS_OF_IT,
    FATAL,
    MASTERS_END,
    OF_ANY_PROGRAM,
    OF_LOST_WORKERS,
    RELEASED,
    REMOVED,
    SAYS_ITSELF,
    TRIES_AGAIN,
    WORKERS,
    SparkLife,
    harmless_worker_losses,
    ignored_unresolvable_hosts,
    spark_lives,
    spark_telling,
    told_before,
)
from analyzers.derived.failures.fault_attempts import (
    Windows,
    attempt_of,
    attempt_windows,
    promote_consequences,
    tell_attempts,
    without_package,
)
from analyzers.derived.failures.fault_classes import UNKNOWN, FaultClass, by_id, classify, expression
from analyzers.derived.failures.fault_neighbours import TOLD_BY, adopt_causes, share_record_position
from analyzers.derived.failures.fragments import beside, scopes_without_life, survived
from analyzers.derived.failures.log_messages import message
from analyzers.derived.failures.lost_executors import blame_kills
from analyzers.derived.failures.masters_killed import kills_of_masters
from analyzers.derived.failures.owners import connector_of, of_status
from analyzers.derived.failures.repeated import GOES_ON, repeated_to_the_end
from analyzers.derived.failures.requests import of_request
from analyzers.derived.failures.restarted import SINCE, restarted
from analyzers.derived.failures.retried import retried_and_over
from analyzers.derived.failures.tolerance import Behind, Place, reasons_of_tolerance
from analyzers.logs.layouts.roles import SERVERS
from analyzers.logs.layouts.timestamps import LEADING_STAMP
from analyzers.tables import FAULTS, Row

STREAMING = re.compile(
    r"org\.apache\.(?:flink|beam|kafka|spark)\b|\b[fF]link|io\.debezium\.(?:embedded\.|connector\.|DebeziumException)|shyiko\.mysql\.binlog|MicroBatchExecution|StreamingQuery|spark\.sql\.streaming|KafkaConsumer|KafkaProducer|ConsumerRecord"
    r"|\b(?:task|job)manager\.memory\.|\bNetworkBufferPool\b|\bsink\.label-prefix\b"
)
_NUMBERS = re.compile(r"\b[0-9a-f]{8}-[0-9a-f-]{27}\b|\b[0-9a-f]{16,}\b|0x[0-9a-fA-F]+|@[0-9a-f]{4,}|\d+")
_PYTHON = re.compile(r"Py4J|PythonException|Traceback|FOREACH_BATCH|UDF")
_PYTHON_ERROR = re.compile(r"^\s*[\w.]*(?:Error|Exception|Timeout|Refused)\b")
_KAFKA_CLIENT = re.compile(r"(?:org\.apache\.kafka|o\.a\.k\w*|kafka)\.")
_TOLERATED = re.compile(
    r"(?i)\b(?:discard|skipp|ignor)(?:ed|ing)\b(?! \d+ events plus)|will be (?:skipped|ignored|retried)|Retrying task after failure"
    r"|LogAndContinue\w*Handler\b|Error encountered in task \S+\. Executing stage|Error converting message (?:key|value) in topic"
    r"|Failed to discover [\w ]+ in \S+: "  # a worker of Kafka Connect leaves that plugin out, and starts
    # SmallRye's channel polls on; of a record that the application refuses it closes its consumer
    r"|SRMSG18228: [^\n]{1,300}?\.(?:Timeout|Disconnect|Network|RetriableCommitFailed|CommitFailed|Wakeup)Exception\b"
    r"|restarting after greatest seqNum"  # the Kinesis client library asks for a new iterator
    r"|RestEndpoint\s[^\n]*Unhandled exception$"  # Flink's REST server: whoever asked has gone (PipelineErrorHandler)
    r"|Error opening block [^\n]{1,80}? for request|Exception while beginning fetch of \d+ outstanding blocks"  # Spark asks again
    r"|Error sending result [^\n]{1,200}?; closing connection"
    r"|Could not properly discard "  # Flink's CheckpointsCleaner: a checkpoint that is not needed any more
    r"|Lost task \d+\.[012] in stage "  # Spark runs a task four times before it gives its job up, at ERROR
    r"|Going to request metadata update now"  # a producer whose leader moved: BRK202 weighs it
)
_MASTERS_CONTAINER = re.compile(r"containerID=container_(?:e\d+_)?\d+_\d+_\d+_000001\b")  # YARN: the ApplicationMaster
_OF_TOOL = re.compile(r"(?:org\.apache\.)?kafka\.tools\.")
"""Kafka's command-line tools, which a person runs: the console consumer ends with an exception where no further record comes."""
_OF_BROKER = re.compile(r"state\.change\.logger$|kafka\.(?:controller|server|cluster|log|coordinator)\.")
_KAFKA_NETWORK = re.compile(r"org\.apache\.kafka\.common\.network\.")
_NO_REASON = re.compile(r"org\.apache\.flink\.runtime\.JobException: Recovery is suppressed by ")
_TIMER = "CheckpointCoordinator$CheckpointCanceller.run"
"""Frame of the timer that gives a checkpoint up: what it fails a job for has expired, also where the message does not say so."""
_SWITCHES = re.compile(r"executiongraph\.ExecutionGraph$")
"""Who prints no trace but that of a failure, and at INFO."""
_SAY_ENOUGH = frozenset({*OF_LOST_WORKERS, "source-history-gone", "iterator-expired"})
_WORKERS = ("taskmanager", "spark-executor", "spark-driver")
_BESIDE = re.compile(r"^with (?:[^\n]*?, )?err(?:or)?=(?=\S)")
"""What stands before the error that a record names beside its message (`records.Record.about`)."""
_RPC = re.compile(r"\b(?:akka|pekko)\.remote\b")
_OF_OPERATOR = re.compile(r"\S\.[A-Z]\S+ +\[(?:DEBUG|INFO |WARN |ERROR)\]\[[a-z0-9][a-z0-9.-]*/[a-z0-9][a-z0-9.-]*\]")
"""Header of the Flink operator's log: a logger, the level, the resource."""
_OPERATOR_QUOTES = re.compile(r"\bfailed with error: |\| *(?:JOBEXCEPTION|ERROR) +\||>>> Status[^|]*\| *Error *\| *FAILED\b")
"""Where the Flink operator prints an exception of the job; what else it prints, it could not do itself: RST103."""
MASKED = 200


def faults_of(events: Sequence[Row], attempts: list[Row], tables: Mapping[str, Sequence[Row]] = MappingProxyType({})) -> list[Row]:
    """One row per distinct fault of each attempt; fills the trigger and fault columns of `attempts` in place.

    `tables`: all that was collected; of them log_files, and what a JobManager answered, say what the events leave open.
    """
    windows = attempt_windows(attempts)
    bare = scopes_without_life(events)
    sparks = spark_lives(events)
    endings = Endings(events)
    behind_tolerance = reasons_of_tolerance(events)
    above = _CausesAbove(events)
    folded: dict[tuple[Any, ...], dict[str, Any]] = {}
    for group in without_echoes(by_event(events)):
        fault = _fault(above.told(group), windows, bare, behind_tolerance, sparks, endings)
        if fault is None:
            continue
        key = (
            fault["scope"],
            fault["job"],
            fault["attempt"],
            fault["fault"],
            fault["fingerprint"],
            fault["task"] if fault["fatal"] else None,
            fault["subtask"] if fault["fatal"] else None,
            connector_of(fault["text"] or "") if fault["fatal"] else None,
            fault["resource"] if fault["fault"] == "container-killed" else None,
        )
        seen = folded.get(key)
        if seen is None:
            folded[key] = fault
        else:
            _fold(seen, fault)
    rows = adopt_causes(sorted([*folded.values(), *_untold(events, attempts, folded.values(), behind_tolerance)], key=_order))
    share_record_position(rows)
    plan_told(attempts, rows, events)
    plan_drained(attempts, rows, drains_of(events))
    over = (*retried_and_over(rows, events), *ignored_unresolvable_hosts(rows, events), *told_before(rows))
    for row in (*harmless_worker_losses(rows, attempts, events), *over, *survived(rows, events, bare, beside(tables))):
        row["fatal"] = False
    for row in kills_of_masters(rows, events):
        master = by_id("jobmanager-killed")
        row.update(fault=master.id, cause=master.cause, reason=master.reason)
    blame_kills(rows, events)
    for row in repeated_to_the_end(rows, events):
        row.update(fatal=True, detail={**(row["detail"] or {}), GOES_ON: "true"})
    for row, says in restarted(rows, events, tables.get("log_files", ())):
        row["detail"] = {**(row["detail"] or {}), SINCE: says}
    first: set[tuple[str, str | None, int | None]] = set()
    for row in rows:
        where = (row["scope"], row["job"], row["attempt"])
        row["first"] = bool(row["fatal"]) and where not in first
        row["occurrences"] = max(1, row["occurrences"])
        if row["first"]:
            first.add(where)
        row.pop("_telling")
        row.pop("_print")
        row.pop("_last_at")
    tell_attempts(rows, attempts)
    promote_consequences(rows, attempts)
    return [FAULTS.row(row) for row in rows]


def _fault(
    group: list[Row],
    windows: Windows,
    bare: set[str],
    behind_tolerance: Mapping[Place, Behind],
    sparks: Mapping[str, SparkLife],
    endings: Endings,
) -> dict[str, Any] | None:
    main = group[0]
    logger = main["logger"] or ""
    if main["role"] in SERVERS or _OF_BROKER.match(logger) or _OF_TOOL.match(logger) or of_request(main):
        return None  # a server's trace is no job's failure; rules read its lines as what they are
    telling = FATAL.get(main["signature"], 0)
    if main["signature"] in ("job-state", "job-terminal") and main["to_state"] not in ("FAILING", "FAILED", "RESTARTING", "SUSPENDED"):
        telling = 0
    chain = tuple(main["chain"] or ())
    lonely = main["scope"] in bare
    loud = (
        main["level"] in ("ERROR", "FATAL")
        or main["signature"] in ("exception-logged", *SAYS_ITSELF)
        or (lonely and (main["level"] is None or _raises(main)))
    )
    if not chain and telling == 0 and not loud:
        return None
    if main["signature"] in ("job-state", "job-terminal", "adaptive-restarting") and not chain:
        return None  # the cause stands on the task's own line
    header = (main["text"] or "").partition("\n")[0]
    if _OF_OPERATOR.search(header, 0, MASKED) and not _OPERATOR_QUOTES.search(header):
        return None
    if main["signature"] == "job-state" and len(chain) == 1 and _NO_REASON.match(chain[0]):
        return None  # so it does where the trace behind this wrapper is cut off; RST102 tells the wrapper
    frames = "\n".join(main["frames"] or ())
    text = main["text"] or ""
    if main["signature"] in WORKERS and RELEASED.search(text):
        return None
    frames += f"\nuser frame: {main['user_frame']}" if main["user_frame"] else ""
    words = LEADING_STAMP.sub("", text)  # no class asks when, and without it texts are the same again and again
    fault: FaultClass = classify(chain, _said(chain, words), frames + "\n" + "\n".join(words.splitlines()[:60]))
    if fault is UNKNOWN or fault.consequence:
        fault = next((by_id(SAYS_ITSELF[row["signature"]]) for row in group if row["signature"] in SAYS_ITSELF), fault)
    if fault is UNKNOWN and main["signature"] == "taskexecutor-disconnected" and "timed out" in text:
        fault = by_id("heartbeat-lost")  # hard-wrapped logs break the message anywhere; whose connection was closed the signature knows
    if fault.id == "connection-to-worker" and main["role"] == "taskmanager" and _of_rpc(main):
        return None  # tasks exchange data by other means: a TaskManager's RPC goes to the JobManager, and is no loss of a neighbour
    behind = behind_tolerance.get((main["scope"], main["file"], main["line"])) if fault.id == "tolerance" else None
    if fault.id == "tolerance":
        fault = behind.fault if behind else by_id("tolerance-expired") if _TIMER in text else fault
    if fault.id == "out-of-memory" and main["role"] == "jobmanager" and any(row["signature"] in MASTERS_END for row in group):
        fault = by_id("jobmanager-out-of-memory")
    if fault.id == "container-killed" and _MASTERS_CONTAINER.search(text) and not (main["role"] or "").startswith("spark"):
        fault = by_id("jobmanager-killed")
    if lonely and main["signature"] in WORKERS and not (main["role"] or STREAMING.search(f"{main['logger']} {text}")):
        telling = 0  # a NodeManager or kubelet log kills containers of anybody
    if main["scope"] in sparks:
        telling = spark_telling(main, telling, sparks[main["scope"]])
    elif main["signature"] == "program-failed":
        telling = 0  # of Flink's the client prints its own trace, and anybody's program may stand beside a job's log
    if fault.id in ("executor-lost", "container-killed", "executor-fetch") and REMOVED.search(text.partition("\n")[0]):
        return None
    fatal = telling > 0 or (lonely and _shown_alone(group, fault, text))
    if fault is UNKNOWN and (not fatal or (telling == 1 and not chain)):
        return None
    if main["signature"] in CONNECTIONS and (fault.id != "heartbeat-lost" or not lonely):
        return None  # every TaskManager that leaves in order says so, too; and where tasks are seen to fail, they tell it better
    merged = {k: main[k] for k in FAULTS.names if k in main}
    for other in group[1:]:
        merged.update({k: other.get(k) for k, value in merged.items() if value is None})
    merged.update(_telling_exception(fault, chain))
    if not merged["root_exception"]:
        said = _line_that_says(fault, text) if fault is not UNKNOWN else message(main) if main["signature"] in _FOLLOWING else None
        merged["root_message"] = said or merged["root_message"]
    if behind is not None and behind.event["root_message"]:
        merged.update({k: behind.event[k] for k in ("root_exception", "root_message")})  # the threshold says nothing by itself
    told_by = fingerprint(main, fault)
    fault = by_id(TOLD) if endings.told(main, fault) else fault
    return {
        **merged,
        "line_at": main["at"],
        "attempt": attempt_of(main, windows),
        "fault": fault.id,
        "cause": fault.cause,
        "reason": fault.reason,
        "consequence": fault.consequence,
        "fatal": fatal,
        "occurrences": 0 if of_status(text) else 1,  # a status that was saved beside the log repeats what the log has
        "fingerprint": fingerprint(main, fault),
        "_telling": telling,
        "_print": told_by,
        "_last_at": main["at"],
    }


def _untold(
    events: Iterable[Row], attempts: Iterable[Row], told: Iterable[dict[str, Any]], behind: Mapping[Place, Behind]
) -> Iterator[dict[str, Any]]:
    """The failures of jobs where nothing in the scope says why: what is left is the job's own line, its trace cut off or filtered out.

    Where a checkpoint of the job failed a moment before, that failure is why; else the exception that the same log prints above the line.
    """
    events = list(events)
    thrown: dict[tuple[str, str], list[Row]] = {}
    for event in sorted((e for e in events if e["chain"]), key=lambda e: e["line"]) if attempts else ():
        thrown.setdefault((event["scope"], event["file"]), []).append(event)
    known = {(fault["scope"], fault["job"]) for fault in told if fault["fatal"]}
    scopes = {scope for scope, _ in known}
    silent = {(a["scope"], a["job"], a["ended_at"]): a for a in attempts if a["ended"] == "failed" and (a["scope"], a["job"]) not in known}
    for event in events if silent else ():
        if event["signature"] != "job-state" or event["to_state"] not in FAILED_STATES:
            continue
        failed = behind.get((event["scope"], event["file"], event["line"])) if (event["scope"], None) not in known else None
        if failed is None and event["scope"] in scopes:
            continue
        attempt = silent.pop((event["scope"], event["job"], event["at"]), None)
        if attempt is None:
            continue
        shown, fault = (failed.event, failed.fault) if failed else (event, UNKNOWN)
        if failed and (same := _of_event(told, shown, fault)):
            same["fatal"] = True
            continue
        if failed is None and (above := _printed_above(event, thrown.get((event["scope"], event["file"]), ()))) is not None:
            shown = {**above, "job": event["job"]}
            frames, words = "\n".join(above["frames"] or ()), LEADING_STAMP.sub("", above["text"] or "")
            fault = classify(tuple(above["chain"]), _said(tuple(above["chain"]), words), frames + "\n" + words)
        own = {k: shown[k] for k in FAULTS.names if k in shown}
        its = {"fault": fault.id, "cause": fault.cause, "reason": fault.reason, "fingerprint": fingerprint(shown, fault)}
        state = {"attempt": attempt["attempt"], "line_at": shown["at"], "fatal": True, "consequence": False, "occurrences": 1}
        yield {**own, **its, **state, "_telling": 0, "_print": None, "_last_at": shown["at"]}


_FOLLOWING = frozenset({"streams-uncaught"})
"""Signatures of lines that announce the exception printed below them, which a filtered log may hold above them only."""


class _CausesAbove:
    """Exceptions of the lines before: for a line that announces one and has none."""

    def __init__(self, events: Sequence[Row]) -> None:
        self._silent = {(e["scope"], e["file"]) for e in events if e["signature"] in _FOLLOWING and not e["chain"]}
        self._thrown: dict[tuple[str, str], list[Row]] = {}
        thrown = (e for e in events if e["chain"] and (e["scope"], e["file"]) in self._silent) if self._silent else ()
        for event in sorted(thrown, key=lambda event: int(event["line"])):
            self._thrown.setdefault((event["scope"], event["file"]), []).append(event)

    def told(self, group: list[Row]) -> list[Row]:
        """`group`, with the exception that the same log prints right above it where it announces one and has none."""
        main = group[0]
        if main["chain"] or main["signature"] not in _FOLLOWING:
            return group
        thrown = self._thrown.get((main["scope"], main["file"]), ())
        before = [
            each for each in thrown if main["line"] - _LINES_BEFORE <= each["line"] < main["line"] and each["job"] in (None, main["job"])
        ]
        if not before:
            return group
        told = {name: before[-1][name] for name in ("chain", "frames", "user_frame", "root_exception", "root_message")}
        return [{**main, **told, "detail": {**(main["detail"] or {}), TOLD_BY: f"{before[-1]['line']}:{before[-1]['file']}"}}, *group[1:]]


def _printed_above(event: Row, thrown: Sequence[Row]) -> Row | None:
    """The last exception that the same log prints just before a line: of a line of the engine whose words no signature knows."""

    def is_near(other: Row) -> bool:
        at = (other["at"], event["at"])
        near = None in at or timedelta() <= at[1] - at[0] <= _JUST_BEFORE
        own = other["job"] in (None, event["job"]) and other["logger"] is not None and other["logger"] == event["logger"]
        return bool(own and near)

    end = bisect_left(thrown, event["line"], key=lambda each: each["line"])
    begin = bisect_left(thrown, event["line"] - _LINES_BEFORE, key=lambda each: each["line"])
    return next((each for each in reversed(thrown[begin:end]) if is_near(each)), None)


_JUST_BEFORE, _LINES_BEFORE = timedelta(minutes=2), 400


def _of_event(faults: Iterable[dict[str, Any]], event: Row, fault: FaultClass) -> dict[str, Any] | None:
    """The row of `faults` in which this event's `fault` is counted."""
    whose = (event["scope"], event["job"], fault.id, fingerprint(event, fault))
    alike = [f for f in faults if (f["scope"], f["job"], f["fault"], f["fingerprint"]) == whose]
    return alike[-1] if alike else None


def _of_rpc(event: Row) -> bool:
    """Whether a lost connection is told by Flink's RPC (Akka, Pekko), not by the exchange of data between tasks."""
    return event["signature"] == "association-failed" or bool(_RPC.search(f"{event['logger']} {(event['text'] or '')[:MASKED]}"))


def _telling_exception(fault: FaultClass, chain: tuple[str, ...]) -> dict[str, str]:
    """Of a lost worker, and of a source without the job's place, the exception that says so: what lies deeper (a null pointer of the
    shutdown, a directory that is empty) is about something else."""
    telling = next((c for c in chain if fault.id in _SAY_ENOUGH and re.search(fault.text, c)), None)
    if telling is None:
        return {}
    kind, _, said = telling.partition(": ")
    return {"root_exception": kind, "root_message": said}


def _line_that_says(fault: FaultClass, text: str) -> str | None:
    """The line below the header by which `fault` was known, where the header does not say it: java.util.logging and System.err."""
    first, _, rest = text.partition("\n")
    known_by = expression(fault.text)
    if not rest or known_by.search(first):
        return None
    says = next((line.strip() for line in rest.splitlines() if known_by.search(line)), None)
    return says and _BESIDE.sub("", says)


def _raises(event: Row) -> bool:
    """Whether a Kafka client tells, at INFO, that it goes on nowhere by itself. Spark's reader catches that error: LAG303."""
    raised = event["signature"] == "offset-out-of-range" and (event["detail"] or {}).get("then") == "raising error"
    return raised and not (event["role"] or "").startswith("spark") and "spark-kafka-source" not in (event["text"] or "")


def _shown_alone(group: list[Row], fault: FaultClass, text: str) -> bool:
    """In a fragment without any life-cycle line a trace speaks for itself when it comes from a streaming job."""
    event = group[0]
    of_client = _KAFKA_CLIENT.match(event["logger"] or "") or any(_KAFKA_NETWORK.match(frame) for frame in event["frames"] or ())
    if event["level"] in ("INFO", "DEBUG", "TRACE") and of_client and not _raises(event):
        return False  # the client tries again; Flink prints real failures at INFO, Kafka's client does not
    retried = TRIES_AGAIN - {"connect-call-retried"} if event["level"] == "ERROR" and event["chain"] else TRIES_AGAIN
    if event["level"] == "FATAL" or (event["level"] not in ("WARN", "ERROR") and ENDS_OF_IT.search(text)):
        retried = TRIES_AGAIN - {"binding-error-passing"}
    retried |= {*COMMITS_FAILED} if fault.id == "kafka-access-denied" else set()
    if _TOLERATED.search(text.partition("\n")[0]) or any(row["signature"] in retried for row in group):
        return False
    if fault.id == "bootstrap-unresolvable" and "No resolvable" not in text:
        return False  # one entry that does not resolve is left out; the client goes on with the others
    if fault is not UNKNOWN and fault.strong:
        return True
    if event["level"] is None and not event["chain"] and fault.text == r"\S":
        return False  # a sentence that quotes the wrapper of some failure
    if fault.id == "out-of-memory" and event["role"] in _WORKERS and (event["level"] is None or text.startswith("Exception in thread ")):
        return True  # the worker's own System.err: what its code catches it logs
    if not STREAMING.search(text) and all(row["signature"] in OF_ANY_PROGRAM for row in group):
        return False
    loud = event["level"] in ("ERROR", "FATAL", None) or bool(_SWITCHES.search(event["logger"] or ""))
    if fault is UNKNOWN:  # a warning with a trace is no failure by itself: connections come back
        return loud and bool(event["chain"])
    return loud or bool(event["chain"])


def fingerprint(event: Row, fault: FaultClass) -> str:
    """Identity of a fault over attempts: class, deepest exception, its message without numbers, first frame of the user's code."""
    root = without_package(event["root_exception"] or "")
    message = _NUMBERS.sub("#", (event["root_message"] or "")[:MASKED])
    return "|".join((fault.id, root, message, event["user_frame"] or ""))


def _said(chain: tuple[str, ...], text: str) -> str:
    """What the event itself says: its first lines; of a Python traceback behind a Java exception also the lines that name an error."""
    lines = text.splitlines()
    said = lines[: 3 if chain else 12]
    said += [line for line in lines[3:] if chain and line.startswith("Caused by: ")]  # a message in brackets is no part of the chain
    if any(_PYTHON.search(c) for c in chain):
        said += [line for line in lines[3:] if _PYTHON_ERROR.match(line)]
    return "\n".join(said)[:4000]


def _fold(seen: dict[str, Any], again: dict[str, Any]) -> None:
    of_saved_status = not seen["occurrences"] and again["occurrences"]  # it has no time
    seen["occurrences"] += again["occurrences"]
    better = (
        of_saved_status
        or again["_telling"] > seen["_telling"]
        or (again["_telling"] == seen["_telling"] and again["role"] == "jobmanager" != seen["role"])
    )
    first, last = (again, seen) if better else (seen, again)
    merged = {k: first[k] if first[k] is not None else last[k] for k in seen}
    times = [t for t in (seen["at"], again["at"]) if t is not None]
    merged.update(at=min(times) if times else None, occurrences=seen["occurrences"], fatal=seen["fatal"] or again["fatal"])
    merged["line_at"] = first["line_at"]
    ends = [t for t in (seen["_last_at"], again["_last_at"]) if t is not None]
    merged["_last_at"] = max(ends) if ends else None
    seen.update(merged)


def _order(row: dict[str, Any]) -> tuple[Any, ...]:
    return (row["scope"], row["job"] or "", row["at"] is None, row["at"].timestamp() if row["at"] else 0.0, row["file"], row["line"])
