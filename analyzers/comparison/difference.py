"""All that differs between two looks at one job, and what could not be compared; its JSON document and schema."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from analyzers.comparison.facts import FactChange, compared_facts
from analyzers.comparison.findings import FindingChange
from analyzers.comparison.meeting import meet
from analyzers.comparison.shapes import NewShape, new_shapes
from analyzers.comparison.sides import Side
from analyzers.report.baseline import CHANGES
from analyzers.report.durations import counted
from analyzers.report.finding import Severity

FORMAT = 1


@dataclass(frozen=True)
class Looked:
    """One of the two: what it is, who judged it, the first and the newest moment of its evidence (ISO-8601 UTC), its jobs."""

    name: str
    version: str
    begins: str | None
    ends: str | None
    jobs: tuple[str, ...]


@dataclass(frozen=True)
class Rules:
    """What was judged: how many rules in both looks, and the codes of those that judged only one of them."""

    both: int = 0
    only_a: tuple[str, ...] = ()
    only_b: tuple[str, ...] = ()


@dataclass(frozen=True)
class Difference:
    """What became of findings, facts and kinds of lines from `a` to `b`. `kinds` of facts were compared; `remarks`: what could not be
    compared, and what holds for all, in sentences."""

    a: Looked
    b: Looked
    findings: tuple[FindingChange, ...] = ()
    facts: tuple[FactChange, ...] = ()
    shapes: tuple[NewShape, ...] = ()
    rules: Rules = Rules()
    kinds: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    """Sources of `b` of which nothing could be read, each with why."""

    @property
    def count(self) -> Counter[str]:
        """Findings by what became of them."""
        return Counter(each.change for each in self.findings)

    @property
    def is_empty(self) -> bool:
        """Whether nothing differs: findings that are still there are no difference."""
        return not self.facts and not self.shapes and all(each.change == "still" and not each.was for each in self.findings)

    @property
    def worst(self) -> Severity | None:
        """The gravest that is new or worse."""
        return max((Severity(each.severity) for each in self.findings if each.counts_as_new), key=lambda s: s.rank, default=None)


def compare(before: Side, after: Side, *, any_job: bool = False) -> Difference:
    """What differs between two looks.

    Raises `NotComparable` where one was not judged, and, unless `any_job`, where they are of different jobs or of other processes.
    """
    before, after = replace(before, called="A"), replace(after, called="B")
    met = meet(before, after, any_job=any_job)
    facts = compared_facts(before, after, names=met.names)
    shapes, notes = new_shapes(before, after, names=met.names)
    return Difference(
        _looked(before),
        _looked(after),
        met.findings,
        facts.changes,
        tuple(shapes),
        _rules(before, after),
        facts.kinds,
        (*met.remarks, *_unshared(before, after), *_left(before, after, facts.left, names=met.names), *notes),
        tuple(f"{name}: {why}" for state, name, why in after.unread if state == "failed"),
    )


def _rules(before: Side, after: Side) -> Rules:
    old, new = before.judged, after.judged
    return Rules(len(old & new), tuple(sorted(old - new)), tuple(sorted(new - old)))


def _unshared(before: Side, after: Side) -> list[str]:
    rules = _rules(before, after)
    numbers = [
        f"{counted(len(codes), 'rule')} judged {side.called} only"
        for side, codes in ((before, rules.only_a), (after, rules.only_b))
        if codes
    ]
    return [f"{', '.join(numbers)}; {rules.both} both"] if numbers else []


def _looked(side: Side) -> Looked:
    begins, ends = side.window
    return Looked(side.name, side.version, begins, ends, side.shown_jobs)


def _left(before: Side, after: Side, kinds: Sequence[str], *, names: bool) -> list[str]:
    """Why facts of some kinds are not compared."""
    reports = [side.called for side in (before, after) if side.evidence is None]
    if reports:
        of = ", ".join(kinds) or "versions, parallelism, settings, checkpoints, lag"
        who = f"{' and '.join(reports)} are saved reports, which do" if len(reports) > 1 else f"{reports[0]} is a saved report, which does"
        return [f"{who} not hold all that is compared: nothing is said of {of}, nor of warnings that no signature knows"]
    if not names:
        return ["facts and lines with names are not compared"]
    return [f"only one side shows {', '.join(kinds)}: nothing is said of that"] if kinds else []


def document(found: Difference, plain: Callable[[Any], Any]) -> dict[str, Any]:
    """The JSON document; `plain` makes values plain."""
    made: dict[str, Any] = plain({
        "format": FORMAT,
        "tool": "diag",
        "version": found.b.version,
        "command": "diff",
        "a": asdict(found.a),
        "b": asdict(found.b),
        "counts": {change: found.count[change] for change in CHANGES},
        "findings": [_finding(each) for each in found.findings],
        "facts": [asdict(each) for each in found.facts],
        "shapes": [asdict(each) for each in found.shapes],
        "rules": asdict(found.rules),
        "kinds": list(found.kinds),
        "remarks": list(found.remarks),
        "unread": list(found.unread),
    })  # fmt: skip
    return made


def _finding(each: FindingChange) -> dict[str, Any]:
    said = asdict(each)
    del said["members"], said["earlier"]
    return said


def difference_schema() -> dict[str, Any]:
    """The schema (draft 2020-12) of what ``diag diff -o json`` prints. Keys may be added, never changed or removed."""
    text, maybe, number = {"type": "string"}, {"type": ["string", "null"]}, {"type": "integer", "minimum": 0}
    line = {"type": ["integer", "null"], "minimum": 1}
    value = {"type": ["string", "number", "null"]}

    def thing(**keys: Any) -> dict[str, Any]:
        return {"type": "object", "properties": keys, "required": list(keys)}

    def many(of: Any) -> dict[str, Any]:
        return {"type": "array", "items": of}

    looked = thing(name=text, version=text, begins=maybe, ends=maybe, jobs=many(text))
    finding = thing(
        change={"enum": list(CHANGES)}, id=maybe, code=text, severity={"enum": [each.value for each in Severity]}, job=maybe,
        subject={"type": "object"}, says=text, was=maybe, because=maybe, only_in={"enum": ["A", "B", None]},
        counts={**many(number), "minItems": 2, "maxItems": 2}, file=maybe, line=line, text=maybe,
    )  # fmt: skip
    shape = thing(signature=text, level=maybe, says=text, count=number, file=maybe, line=line, text=text)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "diag diff, format 1",
        **thing(
            format={"const": FORMAT}, tool=text, version=text, command={"const": "diff"}, a=looked, b=looked,
            counts=thing(**dict.fromkeys(CHANGES, number)), findings=many(finding),
            facts=many(thing(kind=text, about=text, before=value, after=value, unit=text)),
            shapes=many(shape), rules=thing(both=number, only_a=many(text), only_b=many(text)), kinds=many(text),
            remarks=many(text), unread=many(text),
        ),
    }  # fmt: skip
