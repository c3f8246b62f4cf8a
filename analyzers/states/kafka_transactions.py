"""What ``kafka-transactions`` prints: list, describe, describe-producers and find-hanging, several of them in one paste.

Only open transactions become rows, each with its offset where the leader of a partition shows one. Source: TransactionsCommand
(Kafka 3.0 to 4.x): describe-producers asks the leader of a partition, describe and list ask the coordinator. A leader that has a
transaction open which its coordinator holds for ended shows a hanging one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta, timezone
from itertools import count

from analyzers.logs.matching.expressions import expression
from analyzers.states.clocks import Clock, clock_of
from analyzers.states.state import State, Text, Values

SHAPE = "transaction table"
SIGNS = (b"CurrentTransactionStartOffset", b"StartOffset", b"TransactionState")

_HEADS = {
    "ProducerId": expression(r"^\s*ProducerId\s+ProducerEpoch\s+LatestCoordinatorEpoch\b.*\bCurrentTransactionStartOffset\s*$"),
    "Topic": expression(r"^\s*Topic\s+Partition\s+ProducerId\s+ProducerEpoch\s+CoordinatorEpoch\s+StartOffset\b"),
    "TransactionalId": expression(r"^\s*(?:CoordinatorId\s+)?TransactionalId\s+(?:Coordinator\s+)?ProducerId\s+.*\bTransactionState\b"),
}
_TOOL = expression(r"\bkafka-transactions(?:\.sh)?\s")
_TOPIC = expression(r"--topic[ =](?P<topic>[\w.-]{1,249})(?=\s|$)")
_PARTITION = expression(r"--partition[ =](?P<partition>\d{1,6})(?=\s|$)")
_INTEGER = expression(r"[0-9]{1,18}")
_OPEN = ("Ongoing", "PrepareCommit", "PrepareAbort")
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_MOST_MILLISECONDS = 4e12
_MOST_ROWS, _LONGEST = 10_000, 2_000


def read(text: Text) -> Iterator[State]:
    """Every table of a text. What a coordinator says of a producer is joined with what a leader says of it."""
    lines, tables = text.lines, list[tuple[State, str, list[dict[str, str]], tuple[str, str] | None]]()
    clock, asked = Clock(), None
    for number, line in enumerate(lines):
        if (found := clock_of(line)) is not None:
            clock = found
        if _TOOL.search(line[:_LONGEST]):
            asked = _place(lines, number)
        kind = next((kind for kind, head in _HEADS.items() if head.match(line)), None)
        if kind is not None:
            rows = list(_rows(lines, number))
            state = State(SHAPE, number, number + 1 + len(rows), at=clock.at)
            tables.append((state, kind, rows, asked))
    said = {row["ProducerId"]: row for _, kind, rows, _ in tables if kind == "TransactionalId" for row in rows}
    for _, kind, rows, _ in tables:  # describe tells more than list
        said |= {row["ProducerId"]: row for row in rows if kind == "TransactionalId" and "TransactionTimeoutMs" in row}
    for state, kind, rows, place in tables:
        newest = max((moment for row in rows if (moment := _moment(row.get("LastTimestamp"))) is not None), default=None)
        for row, number in zip(rows, count(state.first + 2), strict=False):
            known = said.get(row["ProducerId"], {})
            where = (row["Topic"], row["Partition"]) if kind == "Topic" else place
            offset = row.get("StartOffset") or row.get("CurrentTransactionStartOffset") or ""
            if where is not None and _number(where[1]) is not None and _number(offset) is not None:
                state.add("open_transactions", _open(row, known, *where, offset, number) | {"newest_at": newest})
        yield state


def _place(lines: Sequence[str], at: int) -> tuple[str, str] | None:
    """Topic and partition of a command, which may go on on the lines below."""
    command = lines[at][:_LONGEST]
    for line in lines[at + 1 : at + 6]:
        if not command.endswith("\\"):
            break
        command = f"{command[:-1]} {line[:_LONGEST].strip()}"
    topic, partition = _TOPIC.search(command), _PARTITION.search(command)
    return (topic["topic"], partition["partition"]) if topic and partition else None


def _rows(lines: Sequence[str], at: int) -> Iterator[dict[str, str]]:
    names = lines[at].split()
    for line in lines[at + 1 : at + 1 + _MOST_ROWS]:
        cells = line.split()
        row = dict(zip(names, cells, strict=False))
        if len(cells) < len(names) - 1 or _number(row.get("ProducerId")) is None:  # no partitions: an empty last cell
            return
        yield row


def _open(row: dict[str, str], known: dict[str, str], topic: str, partition: str, offset: str, line: int) -> Values:
    state = known.get("TransactionState")
    newer = (_number(known.get("ProducerEpoch")) or 0) > (
        _number(row["ProducerEpoch"]) or 0
    )  # this transaction was ended, a later one begun
    still = state in _OPEN and not newer
    return {
        "topic": topic,
        "partition": int(partition),
        "offset": int(offset),
        "producer": int(row["ProducerId"]),
        "producer_epoch": _number(row["ProducerEpoch"]),
        "coordinator_epoch": _number(row.get("LatestCoordinatorEpoch") or row.get("CoordinatorEpoch")),
        "transactional_id": known.get("TransactionalId"),
        "state": state if still else None,
        "ended": None if state is None else not still,
        "hanging": "Duration(min)" in row,
        "started_at": _moment(known.get("CurrentTransactionStartTimeMs")) if still else None,
        "timeout_ms": _number(known.get("TransactionTimeoutMs")),
        "written_at": _moment(row.get("LastTimestamp")),
        "line": line,
    }


def _number(cell: str | None) -> int | None:
    return int(cell) if cell and _INTEGER.fullmatch(cell) else None


def _moment(cell: str | None) -> datetime | None:
    number = _number(cell)
    return _EPOCH + timedelta(milliseconds=number) if number and number < _MOST_MILLISECONDS else None
