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
    of_diff: Annotated[bool, typer.Option("--diff", help="The schema of `diag diff -o json`.")] = False,
    of_watch: Annotated[bool, typer.Option("--watch", help="The schema of what `diag watch` sends as JSON.")] = False,
) -> None:
    """Print the JSON Schema (2020-12) of `-o json`.

    \b
    Examples:
      diag schema > diag-report.schema.json
      diag schema | jq '."$defs".verdict.properties.cause'

    Reads nothing but diag itself: no files, no network, no JVM. Needs no permissions.
    """
    import json

    from analyzers.comparison.difference import difference_schema
    from analyzers.report.fleet import fleet_schema
    from analyzers.report.schema import report_schema
    from cli.renderers.alerts import watch_schema

    environment: Environment = context.obj or Environment.real()
    named = {"--fleet": of_fleet, "--diff": of_diff, "--watch": of_watch}
    if sum(named.values()) > 1:
        raise UsageError(f"{' and '.join(name for name, asked in named.items() if asked)} are several schemas", "Ask for one of them.")
    schemas = ((of_fleet, fleet_schema), (of_diff, difference_schema), (of_watch, watch_schema))
    wanted = next((made() for asked, made in schemas if asked), None) or report_schema()
    environment.write(json.dumps(wanted, indent=2, ensure_ascii=False) + "\n")
