"""`make bench`: the whole performance table of the README, each row printed when it is measured.

`make bench ARGS="--rounds 3 --real DIR --results rows.jsonl --write README.md"`; stopped and started again with the same --results it
goes on where it was. Five rounds take about half an hour on two quiet cores and 15 GB of disk, three about 20 minutes.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import kernel, triage  # the checkout is put on the path above
from benchmarks.bench import print_table

if __name__ == "__main__":
    print_table({**kernel.PARTS, **triage.PARTS}, __doc__)
