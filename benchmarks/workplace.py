"""The options that the benchmarks of logs share, and the directory in which their logs lie while they run."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path


def add_options(parser: argparse.ArgumentParser, parts: Sequence[str], rounds: int = 5) -> None:
    def some(text: str) -> list[str]:
        wanted = text.split(",")
        if unknown := [part for part in wanted if part not in parts]:
            raise argparse.ArgumentTypeError(f"no part {', '.join(unknown)}; there are {', '.join(parts)}")
        return wanted

    parser.add_argument("--only", type=some, default=list(parts), metavar="PART,…", help=f"some of {', '.join(parts)}")
    parser.add_argument("--rounds", type=int, default=rounds, help="default %(default)s")
    parser.add_argument("--megabytes", type=int, help="size of every log, instead of the table's sizes")
    parser.add_argument("--real", type=Path, metavar="DIR", help="a directory with real logs, which are repeated to size")
    parser.add_argument("--rg", help="another ripgrep than the one beside this Python or on the PATH")
    parser.add_argument("--dir", type=Path, help="where the logs are made; they are removed at the end (default: a temporary directory)")


@contextmanager
def workplace(wanted: Path | None) -> Iterator[Path]:
    """A new directory below `wanted`, or below that for temporary files; gone at the end, whatever the end."""
    if wanted is not None:
        wanted.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="diag-bench-", dir=wanted) as directory:
        yield Path(directory)
