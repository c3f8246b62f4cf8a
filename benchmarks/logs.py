"""Made Flink logs of a wanted size: a job that runs, checkpoints and now and then fails, in the layout that Flink ships.

Deterministic: same size, same bytes. About 1 line in 80 is one that a signature knows; 4 % of the lines belong to stack traces.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from random import Random

JOB = "a3f1c2d4e5b60718293a4b5c6d7e8f90"
_LOGGERS = (
    "org.apache.flink.runtime.taskexecutor.TaskExecutor",
    "org.apache.flink.streaming.runtime.tasks.StreamTask",
    "org.apache.kafka.clients.consumer.internals.Fetcher",
    "org.apache.flink.runtime.state.heap.HeapKeyedStateBackend",
    "com.acme.orders.Enrich",
    "org.apache.flink.runtime.io.network.partition.ResultPartitionManager",
)
_WORDS = (
    "order",
    "profile",
    "window",
    "partition",
    "customer",
    "total",
    "late",
    "flush",
    "buffer",
    "region",
    "slot",
    "segment",
    "batch",
    "record",
)
_TASK = "org.apache.flink.streaming.runtime.tasks.StreamTask"
_TRACE = "".join(f"\tat {_TASK}.step{n}(StreamTask.java:{400 + n}) ~[flink-dist-1.20.0.jar:1.20.0]\n" for n in range(14))
_COORDINATOR = f"{'org.apache.flink.runtime.checkpoint.CheckpointCoordinator':<60}"
_KIND = "CheckpointType{name='Checkpoint', sharingFilesStrategy=FORWARD_BACKWARD}"


def write(path: Path, size: int, seed: int = 7) -> None:
    """A TaskManager-like log of about `size` bytes at `path`."""
    random = Random(seed)
    at = datetime(2026, 11, 1, 0, 0, 0)
    written = checkpoint = number = 0
    with path.open("w", encoding="utf-8", newline="") as out:
        while written < size:
            block: list[str] = []
            for _ in range(2000):
                number += 1
                at += timedelta(milliseconds=random.randrange(1, 40))
                block.append(_line(random, at, number, checkpoint))
                if number % 160 == 0:
                    checkpoint += 1
            text = "".join(block)
            out.write(text)
            written += len(text)


def _line(random: Random, at: datetime, number: int, checkpoint: int) -> str:
    stamp = f"{at:%Y-%m-%d %H:%M:%S},{at.microsecond // 1000:03d}"
    if number % 160 == 0:
        return f"{stamp} INFO  {_COORDINATOR} [] - Triggering checkpoint {checkpoint} (type={_KIND}) @ 1793491200000 for job {JOB}.\n"
    if number % 160 == 80:
        cost = f"{random.randrange(10**6)} bytes, checkpointDuration=41 ms, finalizationTime=3 ms"
        return f"{stamp} INFO  {_COORDINATOR} [] - Completed checkpoint {checkpoint} for job {JOB} ({cost}).\n"
    if number % 400 == 7:
        head = f"{stamp} WARN  {_LOGGERS[4]:<60} [] - retry {number} of customer c{random.randrange(99999):05d}\n"
        return f"{head}java.io.IOException: slow answer {number}\n{_TRACE}"
    words = " ".join(random.choice(_WORDS) for _ in range(random.randrange(6, 18)))
    return f"{stamp} INFO  {random.choice(_LOGGERS):<60} [] - {words} {random.randrange(10**9)}\n"
