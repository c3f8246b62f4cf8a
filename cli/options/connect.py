"""Options of the commands that ask a worker of Kafka Connect, each written once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

ConnectRest = Annotated[
    str | None,
    typer.Option(
        "--connect-rest",
        metavar="URL",
        help="A Kafka Connect worker's REST address, as http://connect:8083: states, traces, offsets twice.",
        envvar="DIAG_CONNECT_REST",
    ),
]
ConnectRestAuth = Annotated[
    Path | None,
    typer.Option(
        "--connect-rest-auth",
        metavar="FILE",
        help="Properties with username and password, or token, and ssl.ca.location; the only place for secrets.",
    ),
]
ConnectWait = Annotated[
    str,
    typer.Option(
        "--connect-wait",
        metavar="TIME",
        help="From one look at connectors' offsets to the next. Workers commit each minute: 150s shows that a sink stands.",
    ),
]
