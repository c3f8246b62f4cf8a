"""Commands for a shell, as reports print them: a word of one may be changed, its quotes stay whole."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable

CODE = re.compile(r"(`[^`]*`)")
"""A command within prose."""
NOTE = "   #"
"""Between a command and what it is for."""
_WORD = re.compile(r"(?:'[^']*'|\"[^\"]*\"|\\.|[^\s'\"\\])+", re.S)
_MARKS = re.compile(r"['\"\\]")
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
_HELD = re.compile("\ue000(\\d+)\ue001")


def within_back_ticks(words: str) -> str:
    """Quoted `words` that may stand between back-ticks: one of their own is written by its number."""
    return words.replace("`", "'$'\\140''")


def in_words(command: str, change: Callable[[str], str]) -> str:
    """`command` with `change` done to what each of its words means, quoted again where that made another word of it."""

    def changed(match: re.Match[str]) -> str:
        try:
            (word,) = shlex.split(match[0]) if _MARKS.search(match[0]) else [match[0]]
        except ValueError:  # an apostrophe that no template of ours closed
            return shlex.quote(done) if (done := change(match[0])) != match[0] else match[0]
        done = change(word)
        return match[0] if done == word else shlex.quote(done)

    return _WORD.sub(changed, command)


def outside_quotes(command: str, change: Callable[[str], str]) -> str:
    """`command` with `change` done to what stands outside of quotes: within them are values, whatever they look like."""
    held: list[str] = []

    def hold(match: re.Match[str]) -> str:
        held.append(match[0])
        return f"\ue000{len(held) - 1}\ue001"

    return _HELD.sub(lambda match: held[int(match[1])] if int(match[1]) < len(held) else match[0], change(_QUOTED.sub(hold, command)))


def same_words(one: str, other: str) -> bool:
    """Whether a shell finds as many words in each command of `one` as in that of `other`."""
    try:
        return [len(shlex.split(code)) for code in CODE.findall(one)] == [len(shlex.split(code)) for code in CODE.findall(other)]
    except ValueError:
        return False


def in_code(prose: str, change: Callable[[str], str], otherwise: Callable[[str], str] = str) -> str:
    """`prose` with `change` done to the commands between its back-ticks, and `otherwise` to the rest."""
    return "".join(f"`{change(part[1:-1])}`" if number % 2 else otherwise(part) for number, part in enumerate(CODE.split(prose)))
