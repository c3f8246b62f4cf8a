"""Checkpoints for people: what lies where, the newest of each job in detail, what the split audit saw last."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from analyzers.report.durations import counted
from analyzers.report.report import Report
from analyzers.tables import Row
from cli.renderers.acknowledgements import acknowledgements
from cli.renderers.wording import printable, when

_MOST_LISTED = 20
_MOST_SPLITS = 24
_BAR = 12
_BAR_BESIDE_IDS = 5
_WIDTH = 80
_LONGEST_NAME = 26


def render(report: Report) -> str:
    """The newest job last, in 80 columns (names and paths may be longer); nothing in the text needs a terminal."""
    facts = report.facts
    lines = [f"Looked at {report.looked_at or 'nothing that could be read'}"]
    by_job: dict[str | None, list[Row]] = {}
    for row in facts.get("checkpoint_files", ()):
        by_job.setdefault(row["job"], []).append(row)
    jobs = sorted(by_job.items(), key=lambda item: max((str(r["mtime"]), r["checkpoint"] or 0) for r in item[1]))
    if len(jobs) > 1 and jobs[-1][0]:
        lines += _told(f"{len(jobs)} jobs: each start of a job makes a new directory; the one written last is {jobs[-1][0]}", "  ")
    for job, rows in jobs:
        kept = counted(sum(row["state"] != "never" for row in rows), "checkpoint")
        lines += ["", f"Job {job or 'unknown'}: {kept}", f"  {_parent(rows)}", *_files(rows)]
        newest = max(
            (r for r in rows if r["state"] not in ("empty", "never")), key=lambda r: (r["checkpoint"] or 0, r["path"]), default=None
        )
        lines += _restorable(rows)
        if newest is not None:
            lines += _detail(report, newest)
    lines += _batches(facts)
    lines += acknowledgements(facts)
    troubled = [source for source in report.sources if source.state != "ok"]
    if troubled:
        lines += ["", "Not whole:"]
        for source in troubled[:10]:
            lines += _told(f"{source.name}: {source.why}", "  ")
        if len(troubled) > 10:
            lines.append(f"  and {len(troubled) - 10} more; -o json has all")
    if report.notes:
        lines += ["", "Splits:"]
        for note in report.notes:
            lines += _told(note, "  ")
    return "".join(printable_line(line) + "\n" for line in lines)


def _told(text: str, indent: str) -> list[str]:
    """A sentence in lines; a path that is longer than a line stays whole, to be copied."""
    return textwrap.wrap(
        text, _WIDTH, initial_indent=indent, subsequent_indent=indent + "  ", break_long_words=False, break_on_hyphens=False
    ) or [indent]


def without_facts(report: Report) -> Report:
    """What is left to be said below the listing: the findings and the verdict."""
    return replace(report, facts={}, notes=[])


def printable_line(line: str) -> str:
    """`line` without control characters, its indentation and columns kept."""
    return "".join(part if part.isspace() else printable(part) for part in re.split(r"( {2,}|^ +)", line)).rstrip()


def _parent(rows: Sequence[Row]) -> str:
    path = str(rows[-1]["path"]).removesuffix("/_metadata")
    return path.rsplit("/", 1)[0]


def _size(value: int | None) -> str:
    if value is None:
        return "-"
    number = float(value)
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if number < 1000 or unit == "TB":
            return f"{value} B" if unit == "B" else f"{number:.1f} {unit}"
        number /= 1000
    return str(value)


def _grid(rows: Sequence[Sequence[str]], right: frozenset[int]) -> Iterator[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        cells = [
            cell.rjust(size) if column in right else cell.ljust(size) for column, (cell, size) in enumerate(zip(row, widths, strict=True))
        ]
        yield ("  " + "  ".join(cells)).rstrip()


def _files(rows: Sequence[Row]) -> Iterator[str]:
    shown = rows[-_MOST_LISTED:]
    if len(shown) < len(rows):
        yield f"  … {len(rows) - len(shown)} older ones; -o json has all"
    kinds = {row["kind"] for row in rows} != {"checkpoint"}
    grid = [["id", *(["kind"] if kinds else []), "state", "format", "state size", "_metadata", "state files", "written (UTC)"]]
    for row in shown:
        version = "-" if row["version"] is None else f"V{row['version']}"
        number = "-" if row["checkpoint"] is None else str(row["checkpoint"])
        sizes = [_size(row["state_bytes"]), _size(row["size_bytes"]), _state_files(row), when(row["mtime"])]
        state = str(row["state"])
        grid.append([number, *([str(row["kind"])] if kinds else []), _STATES.get(state, state), version, *sizes])
    first = 4 if kinds else 3
    yield from _grid(grid, frozenset({0, first, first + 1}))
    for row in shown:
        if row["damage"] is not None:
            yield from _told(f"{row['checkpoint']} is damaged at byte {row['damaged_at']}: {row['damage']}", "  ")


_STATES = {"empty": "no _metadata", "never": "none kept"}


def _state_files(row: Row) -> str:
    """How many of the files it names are where a restore looks for them."""
    wanted = row.get("state_files")
    if not wanted:
        return "-"
    lost = (row["state_files_missing"] or 0) + (row["state_files_wrong_size"] or 0)
    words = [f"{number} {word}" for number, word in ((lost, "lost"), (row["state_files_unchecked"], "unseen")) if number]
    return ", ".join(words) or f"all {wanted}"


def _restorable(rows: Sequence[Row]) -> Iterator[str]:
    """The newest from which nothing is known to be missing, as Flink takes it; how often they come."""
    whole = [row for row in rows if row["state"] == "complete" and _lost(row) == 0]
    if rows and not whole:
        yield "  newest whole: none of these"
        return
    best = max(whole, key=lambda row: (row["checkpoint"] or 0, row["path"]))
    yield f"  newest whole: {best['checkpoint']} (-s {str(best['path']).removesuffix('/_metadata')})"
    times = [row["mtime"].timestamp() for row in whole if row["mtime"] is not None and row["kind"] != "savepoint"]
    steps = sorted(after - before for before, after in pairwise(times) if after > before)
    if len(steps) > 1 and steps[-1] >= 1:
        yield f"  one every {steps[len(steps) // 2]:.0f} s by the times of the files (the longest pause {steps[-1]:.0f} s)"


def _lost(row: Row) -> int:
    return (row.get("state_files_missing") or 0) + (row.get("state_files_wrong_size") or 0)


def _detail(report: Report, newest: Row) -> Iterator[str]:
    operators = [row for row in report.facts.get("operator_states", ()) if row["path"] == newest["path"]]
    if not operators:
        return
    yield ""
    yield f"  {newest['kind'].capitalize() if newest['kind'] != 'unknown' else 'Checkpoint'} {newest['checkpoint']}:"
    largest = max((row["size_bytes"] or 0 for row in operators), default=0) or 1
    named = all(row["name"] for row in operators)
    grid = [["operator", "id", "subtasks", "state size", "", "largest subtask"]]
    by_operator: dict[str, list[Row]] = {}
    for row in report.facts.get("subtask_states", ()):
        if row["path"] == newest["path"]:
            by_operator.setdefault(row["operator"], []).append(row)
    for row in sorted(operators, key=lambda r: -(r["size_bytes"] or 0)):
        own = by_operator.get(row["operator"], [])
        top = max(own, key=lambda s: (s["size_bytes"] or 0, -s["subtask"]), default=None)
        share = "-" if top is None or not top["size_bytes"] else f"{_size(top['size_bytes'])} ({top['subtask'] + 1}/{row['parallelism']})"
        subtasks = "finished" if row["finished"] else f"{row['subtasks']}/{row['parallelism']}"
        bar = "█" * round((_BAR if named else _BAR_BESIDE_IDS) * (row["size_bytes"] or 0) / largest)
        # the first digits tell operators apart; before Flink 2.0 there are no names, and the whole id is all there is to search for
        identity = row["operator"][:8] if named else row["operator"]
        grid.append([_clipped(row["name"] or "-", _LONGEST_NAME), identity, subtasks, _size(row["size_bytes"]), bar, share])
    if not named:
        grid = [line[1:] for line in grid]
    yield from _grid(grid, frozenset({2, 3} if named else {1, 2}))
    yield from _splits([row for row in report.facts.get("splits", ()) if row["path"] == newest["path"]], operators)


def _clipped(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _splits(splits: Sequence[Row], operators: Sequence[Row]) -> Iterator[str]:
    readers = [row for row in splits if row["role"] == "reader"]
    if not splits:
        return
    names = {row["operator"]: (row["name"] or row["operator"][:8], row["parallelism"]) for row in operators}
    yield ""
    enumerated = len(splits) - len(readers)
    if not readers:
        yield f"  {counted(enumerated, 'split')} known to the enumerator; positions cannot be shown (below)"
        return
    yield f"  {counted(len(readers), 'split')} held by readers, {enumerated} known to the enumerator:"
    by_topic: dict[tuple[str, str], list[Row]] = {}
    for row in readers:
        by_topic.setdefault((row["operator"], row["topic"] or row["connector"]), []).append(row)
    for (operator, topic), rows in sorted(by_topic.items()):
        name, parallelism = names.get(operator, (operator[:8], None))
        if len(rows) > _MOST_SPLITS:
            yield from _told(_summary(topic, name, rows), "  ")
            continue
        grid = [["split", "next", "reader", "operator", "connector"]]
        for row in sorted(rows, key=lambda r: (r["partition"] or 0, r["identity"], r["subtask"])):
            position = row["offset_kind"] if row["offset"] is None else str(row["offset"])
            named = [_clipped(row["identity"], 36), position, f"({row['subtask'] + 1}/{parallelism})", _clipped(name, _LONGEST_NAME)]
            grid.append([*named, row["connector"]])
        yield from _grid(grid, frozenset({1}))


def _summary(topic: str, name: str, rows: Sequence[Row]) -> str:
    """Many splits of one topic in one sentence."""
    offsets = [row["offset"] for row in rows if row["offset"] is not None]
    markers = len(rows) - len(offsets)
    between = f", next offsets {min(offsets)} to {max(offsets)}" if offsets else ""
    unread = f", {markers} without a record yet" if markers else ""
    subtasks = len({row["subtask"] for row in rows})
    return f"{topic}: {len(rows)} splits in {counted(subtasks, 'subtask')} of {name}{between}{unread}; -o json has each"


def _batches(facts: Mapping[str, Sequence[Row]]) -> Iterator[str]:
    by_path: dict[str, list[Row]] = {}
    for row in facts.get("batches", ()):
        by_path.setdefault(row["path"], []).append(row)
    ends: dict[tuple[str, int], list[Row]] = {}
    for row in facts.get("batch_offsets", ()):
        ends.setdefault((row["path"], row["batch"]), []).append(row)
    for path, rows in by_path.items():
        yield ""
        yield f"Structured Streaming query {rows[0]['query'] or 'unknown'}: {counted(len(rows), 'batch', 'batches')}"
        yield f"  {path}"
        grid = [["batch", "planned (UTC)", "done", "end offsets"]]
        for row in rows[-_MOST_LISTED:]:
            own = ends.get((path, row["batch"]), [])
            told = ", ".join(
                f"{o['topic']}-{o['partition']} {o['offset']}" if o["topic"] else f"source {o['source']} {o['raw'] or '-'}" for o in own[:3]
            )
            more = f" and {len(own) - 3} more" if len(own) > 3 else ""
            planned = when(row["planned_at"]) if row["planned"] else "never"
            grid.append([str(row["batch"]), planned, "yes" if row["committed"] else "no", _clipped(told, 64) + more])
        yield from _grid(grid, frozenset({0}))
        for row in rows:
            if row["damage"] is not None:
                yield from _told(f"batch {row['batch']} is damaged: {row['damage']}", "  ")
        last = rows[-1]
        if last["planned"] and not last["committed"]:
            meaning = "it runs now, or it failed and will be run again with the same offsets"
            yield from _told(f"batch {last['batch']} was planned and is not committed: {meaning}", "  ")
        yield from _stores([row for row in facts.get("state_store_files", ()) if row["path"] == path])


def _stores(stores: Sequence[Row]) -> Iterator[str]:
    if not stores:
        return
    size = _size(sum(row["size_bytes"] or 0 for row in stores))
    operators = len({row["operator"] for row in stores})
    yield f"  state: {size} in {counted(len(stores), 'store')} of {counted(operators, 'operator')}"
    for row in [row for row in stores if row["state"] != "ok"][:_MOST_LISTED]:
        lost = ", ".join(row["missing"] or row["empty"] or [])
        place = f"operator {row['operator']} partition {row['partition']}" + (f" {row['store']}" if row["store"] != "default" else "")
        yield from _told(f"{place}: {row['state']}, version {row['wanted_version']} is wanted, not here: {lost}", "  ")
