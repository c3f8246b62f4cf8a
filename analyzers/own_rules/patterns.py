"""Expressions whose time is bounded in any log, and the literals without which they cannot match.

An expression is tried on every event in which one of its literals stands, so that one line of a hostile log could hold up a run. What is
allowed is what can be proven to end: a repeat is of one character and has an upper bound, and at one place there are at most `MOST_WAYS`
ways to share the text out between repeats. A repeat behind which something follows that it cannot hold has one way.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

try:
    from re import _constants as constants  # type: ignore[attr-defined]  # a part of the standard library without a stub
    from re import _parser as parser  # type: ignore[attr-defined]
except ImportError:  # Python 3.10
    import sre_constants as constants
    import sre_parse as parser

from analyzers.logs.signatures.signature import SHORTEST_LITERAL

MOST_LETTERS = 1_000
"""Of an expression."""
MOST_REPEATS = 500
"""Upper bound of a repeat: a name, an address or a sentence has fewer characters."""
MOST_WAYS = 1_000
MOST_LITERALS = 8

_Item = tuple[Any, Any]
_OTHER = 128  # stands for every character that is not ASCII
_ALL = frozenset(range(_OTHER + 1))
_PLAIN = frozenset({"literal", "not_literal", "any", "in", "branch", "subpattern", "max_repeat", "min_repeat", "at"})
_ONE = frozenset({"literal", "not_literal", "any", "in"})
"""What is one character."""
_NAMED = {
    "groupref": "a reference back to a group (\\1)",
    "groupref_exists": "a condition on a group",
    "assert": "a look ahead or behind (?=",
    "assert_not": "a look ahead or behind (?!",
}


class Refused(ValueError):
    """An expression that is not allowed: the message is a clause about it, `hint` what to write instead."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


@dataclass(frozen=True)
class Understood:
    """What an expression is: its named groups, and literals of which one stands in each text that it matches."""

    groups: tuple[str, ...]
    literals: tuple[str, ...]


def understood(pattern: str) -> Understood:
    """What `pattern` is. Raises `Refused`."""
    try:
        return _understood(pattern)
    except RecursionError:
        raise Refused("is nested too deeply", "Write fewer groups.") from None


def _understood(pattern: str) -> Understood:
    if len(pattern) > MOST_LETTERS:
        raise Refused(f"has {len(pattern):,} characters, and {MOST_LETTERS:,} are allowed", "Look for the rarest part of the line only.")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what a later Python may read otherwise
            tree = parser.parse(pattern)
    except (re.error, OverflowError) as error:
        raise Refused(f"is no regular expression: {error}", "Write a backslash before a bracket that is meant as such.") from None
    if tree.state.flags & ~re.UNICODE:
        raise Refused("has flags such as (?i)", "Write both letters: [Ee]rror.")
    items = list(tree)
    _look(items)
    if _ways(items) > MOST_WAYS:
        raise Refused(
            f"may be tried in more than {MOST_WAYS:,} ways at one place",
            "Give its repeats smaller bounds, or let each be followed by what it cannot hold: [^ ]{1,80} and then a space.",
        )
    found = _required(items)
    if found is None or _shortest(found) < SHORTEST_LITERAL:
        raise Refused(
            f"has no fixed text of {SHORTEST_LITERAL} characters that each match holds, which the scan looks for",
            "Add words of the line that never change.",
        )
    return Understood(tuple(tree.state.groupdict), found)


def _look(items: Sequence[_Item]) -> None:
    """Raises `Refused` for what is never allowed."""
    for operation, argument in items:
        kind = str(operation).lower()
        if kind not in _PLAIN:
            raise Refused(f"has {_NAMED.get(kind, 'an atomic group or a possessive repeat')}", "Write it without; two rules may help.")
        if kind == "subpattern" and (argument[1] or argument[2]):
            raise Refused("has flags such as (?i:", "Write both letters: [Ee]rror.")
        inner = list(_inner(kind, argument))
        if kind.endswith("_repeat"):
            most, (body,) = argument[1], inner
            if most == constants.MAXREPEAT:
                raise Refused("has a repeat without an upper bound (*, + or {n,})", "Write how many at most: [^ ]{1,80}, .{0,200}")
            if most > MOST_REPEATS:
                raise Refused(f"repeats up to {most:,} times, and {MOST_REPEATS} are allowed", "Give it a smaller bound.")
            if most > 1 and (len(body) > 1 or str(body[0][0]).lower() not in _ONE):
                raise Refused("repeats more than one character", "Repeat a class of characters: [a-z.]{1,80}.")
        if kind != "subpattern" and any(map(_may_be_nothing, inner)):
            raise Refused("chooses what may be nothing", "Put a ? behind what may be missing: (?:, [a-z]{1,9})?")
        for each in inner:
            _look(each)


def _may_be_nothing(items: Sequence[_Item]) -> bool:
    """Whether `items` match an empty text."""
    for operation, argument in items:
        kind = str(operation).lower()
        optional = kind == "at" or (kind.endswith("_repeat") and argument[0] == 0)
        if not optional and not any(_may_be_nothing(inner) for inner in _inner(kind, argument)):
            return False
    return True


def _inner(kind: str, argument: Any) -> Iterator[list[_Item]]:
    """The sequences within an operation."""
    if kind == "branch":
        yield from (list(each) for each in argument[1])
    elif kind == "subpattern":
        yield list(argument[3])
    elif kind.endswith("_repeat"):
        yield list(argument[2])


def _ways(items: Sequence[_Item], following: Sequence[_Item] = ()) -> int:
    """In how many ways at most `items` can share out a text; `following`: what comes behind them."""
    ways = 1
    for number, (operation, argument) in enumerate(items):
        kind, rest = str(operation).lower(), [*items[number + 1 :], *following]
        if kind.endswith("_repeat"):
            least, most, body = argument
            behind, may_end = _begins(rest)
            # what need not be followed by anything is not tried again; nor is what ends where something else must begin
            once = may_end or _begins(list(body))[0].isdisjoint(behind)
            ways *= (1 if once else most - least + 1) * _ways(list(body), rest)
        elif kind == "branch":
            ways *= sum(_ways(each, rest) for each in _inner(kind, argument))
        elif kind == "subpattern":
            ways *= _ways(list(argument[3]), rest)
    return ways


def _begins(items: Sequence[_Item]) -> tuple[frozenset[int], bool]:
    """The characters with which `items` can begin, and whether they may be nothing at all."""
    if not items:
        return frozenset(), True
    (operation, argument), rest = items[0], items[1:]
    kind = str(operation).lower()
    if kind == "at":
        return _ALL, False  # what stands at a border is not looked into
    if kind == "subpattern":
        return _begins([*argument[3], *rest])
    if kind == "branch":
        found = [_begins(each)[0] for each in _inner(kind, argument)]
        return frozenset().union(*found), False
    if kind.endswith("_repeat"):
        own = _begins(list(argument[2]))[0]
        if argument[0] > 0:
            return own, False
        behind, may_end = _begins(rest)
        return own | behind, may_end
    return _characters(kind, argument), False


def _characters(kind: str, argument: Any) -> frozenset[int]:
    """What one character may be, or more than that; all that are not ASCII count as one."""
    if kind == "literal":
        return frozenset({min(int(argument), _OTHER)})
    if kind == "not_literal":
        return _ALL - ({int(argument)} if argument < _OTHER else set())
    if kind == "any":
        return _ALL
    held: set[int] = set()
    negated = False
    for operation, what in argument:
        name = str(operation).lower()
        if name == "negate":
            negated = True
        elif name == "literal":
            held.add(min(int(what), _OTHER))
        elif name == "range":
            held.update(range(min(what[0], _OTHER), min(what[1], _OTHER) + 1))
        else:
            held |= _category(str(what).lower())
    return (_ALL - held) | {_OTHER} if negated else frozenset(held)


def _category(name: str) -> set[int]:
    kinds: Mapping[str, Callable[[str], bool]] = {
        "digit": str.isdigit,
        "space": str.isspace,
        "word": lambda each: each.isalnum() or each == "_",
    }
    of = kinds[name.rpartition("_")[2]]
    wanted = "_not_" not in name
    return {each for each in range(_OTHER) if of(chr(each)) is wanted} | {_OTHER}


def _required(items: Sequence[_Item]) -> tuple[str, ...] | None:
    """Texts of which one stands in each match of `items`, as long as can be; None where there are none."""
    choices: list[tuple[str, ...]] = []
    run: list[str] = []

    def end() -> None:
        choices.extend((text,) for text in "".join(run).split("\n") if text)
        run.clear()

    def take(these: Sequence[_Item]) -> None:
        for operation, argument in these:
            kind = str(operation).lower()
            if kind == "literal":
                run.append(chr(argument))
            elif kind == "subpattern":
                take(list(argument[3]))
            elif kind == "at":
                continue
            else:
                end()
                if kind == "branch":
                    each = [_required(one) for one in _inner(kind, argument)]
                    if all(each):
                        choices.append(tuple(dict.fromkeys(text for one in each if one for text in one)))
                elif kind.endswith("_repeat") and argument[0] > 0 and (inner := _required(list(argument[2]))):
                    choices.append(inner)

    take(items)
    end()
    few = [each for each in choices if len(each) <= MOST_LITERALS]
    return max(few, key=_shortest, default=None)


def _shortest(texts: tuple[str, ...]) -> int:
    return min(map(len, texts))
