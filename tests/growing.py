"""Recordings as a watch sees them: logs that grow, look by look, and what had been asked by then."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path

from analyzers.bundle.read import read_bundle
from analyzers.comparison.sides import Side
from analyzers.diagnosis.diagnose import judge
from analyzers.diagnosis.window import within
from analyzers.readers.log_scan import LogOptions, plan, scan
from analyzers.report.without_secrets import without_secrets
from cli.engine.spark import Engine
from cli.renderers.json import document
from tests.bundles import FIXTURES, Case

AT_THE_END = 3
"""Looks at the whole recording behind those at parts of it: a watch goes on when nothing new is written."""
_OF_TABLES = 2
"""Parts of a recording that has tables and no logs: all rules judge what they hold, which takes Spark long."""
_TIME = re.compile(rb"(\d{4})-(\d\d)-(\d\d)[ T](\d\d):(\d\d):(\d\d)|\b(\d\d)/(\d\d)/(\d\d) (\d\d):(\d\d):(\d\d)")
_HEAD = 60


def looks(case: Case, engine: Engine, folder: Path, parts: int = 8) -> Iterator[Side]:
    """`parts` looks at equal distances, then `AT_THE_END` at all of it. `folder` is for copies."""
    bundle = read_bundle(case.path)
    parts = parts if bundle.raw_dir is not None else min(parts, _OF_TABLES)
    for number in range(1, parts + 1):
        tables = dict(bundle.tables)
        if bundle.raw_dir is not None:
            grown = folder / str(number)
            _copy(bundle.raw_dir, grown, number / parts)
            own = scan(plan([str(grown)], LogOptions(relative_to=str(grown))), None) if grown.exists() else {}
            tables = {**own, **tables} if number == parts else own
        elif number < parts:
            begin, end = _span(bundle.tables)
            tables = dict(within(bundle.tables, None, begin + (end - begin) * number / parts))
        report = judge(tables, engine.session, command="watch", version="test")
        side = Side(f"{case.path.name} {number}/{parts}", document(without_secrets(report)), tables)
        yield from [side] * (1 + AT_THE_END * (number == parts))


def _copy(raw: Path, grown: Path, share: float) -> None:
    """Each file up to the line that was not written yet."""
    files = {file: file.read_bytes().splitlines(keepends=True) for file in raw.rglob("*") if file.is_file()}
    times = [at for lines in files.values() for line in lines if (at := _moment(line)) is not None]
    end = min(times) + (max(times) - min(times)) * share
    for file, lines in files.items():
        later = next((number for number, line in enumerate(lines) if (at := _moment(line)) is not None and at > end), len(lines))
        if later:
            target = grown / file.relative_to(raw)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(b"".join(lines[:later]))


def _moment(line: bytes) -> datetime | None:
    found = _TIME.search(line[:_HEAD])
    if found is None:
        return None
    year, *rest = (int(each) for each in found.groups() if each is not None)
    try:
        return datetime(year + 2000 if year < 100 else year, *rest, tzinfo=timezone.utc)  # type: ignore[misc]  # five numbers
    except ValueError:
        return None


def _span(tables: object) -> tuple[datetime, datetime]:
    rows = [row for own in tables.values() for row in own]  # type: ignore[attr-defined]  # a mapping of rows
    times = [row["at"] for row in rows if isinstance(row.get("at"), datetime)] or [row["as_of"] for row in rows if row.get("as_of")]
    return min(times) - timedelta(seconds=1), max(times)


HEALTHY = sorted(path.name for path in (FIXTURES / "incidents" / "healthy").iterdir() if path.is_dir())
ILL = sorted(path.name for path in (FIXTURES / "incidents" / "ill").iterdir() if path.is_dir())
