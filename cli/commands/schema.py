"""``diag schema``: the contract of ``-o json``."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.shell.environment import Environment
from cli.shell.exits import UsageError


def register(app: typer.Typer) -> None:
    app.command("schema", short_help="Print the JSON Schema of `-o json`.")(schema)


def schema(
    context: typer.Context,
    of_fleet: Annotated[bool, typer.Option("--fleet", help="The schema of `diag fleet -o json`.")] = False,
    of_trend: Annotated[bool, typer.Option("--fleet-trend", help="The schema of `diag fleet --trend -o json`.")] = False,
    of_history: Annotated[bool, typer.Option("--fleet-history", help="The tables that `diag fleet --save` adds to.")] = False,
    of_diff: Annotated[bool, typer.Option("--diff", help="The schema of `diag diff -o json`.")] = False,
    of_watch: Annotated[bool, typer.Option("--watch", help="The schema of what `diag watch` sends as JSON.")] = False,
) -> None:
    """Print the JSON Schema (2020-12) of `-o json`; with --fleet-history the columns of Parquet tables, with types and meanings.

    \b
    Examples:
      diag schema > diag-report.schema.json
      diag schema --fleet-history
      diag schema | jq '."$defs".verdict.properties.cause'

    Reads nothing but diag itself: no files, no network, no JVM. Needs no permissions.
    """
    import json

    from analyzers.comparison.difference import difference_schema
    from analyzers.report.fleet import fleet_schema
    from analyzers.report.fleet_tables import history_tables
    from analyzers.report.schema import report_schema
    from cli.renderers.alerts import watch_schema
    from cli.renderers.fleet_trend import trend_schema

    environment: Environment = context.obj or Environment.real()
    asked = {
        "--fleet": (of_fleet, fleet_schema),
        "--fleet-trend": (of_trend, trend_schema),
        "--fleet-history": (of_history, history_tables),
        "--diff": (of_diff, difference_schema),
        "--watch": (of_watch, watch_schema),
    }
    chosen = [name for name, (wanted, _) in asked.items() if wanted]
    if len(chosen) > 1:
        raise UsageError(f"{' and '.join(chosen)} are {len(chosen)} schemas", "Ask for one of them.")
    made = asked[chosen[0]][1] if chosen else report_schema
    environment.write(json.dumps(made(), indent=2, ensure_ascii=False) + "\n")
