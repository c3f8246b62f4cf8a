"""Ctrl-C before there is anything that could hear of it: while modules are loaded, an exception would be a traceback."""

from __future__ import annotations

import os
import signal


def quietly(number: int, _frame: object) -> None:
    """End at once: nothing was begun."""
    os._exit(128 + number)


def listen() -> None:
    """Until `cli.shell.signals` listens. A background job's Ctrl-C stays ignored."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, quietly)
