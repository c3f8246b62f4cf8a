"""What executors elsewhere must have: what is sent to them, and what is checked before a job starts and said in one sentence."""

from __future__ import annotations

import importlib
import os
import sys
import threading
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from cli.shell.exits import CannotLook

if TYPE_CHECKING:
    from pyspark import SparkContext

NEEDED = ("numpy", "pyarrow", "pandas", "zstandard", "typer", "analyzers", "cli")
FIRST_SECONDS = 60.0
"""A queue of YARN may take half a minute to give the first container."""
_SAMPLED = 20  # of the paths: one that is missing says that the others are


def wait_for_executors(context: SparkContext, master: str, seconds: float = FIRST_SECONDS) -> None:
    """Wait until an executor has done something; where none does, Spark waits for ever and says so in its log only.

    Raises `CannotLook`.
    """
    done: list[object] = []

    def ask() -> None:
        try:  # the JVM counts by itself: no worker of Python has to start; and executors that come when they are needed are asked for
            done.append(context._jsc.sc().range(0, 1, 1, 1).count())
        except Exception as error:
            done.append(error)

    asking = threading.Thread(target=ask, name="spark-first-executor", daemon=True)
    asking.start()
    asking.join(seconds)
    if not done:
        with suppress(Exception):
            context.cancelAllJobs()
        raise CannotLook(
            f"{master} gave no executor within {seconds:.0f} seconds.",
            "Has a worker with a free core and a free gigabyte registered there? Without --spark-master this host judges.",
        )
    if isinstance(done[0], Exception):
        raise done[0]


def check_executors(context: SparkContext, paths: Sequence[str]) -> None:
    """Raises `CannotLook` where executors lack a package or do not see the files."""
    tasks = max(context.defaultParallelism, 2)
    step = max(1, len(paths) // _SAMPLED)
    sample = list(paths)[::step]

    def look(_: Iterable[int]) -> Iterator[tuple[str, str, str]]:
        import platform

        here = platform.node()
        version = ".".join(map(str, sys.version_info[:2]))
        for name in NEEDED:
            try:
                importlib.import_module(name)
            except ImportError as error:
                yield here, f"Python {version} there has no {error.name or name}", "package"
        yield from ((here, path, "path") for path in sample if "://" not in path and not os.path.exists(path))

    trouble = sorted(set(context.parallelize(range(tasks), tasks).mapPartitions(look).collect()))
    packages = [each for each in trouble if each[2] == "package"]
    if packages:
        host, words, _ = packages[0]
        raise CannotLook(
            f"Executors cannot read logs: on {host}, {words}.",
            f"Install it on the workers: pip install {' '.join(name for name in NEEDED if name not in ('analyzers', 'cli'))}",
        )
    if trouble:
        host, path, _ = trouble[0]
        raise CannotLook(f"Executors on {host} do not see {path}.", "Name a directory that all workers mount at the same path.")


def zip_packages(directory: Path) -> Path:
    """Pack our packages, which executors run: readers and rules, and what is shown of a job; returns the zip."""
    target = directory / "diag.zip"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for package in ("analyzers", "cli"):
            spec = find_spec(package)
            if spec is None or not spec.submodule_search_locations:
                raise CannotLook(f"The package {package} was not found.", "Install diag again.")
            home = Path(next(iter(spec.submodule_search_locations)))
            for path in sorted(home.rglob("*")):
                if path.is_file() and "__pycache__" not in path.parts:
                    archive.write(path, Path(package) / path.relative_to(home))
    return target
