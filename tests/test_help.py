"""Help: of diag and of each command, what it reads, what it needs, how it is typed."""

from __future__ import annotations

import re

import pytest
import typer

from cli.main import app, run
from tests.command_line import diag

COMMANDS = sorted(typer.main.get_command(app).commands)  # type: ignore[attr-defined]  # a group, as it has subcommands


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_help_says_what_it_reads_and_has_two_examples(command: str, flag: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert diag(command, flag)[0] == 0
    said = capsys.readouterr().out
    examples = re.findall(rf"^ +(?:.*\| )?diag {command}\b.*", said, re.M)
    assert len(examples) >= 2, "two examples, each on a line of its own"
    assert re.search(r"\b[Rr]eads\b|\b[Ll]ooks at\b|\b[Aa]sks\b|\bprobed\b", said)
    assert re.search(r"[Pp]ermission|[Nn]eeds", said)
    assert [line for line in said.splitlines() if len(line) > 80 and line not in examples] == []


def test_the_help_made_without_parameters_is_that_of_the_whole_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    short = capsys.readouterr().out
    assert run(["--help", "--help"]) == 0
    assert capsys.readouterr().out == short
    assert run(["triage", "--help"]) == 0
    assert "--since" in capsys.readouterr().out


def test_help_of_diag_has_every_command_and_the_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    assert diag("-h")[0] == 0
    said = capsys.readouterr().out
    assert all(re.search(rf"^  {command} ", said, re.M) for command in COMMANDS)
    assert "130, 143" in said
    diag("--help")
    assert capsys.readouterr().out == said
