"""Checkpoints for people: what lies where, the newest of each job in detail, what the split audit saw last."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from analyzers.report import Report
from analyzers.tables import Row
from cli.renderers.acknowledgements import acknowledgements
from cli.renderers.wording import counted, printable, when

_MOST_LISTED = 20
_MOST_SPLITS = 60
_BAR = 12


def render(report: Report) -> str:
    """The newest job last. Tables are as wide as the names in them, at most; nothing in the text needs a terminal."""
    facts = report.facts
    lines = [f"Looked at {report.looked_at or 'nothing that could be read'}"]
    by_job: dict[str | None, list[Row]] = {}
    for row in facts.get("checkpoint_files", ()):
        by_job.setdefault(row["job"], []).append(row)
    for job, rows in sorted(by_job.items(), key=lambda item: max((str(r["mtime"]), r["checkpoint"] or 0) for r in item[1])):
        lines += ["", f"Job {job or 'unknown'}: {counted(len(rows), 'checkpoint')} under {_parent(rows)}", *_files(rows)]
        newest = max((r for r in rows if r["state"] != "empty"), key=lambda r: (r["checkpoint"] or 0, r["path"]), default=None)
        if newest is not None:
            lines += _detail(report, newest)
    lines += _batches(facts.get("batches", ()), facts.get("batch_offsets", ()))
    lines += acknowledgements(facts)
    troubled = [source for source in report.sources if source.state != "ok"]
    if troubled:
        lines += ["", "Not whole:", *(f"  {source.name}: {source.why}" for source in troubled[:10])]
        if len(troubled) > 10:
            lines.append(f"  and {len(troubled) - 10} more; -o plain has all")
    if report.notes:
        lines += ["", "Splits:", *(f"  {note}" for note in report.notes)]
    return "".join(printable_line(line) + "\n" for line in lines)


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
        yield f"  … {len(rows) - len(shown)} older ones; -o plain has all"
    grid = [["id", "kind", "state", "format", "operators", "state size", "_metadata", "modified (UTC)"]]
    for row in shown:
        version = "-" if row["version"] is None else f"V{row['version']}"
        operators = "-" if row["operators"] is None else str(row["operators"])
        grid.append(
            [
                str(row["checkpoint"]),
                row["kind"],
                row["state"],
                version,
                operators,
                _size(row["state_bytes"]),
                _size(row["size_bytes"]),
                when(row["mtime"]),
            ]
        )
    yield from _grid(grid, frozenset({0, 4, 5, 6}))
    for row in shown:
        if row["damage"] is not None:
            yield f"  {row['checkpoint']} is damaged at byte {row['damaged_at']}: {row['damage']}"


def _detail(report: Report, newest: Row) -> Iterator[str]:
    operators = [row for row in report.facts.get("operator_states", ()) if row["path"] == newest["path"]]
    if not operators:
        return
    yield ""
    yield f"  {newest['kind'].capitalize() if newest['kind'] != 'unknown' else 'Checkpoint'} {newest['checkpoint']}:"
    largest = max((row["size_bytes"] or 0 for row in operators), default=0) or 1
    grid = [["operator", "id", "subtasks", "state size", "", "largest subtask"]]
    for row in operators:
        own = [s for s in report.facts.get("subtask_states", ()) if s["path"] == newest["path"] and s["operator"] == row["operator"]]
        top = max(own, key=lambda s: (s["size_bytes"] or 0, -s["subtask"]), default=None)
        share = "-" if top is None or not top["size_bytes"] else f"{_size(top['size_bytes'])} ({top['subtask'] + 1}/{row['parallelism']})"
        subtasks = "finished" if row["finished"] else f"{row['subtasks']}/{row['parallelism']}"
        bar = "█" * round(_BAR * (row["size_bytes"] or 0) / largest)
        grid.append([row["name"] or "-", row["operator"], subtasks, _size(row["size_bytes"]), bar, share])
    yield from _grid(grid, frozenset({2, 3}))
    yield from _splits([row for row in report.facts.get("splits", ()) if row["path"] == newest["path"]], operators)


def _splits(splits: Sequence[Row], operators: Sequence[Row]) -> Iterator[str]:
    readers = [row for row in splits if row["role"] == "reader"]
    if not splits:
        return
    names = {row["operator"]: (row["name"] or row["operator"][:8], row["parallelism"]) for row in operators}
    yield ""
    enumerated = len(splits) - len(readers)
    if not readers:
        yield f"  {counted(enumerated, 'split')} known to the enumerator; positions cannot be shown: the readers' state files are not here"
        return
    yield f"  {counted(len(readers), 'split')} held by readers, {enumerated} known to the enumerator:"
    grid = [["split", "next", "reader", "operator", "connector"]]
    for row in sorted(readers, key=lambda r: (r["operator"], r["topic"] or "", r["partition"] or 0, r["identity"], r["subtask"]))[
        :_MOST_SPLITS
    ]:
        name, parallelism = names.get(row["operator"], (row["operator"][:8], None))
        position = row["offset_kind"] if row["offset"] is None else str(row["offset"])
        grid.append([row["identity"], position, f"({row['subtask'] + 1}/{parallelism})", name, row["connector"]])
    yield from _grid(grid, frozenset({1}))
    if len(readers) > _MOST_SPLITS:
        yield f"  … {len(readers) - _MOST_SPLITS} more; -o plain has all"


def _batches(batches: Sequence[Row], offsets: Sequence[Row]) -> Iterator[str]:
    by_path: dict[str, list[Row]] = {}
    for row in batches:
        by_path.setdefault(row["path"], []).append(row)
    for path, rows in by_path.items():
        yield ""
        yield f"Structured Streaming query {rows[0]['query'] or 'unknown'}: {counted(len(rows), 'batch', 'batches')} in {path}"
        grid = [["batch", "planned (UTC)", "committed", "end offsets"]]
        for row in rows[-_MOST_LISTED:]:
            own = [o for o in offsets if o["path"] == path and o["batch"] == row["batch"]]
            ends = ", ".join(
                f"{o['topic']}-{o['partition']} {o['offset']}" if o["topic"] else f"source {o['source']} {o['raw'] or '-'}" for o in own[:4]
            )
            more = f" and {len(own) - 4} more" if len(own) > 4 else ""
            planned = when(row["planned_at"]) if row["planned"] else "never"
            grid.append([str(row["batch"]), planned, "yes" if row["committed"] else "no", ends + more])
        yield from _grid(grid, frozenset({0}))
        yield from (f"  batch {row['batch']} is damaged: {row['damage']}" for row in rows if row["damage"] is not None)
        last = rows[-1]
        if last["planned"] and not last["committed"]:
            meaning = "it runs now, or it failed and will be run again with the same offsets"
            yield f"  batch {last['batch']} was planned and is not committed: {meaning}"
