"""A page that is longer than the screen goes through a pager, as git shows one: ``$PAGER``, else less."""

from __future__ import annotations

import re
import shlex
import shutil
import signal
import subprocess
from collections.abc import Mapping

LESS = "FRX"
"""As git sets it: a text that fits is only printed, colours are colours, the text stays on the screen."""


_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def pager(environ: Mapping[str, str], which: str | None = None) -> list[str] | None:
    """The command to page with; None for ``PAGER=cat``, an empty one, a dumb terminal, or where there is none."""
    wanted = environ.get("PAGER", "less")
    try:
        command = shlex.split(wanted)
    except ValueError:
        return None
    if not command or command[0] == "cat" or environ.get("TERM") == "dumb":
        return None
    return command if shutil.which(command[0], path=which) else None


def paged(text: str, command: list[str], environ: Mapping[str, str]) -> bool:
    """Show `text` in the pager until its reader leaves it; whether that was possible. Ctrl-C is the pager's meanwhile."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        subprocess.run(command, input=text, encoding="utf-8", errors="backslashreplace", env={"LESS": LESS, **environ}, check=False)
    except OSError:
        return False
    finally:
        signal.signal(signal.SIGINT, before)
    return True


def rows(text: str, width: int) -> int:
    """How many rows `text` takes on a screen of `width` columns, colours not counted."""
    return sum(max(1, -(-len(_COLOUR.sub("", line)) // max(1, width))) for line in text.splitlines())


def is_longer_than_screen(text: str) -> bool:
    columns, lines = shutil.get_terminal_size((80, 24))
    return rows(text, columns) >= lines
