"""What diag tells of itself: its rules, their pages, the schema of its report."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from analyzers.rules.catalogue import family, load_rules, rule_codes
from cli.shell.exits import ExitCode
from tests.command_line import diag


def test_rules() -> None:
    code, said, _ = diag("rules")
    assert code == 0
    codes = [line.split("\t")[0] for line in said.splitlines()]
    assert codes == sorted(codes)
    assert [r["code"] for r in json.loads(diag("rules", "-o", "json")[1])] == codes
    assert codes[0] in diag("rules", "-o", "terminal")[1]


@pytest.mark.parametrize("width", [40, 80])
def test_the_list_of_rules_is_whole_on_any_terminal(width: int) -> None:
    said = diag("rules", stdout_is_tty=True, width=width)[1]
    assert "…" not in said
    assert all(code in said for code in rule_codes())
    assert "A Kafka address cannot be connected" in " ".join(said.split())
    assert max(map(len, said.splitlines())) <= width


def test_the_codes_told_by_file_names_are_those_of_the_rules() -> None:
    assert rule_codes() == [rule.code for rule in load_rules()]


@pytest.fixture
def pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One page; those of the rules are tested with the rules."""
    (tmp_path / "ABC101.md").write_text("# ABC101: things fall apart\n\n## What you see\n\nThe centre – `cannot` hold.\n", encoding="utf-8")
    monkeypatch.setattr("importlib.resources.files", lambda package: tmp_path)


@pytest.mark.usefixtures("pages")
def test_a_page_is_raw_in_a_pipe_and_set_on_a_terminal() -> None:
    assert diag("explain", "abc101")[:2] == (0, "# ABC101: things fall apart\n\n## What you see\n\nThe centre – `cannot` hold.\n")
    code, said, _ = diag("explain", "ABC101", stdout_is_tty=True)
    assert code == 0
    assert "The centre – cannot hold." in said
    assert "## " not in said
    assert "Did you mean ABC101" in diag("explain", "ABC110")[2]


def test_several_rules_are_explained_at_once() -> None:
    code, said, _ = diag("explain", "CKP101", "rst201")
    assert code == 0
    assert re.findall(r"^# (\w+):", said, re.M) == ["CKP101", "RST201"]


@pytest.mark.parametrize(
    ("word", "named"), [("ckp10", "CKP105  A subtask does not acknowledge"), ("poison", "RST204  "), ("a", "more: see")]
)
def test_what_is_nearly_a_code_names_the_rules_that_it_may_mean(word: str, named: str) -> None:
    code, said, told = diag("explain", word)
    assert (code, said) == (2, "")
    assert named in told


def test_a_cause_that_is_to_be_explained_names_its_rules() -> None:
    code, said, told = diag("explain", "jobmanager-lost")
    assert (code, said) == (ExitCode.USAGE, "")
    assert "jobmanager-lost is a cause" in told
    assert "RST301, RST302" in told


def test_schema_is_json() -> None:
    code, said, _ = diag("schema")
    assert code == 0
    assert json.loads(said)["$schema"] == "https://json-schema.org/draft/2020-12/schema"


def test_rules_are_listed_by_family() -> None:
    said = diag("rules", "ckp1", "CFG", "-o", "terminal")[1]
    head, _, listed = said.partition("\n\n")
    assert head.split() == ["code", "severity", "cause", "finds"]
    assert listed.startswith("Settings\nCFG101"), "in the order of the codes"
    assert "\nA barrier that is not acknowledged\nCKP101" in said
    assert "BRK" not in said
    assert diag("rules", "XYZ")[0] == 2
    family = said[said.index("A barrier") : said.index("\n\n`diag explain")]
    assert diag("explain", "ckp1")[1] == f"{head}\n\n{family}\n"


def test_each_code_has_a_family() -> None:
    assert {code for code in rule_codes() if not family(code)} == set()
