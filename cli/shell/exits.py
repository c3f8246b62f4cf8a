"""What the command line exits with, and the errors that decide it.

An error is raised where it is understood, carries one sentence about what was attempted and one about what to try, and becomes an exit
code in one place (`cli.shell.process`).
"""

from __future__ import annotations

from enum import IntEnum
from typing import ClassVar


class ExitCode(IntEnum):
    """Exit codes of every command, the same for every output format. 1 beats 4 beats 3."""

    CLEAN = 0
    FINDINGS = 1  # at or above --fail-on
    USAGE = 2
    CANNOT_LOOK = 3  # a source that was asked for could not be read and no finding came of it, or no rule could judge
    DEFECT = 4  # in diag itself
    INTERRUPTED = 130
    TERMINATED = 143


class DiagError(Exception):
    """An error that the user can understand: `message` says what was attempted, on what, and what happened; `hint` what to try."""

    exit_code: ClassVar[ExitCode] = ExitCode.DEFECT

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".rstrip()


class UsageError(DiagError):
    """A bad option; a code, profile or path that does not exist."""

    exit_code = ExitCode.USAGE


class CannotLook(DiagError):
    """A source that was asked for could not be read, or what is needed to read it is missing."""

    exit_code = ExitCode.CANNOT_LOOK
