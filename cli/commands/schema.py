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

    environment: Environment = context.obj or Environment.real()
    if of_fleet and of_diff:
        raise UsageError("--fleet and --diff are two schemas", "Ask for one of them.")
    wanted = fleet_schema() if of_fleet else difference_schema() if of_diff else report_schema()
    environment.write(json.dumps(wanted, indent=2, ensure_ascii=False) + "\n")
