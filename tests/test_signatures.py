"""Signatures: each proves itself on its sample, captures what rules rely on, and together they cover the catalogue."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

try:
    from re import _constants as constants  # type: ignore[attr-defined]
    from re import _parser as parser
except ImportError:  # Python 3.10
    import sre_constants as constants
    import sre_parse as parser

from analyzers.logs.signatures import SIGNATURES, by_id
from analyzers.logs.signatures.signature import Signature
from analyzers.tables import LOG_EVENTS

_TIME = r"\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2}:\d{2}(?:[.,]\d+)?"
_LEVEL = r"(?P<level>TRACE|DEBUG|INFO|WARN|ERROR|FATAL)"
HEADERS = tuple(
    re.compile(expression)
    for expression in (
        rf"^{_TIME} {_LEVEL} +(?P<logger>[\w.$]+) +(?:\[[^\]]*\] )?- (?P<message>.*)$",
        rf"^\[{_TIME}\] {_LEVEL} (?P<message>.*?)(?: \((?P<logger>[\w.$]+)\))?$",
        rf"^\d\d/\d\d/\d\d \d\d:\d\d:\d\d {_LEVEL} (?P<logger>[\w.$]+): (?P<message>.*)$",
    )
)


def captures(signature: Signature, event: str) -> dict[str, str] | None:
    """What `signature` reads from `event`, as the scan does it; None where it does not match."""
    lines = event.split("\n")
    header = next((m for m in (h.match(lines[0]) for h in HEADERS) if m), None)
    message, logger, level = (header["message"], header["logger"], header["level"]) if header else (lines[0], None, None)
    if signature.levels and level not in signature.levels:
        return None
    if signature.logger and logger and not logger.endswith(signature.logger.rsplit(".", 1)[-1]):
        return None
    hits = [line for line in (message, *lines[1:]) if any(literal in line for literal in signature.literals)]
    if header and not hits and any(literal in lines[0] for literal in signature.literals):
        hits = [message]
    if not hits:
        return None
    if signature.pattern is None:
        return {}
    pattern = re.compile(signature.pattern)
    texts = {"message": [message], "line": [line.strip() for line in hits], "event": ["\n".join([message, *lines[1:]])]}[signature.where]
    found = next((m for m in map(pattern.search, texts) if m), None)
    return {k: v for k, v in found.groupdict().items() if v is not None} if found else None


def test_samples_prove_their_signatures() -> None:
    found = {s.id: captures(s, s.sample) for s in SIGNATURES}
    assert [name for name, values in found.items() if values is None] == [], "literals or pattern do not match the sample"
    # a signature for several texts may have a sample that carries nothing to capture
    one_text = [s for s in SIGNATURES if s.pattern and len(s.literals) == 1 and not _OPTIONAL_GROUP_AT_END.search(s.pattern)]
    empty = [s.id for s in one_text if not found[s.id] and re.compile(s.pattern or "").groupindex]
    assert empty == [], "no named group holds anything in the sample"


_OPTIONAL_GROUP_AT_END = re.compile(r"\)\)\?(?:\.|$)|\)\?$")


def test_ids_are_words_and_unique() -> None:
    assert len(by_id) == len(SIGNATURES)
    assert [s.id for s in SIGNATURES if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", s.id)] == []


def test_literals_are_long_single_line_and_used() -> None:
    assert [s.id for s in SIGNATURES if not s.literals] == []
    literals = [(s.id, literal) for s in SIGNATURES for literal in s.literals]
    assert [one for one in literals if len(one[1]) < 6 or "\n" in one[1] or not one[1].isascii()] == []


# Columns that the reader fills from the header, the file or the stack trace, never from a capture.
_NOT_FROM_A_CAPTURE = {
    "scope", "as_of", "at", "zone", "file", "line", "seq", "role", "host", "level", "logger", "thread", "signature", "detail",
    "exception", "root_exception", "root_message", "chain", "user_frame", "frames", "text",
}  # fmt: skip
_NUMBERS = {c.name for c in LOG_EVENTS.columns if c.type == "long"} | {"subtask1"}


def _misnamed(signature: Signature) -> Iterator[str]:
    names = set(re.compile(signature.pattern or "").groupindex)
    yield from names & _NOT_FROM_A_CAPTURE
    yield from set(signature.apart) - names
    if {"subtask", "subtask1"} <= names:
        yield "one of the two ways to count"
    if {"tp", "topic"} <= names and "|" not in (signature.pattern or ""):
        yield "tp and topic"
    for name in names & _NUMBERS:
        value = (captures(signature, signature.sample) or {}).get(name)
        if value is not None and not re.fullmatch(r"-?\d+", value):
            yield f"{name} = {value}"


def test_groups_have_names_that_may_become_columns() -> None:
    assert {s.id: wrong for s in SIGNATURES if s.pattern and (wrong := list(_misnamed(s)))} == {}


def test_patterns_cannot_run_away() -> None:
    trees = {s.id: parser.parse(s.pattern) for s in SIGNATURES if s.pattern}
    nested = [name for name, tree in trees.items() if _nested_repeats(tree, 0)]
    assert nested == [], "an unbounded repeat inside an unbounded repeat"
    slow = [name for name, tree in trees.items() if _begins_unbounded(tree)]
    assert slow == [], "an unanchored unbounded repeat at the beginning is quadratic in the length of the line"


def _children(argument: object) -> list[object]:
    if isinstance(argument, parser.SubPattern):
        return [argument]
    if isinstance(argument, (tuple, list)):
        return [child for item in argument for child in _children(item)]
    return []


_REPEATS = (constants.MAX_REPEAT, constants.MIN_REPEAT)


def _nested_repeats(tree: object, depth: int) -> list[str]:
    found: list[str] = []
    operations = list(tree)  # type: ignore[call-overload]  # a parsed pattern is a sequence of pairs
    for number, (operation, argument) in enumerate(operations):
        unbounded = operation in _REPEATS and argument[1] == constants.MAXREPEAT
        if unbounded and depth and not _ends_where_it_must(argument[2], operations[number + 1 : number + 2]):
            found.append(str(argument))
        for child in _children(argument):
            found += _nested_repeats(child, depth + unbounded)
    return found


def _ends_where_it_must(repeated: object, following: object) -> bool:
    """``[^x]*x``: there is one way to match it, so repeating it multiplies nothing."""
    items = list(repeated)  # type: ignore[call-overload]
    return len(items) == 1 and items[0][0] is constants.NOT_LITERAL and following == [(constants.LITERAL, items[0][1])]


def _begins_unbounded(tree: object) -> bool:
    """Whether a repeat without bounds can be the first thing that the pattern, or a branch of it, consumes."""
    for operation, argument in tree:  # type: ignore[attr-defined]
        if operation is constants.AT:
            return False  # anchored: a line begin, or a word boundary before digits and letters
        if operation in _REPEATS and argument[1] == constants.MAXREPEAT:
            return True
        parts = argument[1] if operation is constants.BRANCH else _children(argument)
        if any(_begins_unbounded(part) for part in parts):
            return True
        if operation not in (constants.ASSERT, constants.ASSERT_NOT) and _width(operation, argument) > 0:
            return False
    return False


def _width(operation: object, argument: tuple[object, ...]) -> int:
    """The least that one operation of a parsed pattern consumes."""
    one = parser.SubPattern(parser.State(), [(operation, argument)])
    return int(one.getwidth()[0])


# What rules rely on, from the samples -----------------------------------------------------------------------------

_JOB = "2f4c6a8e0b1d3f5a7c9e2b4d6f8a0c1e"
_VERTEX = "bc764cd8ddf7a0cff126f51c16239658"
_EXECUTION = f"7d1e5b9a3c8f2046b8d0e4a6c1f93257_{_VERTEX}_1_3"
_TASK = {"task": "Source: orders -> parse", "subtask1": "2", "parallelism": "4"}

CAPTURED = {
    "task-transition": {**_TASK, "execution": _EXECUTION, "attempt": "3", "from_state": "INITIALIZING", "to_state": "RUNNING"},
    "task-failed": {**_TASK, "execution": _EXECUTION, "resource": "tm-1", "named_host": "worker-1", "to_state": "FAILED"},
    "task-deploying": {**_TASK, "attempt": "3", "execution": _EXECUTION, "resource": "tm-1"},
    "task-received": {**_TASK, "attempt": "3", "execution": _EXECUTION},
    "job-state": {"job": _JOB, "job_name": "orders-totals", "from_state": "RUNNING", "to_state": "RESTARTING"},
    "job-restored": {"job": _JOB, "checkpoint": "41", "kind": "Checkpoint"},
    "checkpoint-triggered": {"checkpoint": "42", "job": _JOB, "triggered_ms": "1733192286996"},
    "checkpoint-completed": {"checkpoint": "42", "job": _JOB, "size_bytes": "18274", "duration_ms": "1204"},
    "checkpoint-expired": {"checkpoint": "43", "job": _JOB},
    "checkpoint-late-ack": {"checkpoint": "43", "execution": _EXECUTION, "job": _JOB, "resource": "tm-1"},
    "checkpoint-failed": {"checkpoint": "43", "consecutive": "0"},
    "checkpoint-tolerance-exceeded": {"because": "Checkpoint expired before completing."},
    "barrier-overtaken": {"task": "enrich-profile", "subtask1": "2", "parallelism": "4", "attempt": "3", "checkpoint": "43", "newer": "44"},
    "flink-banner": {"component": "StandaloneSessionClusterEntrypoint", "version": "1.20.0", "scala": "2.12"},
    "configuration-property": {"key": "execution.checkpointing.interval", "value": "30s"},
    "execution-graph-created": {"graph": "7d1e5b9a3c8f2046b8d0e4a6c1f93257", "job": _JOB},
    "heartbeat-timeout": {"whose": "TaskManager", "resource": "tm-1", "address": "10.0.0.7:40123"},
    "remote-taskmanager-lost": {"address": "10.0.0.8:40123", "named_host": "worker-2", "resource": "tm-2"},
    "pod-terminated": {"exit_code": "137", "reason": "OOMKilled"},
    "reader-registered": {"subtask": "1", "attempt": "3", "task": "Source: orders"},
    "enumerator-restored": {"task": "Source: orders"},
    "record-named": {"topic": "orders", "partition": "1", "offset": "390"},
    "connection-failed": {
        "broker": "-4", "address": "10.0.1.4:9092", "named_host": "kafka-4",
        "client_kind": "Consumer", "client": "orders-totals-1", "group": "orders-totals",
    },
    "bootstrap-disconnected": {"broker": "-4", "address": "kafka-4:9092", "client": "orders-totals-1"},
    "node-setup-timeout": {"broker": "-4", "timeout_ms": "9342"},
    "admin-call-timeout": {"call": "describeTopics"},
    "coordinator-unavailable": {"broker": "2147483645", "address": "kafka-2:9092", "because": "coordinator unavailable"},
    "partition-commit-failed": {"tp": "orders-1", "offset": "390", "error": "This is not the correct coordinator."},
    "offset-out-of-range": {"tp": "orders-1", "position": "390", "then": "resetting offset"},
    "offset-reset": {"tp": "orders-1", "offset": "390"},
    "offset-sought": {"tp": "orders-1", "offset": "390"},
    "record-undecodable": {"tp": "orders-1", "offset": "390", "part": "VALUE"},
    "broker-fenced": {"broker": "4", "epoch": "91"},
    "isr-shrunk": {"tp": "orders-1", "broker": "1", "from_isr": "1,4,3", "to_isr": "1,3"},
    "beam-splits-added": {"split_index": "1", "fresh": "false"},
    "beam-splits-assigned": {"split_index": "1", "fresh": "true", "subtask": "1"},
    "beam-kafka-reading": {"tp": "orders-1", "offset": "390"},
    "query-started": {"query_name": "orders", "job": "6c2b9f4e-0d1a-4b7c-8e5f-3a9d7c1b2e40"},
    "query-resumed": {"checkpoint": "42"},
    "query-failed": {"query_name": "orders", "run": "0f8e7d6c-5b4a-4392-8170-6f5e4d3c2b1a"},
    "query-progress": {"checkpoint": "42", "job": "6c2b9f4e-0d1a-4b7c-8e5f-3a9d7c1b2e40"},
    "spark-task-lost": {"stage": "7.0", "task_id": "29", "named_host": "10.0.2.7", "resource": "3"},
    "gc-pause": {"pause": "Full (Allocation Failure)", "pause_ms": "2841.221"},
    "gc-pause-jdk8": {"pause_seconds": "2.8412210"},
}  # fmt: skip


@pytest.mark.parametrize("name", CAPTURED)
def test_sample_captures(name: str) -> None:
    found = captures(by_id[name], by_id[name].sample)
    assert found is not None
    assert CAPTURED[name].items() <= found.items(), found


# The same event as other versions print it; with captures null: what looks alike and is something else ---------------

TEXTS = [json.loads(line) for line in (Path(__file__).parent / "data" / "signature_texts.jsonl").read_text("utf-8").splitlines()]


@pytest.mark.parametrize("text", TEXTS, ids=[f"{text['signature']}-{n}" for n, text in enumerate(TEXTS, 1)])
def test_other_versions_and_look_alikes(text: dict[str, Any]) -> None:
    found = captures(by_id[text["signature"]], text["event"])
    if text["captures"] is None:
        assert found is None
    else:
        assert found is not None
        assert text["captures"].items() <= found.items(), found


def test_masked_discovery_failure_is_told_from_a_plain_cancel() -> None:
    plain = "\tat org.apache.flink.streaming.connectors.kafka.internals.KafkaFetcher.cancel(KafkaFetcher.java:177)"
    event = by_id["handover-closed"].sample + "\n" + plain
    assert captures(by_id["handover-closed"], event) is not None
    assert captures(by_id["discovery-loop-frame"], event) is None
    assert captures(by_id["handover-closed"], by_id["discovery-loop-frame"].sample) is not None


# The catalogue: every numbered row that names a log text ------------------------------------------------------------


def _rows(letter: str, *ranges: tuple[int, int]) -> set[str]:
    return {f"{letter}{n:02d}" for first, last in ranges for n in range(first, last + 1)}


CATALOGUE = (
    _rows("A", (1, 27))
    | _rows("B", (1, 23))
    | _rows("C", (1, 22), (30, 38), (40, 44), (50, 54))
    | _rows("D", (1, 12))
    | _rows("E", (1, 10), (20, 26))
    | _rows("F", (1, 14))
    | _rows("G", (1, 8), (20, 26), (31, 34))
    | _rows("S", (1, 15))
)


def test_catalogue_is_covered() -> None:
    covered = {ref for signature in SIGNATURES for ref in (signature.ref or "").split()}
    assert covered - CATALOGUE == set(), "unknown catalogue numbers"
    assert CATALOGUE - covered == set(), "rows of the catalogue without a signature"


@pytest.mark.parametrize(
    ("mistake", "said"),
    [
        ({"id": "Checkpoint expired"}, "words in lower case"),
        ({"literals": ("too",)}, "at least 6 characters"),
        ({"literals": ("another text",)}, "stands in its sample"),
        ({"levels": ("ERROR",)}, "name the level where the sample is made"),
        ({"pattern": r"by (?P<thread>\w+)"}, "may not be called thread"),
        ({"apart": ("broker",)}, "no group of its pattern"),
        ({"pattern": r"(?P<subtask>\d)(?P<subtask1>\d)"}, "one of the two"),
    ],
)
def test_a_signature_says_what_is_wrong_with_it(mistake: dict[str, Any], said: str) -> None:
    known = {"id": "cleaner-died", "literals": ("cleaner died",), "sample": "INFO the cleaner died", "says": "it died"}
    Signature(**known)
    with pytest.raises(ValueError, match=said):
        Signature(**{**known, **mistake})
