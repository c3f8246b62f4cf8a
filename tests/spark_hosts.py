"""Runs of Spark on a host of their own (fixture `host`), where Java may refuse what Spark wants of it."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from cli.engine.java import Java

# What a run of diag does with Spark: a job of plain Python on the context, then SQL.
RUN = """
import sys, pyarrow
from cli.engine.spark import Engine
with Engine.start() as engine:
    squares = engine.context().parallelize([1, 2, 3], 2).map(lambda n: n * n).collect()
    frame = engine.session().createDataFrame(pyarrow.table({"n": squares}))
    print(frame.groupBy().sum("n").first()[0], engine.how)
"""


def run(code: str, host: dict[str, str], directory: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], env=host, cwd=directory, capture_output=True, text=True, timeout=280, check=False)


def eventually(condition: Callable[[], bool], seconds: float = 60) -> bool:
    """Whether `condition` comes true; polls, because what happens after diag has ended tells nobody."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def java_that(directory: Path, real: Java, refuses: str) -> dict[str, str]:
    """A JAVA_HOME whose java is the real one, except that it dies when `refuses` (a shell pattern) is among its arguments."""
    (directory / "bin").mkdir(parents=True)
    (directory / "lib").symlink_to(real.home / "lib")
    (directory / "release").write_text(f'JAVA_VERSION="{real.full_version}"\n')
    script = directory / "bin" / "java"
    says = "Error: Could not create the Java Virtual Machine."
    script.write_text(f'#!/bin/sh\ncase " $* " in {refuses}) echo "{says}" >&2; exit 1;; esac\nexec {real.path} "$@"\n')
    script.chmod(0o755)
    return {"JAVA_HOME": str(directory)}
