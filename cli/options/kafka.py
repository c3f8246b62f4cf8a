"""Options of the commands that ask Kafka, each written once."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from cli.shell.exits import UsageError

BootstrapServers = Annotated[
    list[str] | None,
    typer.Option(
        "--bootstrap-server",
        "-b",
        metavar="HOST:PORT[,…]",
        help="The job's bootstrap.servers; repeatable. "
        "The brokers that they name are asked, too; a password of PLAIN goes without TLS to their own domains and networks only.",
        envvar="DIAG_BOOTSTRAP_SERVER",
    ),
]
CommandConfig = Annotated[
    Path | None,
    typer.Option(
        "--command-config", metavar="FILE", help="The job's client properties, Java or librdkafka spelling; the only place for secrets."
    ),
]
Groups = Annotated[
    list[str] | None,
    typer.Option("--group", metavar="G", help="Group id, or a regular expression for whole ids; repeatable. Default: all."),
]
Topics = Annotated[list[str] | None, typer.Option("--topic", metavar="T", help="Only this topic; repeatable.")]
Timeout = Annotated[str, typer.Option("--timeout", metavar="TIME", help="For everything on the network together: 10s, 500ms, 1m.")]

_TIME = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h)?")
_LONGEST_SECONDS = 86_400.0
_UNIT_SECONDS = {"ms": 0.001, "s": 1.0, None: 1.0, "m": 60.0, "h": 3600.0}


def seconds(text: str, option: str) -> float:
    """``10s``, ``500ms``, ``1m``, ``1h`` or a bare number of seconds; raises `UsageError`, also below 0.1 s and above a day."""
    match = _TIME.fullmatch(text.strip())
    value = float(match[1]) * _UNIT_SECONDS[match[2]] if match else 0.0
    if not 0.1 <= value <= _LONGEST_SECONDS:
        raise UsageError(f"{option} {text[:40]} is no usable time", "Write 10s, 500ms, 1m or 1h; at least 100ms, at most a day.")
    return value
