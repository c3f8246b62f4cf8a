"""What a case of hostile input is, and the list of them all."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
ILL = ROOT / "fixtures" / "RST501" / "fires-connect" / "raw"
"""A small log that has a verdict: it must come out whatever lies beside it."""
ILL_SAYS = "orders-db"
LINE = b"2026-11-21 09:35:19,130 INFO  org.apache.flink.runtime.taskmanager.Task [] - one and the same line, time and again\n"
MB = 1 << 20
JUDGED, REFUSED, NOT_READ, WELL = {1}, {2}, {3}, {0}


@dataclass
class Attack:
    """A command line on what `case` made. `limits`: of the shell (``-n 64``); `quick`: no JVM is needed to see what happens."""

    arguments: Sequence[str | bytes]
    codes: set[int]
    says: str = ""  # an expression that must match what is printed, stdout and stderr
    never: str = r"\A(?!x)x"
    stdin: Callable[[], bytes] | None = None
    environ: dict[str, str | None] = field(default_factory=dict)
    limits: Sequence[str] = ()
    where: str | None = None
    before: str = ""  # a line of shell that is run first
    times: int = 1  # of the same command at once
    quick: bool = True
    facts_only: bool = True
    seconds: int = 120


CASES: dict[str, Callable[[Path], Attack]] = {}


def case(make: Callable[[Path], Attack]) -> Callable[[Path], Attack]:
    CASES[make.__name__.strip("_")] = make
    return make


def beside_an_ill_job(here: Path, name: str, content: bytes, says: str, **more: Any) -> Attack:
    """A directory with the log of a job that is ill and with `name`: it is judged, and what was left of the other is said."""
    folder = here / "logs"
    folder.mkdir(exist_ok=True)
    for path in ILL.iterdir():
        shutil.copy(path, folder)
    (folder / name).write_bytes(content)
    return Attack(["triage", str(folder)], JUDGED, says, **more)


def repeated(pack: Callable[[bytes], bytes], mb: int) -> bytes:
    return pack(LINE * 10_000 + bytes(mb * MB))


WHOLE: dict[str, Any] = {"facts_only": False, "quick": False}
"""Judged by rules, with a JVM."""
