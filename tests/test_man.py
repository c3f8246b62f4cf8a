"""The man page that `make man` writes, and what a shell completes: both from the tree of commands."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from cli.main import app
from cli.version import version
from tests.command_line import shell

ROOT = Path(__file__).resolve().parent.parent
ROOT_COMMAND: Any = typer.main.get_command(app)


def _commands(group: Any, *path: str) -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        yield " ".join((*path, name)), command
        if hasattr(command, "commands"):
            yield from _commands(command, *path, name)


COMMANDS = dict(_commands(ROOT_COMMAND))


def _made(target: Path) -> str:
    environment = {**os.environ, "SOURCE_DATE_EPOCH": "1764288000"}
    done = subprocess.run(
        [sys.executable, str(ROOT / ".ci" / "man.py"), str(target)], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return target.read_text(encoding="ascii")


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("man") / "deeper" / "diag.1"
    _made(file)
    return file


def _plain(roff: str) -> str:
    """Text of roff without fonts and escapes."""
    for escape, character in (("\\fB", ""), ("\\fI", ""), ("\\fR", ""), ("\\-", "-"), ("\\&", ""), ("\\(aq", "'"), ("\\e", "\\")):
        roff = roff.replace(escape, character)
    return re.sub(r"\\\[u([0-9A-F]{4,5})\]", lambda code: chr(int(code[1], 16)), roff)


@pytest.fixture(scope="module")
def sections(page: Path) -> dict[str, str]:
    """Texts by section (SH) and, of commands, by subsection (SS)."""
    parts = re.split(r"^\.S[HS] (.+)\n", _plain(page.read_text(encoding="ascii")), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def _entries(section: str) -> set[str]:
    """Names that a list explains: options, arguments, codes, variables."""
    return {
        word.strip("[]….,") for line in re.findall(r"^\.TP\n(.+)\n(?=.*\w)", section, re.MULTILINE) for word in re.split(r"[ ,/]+", line)
    }


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_stands_there_with_all_its_options(name: str, sections: dict[str, str]) -> None:
    section = sections[f"diag {name}"]
    options = [each for parameter in COMMANDS[name].params for each in (*parameter.opts, *parameter.secondary_opts) if each.startswith("-")]
    assert {*options, "-h", "--help"} - _entries(section) == set()
    assert ("Examples:" in section) == ("Examples:" in COMMANDS[name].help)
    examples = re.findall(r"^  (\S.*\bdiag .*)$", COMMANDS[name].help, re.MULTILINE)
    assert [line for line in examples if line not in section] == [], "each as it is typed"


def test_nothing_stands_there_that_is_no_command(sections: dict[str, str]) -> None:
    assert {title.removeprefix("diag ") for title in sections if title.startswith("diag ")} == set(COMMANDS)
    assert {"--version", "--install-completion", "--show-completion"} <= _entries(sections["OPTIONS"])


def test_exit_codes_and_variables_are_all_there(sections: dict[str, str]) -> None:
    assert {"0", "1", "2", "3", "4", "130", "143"} <= _entries(sections["EXIT STATUS"])
    sources = [path.read_text(encoding="utf-8") for top in ("cli", "analyzers") for path in (ROOT / top).rglob("*.py")]
    used = {name for source in sources for name in re.findall(r'"(DIAG_[A-Z_]+)"', source)}
    assert used, "variables are named in the sources"
    assert used == {name for name in _entries(sections["ENVIRONMENT"]) if name.startswith("DIAG_")}


def test_the_same_tree_makes_the_same_page(page: Path, tmp_path: Path) -> None:
    again = _made(tmp_path / "diag.1")
    assert again == page.read_text(encoding="ascii")
    assert again.startswith(f'.TH DIAG 1 "2025-11-28" "diag {version()}"')


@pytest.mark.parametrize(
    "command", [["man", "--warnings=all", "-l"], ["groff", "-man", "-Tutf8", "-ww"], ["mandoc", "-T", "lint", "-W", "error"]]
)
def test_it_parses(command: list[str], page: Path) -> None:
    if shutil.which(command[0]) is None:
        pytest.skip(f"there is no {command[0]} here")
    environment = {**os.environ, "MANWIDTH": "90", "LC_ALL": "C.UTF-8", "MANPAGER": "cat"}
    done = subprocess.run([*command, str(page)], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert command[0] == "mandoc" or "diag preflight broker-removal" in re.sub("\x1b\\[[0-9;]*m", "", done.stdout)


@pytest.mark.parametrize("kind", ["bash", "zsh", "fish"])
def test_a_shell_gets_its_script(kind: str) -> None:
    asked = shell("diag", _DIAG_COMPLETE=f"source_{kind}")
    assert asked.returncode == 0, asked.stderr
    assert f"_DIAG_COMPLETE=complete_{kind}" in asked.stdout


def test_the_option_shows_the_script_of_the_shell_in_which_it_is_typed() -> None:
    shown = shell("diag --show-completion; true")
    assert "complete -o default -F _diag_completion diag" in shown.stdout, shown.stderr


@pytest.mark.parametrize(
    ("typed", "at", "offered"),
    [("diag tri", 1, {"triage"}), ("diag preflight br", 2, {"broker-removal"}), ("diag triage --fail", 2, {"--fail-on"})],
)
def test_bash_completes_commands_and_options(typed: str, at: int, offered: set[str]) -> None:
    done = shell("diag", _DIAG_COMPLETE="complete_bash", COMP_WORDS=typed, COMP_CWORD=str(at))
    assert done.returncode == 0, done.stderr
    assert set(done.stdout.split()) == offered


def test_bash_completes_codes_of_rules() -> None:
    done = shell("diag", _DIAG_COMPLETE="complete_bash", COMP_WORDS="diag explain CKP10", COMP_CWORD="2")
    assert {"CKP101", "CKP103"} <= set(done.stdout.split())
