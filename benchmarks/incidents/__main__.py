"""`make incidents`: every adapter on every case; without a filter it writes ``results.jsonl``, ``plot.svg`` and the tables of the page.

`make incidents ARGS="--only told --adapter grep"` prints the tables of that choice and writes nothing. flink-mcp-server wants an
environment of its own: ``FLINK_MCP_PYTHON=/path/to/its/bin/python``. An agent is marked by its transcripts: ``--transcripts DIRECTORY``.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.incidents import results as kept
from benchmarks.incidents.adapters import RESTART, WELL, Adapter, Grep, Transcripts
from benchmarks.incidents.cases import load, problems
from benchmarks.incidents.diagnosis import Diag
from benchmarks.incidents.rest_server import FlinkMcp
from benchmarks.incidents.table import PAGE, PLOT, tables, write


def say(text: str) -> None:
    print(f"incidents: {text}", file=sys.stderr, flush=True)


def main(arguments: list[str] | None = None) -> int:
    """Exit code 0 marked, 1 an adapter cannot run here and has no marks, 2 usage or a label that is wrong."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.incidents", description=__doc__)
    parser.add_argument("--only", default="", metavar="TEXT", help="cases whose name contains TEXT: told, open/ill, 014")
    parser.add_argument("--adapter", action="append", metavar="NAME", help="only this one; may be repeated")
    parser.add_argument("--transcripts", action="append", type=Path, default=[], metavar="DIRECTORY", help="answers of an agent")
    parser.add_argument("--show", action="store_true", help="print each answer to stderr")
    options = parser.parse_args(arguments)
    adapters: list[Adapter] = [WELL, RESTART, Grep(), FlinkMcp(), *map(Transcripts, options.transcripts), Diag()]
    if unknown := set(options.adapter or ()) - {each.name for each in adapters}:
        parser.error(f"no adapter is called {', '.join(sorted(unknown))}; there are: {', '.join(each.name for each in adapters)}")
    cases = load(options.only)
    if not cases:
        parser.error(f"no case has {options.only} in its name")
    if wrong := [f"{case.name}: {each}" for case in cases for each in problems(case)]:
        say("labels that cannot be used:\n" + "\n".join(wrong))
        return 2
    whole = not options.only and not options.adapter
    found, older, missing = kept.begin(cases), kept.stored() if whole else None, 0
    for adapter in adapters:
        if options.adapter and adapter.name not in options.adapter:
            continue
        if why := adapter.absent():
            known = kept.keep(found, older, adapter.name)
            say(f"{adapter.name} is not run. {why} {'Its marks of these cases are kept.' if known else 'It has no marks.'}")
            missing += not known
            continue
        say(f"{adapter.name}, {len(cases)} cases")
        kept.mark(found, adapter, cases, cost=whole, show=options.show)
    print(tables(found))
    if whole:
        kept.RESULTS.write_text(kept.dump(found), encoding="utf-8")
        write(found, cases)
        say(f"written: {', '.join(path.name for path in (kept.RESULTS, PLOT, PAGE))}")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
