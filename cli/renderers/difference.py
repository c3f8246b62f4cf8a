"""What differs between two looks: in words for people, a line each for pipes, JSON for machines."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import timedelta

from analyzers.comparison.difference import Difference, Looked, document
from analyzers.comparison.facts import FactChange
from analyzers.comparison.findings import FindingChange
from analyzers.comparison.sides import moment
from analyzers.report.durations import counted, few, span
from cli.renderers import terminal
from cli.renderers.card_layout import Line, labelled, wrapped
from cli.renderers.json_rows import inert, plain_values
from cli.renderers.markdown import escaped
from cli.renderers.wording import clipped, clock, file_name, printable, when

_MARKS = {"critical": ("✗ ", "broken"), "warning": ("! ", "risk"), "info": ("· ", "")}
_MOST = 12
"""Rows of facts, of kinds of lines, and of findings that became the same."""
_VALUE, _ABOUT, _SAYS = 60, 3, 160


@dataclass(frozen=True)
class Row:
    """A row: its label, what it says, its code or count, where it was printed, and a clause below it."""

    label: str
    says: str
    mark: str = ""
    style: str = ""
    code: str = ""
    place: str = ""
    below: str = ""


def as_json(found: Difference) -> str:
    """The document of `difference_schema`."""
    return inert(json.dumps(document(found, plain_values), ensure_ascii=False, indent=2, allow_nan=False)) + "\n"


def plain(found: Difference) -> str:
    """A tab-separated line each: what became of it, then for a finding severity, code, job, subject, says, why, place; for a fact
    ``changed``, kind, about, before, after, unit; for a kind of line ``only-in-B``, level, signature, count, says, place; then
    ``remark``, why."""
    rows: list[tuple[object, ...]] = [
        (each.change, each.severity, each.code, each.job, _subject(each), each.says, each.because or each.was, _place(each.file, each.line))
        for each in found.findings
    ]
    rows += [("changed", each.kind, each.about, each.before, each.after, each.unit) for each in found.facts]
    rows += [("only-in-B", each.level, each.signature, each.count, each.says, _place(each.file, each.line)) for each in found.shapes]
    rows += [("remark", words) for words in found.remarks]
    rows += [("same", outcome(found))] if found.is_empty else []
    return "".join("\t".join("-" if cell is None or cell == "" else printable(str(cell)) for cell in row) + "\n" for row in rows)


def page(found: Difference, *, width: int = 80, colour: bool = False) -> str:
    """For a terminal."""
    return terminal.printed(_lines(found, max(40, width)), width=width, colour=colour)


def markdown(found: Difference) -> str:
    """For a ticket or a chat."""
    rows = [f"### {escaped(_title(found))}", "", f"- **A** {escaped(_look(found.a))}", f"- **B** {escaped(_look(found.b))}", ""]
    for row in rows_of(found):
        more = [f"({escaped(row.code)})"] if row.code else []
        more += [escaped(f"{row.place}")] if row.place else []
        rows.append(" ".join((f"- **{escaped(row.label)}:** {escaped(row.mark + row.says)}", *more)))
        rows += [f"  <br>{escaped(row.below)}"] if row.below else []
    if found.is_empty:
        rows += [f"**{escaped(outcome(found))}**"]
    rows += [*([""] if found.remarks else []), *(f"- remark: {escaped(words)}" for words in found.remarks)]
    return "\n".join(rows).rstrip() + "\n"


def _lines(found: Difference, width: int) -> Iterator[Line]:
    yield from wrapped([(_title(found), "strong"), ("  (times are UTC)", "dim")], width, 2)
    for letter, look in (("A", found.a), ("B", found.b)):
        yield from wrapped([(f"  {letter}  ", "strong"), (_look(look), "")], width, 5)
    before = ""
    rows = rows_of(found)
    for row in rows:
        label = row.label if row.label != before else ""
        if label:
            yield []
        code = [(f"  [{row.code}]", "dim")] if row.code else []
        place = [(f"  {row.place}", "dim")] if row.place else []
        yield from labelled(label, [(row.mark + row.says, row.style), *code, *place], width, hang=len(row.mark))
        if row.below:
            yield from labelled("", [(" " * len(row.mark) + row.below, "dim")], width, hang=len(row.mark))
        before = row.label
    if found.is_empty:
        yield []
        yield from wrapped([("✓ ", "do"), (outcome(found), "strong")], width, 2)
    if found.remarks:
        yield []
    for number, words in enumerate(found.remarks):
        yield from labelled("" if number else "remarks", [(printable(words), "dim")], width)


def outcome(found: Difference) -> str:
    """The sentence of two looks that do not differ."""
    still = counted(found.count["still"], "finding")
    both = f"{still} {'is' if found.count['still'] == 1 else 'are'} in both. " if found.count["still"] else ""
    kinds = f" Facts: {', '.join(found.kinds)}." if found.kinds else ""
    differs = "Nothing differs in what both show." if found.remarks else "Nothing differs."
    return f"{differs} {both}{counted(found.rules.both, 'rule')} judged both.{kinds}"


def _title(found: Difference) -> str:
    """The job, and how many findings became what."""
    jobs = found.b.jobs or found.a.jobs
    name = printable(few(jobs, 2)) or "no job is named"
    counts = ", ".join(
        f"{number} {'still there' if change == 'still' else change}"
        for change in ("new", "worse", "unknown", "gone", "still")
        if (number := found.count[change])
    )
    return f"{name}  {counts or 'no findings'}"


def _look(look: Looked) -> str:
    begins, ends = moment(look.begins), moment(look.ends)
    reach = f"  {when(begins)} – {clock(ends) if begins.date() == ends.date() else when(ends)}" if begins and ends else ""
    return printable(look.name) + (reach or (f"  until {when(ends)}" if ends else ""))


def rows_of(found: Difference) -> list[Row]:
    """All rows in the order in which they matter."""
    rows: list[Row] = []
    told_above = ""
    for each in found.findings:
        if each.change == "still" and not each.was:
            continue
        mark, style = _MARKS.get(each.severity, ("", ""))
        if each.change == "gone":
            mark, style = "", ""
        why = _clause(each)
        rows.append(
            Row(
                each.change, clipped(each.says, 2 * _SAYS), mark, style, each.code,
                _place(each.file, each.line) if each.change != "gone" else "", "" if why == told_above else why,
            )
        )  # fmt: skip
        told_above = why
    same = sorted(each.code for each in found.findings if each.change == "still" and not each.was)
    if same and not found.is_empty:
        rows.append(Row("still", f"{counted(len(same), 'finding')}: {', '.join(_counted_codes(same))}"))
    rows += _cut([Row("changed", _fact(*each)) for each in _alike(found.facts)], "changed")
    rows += _cut(
        [
            Row("only in B", clipped(each.says, _SAYS), f"{each.level or ''} ", "broken" if each.level in ("ERROR", "FATAL") else "",
                 place=_place(each.file, each.line) + (f" ×{each.count}" if each.count > 1 else ""))
            for each in found.shapes
        ],
        "only in B",
    )  # fmt: skip
    return rows


def _cut(rows: list[Row], label: str) -> list[Row]:
    return rows if len(rows) <= _MOST + 1 else [*rows[:_MOST], Row(label, f"and {len(rows) - _MOST} more: -o json has them")]


def _clause(each: FindingChange) -> str:
    """Why it is not known, or what was different."""
    if each.because:
        return printable(f"only in {each.only_in}; {each.because}")
    return printable(each.was or "")


def _counted_codes(codes: Iterable[str]) -> list[str]:
    numbers: dict[str, int] = {}
    for code in codes:
        numbers[code] = numbers.get(code, 0) + 1
    return [f"{code} ×{number}" if number > 1 else code for code, number in numbers.items()]


def _alike(facts: Iterable[FactChange]) -> Iterator[tuple[FactChange, list[str]]]:
    """Each change once, and all that it is about: one setting of several processes, partitions that have the same new leader."""
    groups: dict[tuple[object, ...], tuple[FactChange, list[str]]] = {}
    for each in facts:
        owner, colon, name = each.about.partition(": ")
        of_owner = each.kind in ("setting", "version") and bool(colon)
        key = (each.kind, name if of_owner else "", each.before, each.after)
        groups.setdefault(key, (each, []))[1].append(owner if of_owner else each.about)
    yield from groups.values()


def _fact(each: FactChange, abouts: list[str]) -> str:
    name = each.about.partition(": ")[2] if each.kind in ("setting", "version") else ""
    of = few(abouts, _ABOUT)
    about = f"{name} ({of})" if name else of
    if each.kind in _LISTS and (words := _members(str(each.before or ""), str(each.after or ""))):
        return printable(f"{each.kind} of {about}: {words}")
    return printable(f"{each.kind} of {about}: {_value(each.before, each.unit)} → {_value(each.after, each.unit)}" if not name
                     else f"{each.kind} {about}: {_value(each.before, each.unit)} → {_value(each.after, each.unit)}")  # fmt: skip


_LISTS = ("bootstrap servers", "brokers")


def _members(before: str, after: str) -> str | None:
    """What left a list and what came; None where nothing stayed."""
    old, new = (dict.fromkeys(text.split(", ")) for text in (before, after))
    if not old.keys() & new.keys():
        return None
    left, came = ([each for each in one if each not in other] for one, other in ((old, new), (new, old)))
    return "; ".join(f"{', '.join(some)} {what}" for some, what in ((left, "removed"), (came, "added")) if some)


def _value(value: str | float | None, unit: str) -> str:
    if value is None:
        return "not set"
    if isinstance(value, str):
        return clipped(value, _VALUE) or "empty"
    if unit == "ms":
        return f"{value:,.0f} ms" if value < 10_000 else span(timedelta(milliseconds=value))
    if unit == "bytes":
        return f"{value / 1e6:,.1f} MB"
    return f"{value:,.0f} {unit}".rstrip()


def _place(file: str | None, line: int | None) -> str:
    name = file_name(file or "")
    return printable(f"{name}:{line}" if name and line is not None else name)


def _subject(each: FindingChange) -> str:
    return " ".join(f"{key}={','.join(map(str, value)) if isinstance(value, list) else value}" for key, value in each.subject.items())
