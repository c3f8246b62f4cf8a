"""`make bench`: the whole performance table of the README, each row printed when it is measured.

`make bench ARGS="--rounds 3 --results rows.jsonl --write benchmarks/README.md"`; stopped and started again with the same --results it
goes on where it was, and --only measures some parts and writes all that are there. About an hour on two quiet cores, 10 GB of disk.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import fleet, kernel, start, triage  # the checkout is put on the path above
from benchmarks.bench import print_table

RECORDED = ("recorded", "recorded-1gb", "recorded-memory", "recordings", "alone")  # what clusters really wrote leads the table

if __name__ == "__main__":
    every = {**triage.PARTS, **start.PARTS, **kernel.PARTS, **fleet.PARTS}
    print_table({part: every[part] for part in sorted(every, key=lambda part: part not in RECORDED)}, __doc__)
