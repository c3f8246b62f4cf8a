"""A directory of saved REST answers in place of a JobManager: what somebody kept with curl can be judged like the living job."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from analyzers.bundle.confined import refuse_outside
from analyzers.bundle.small_files import small_file
from cli.collectors.flink_transport import Answer
from cli.collectors.json_answers import MOST_BYTES, Appetite, TooMuchJson
from cli.shell.exits import CannotLook

_JOB = r"/jobs/(?P<job>[0-9a-f]{32})"
_NAMES: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"/(?:overview|config|taskmanagers|jobs/overview|jobmanager/config)", ("{plain}",)),
    (_JOB, ("job", "jobs_JID_", "jobs_{job}")),
    (_JOB + r"/(?P<what>checkpoints|checkpoints/config|exceptions|config|plan)", ("job_{what}", "jobs_JID_{what}", "jobs_{job}_{what}")),
    (_JOB + r"/checkpoints/details/(?P<checkpoint>\d+)", ("checkpoint_{checkpoint}", "cp_details")),
    (_JOB + r"/checkpoints/details/(?P<checkpoint>\d+)/subtasks/(?P<vertex>\w+)", ("checkpoint_{checkpoint}_subtasks_{vertex}",)),
    (_JOB + r"/vertices/(?P<vertex>\w+)", ("vertex_{vertex}",)),
    (_JOB + r"/vertices/(?P<vertex>\w+)/(?P<what>backpressure|watermarks|metrics)", ("{what}_{vertex}", "vertex_{vertex}_{what}")),
    (r"/taskmanagers/(?P<tm>[^/]+)", ("taskmanager_{tm}",)),
    (r"/taskmanagers/(?P<tm>[^/]+)/thread-dump", ("threaddump_{tm}",)),
)
"""A REST path and the names its answer may be kept under, without ``.json``; slashes within a name are underscores."""


@dataclass(frozen=True)
class Recording:
    """The answers of one moment. `captured_at` is when they were taken, as far as the recording tells."""

    directory: Path
    captured_at: datetime
    appetite: Appetite = field(default_factory=Appetite, repr=False, compare=False)

    @property
    def name(self) -> str:
        return str(self.directory)

    def ask(self, paths: Sequence[str]) -> dict[str, Answer]:
        """The kept answers; what was not kept is a 404, as of a server that knows it no longer."""
        return {path: self._answer(path) for path in dict.fromkeys(paths)}

    def _answer(self, path: str) -> Answer:
        parts = urlsplit(path)
        whole = unquote(parts.path).strip("/").replace("/", "_")
        for name in (*names_of(unquote(parts.path)), whole):
            file = self.directory / f"{name}.json"
            if file.is_file():
                return self._read(path, file, parse_qs(parts.query))
        return Answer(path, None, self.captured_at, "it was not recorded", 404)

    def _read(self, path: str, file: Path, query: dict[str, list[str]]) -> Answer:
        try:
            body = self.appetite.parsed(_content(file))
        except (OSError, ValueError, RecursionError, TooMuchJson) as error:
            return Answer(path, None, self.captured_at, f"{file.name} cannot be read: {getattr(error, 'strerror', None) or error}")
        if "details/" in path and isinstance(body, dict) and not path.split("?")[0].split("/subtasks/")[0].endswith(f"/{body.get('id')}"):
            return Answer(path, None, self.captured_at, "it was not recorded", 404)
        if "get" in query and isinstance(body, list):
            wanted = set(query["get"][0].split(","))
            body = [m for m in body if isinstance(m, dict) and m.get("id") in wanted]
        return Answer(path, body, self.captured_at, None, 200)


def _content(file: Path) -> bytes:
    """Raises ``OSError``, also for a pipe and for what is larger than an answer may be."""
    refuse_outside(file)
    return small_file(file, MOST_BYTES, seconds=1.0)


def names_of(path: str) -> list[str]:
    """The names that the answer of a REST path may be kept under."""
    for pattern, names in _NAMES:
        found = re.fullmatch(pattern, path)
        if found:
            parts: dict[str, Any] = {**found.groupdict(), "plain": path.strip("/")}
            return [name.format_map(parts).replace("/", "_") for name in names]
    return []


def open_recording(directory: Path) -> Recording:
    """The recording in `directory`, or of its newest moment when it has one folder per moment. Raises `CannotLook`."""
    moments = [d for d in (directory, *sorted(p for p in directory.iterdir() if p.is_dir())) if (d / "jobs_overview.json").is_file()]
    if not moments:
        raise CannotLook(
            f"{directory} holds no answers of Flink's REST interface: no jobs_overview.json.",
            "Give the address of the JobManager, or a directory with its answers as files.",
        )
    return max((Recording(moment, _captured_at(moment)) for moment in moments), key=lambda r: (r.captured_at, r.name))


def _captured_at(moment: Path) -> datetime:
    """When the answers were taken. A file's own time is that of its copy: it is used only where no job shows a time."""
    try:
        said = Appetite().parsed(_content(moment / "captured_at.json"))["captured_at"]
        return datetime.fromisoformat(re.sub(r"Z$", "+00:00", said)).astimezone(timezone.utc)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError, TooMuchJson):
        pass
    try:  # the JobManager's own clock
        now = Appetite().parsed(_content(moment / "job.json"))["now"]
        return datetime.fromtimestamp(now / 1000, timezone.utc)
    except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError, TooMuchJson):
        pass
    try:  # a job has run from its start to the answer, or to its end
        jobs = Appetite().parsed(_content(moment / "jobs_overview.json"))["jobs"]
        return datetime.fromtimestamp(max(job["start-time"] + job["duration"] for job in jobs) / 1000, timezone.utc)
    except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError, TooMuchJson):
        return datetime.fromtimestamp((moment / "jobs_overview.json").stat().st_mtime, timezone.utc)
