"""Which signatures make the hits of logs, how many of their events stay as rows, and what the most frequent ones cost.

`python benchmarks/census.py LOG…`, best over the corpus of `Corpora.recorded`: real logs, each job with ids of its own.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as in the command

from analyzers.logs.scan.captures import catalogue  # the checkout is put on the path above
from analyzers.logs.signatures import SIGNATURES
from analyzers.readers.log_scan import Plan, Tables, plan, scan
from analyzers.tables.by_column import column

_SHOWN = 30


def census(found: Tables) -> list[tuple[str, int, int]]:
    """Signature, events and rows, the most frequent first."""
    events: Counter[str] = Counter()
    counts = found["log_counts"]
    for signature, count in zip(column(counts, "signature"), column(counts, "events"), strict=True):
        events[signature] += count
    rows = Counter(column(found["log_events"], "signature"))
    return [(signature, count, rows[signature]) for signature, count in events.most_common()]


def cpu_seconds(made: Plan, names: Sequence[str], rounds: int) -> float:
    """What the scan costs that looks for the signatures of these names; the best of some rounds."""
    signatures = [signature for signature in SIGNATURES if signature.id in names]
    catalogue(signatures)
    best = float("inf")
    for _ in range(rounds):
        begun = time.process_time()
        scan(made, None, signatures)
        best = min(best, time.process_time() - begun)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--top", type=int, default=6, help="so many signatures are left out to see what they cost")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("paths", nargs="+")
    wanted = parser.parse_args()
    made = plan(wanted.paths)
    ranked = census(scan(made))
    total, so_far = sum(count for _, count, _ in ranked), 0
    print(f"{total:,} events of {len(ranked)} kinds in {len(made.files):,} files; events, share with all above, rows that stay:")
    for name, count, rows in ranked[:_SHOWN]:
        so_far += count
        print(f"{name:40s} {count:9,d} {100 * so_far / total:5.1f} % {rows:9,d}")
    every = [signature.id for signature in SIGNATURES]
    most = {name for name, _, _ in ranked[: wanted.top]}
    whole = cpu_seconds(made, every, wanted.rounds)
    for what, names in ((f"without the first {wanted.top}", [name for name in every if name not in most]), ("without any", [])):
        cost = cpu_seconds(made, names, wanted.rounds)
        print(f"scan and tables {what}: {cost:.2f} of {whole:.2f} CPU s ({100 * cost / whole:.0f} %)")


if __name__ == "__main__":
    main()
