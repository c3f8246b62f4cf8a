"""A plain Flink log in what logs come wrapped in: container runtimes, kubectl, JSON layouts, packers, another encoding."""

from __future__ import annotations

import bz2
import gzip
import importlib
import json
import lzma
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

_EVENT = re.compile(r"(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d),(\d{3}) (\w+) +(\S+) +(?:\[.*?\] )?- (.*)", re.DOTALL)
_TIME = re.compile(r"(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d),(\d{3})")
POD = "[pod/orders-taskmanager-1-3/flink-main-container] "


def _moments(lines: Iterator[str]) -> Iterator[tuple[str, str]]:
    """Each line with the time at which a container runtime takes it: that of the header above it."""
    moment = "2026-11-01T00:00:00.000000000Z"
    for line in lines:
        if found := _TIME.match(line):
            moment = f"{found[1]}T{found[2]}.{found[3]}117403Z"
        yield moment, line


def _cri(lines: Iterator[str]) -> Iterator[str]:
    """The files of containerd and CRI-O under /var/log/pods."""
    return (f"{moment} stdout F {line}" for moment, line in _moments(lines))


def _docker(lines: Iterator[str]) -> Iterator[str]:
    """The files of Docker's json-file driver."""
    return (json.dumps({"log": line, "stream": "stdout", "time": moment}, separators=(",", ":")) + "\n" for moment, line in _moments(lines))


def _kubectl(lines: Iterator[str]) -> Iterator[str]:
    """`kubectl logs --prefix`."""
    return (POD + line for line in lines)


def _events(lines: Iterator[str]) -> Iterator[str]:
    held = ""
    for line in lines:
        if held and _TIME.match(line):
            yield held
            held = ""
        held += line
    yield held


def _json_lines(lines: Iterator[str]) -> Iterator[str]:
    """Log4j's JsonTemplateLayout with EcsLayout.json: one object per event."""
    for event in _events(lines):
        found = _EVENT.match(event.rstrip("\n"))
        if not found:
            continue
        date, clock, millis, level, logger, text = found.groups()
        message, _, trace = text.partition("\n")
        one: dict[str, str] = {"@timestamp": f"{date}T{clock}.{millis}Z", "ecs.version": "1.2.0", "log.level": level, "message": message}
        one |= {"process.thread.name": "main", "log.logger": logger}
        if trace:
            kind, _, said = trace.split("\n", 1)[0].partition(": ")
            one |= {"error.type": kind, "error.message": said, "error.stack_trace": trace}
        yield json.dumps(one, separators=(",", ":")) + "\n"


LINES: dict[str, Callable[[Iterator[str]], Iterator[str]]] = {
    "JSON lines": _json_lines,
    "CRI": _cri,
    "kubectl --prefix": _kubectl,
    "docker json-file": _docker,
}
HELD_TO_GOAL = (*LINES, "gz", "zst")  # what a triage meets every day; of the others the rate is stated
PACKED = ("gz", "zst", "bz2", "xz", "lz4")


def write(plain: Path, folder: Path, kind: str) -> Path | None:
    """`plain` as `kind`: one of LINES, PACKED or "UTF-16". None where nothing here can pack it so."""
    target = folder / f"taskmanager.{re.sub(r'[^a-z0-9]+', '-', kind.lower())}.log{'.' + kind if kind in PACKED else ''}"
    if kind in LINES:
        with plain.open(encoding="utf-8", newline="\n") as lines, target.open("w", encoding="utf-8", newline="") as out:
            out.writelines(LINES[kind](iter(lines)))
    elif kind == "UTF-16":
        with plain.open(encoding="utf-8", newline="\n") as lines, target.open("w", encoding="utf-16", newline="") as out:
            shutil.copyfileobj(lines, out)
    else:
        packed = _pack(plain.read_bytes(), kind)
        if packed is None:
            return None
        target.write_bytes(packed)
    return target


def _pack(data: bytes, kind: str) -> bytes | None:
    if kind == "gz":
        return gzip.compress(data, 6)
    if kind == "zst":
        import zstandard

        return zstandard.ZstdCompressor(3).compress(data)
    if kind == "bz2":
        return bz2.compress(data, 9)
    if kind == "xz":
        return lzma.compress(data, preset=1)
    if shutil.which("lz4"):
        return subprocess.run(["lz4", "-q", "-c"], input=data, capture_output=True, check=True).stdout
    for module in ("lz4.frame", "cramjam"):
        try:
            packer: Any = importlib.import_module(module)
        except ImportError:
            continue
        return bytes(packer.compress(data) if module == "lz4.frame" else packer.lz4.compress(data))
    return None
