"""What a page advises, line by line, and which of it holds for a program.

A line names itself for whom it holds: ``1. *kafkajs, flink >= 1.15:* Raise …``. Without such a beginning it holds for every program. A
line ``1. *general:* Repair …`` is left out where another step is about this very case.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from analyzers.components.programs import Program
from analyzers.components.terms import in_words_of
from analyzers.report.commands import CODE

_STEP = re.compile(r"^(?P<open>\[\[)?(?P<number>\d+)\. +(?P<text>.+)")
_BEGINNING = re.compile(r"^(?P<open>\[\[)?\*(?P<who>[a-z][\w., <>=-]*):\* +")
_WHO = re.compile(r"(?P<name>[\w-]+)(?: (?P<op>>=|<) (?P<version>[\d.]+))?")

_GENERAL = "general"


@dataclass(frozen=True)
class Holds:
    """A program for which a line holds: of each version, or of those `since` one, or `before` one."""

    name: str
    since: tuple[int, ...] = ()
    before: tuple[int, ...] = ()

    def fits(self, program: Program) -> bool:
        """Whether it is `program`, and of such a version: one that is not known is none of those that are asked for."""
        version = _numbers(program.versions.get(self.name, ""))
        of_version = bool(version) and version >= self.since and not (self.before and version >= self.before)
        return self.name in program.names and (of_version or not (self.since or self.before))


@dataclass(frozen=True)
class Line:
    """A step, or with no `number` what else to know. `holds`: for any of these; none = for every program. `general`: left out where
    another step is about this very case."""

    number: int | None
    text: str
    holds: tuple[Holds, ...] = ()
    general: bool = False

    def fits(self, program: Program) -> bool:
        """Whether it holds for `program`."""
        return not self.holds or any(each.fits(program) for each in self.holds)


def line_of(text: str, number: int | None = None) -> Line:
    """The line with this text, which may begin with its number, and with for whom it holds."""
    if step := _STEP.match(text):
        number, text = int(step["number"]), (step["open"] or "") + step["text"]
    found = _BEGINNING.match(text)
    if found is None:
        return Line(number, text)
    who = [each.strip() for each in found["who"].split(",")]
    holds = tuple(_holds(each) for each in who if each != _GENERAL)
    return Line(number, (found["open"] or "") + text[found.end() :], holds, _GENERAL in who)


def fitting(lines: Iterable[Line], program: Program | None) -> list[Line]:
    """The lines that hold for `program` (None: for any), with the settings as it calls them; of several steps with one number the first,
    one that names programs before one for all."""
    held = []
    for line in lines:
        said = line.text if program is None else _said(program, line.text) if line.fits(program) else None
        if said is not None:
            held.append(replace(line, text=said))
    chosen: dict[int, Line] = {}
    for line in sorted(held, key=lambda line: not line.holds):
        if line.number is not None:
            chosen.setdefault(line.number, line)
    return [chosen[number] for number in sorted(chosen)] + [line for line in held if line.number is None]


def _said(program: Program, text: str) -> str | None:
    """`text` in the words of the program, but for its commands: what stands in these may be quoted for a shell."""
    parts = [part if number % 2 else in_words_of(program, part) for number, part in enumerate(CODE.split(text))]
    return None if None in parts else "".join(filter(None, parts))


def steps_of(lines: Sequence[Line]) -> tuple[str, ...]:
    """The steps among `lines`, without their numbers."""
    return tuple(line.text for line in lines if line.number is not None)


def in_one(lines: Sequence[Line]) -> str:
    """All of `lines` as one text, its steps numbered."""
    steps = [f"{number}. {step}" for number, step in enumerate(steps_of(lines), 1)]
    return " ".join((*steps, *(line.text for line in lines if line.number is None)))


def held_steps(steps: Iterable[str], program: Program) -> tuple[str, ...]:
    """Those of a list of steps that hold for `program`; one without a number stands where it is in the list."""
    return steps_of(fitting((line_of(step, place) for place, step in enumerate(steps, 1)), program))


def _holds(words: str) -> Holds:
    found = _WHO.fullmatch(words)
    if found is None:
        raise ValueError(f"no program, and no version of one: {words}")
    version = _numbers(found["version"] or "")
    return Holds(found["name"], version if found["op"] == ">=" else (), version if found["op"] == "<" else ())


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])
