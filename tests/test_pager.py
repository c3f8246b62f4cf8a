"""The pager, in a terminal of its own: what is longer than the screen goes through it, what is shorter does not."""

from __future__ import annotations

import os
import pty
import sys
from pathlib import Path

import pytest

from cli.shell.pager import pager, rows


def test_the_pager_is_the_users() -> None:
    here = str(Path(sys.executable).parent)
    name = Path(sys.executable).name
    assert pager({"PAGER": f"{name} -R"}, here) == [name, "-R"]
    for none in ({"PAGER": "cat"}, {"PAGER": ""}, {"PAGER": "no-such-pager"}, {"PAGER": "'"}, {"PAGER": name, "TERM": "dumb"}):
        assert pager(none, here) is None


def test_rows_are_those_of_the_screen() -> None:
    assert rows("short\n\x1b[1m" + "x" * 81 + "\x1b[0m\n\nend", 80) == 5


@pytest.mark.parametrize(("lines", "paged"), [(100, True), (5, False)])
def test_only_a_long_page_is_paged(lines: int, paged: bool, tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    program = tmp_path / "pager"
    program.write_text(f'#!/bin/sh\necho "$LESS" > {seen}\ncat >> {seen}\n')
    program.chmod(0o755)
    command = f"from cli.shell.environment import Environment; Environment.real().page('line\\n' * {lines})"
    root = str(Path(__file__).parent.parent)
    given = {name: value for name, value in os.environ.items() if name != "LESS"}
    given |= {"PAGER": str(program), "TERM": "xterm", "LINES": "24", "COLUMNS": "80", "PYTHONPATH": root}
    child, terminal = pty.fork()
    if not child:
        os.execve(sys.executable, [sys.executable, "-c", command], given)
    said = b""
    try:
        while block := os.read(terminal, 4096):
            said += block
    except OSError:  # the terminal is gone with its last process
        pass
    os.waitpid(child, 0)
    assert seen.exists() is paged
    if paged:
        assert seen.read_text() == "FRX\n" + "line\n" * lines
    assert said.count(b"line") == (0 if paged else lines)
