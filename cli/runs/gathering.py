"""Evidence of several sources at once: logs and checkpoints below the same paths, a Kafka cluster, a JobManager. One that fails is said."""

from __future__ import annotations

import functools
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

from analyzers.budget import BUDGET
from analyzers.bundle.confined import is_outside
from analyzers.readers.object_stores import is_remote
from analyzers.readers.walking import Folder, walk
from analyzers.tables import SOURCES, Row
from analyzers.tables.evidence import Evidence
from cli.collectors.collector import Collector
from cli.options.shared import RunOptions
from cli.runs.evidence import Progress, UnreadCrowd, from_bundle, scanned
from cli.shell.exits import CannotLook

if TYPE_CHECKING:
    from cli.engine.spark import Engine

_ARCHIVE_BYTES = BUDGET.checkpoint_search_bytes
_RECORDED = "jobs_overview.json"
_DEEPEST_RECORDING = 3
_ARCHIVES = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".tar.zst")


def gathered(
    paths: Sequence[str],
    options: RunOptions,
    engine: Engine | None,
    stdin: IO[bytes] | None,
    collectors: Sequence[Collector],
    progress: Progress,
    *,
    logs: bool = True,
    apart: bool = True,
    crowds: bool = True,
    names: Mapping[str, str] | None = None,
) -> Evidence:
    """What lies at `paths` and what `collectors` answer, or the bundle of `options`; logs are scanned on `engine` (None: in this process).
    Without `logs`, all but these; `apart`: whether many clusters are judged each by itself; `crowds`: whether logs of very many are read,
    too, or left to whoever judges them; `names`: what logs are called, where that is not their path.

    Raises `CannotLook` when nothing could be read, `UsageError` as `from_bundle` and `scanned` do.
    """
    if options.bundle:
        return from_bundle(options, engine, progress)
    # a JobManager that was named is the one to believe; its saved answers would count everything twice
    recorded = [] if any(one.kind == "flink-rest" for one in collectors) else recordings_below(paths)
    with asking([*collectors, *recorded]) as answers:
        parts = [checkpoints_below(paths)]
        if paths and logs:
            from analyzers.readers.log_scan import LogOptions

            read = LogOptions(
                options.log_timezone, inside=(options.since, options.until), stdin=stdin, cache=options.cache, apart=apart,
                names=names or {}, own=options.own_signatures,
            )  # fmt: skip
            try:
                parts.append(scanned(list(paths), read, engine, progress, crowds=crowds))
            except CannotLook:
                if not parts[0].tables and not collectors and not recorded:
                    raise
        files = _files(parts[-1])
        if any(row["scope"] for row in files):
            from analyzers.readers.log_crowds import belongs_to

            # many clusters, each judged by itself, by what lies beside its logs too
            parts[0] = _placed(parts[0], belongs_to(files))
            recorded_in = [belongs_to(files)(one.name) for one in recorded]
        else:
            recorded_in = [""] * len(recorded)
        if all(part.stop is None for part in parts):  # whoever stops diag does not wait for a time-out
            asked = answers()
            parts += asked[: len(collectors)]
            parts += [_in(scope, part) if scope else part for scope, part in zip(recorded_in, asked[len(collectors) :], strict=True)]
    return merged(parts)


def _files(part: Evidence) -> Sequence[Row]:
    """Rows with ``scope`` and ``file`` of the logs that were read, or are to be."""
    if isinstance(part, UnreadCrowd):
        return [{"scope": each.options.scope, "file": file.origin.file} for each in part.plan.clusters for file in each.files]
    return part.tables.get("log_files", ())


def _placed(part: Evidence, of: Callable[[str], str]) -> Evidence:
    """Rows of checkpoints, each in the cluster beside whose logs its checkpoint lies."""
    part.tables = {
        name: [{**row, "scope": of(row.get("path") or row.get("name") or "")} for row in rows] for name, rows in part.tables.items()
    }
    return part


def _in(scope: str, part: Evidence) -> Evidence:
    part.tables = {name: [{**row, "scope": scope} for row in rows] for name, rows in part.tables.items()}
    return part


def merged(parts: Sequence[Evidence]) -> Evidence:
    """All of `parts` as one; rows of a table that several have are put one after the other, each row of `sources` once."""
    tables: dict[str, Sequence[Row]] = {}
    crowd = next((part.plan for part in parts if isinstance(part, UnreadCrowd)), None)
    whole = Evidence(tables) if crowd is None else UnreadCrowd(tables, plan=crowd)
    for part in parts:
        for name, rows in part.tables.items():
            if name == "sources":
                tables[name] = list({tuple(row.values()): row for row in (*tables.get(name, ()), *rows)}.values())
            else:
                tables[name] = [*tables[name], *rows] if tables.get(name) else rows
        whole.notes.extend(note for note in part.notes if note not in whole.notes)
        whole.stop = whole.stop or part.stop
        for name, why in part.absent.items():
            whole.absent.setdefault(name, why)
    for name in tables:
        whole.absent.pop(name, None)
    return whole


@contextmanager
def asking(collectors: Sequence[Collector]) -> Iterator[Callable[[], list[Evidence]]]:
    """Ask all of `collectors` while the block runs; the function it gives waits for the answers, in the order of `collectors`."""
    if not collectors:
        yield list
        return
    pool = ThreadPoolExecutor(len(collectors), thread_name_prefix="diag-ask")
    try:
        asked: list[Future[Evidence]] = [pool.submit(_fail_forward, collector) for collector in collectors]
        yield lambda: [future.result() for future in asked]
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _fail_forward(collector: Collector) -> Evidence:
    try:
        return collector.ask()
    except CannotLook as error:
        why = f"{error.message} {error.hint}".strip()
        return Evidence(
            {"sources": [SOURCES.row({"scope": "", "name": collector.name, "kind": collector.kind, "state": "failed", "why": why})]}
        )


def checkpoints_below(paths: Sequence[str]) -> Evidence:
    """The checkpoints at or below `paths` (directories and archives of moderate size); no tables where there are none."""
    from analyzers.readers.checkpoint_files import checkpoint_facts, tables_of
    from analyzers.readers.checkpoint_places import find_places

    holding = [path for path in paths if path != "-" and _may_hold_checkpoints(path) and find_places(path)[0]]
    return Evidence(tables_of(checkpoint_facts(holding, look=True))) if holding else Evidence({})


def _is_remote_directory(path: str) -> bool:
    from analyzers.readers.remote_files import is_pattern, remote_entry

    try:
        return not is_pattern(path) and remote_entry(path).directory
    except OSError:
        return False  # it is told when its logs are read


def recordings_below(paths: Sequence[str]) -> list[Collector]:
    """The saved answers of Flink's REST interface at or below `paths`, each folder of moments once."""
    from cli.collectors.flink_rest import collect_recorded

    found: dict[Path, None] = {}
    stored: list[str] = []
    for path in paths:
        if is_remote(path):
            stored += _recordings_in_store(path)
            continue
        for folder, below, files in _walked(path) if path != "-" and os.path.isdir(path) else ():
            if _RECORDED in files:
                beside = Path(folder).parent
                # one folder per moment, or the answers themselves
                several = not is_outside(beside) and sum((each / _RECORDED).is_file() for each in beside.iterdir() if each.is_dir()) > 1
                found.setdefault(beside if several else Path(folder))
                below.clear()
            elif os.path.relpath(folder, path).count(os.sep) >= _DEEPEST_RECORDING:
                below.clear()
    local = [Collector(str(folder), "flink-rest", functools.partial(collect_recorded, folder)) for folder in found]
    return [*local, *(Collector(uri, "flink-rest", functools.partial(_collect_stored, uri)) for uri in stored)]


def _walked(path: str) -> Iterator[Folder]:
    """All below `path`; what is not searched is reported when logs are read there."""
    return walk(path, follow=False, failed=lambda error: None, left_out=lambda folder, why: None)


def _recordings_in_store(uri: str) -> list[str]:
    """As `recordings_below`, in an object store. What cannot be listed is told when logs are read there."""
    from analyzers.readers.remote_files import remote_entries

    found: dict[str, int] = {}
    left = [(uri, 0)] if _is_remote_directory(uri) else []
    while left:
        folder, depth = left.pop()
        try:
            entries = remote_entries(folder)
        except OSError:
            continue
        if any(entry.name == _RECORDED for entry in entries):
            found[folder] = depth
        elif depth < _DEEPEST_RECORDING:
            left += [(entry.path.rstrip("/"), depth + 1) for entry in entries if entry.directory]
    # one folder per moment, or the answers themselves
    beside = Counter(folder.rpartition("/")[0] for folder, depth in found.items() if depth)
    return sorted({parent if beside[parent := folder.rpartition("/")[0]] > 1 and depth else folder for folder, depth in found.items()})


def _collect_stored(uri: str) -> Evidence:
    from analyzers.readers.remote_copies import fetched
    from cli.collectors.flink_rest import collect_recorded

    try:
        copy = fetched(uri, ".json")
    except (OSError, ValueError) as error:
        raise CannotLook(f"{uri} cannot be copied here: {getattr(error, 'strerror', None) or error}.") from error
    found = collect_recorded(copy.path)
    for row in found.tables.get("sources", ()):
        row["name"] = row["name"].replace(str(copy.path), uri)
    return found


def _may_hold_checkpoints(path: str) -> bool:
    if is_remote(path):
        return os.path.basename(path) == "_metadata" or _is_remote_directory(path)
    if os.path.isdir(path) or os.path.basename(path) == "_metadata":
        return True
    return path.endswith(_ARCHIVES) and os.path.isfile(path) and os.path.getsize(path) <= _ARCHIVE_BYTES
