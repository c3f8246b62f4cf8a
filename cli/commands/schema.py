"""``diag schema``: the contract of ``-o json``."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.shell.environment import Environment


def register(app: typer.Typer) -> None:
    app.command("schema", short_help="Print the JSON Schema of `-o json`.")(schema)


def schema(
    context: typer.Context, of_fleet: Annotated[bool, typer.Option("--fleet", help="The schema of `diag fleet -o json`.")] = False
) -> None:
    """Print the JSON Schema (2020-12) of `-o json`.

    \b
    Examples:
      diag schema > diag-report.schema.json
      diag schema | jq '."$defs".verdict.properties.cause'

    Reads nothing but diag itself: no files, no network, no JVM. Needs no permissions.
    """
    import json

    from analyzers.report.fleet import fleet_schema
    from analyzers.report.schema import report_schema

    environment: Environment = context.obj or Environment.real()
    environment.write(json.dumps(fleet_schema() if of_fleet else report_schema(), indent=2, ensure_ascii=False) + "\n")
