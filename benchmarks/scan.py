"""The log kernel alone, without Spark: plans, scans in one or more processes, merges, and prints a digest of what was found as JSON.

`python benchmarks/scan.py --signatures 150 --processes 2 LOG…`; what the other benchmarks measure as "the kernel" is this whole process.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as in the command

from analyzers.logs.scan.captures import catalogue  # the checkout is put on the path above
from analyzers.logs.scan.selection import FilePart, Sated
from analyzers.logs.signatures.signature import Signature
from analyzers.readers import log_scan
from analyzers.readers.log_rounds import in_order
from analyzers.readers.log_scan import LogOptions, Plan, Tables, plan, read_splits
from analyzers.readers.splits import Split
from analyzers.tables import Row
from analyzers.tables.by_column import column

if TYPE_CHECKING:
    from multiprocessing.pool import AsyncResult

_signatures: tuple[Signature, ...] | None = None  # of a worker: inherited when it is forked
_AHEAD = 2  # tasks for each process


def _chosen(count: int | None) -> tuple[Signature, ...] | None:
    if count is None:
        return None
    from benchmarks.yardstick import chosen  # here: its imports are no part of the kernel

    return chosen(count)


def _read(task: Sequence[Split], sated: Sated) -> list[FilePart]:
    return list(read_splits(task, signatures=_signatures, sated=sated))


def scan(made: Plan, signatures: tuple[Signature, ...] | None, processes: int) -> Tables:
    """The tables of evidence; tasks are taken by whichever of the processes is free."""
    if processes == 1:
        return log_scan.scan(made, None, signatures)
    import multiprocessing  # here: one process does not need it

    global _signatures  # inherited by the forked workers, which share the compiled catalogue
    _signatures = signatures
    found, waiting = log_scan.Found(), deque["AsyncResult[list[FilePart]]"]()
    with multiprocessing.get_context("fork").Pool(processes) as pool:
        for task in in_order(made.tasks):
            if len(waiting) >= _AHEAD * processes:
                found.add(waiting.popleft().get())
            waiting.append(pool.apply_async(_read, (task, found.sated)))
        while waiting:
            found.add(waiting.popleft().get())
    return log_scan.tables(made, found.parts(), found.limits)


def findings(found: Tables) -> list[tuple[str, str, int, str, str]]:
    """Per file and signature: events, time of the first and of the last one, ordered."""
    merged: dict[tuple[str, str], tuple[int, datetime | None, datetime | None]] = {}
    counts = found["log_counts"]
    for file, signature, count, first_at, last_at in zip(
        *(column(counts, name) for name in ("file", "signature", "events", "first_at", "last_at")), strict=True
    ):
        events, first, last = merged.get((file, signature), (0, None, None))
        merged[file, signature] = (events + count, _either(min, first, first_at), _either(max, last, last_at))
    return sorted(
        (Path(file).name, signature, events, str(first or ""), str(last or ""))
        for (file, signature), (events, first, last) in merged.items()
    )


def _either(choose: Callable[[datetime, datetime], datetime], one: datetime | None, other: datetime | None) -> datetime | None:
    return other if one is None else one if other is None else choose(one, other)


def digest(rows: Iterable[object]) -> str:
    return hashlib.sha256(json.dumps(list(rows), sort_keys=True, default=str).encode()).hexdigest()[:16]


def kept(found: Tables) -> list[Row]:
    """The rows that the kernel gives, without what depends on where the files lie."""
    return [{**row, "file": Path(row["file"]).name} for row in found["log_events"]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--signatures", type=int, help="the first so many by id; without it the whole catalogue")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--split", type=int, default=LogOptions().split_bytes, help="bytes")
    parser.add_argument("--rows", action="store_true", help="a digest of all rows too, and the findings themselves")
    parser.add_argument("paths", nargs="+")
    wanted = parser.parse_args()
    begun, cpu = time.monotonic(), time.process_time()
    signatures = _chosen(wanted.signatures)
    catalogue(signatures)
    ready = time.process_time()
    made = plan(wanted.paths, LogOptions(split_bytes=wanted.split))
    planned = time.process_time()
    found = scan(made, signatures, wanted.processes)
    rows = findings(found)
    print(
        json.dumps({
            "files": len(found["log_files"]),
            "lines": sum(row["lines"] for row in found["log_files"]),
            "events": sum(row["events"] for row in found["log_files"]),
            "hits": sum(row[2] for row in rows),
            "digest": digest(rows),
            "cpu": {"imports": cpu, "catalogue": ready - cpu, "plan": planned - ready, "scan": time.process_time() - planned},
            "wall": time.monotonic() - begun,
            **({"rows": digest(kept(found)), "findings": rows} if wanted.rows else {}),
        })
    )  # fmt: skip
    sys.stdout.flush()
    os._exit(0)  # as the command does: what it holds need not be taken apart


if __name__ == "__main__":
    main()
