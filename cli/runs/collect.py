"""Collecting without judging: evidence into a bundle, and what it holds in a few lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import IO

from analyzers.report.durations import counted
from analyzers.secrets import scrub
from cli.collectors.collector import Collector
from cli.options.shared import RunOptions
from cli.renderers.wording import printable
from cli.runs.evidence import Progress, save
from cli.runs.gathering import gathered
from cli.shell.exits import UsageError


def write_evidence(
    paths: Sequence[str],
    options: RunOptions,
    *,
    version: str,
    stdin: IO[bytes] | None = None,
    collectors: Sequence[Collector] = (),
    names: Mapping[str, str] | None = None,
    progress: Progress = lambda said: None,
) -> tuple[bool, list[str]]:
    """Whether every source could be looked at, and what the bundle that `options` name holds now, a line per table and troubled source.

    Raises `UsageError` when nothing was named, `CannotLook` when nothing could be read or the bundle cannot be written.
    """
    if not paths and not collectors:
        raise UsageError(
            "nothing to collect", "Give log files or directories (- is standard input), --bootstrap-server, --flink-rest or --connect-rest."
        )
    found = gathered(paths, options, None, stdin, collectors, progress, names=names)
    save(options, found, version)
    if found.stop is not None:
        progress(f"what was read by then is written to {options.save}")
        raise found.stop
    lines = [f"{name}\t{counted(len(rows), 'row')}" for name, rows in sorted(found.tables.items()) if name != "sources"]
    sources = found.tables.get("sources", [])
    troubled = [(row["state"], row["kind"], row["name"], row["why"]) for row in sources if row["state"] != "ok"]
    lines += ["\t".join(printable(scrub(str(each))) for each in row) for row in troubled]
    named = options.save
    return all(row["state"] != "failed" for row in sources), [*lines, f"written to {named}; judge it with: diag triage --bundle {named}"]
