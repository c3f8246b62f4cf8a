"""What `diag triage` reads out of logs, as a DuckDB program: per file and signature the events and the time of the first and the last one.
A line belongs to the event whose header stands above it, and takes that header's time.

`python benchmarks/duckdb_triage.py --launch processes LOG…` prints a digest of its rows as JSON. It is the other side of a comparison, so
it is made as fast as we know how: no table is made, lines stream through windows without an order, few expressions of all literals decide
which lines are looked at, and only those are tried with each signature. Two ways to use all cores: `threads` has a cursor per core on one
connection, `processes` a process per core; each takes one file after the other.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import re
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timezone
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import duckdb  # the checkout is put on the path above

from analyzers.logs.signatures.signature import Signature
from benchmarks.scan import digest
from benchmarks.yardstick import LOOKS_AROUND, chosen, plain

Finding = tuple[str, str, int, str, str]  # file, signature, events, times of the first and the last one
_READ = (
    "read_csv([{paths}], filename=true, columns={{'line': 'VARCHAR'}}, header=false, auto_detect=false, delim='\\x01', quote='', "
    "escape='', strict_mode=false, ignore_errors=true, max_line_size=16000000)"
)
# a header begins with a full date: 2026-11-01 00:00:00,000 or [2026-11-01 00:00:00,000] or 26/11/01 00:00:00
_HEADER = (
    "((line[5:5] = '-' and line[14:14] = ':') or (line[1:3] = '[20' and line[15:15] = ':') or (line[3:3] = '/' and line[12:12] = ':'))"
)
_QUERY = """
with numbered as (select filename, line, row_number() over () as number from {source}),
     placed as (select filename, line,
                       max(number) filter ({header}) over (rows unbounded preceding) as event,
                       arg_max(line[1:24], number) filter ({header}) over (rows unbounded preceding) as stamp
                from numbered),
     hit as (select filename, line, event, stamp from placed where {any_literal}),
     found as (select unnest([{signatures}]) as signature, filename, event, stamp from hit)
select filename, signature, count(distinct event), min(stamp), max(stamp) from found where signature is not null
group by filename, signature
"""
_TOO_MANY = re.compile(r"\{(\d+),\d{4,}\}")  # RE2 repeats a thousand times at most, or without a limit
_SMALL = 4 << 20
_AT_ONCE = 250  # literals in one expression: RE2 gives up its fast automaton for many more


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _expression(signature: Signature) -> str:
    literals = " or ".join(f"contains(line, {_quoted(literal)})" for literal in signature.literals)
    known = signature.pattern is not None and not LOOKS_AROUND.search(signature.pattern)  # else its literals must do
    pattern = _TOO_MANY.sub(r"{\1,}", plain(signature.pattern or ""))
    matches = f" and regexp_matches(line, {_quoted(pattern)})" if known else ""
    return f"case when ({literals}){matches} then {_quoted(signature.id)} end"


def query(paths: Sequence[str], signatures: Sequence[Signature]) -> str:
    """The statement for some files. A line above the first header of a file is the last one's event; nobody else would be quicker."""
    literals = sorted({literal for signature in signatures for literal in signature.literals})
    groups = [literals[at : at + _AT_ONCE] for at in range(0, len(literals), _AT_ONCE)]
    alternatives = (_quoted("|".join(re.escape(literal).replace(r"\ ", " ") for literal in group)) for group in groups)
    return _QUERY.format(
        source=_READ.format(paths=", ".join(map(_quoted, paths))),
        header=_HEADER,
        any_literal=" or ".join(f"regexp_matches(line, {expression})" for expression in alternatives),
        signatures=", ".join(map(_expression, signatures)),
    )


def _files(connection: duckdb.DuckDBPyConnection, paths: Sequence[str], signatures: Sequence[Signature]) -> list[Finding]:
    rows = connection.execute(query(paths, signatures)).fetchall()
    return [(Path(path).name, signature, events, _utc(first), _utc(last)) for path, signature, events, first, last in rows]


def _together(paths: Sequence[str], cores: int) -> list[list[str]]:
    """The files of one statement each, the most work first: a statement takes 0.2 s to prepare, which is more than a small file takes."""
    sizes = {path: os.path.getsize(path) for path in paths}
    small = [path for path in paths if sizes[path] < _SMALL]
    groups = [[path] for path in paths if sizes[path] >= _SMALL]
    number = max(min(2 * cores, len(small)), 1)
    groups += [group for group in (small[at::number] for at in range(number)) if group]
    return sorted(groups, key=lambda group: -sum(sizes[path] for path in group))


def _utc(stamp: str | None) -> str:
    """A header's time as `scan.findings` gives it; "" where what looked like one is none."""
    if stamp is None:
        return ""
    text = stamp.strip("[] ").replace("/", "-").replace(",", ".")
    try:
        return str(datetime.fromisoformat(text if text[2] != "-" else f"20{text[:17]}").replace(tzinfo=timezone.utc))
    except ValueError:
        return ""


_signatures: tuple[Signature, ...] = ()  # of a worker: inherited when it is forked
_connection: duckdb.DuckDBPyConnection | None = None


def _in_process(paths: Sequence[str]) -> list[Finding]:
    global _connection  # one for all files of this worker
    if _connection is None:
        _connection = _connected(1)
    return _files(_connection, paths, _signatures)


def _connected(threads: int) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute(f"set threads = {threads}")
    return connection


def findings(paths: Sequence[str], signatures: tuple[Signature, ...], launch: str) -> list[Finding]:
    """All files', ordered as `scan.findings` are."""
    global _signatures  # read by the forked workers
    cores = os.cpu_count() or 1
    largest_first = _together(paths, cores)
    if launch == "processes":
        _signatures = signatures
        with multiprocessing.get_context("fork").Pool(min(cores, len(largest_first))) as pool:
            found = pool.map(_in_process, largest_first, chunksize=1)
    else:
        connection = _connected(cores)
        with ThreadPoolExecutor(cores) as threads:
            found = list(threads.map(lambda group: _files(connection.cursor(), group, signatures), largest_first))
    return sorted(one for rows in found for one in rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--signatures", type=int, help="the first so many by id; without it the whole catalogue")
    parser.add_argument("--launch", choices=("threads", "processes"), default="threads")
    parser.add_argument("--rows", action="store_true", help="the findings themselves too")
    parser.add_argument("paths", nargs="+")
    wanted = parser.parse_args()
    paths = [
        str(file) for path in map(Path, wanted.paths) for file in (sorted(path.rglob("*")) if path.is_dir() else [path]) if file.is_file()
    ]
    found = findings(paths, chosen(wanted.signatures), wanted.launch)
    findings_if_wanted = found if wanted.rows else []
    print(json.dumps({"hits": sum(row[2] for row in found), "digest": digest(found), "findings": findings_if_wanted}))


if __name__ == "__main__":
    main()
