"""Very many clusters below one directory: each is read and judged by itself on Spark, as a fleet is, with one report of all.

What is in this process at a time is a report of each of them, never their tables.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from analyzers.diagnosis.together import together
from analyzers.fleet.reading import Item, items_of_plan
from analyzers.readers.log_scan import notes_of_many
from analyzers.readers.log_tables import LONG_LOGS
from analyzers.report.report import Report, Source
from analyzers.tables import Row
from analyzers.tables.evidence import Evidence
from cli.options.shared import RunOptions
from cli.runs.evidence import UnreadCrowd
from cli.runs.left_out import left_out
from cli.runs.waiting import waited
from cli.shell.exits import CannotLook

if TYPE_CHECKING:
    from analyzers.readers.log_plan import Plan
    from cli.engine.spark import Engine


def judged(found: UnreadCrowd, options: RunOptions, engine: Engine, *, version: str, progress: Callable[[str], None]) -> Report:
    """The report of `found`, whose logs are yet to be read. Raises `CannotLook` where Spark does not start."""
    crowd = found.plan
    progress(f"{len(crowd.clusters):,} clusters, each judged by itself")
    engine.allow_pandas()
    session = engine.session()
    from analyzers.fleet.judging import judge_items
    from analyzers.fleet.scopes import Choice

    if not engine.is_local:
        from cli.engine.executors import check_executors

        check_executors(engine.context(), [file.path for file in crowd.files])
    beside = _by_scope(found)
    of_none = {name: beside.get("", {}).get(name, []) for name in found.tables}
    items = [
        item for each in crowd.clusters for item in items_of_plan(each, Evidence(beside.get(each.options.scope, {}), absent=found.absent))
    ]
    if any(rows for name, rows in of_none.items() if name != "sources"):  # checkpoints, say, that lie beside no cluster or beside several
        items.append(Item("", (), 1, evidence=Evidence(of_none, absent=found.absent)))
    judging = partial(
        judge_items, command="triage", version=version, choice=Choice(options.runs, own=options.own), ended=engine.ended, progress=progress
    )
    try:
        every = waited(lambda: dict(sorted(judging(items, session, _nothing, _whole))), engine, progress)
    except Exception as error:
        if (why := engine.ended()) is None:
            raise
        raise CannotLook(f"Spark ended before all clusters were judged: {why}", "Name some of the directories.") from error
    notes = _notes(crowd, every)
    sources = [Source(row["name"], row["kind"], row["state"], row["why"]) for row in of_none.get("sources", ())]
    beside_logs = [note for note in found.notes if note not in crowd.notes]
    return together(every.values(), notes=[*crowd.notes, *notes, *beside_logs, *left_out(options)], sources=sources)


def _by_scope(found: Evidence) -> dict[str, dict[str, list[Row]]]:
    tables: dict[str, dict[str, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for name, rows in found.tables.items():
        for row in rows:
            tables[row["scope"]][name].append(row)
    return {scope: dict(own) for scope, own in tables.items()}


def _notes(crowd: Plan, reports: dict[str, Report]) -> list[str]:
    """What was said of the clusters' logs, said once for all of them; it is taken out of their reports."""
    said = [note for each in crowd.clusters for note in each.notes]
    for each in crowd.clusters:
        report = reports[each.options.scope]
        said += [note for note in report.notes if note.startswith(LONG_LOGS)]
        report.notes = [note for note in report.notes if note not in each.notes and not note.startswith(LONG_LOGS)]
    return notes_of_many(said)


def _whole(scope: str, report: Report) -> tuple[str, Report]:
    """Runs on executors."""
    return scope, report


def _nothing(paths: Sequence[str], logs: bool, names: Mapping[str, str]) -> Evidence:
    """Runs on executors: what lies beside the logs was read before."""
    return Evidence({})
