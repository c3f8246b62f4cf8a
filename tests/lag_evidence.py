"""What tells whether the lag of a group is real, by hand (samples of commits, records, checkpoints, positions), and what is made of it."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

from analyzers.derived import lag_of
from analyzers.derived.lag.lag_truth import TRUTHS
from analyzers.tables import CHECKPOINT_FILES, COMMITTED_OFFSETS, GROUPS, METRICS, RECORDS, SPLITS, Row

NOW = datetime(2026, 11, 21, 3, 0, 0, tzinfo=timezone.utc)
JOB = "9c1f0a4d7e2b4f6a8d3c5b7e9f102a46"


def ago(seconds: float) -> datetime:
    return NOW - timedelta(seconds=seconds)


def sample(committed: int | None, end: int | None, *, at: datetime = NOW, start: int = 0, stable: int | None = None, **more: Any) -> Row:
    known = committed is not None and end is not None
    ends = {"log_start": None if end is None else start, "last_stable": end if stable is None else stable, "high_watermark": end}
    lag = max(0, end - max(committed, start)) if known else None  # type: ignore[operator,type-var]  # known: both are numbers
    where = {"scope": "", "as_of": at, "at": at, "group": "g", "topic": "orders", "partition": 0}
    return COMMITTED_OFFSETS.row(where | {"committed": committed, "lag_records": lag} | ends | more)


def group(members: int = 0, *, simple: bool = True) -> Row:
    return GROUPS.row({"scope": "", "as_of": NOW, "group": "g", "type": "classic", "state": "Empty", "members": members, "simple": simple})


def record(wanted: int, at: datetime | None, **more: Any) -> Row:
    place = {"scope": "", "as_of": NOW, "group": "g", "why": "committed", "topic": "orders", "partition": 0, "wanted": wanted}
    return RECORDS.row(place | {"offset": None if at is None else wanted, "at": at, "clock": "create-time"} | more)


def checkpoints(*held: tuple[int, int, float]) -> dict[str, list[Row]]:
    """(id, offset, completed so many seconds ago)."""
    files, splits = [], []
    for number, offset, age in held:
        path = f"s3://flink/{JOB}/chk-{number}/_metadata"
        of = {"scope": "", "as_of": NOW, "job": JOB, "path": path, "checkpoint": number}
        files.append(CHECKPOINT_FILES.row(of | {"kind": "checkpoint", "state": "complete", "mtime": ago(age)}))
        splits.append(
            SPLITS.row(of | {"operator": "op", "subtask": 0, "role": "reader", "topic": "orders", "partition": 0, "offset": offset})
        )
    return {"checkpoint_files": files, "splits": splits}


def position(offset: int, *, name: str = "currentOffset") -> Row:
    of = {"scope": "", "as_of": NOW, "job": JOB, "topic": "orders", "partition": 0, "captured_at": NOW}
    return METRICS.row(of | {"name": name, "exact": offset, "value": float(offset)})


def truth(*samples: Row, **tables: list[Row]) -> Row:
    evidence = {"committed_offsets": list(samples), "groups": [group()], **tables}
    (row,) = lag_of(evidence)["lag_truth"]
    assert row["healthy"] == TRUTHS[row["truth"]]
    return row


def status(*samples: Row, **tables: list[Row]) -> Row:
    (row,) = lag_of({"committed_offsets": list(samples), "groups": [group()], **tables})["lag_status"]
    return row
