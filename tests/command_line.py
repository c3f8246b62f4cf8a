"""Commands as people type them: in this process, or in a shell of their own."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

from cli.main import run
from cli.shell.environment import Environment

ROOT = Path(__file__).parent.parent


def environment(**values: object) -> Environment:
    return Environment(io.StringIO(), io.StringIO(), **values)  # type: ignore[arg-type]  # a test's shorthand


def diag(*arguments: str, **options: object) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a command, in this process."""
    given = environment(**options)
    code = run(arguments, given)
    return code, given.stdout.getvalue(), given.stderr.getvalue()  # type: ignore[attr-defined]  # StringIO


def shell(command: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """`command` in bash, with ``diag`` as ``python -m cli``; in its own process, as users run it."""
    whole = f'set -o pipefail; diag() {{ "{sys.executable}" -m cli "$@"; }}; {command}'
    return subprocess.run(
        ["bash", "-c", whole], cwd=ROOT, env={**os.environ, **environ}, capture_output=True, text=True, timeout=60, check=False
    )
