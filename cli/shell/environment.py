"""The streams of one run and what is known about them; tests replace it, so that no renderer asks the real terminal."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TextIO

from cli.shell.exits import CannotLook
from cli.shell.pager import is_longer_than_screen, paged, pager

PASSING_SECONDS = 5.0  # between two lines about progress where no terminal overwrites them
WIDEST = 120
"""Columns; longer lines of prose are harder to read, whatever the terminal offers."""


@dataclass
class Environment:
    """Where the report (`stdout`) and the conversation (`stderr`) go. `width` is how wide prose is, `columns` how wide the terminal;
    `verbosity` is -1 quiet, 0, 1 verbose; `tables`: a pipe gets the facts, too."""

    stdout: TextIO
    stderr: TextIO
    stdout_is_tty: bool = False
    stderr_is_tty: bool = False
    colour: bool = False
    width: int = 80
    columns: int = 80
    verbosity: int = 0
    tables: bool = False
    own_process: bool = False  # nothing else runs in it: a notebook's or a test's Spark would suffer from one that is given up
    show_content: bool = False  # of records that exceptions quote
    pages: bool = True
    stdout_closed: bool = False
    passing: bool = False  # the last line on the screen is one of `pass_by`
    clock: Callable[[], float] = time.monotonic
    passed_at: float | None = None

    @classmethod
    def real(cls, environ: Mapping[str, str] | None = None) -> Environment:
        """The process's own streams. Colours only on a terminal, and not with NO_COLOR or TERM=dumb."""
        environ = os.environ if environ is None else environ
        _open_closed_streams()
        for stream in (sys.stdout, sys.stderr):
            # file names and log lines may hold bytes that the locale cannot say; a report must not die of one
            reconfigure = getattr(stream, "reconfigure", None)
            if reconfigure is not None:
                reconfigure(errors="backslashreplace", **({} if stream.isatty() else {"encoding": "utf-8"}))
        tty = sys.stdout.isatty()
        columns = shutil.get_terminal_size((80, 24)).columns
        return cls(
            stdout=sys.stdout,
            stderr=sys.stderr,
            stdout_is_tty=tty,
            stderr_is_tty=sys.stderr.isatty(),
            colour=tty and not environ.get("NO_COLOR") and environ.get("TERM") != "dumb",
            width=min(WIDEST, columns),
            columns=columns,
        )

    def write(self, text: str) -> None:
        """Part of the report. A reader that went away (``| head -1``) ends the writing, not the run."""
        if self.stdout_closed:
            return
        self._wipe()
        try:
            self.stdout.write(text)
            self.stdout.flush()
        except BrokenPipeError:
            self.stdout_closed = True
            silence(self.stdout)
        except OSError as error:  # a full disk behind `> report.txt`
            self.stdout_closed = True
            silence(self.stdout)
            raise CannotLook(
                f"cannot write the report to standard output: {error.strerror or error}",
                "Free some space, or write it elsewhere: -o plain=FILE",
            ) from error

    def page(self, text: str) -> None:
        """As `write`; at a terminal a text that is longer than the screen goes through a pager."""
        if self.pages and self.stdout_is_tty and self.stderr_is_tty and not self.stdout_closed and is_longer_than_screen(text):
            command = pager(os.environ)
            self._wipe()
            if command is not None and paged(text, command, os.environ):
                return
        self.write(text)

    def say(self, text: str) -> None:
        """One line of conversation; nothing with ``-q``. One that ends in a carriage return is of passing interest (`pass_by`)."""
        if self.verbosity < 0:
            return
        if text.endswith("\r"):
            self.pass_by(text.rstrip("\r"))
        else:
            self.complain(text)

    def pass_by(self, text: str) -> None:
        """How far something is: on a terminal one line that the next one overwrites, elsewhere a line now and then."""
        now = self.clock()
        if self.stderr_is_tty:
            self._wipe()
            self._tell(harmless(text)[: self.width - 1])
            self.passing = True
        elif self.passed_at is None or now - self.passed_at >= PASSING_SECONDS:
            if self.passed_at is not None:
                self._tell(harmless(text) + "\n")
            self.passed_at = now

    def _wipe(self) -> None:
        if self.passing:
            self.passing = False
            self._tell("\r\x1b[2K")

    def _tell(self, text: str) -> None:
        try:
            self.stderr.write(text)
            self.stderr.flush()
        except (BrokenPipeError, ValueError):  # nobody listens; the exit code still speaks
            silence(self.stderr)

    def detail(self, text: str) -> None:
        """One line of conversation, only with ``-v``."""
        if self.verbosity > 0:
            self.complain(text)

    def complain(self, text: str) -> None:
        """A warning or an error; also with ``-q``."""
        self._wipe()
        self._tell(harmless(text.rstrip("\n")) + "\n")


def harmless(text: str) -> str:
    """`text` without control characters in its lines and without secrets: names of files and errors of servers come from outside."""
    from analyzers.secrets import scrub
    from cli.renderers.wording import visible

    return "\n".join(visible(line) for line in scrub(text).split("\n"))


def silence(stream: TextIO) -> None:
    """Send what is still buffered in `stream` nowhere: the interpreter flushes at exit and would print a traceback otherwise."""
    try:
        descriptor = stream.fileno()
    except (OSError, ValueError, AttributeError):
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)


def _open_closed_streams() -> None:
    """``>&-`` wants nothing to be said: without a file behind these numbers the next ones that are opened would get them."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_RDWR)
            if nowhere != number:
                os.dup2(nowhere, number)
                os.close(nowhere)
            setattr(sys, name, open(number, "w" if number else "r", closefd=False))  # noqa: SIM115  # as long as the process lives
