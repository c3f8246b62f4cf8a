"""Options of the commands that ask Flink's JobManager, each written once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

FlinkRest = Annotated[
    str | None,
    typer.Option(
        "--flink-rest",
        metavar="URL",
        help="The JobManager's REST address, as of the web UI; or a directory of its saved answers.",
        envvar="DIAG_FLINK_REST",
    ),
]
FlinkRestAuth = Annotated[
    Path | None,
    typer.Option(
        "--flink-rest-auth",
        metavar="FILE",
        help="Properties with username and password, or token, and ssl.ca.location; the only place for secrets.",
    ),
]
JobIds = Annotated[
    list[str] | None,
    typer.Option("--job", metavar="ID|NAME", help="Only this Flink job; repeatable. Default: every job that has not ended."),
]
