"""What an answer is worth: the same count for every adapter, on the text that a user would read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from benchmarks.incidents.cases import Truth


@dataclass(frozen=True)
class Answer:
    """`text` is what a user reads, `causes` how many causes it names, `advice` its steps; `alarm`: it says that something is wrong."""

    text: str
    causes: int
    alarm: bool
    advice: tuple[str, ...] = ()
    seconds: float | None = None


@dataclass(frozen=True)
class Marks:
    """Of one answer. `cause` is 0 where it was missed, else 1 / named causes; of a healthy case only `alarm` and `harmful` count."""

    cause: float
    words: int
    words_of: int
    entities: int
    entities_of: int
    harmful: int
    alarm: bool


def one_line(text: str) -> str:
    """`text` without line breaks and frames of a page: expressions may match over the end of a line."""
    return " ".join(text.split())


def missing_words(shown: str, words: Iterable[str]) -> list[str]:
    """The expressions that match nothing in `shown`, a text in one line."""
    return [word for word in words if not re.search(word, shown, re.IGNORECASE)]


def named_entities(shown: str, entities: Mapping[str, Sequence[str]]) -> int:
    """Of how many entities `shown` has a spelling."""
    return sum(any(one in shown for one in spellings) for spellings in entities.values())


def marked(truth: Truth, answer: Answer) -> Marks:
    """The marks of `answer`."""
    shown = one_line(answer.text)
    missing = missing_words(shown, truth.decisive)
    hit = answer.alarm and answer.causes > 0 and not missing and not truth.healthy
    return Marks(
        cause=round(1 / answer.causes, 3) if hit else 0.0,
        words=len(truth.decisive) - len(missing),
        words_of=len(truth.decisive),
        entities=named_entities(shown, truth.entities),
        entities_of=len(truth.entities),
        harmful=len(harmful_advice(truth, answer.advice)),
        alarm=answer.alarm,
    )


_SETTING = re.compile(r"--[\w-]{4,}|\b[a-z]\w*(?:[._-]\w+){2,}(?:=\w+)?|\b\w+_\w+(?:=\w+)?|\b[a-z]+(?:[A-Z][a-z]+){2,}\b")
_ACTS = ("delet", "drop", "reset", "skip", "clear", "purg", "wip", "rais", "increas", "enlarg", "disabl", "recreat")
_THINGS = (
    *("checkpoint", "savepoint", "offset", "slot", "topic", "group", "record", "snapshot", "state dir", "segment", "consumer", "partition"),
    *("restart attempt", "timeout", "time-out", "heap", "memory", "parallelism", "retries", "retention"),
)
_APART = 40  # characters between what is done and what it is done to
_NOT = re.compile(r"\b(?:not|never|no|without|instead of|rather than|only if|unless|before|avoid)\b|n't", re.IGNORECASE)


def harmful_advice(truth: Truth, advice: Iterable[str]) -> list[str]:
    """The lines of `advice` that name what the label calls harmful: a setting of it, or an act and its object (*delete* … *checkpoint*).

    What the label's own fix names, too, is left out, and so is a line that says no. It is weak both ways: harm in other words is not seen,
    and a line that is found may be right with what stands around it.
    """
    named = _deeds(truth.harmful or "") - _deeds(truth.fix or "")
    return [line for line in advice if not _NOT.search(line) and named & _deeds(line)]


def _deeds(text: str) -> frozenset[str]:
    found = {setting.lower() for setting in _SETTING.findall(text)}
    for act, thing in product(_ACTS, _THINGS):
        if re.search(rf"\b{act}\w*\b[^.;:()]{{0,{_APART}}}?\b{thing}", text, re.IGNORECASE):
            found.add(f"{act} {thing}")
    return frozenset(found)
