"""Results → the tables of ``README.md`` and its plot."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from benchmarks.incidents.cases import FIXTURES, Case
from benchmarks.incidents.marks import Marks
from benchmarks.incidents.results import Results

HERE = Path(__file__).parent
PAGE, PLOT, FIRST_RUNS = HERE / "README.md", HERE / "plot.svg", HERE / "first_runs.json"
OURS = "diag"
_FIRST = "diag, first runs: at most"  # cases with all words; whether a cause was named was not counted
_REST = "Cases of open with answers of Flink's REST interface"
_MOST_NAMES = 12  # of cases, in a list within the page: results.jsonl has all
HEAD = "asked of (ill) | alarm raised | cause found | cause | decisive words | entities | harmful advice | false alarms"
COST = "s a case | CPU s alone | MB alone"


@dataclass(frozen=True)
class Line:
    """The sums of one adapter over a group of cases."""

    name: str
    ill: Sequence[Marks]
    well: Sequence[Marks]

    @property
    def cause(self) -> float:
        """The mean mark of the cause, 0 to 1."""
        return sum(each.cause for each in self.ill) / len(self.ill) if self.ill else 0.0

    @property
    def false_alarms(self) -> float:
        """The share of healthy cases that are called ill, 0 to 1."""
        return sum(each.alarm for each in self.well) / len(self.well) if self.well else 0.0

    def cells(self) -> list[str]:
        ill = self.ill
        return [
            str(len(ill)),
            str(sum(each.alarm for each in ill)),
            str(sum(each.cause > 0 for each in ill)),
            f"**{self.cause:.2f}**",
            _share(sum(each.words for each in ill), sum(each.words_of for each in ill)),
            _share(sum(each.entities for each in ill), sum(each.entities_of for each in ill)),
            str(sum(each.harmful > 0 for each in (*ill, *self.well))),
            f"{sum(each.alarm for each in self.well)} of {len(self.well)}",
        ]


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %" if whole else "–"


def groups(results: Results) -> dict[str, list[str]]:
    """Title → names of its cases."""
    names = list(results.marks)
    return {
        "Split *open*": [name for name in names if name.startswith("open/")],
        "Split *told*": [name for name in names if name.startswith("told/")],
        "Cases of *open* with answers of Flink's REST interface": [name for name in names if name in results.rest],
    }


def lines(results: Results, cases: Iterable[str]) -> list[Line]:
    """One of each adapter that was asked about all of `cases`."""
    wanted, found = list(cases), []
    for adapter in results.adapters:
        if wanted and all(adapter in results.marks[case] for case in wanted):
            ill, well = ([results.marks[c][adapter] for c in wanted if (c in results.healthy) is of] for of in (False, True))
            found.append(Line(adapter, ill, well))
    return found


def tables(results: Results) -> str:
    """All tables of marks."""
    parts = []
    for title, cases in groups(results).items():
        rows = [_row(results, line) for line in lines(results, cases)]
        if rows:
            columns = f"{HEAD} | {COST}"
            parts += [f"### {title}", "", f"| | {columns} |", f"|---|{'---:|' * (columns.count('|') + 1)}", *rows, ""]
    parts += [f"- **{name}**: {each.about}." for name, each in results.adapters.items()]
    return "\n".join([*parts, "", f"Measured on {results.machine}.", ""])


def _row(results: Results, line: Line) -> str:
    cost = results.adapters[line.name]
    numbers = (_number(cost.seconds, 0.01), _number(cost.alone_cpu, 0.01), _number(cost.peak_mb, 1))
    return "| " + " | ".join([line.name, *line.cells(), *numbers]) + " |"


def _number(number: float | None, least: float) -> str:
    return "–" if number is None else f"{number:.3g}" if number >= least else f"< {least:g}"


def losses(results: Results) -> str:
    """Where diag is worse than another, and where it is wrong on its own."""
    said = []
    for other in (name for name in results.adapters if name != OURS):
        worse = [c for c, marks in results.marks.items() if {OURS, other} <= marks.keys() and marks[other].cause > marks[OURS].cause]
        said.append(f"- **{other}** gets a better mark for the cause of {_names(worse)}")
    ill = {case: marks[OURS] for case, marks in results.marks.items() if OURS in marks and case not in results.healthy}
    silent = [case for case, marks in ill.items() if not marks.alarm]
    said.append(f"- no alarm, though it is ill: {_names(silent)}")
    partly = [case for case, marks in ill.items() if marks.alarm and not marks.cause]
    said.append(f"- an alarm, though a decisive word is missing: {_names(partly)}")
    harm = [case for case, marks in results.marks.items() if OURS in marks and marks[OURS].harmful]
    said.append(f"- advice that names what the label calls harmful, to be read by a person: {_names(harm)}")
    said.append(f"- a false alarm: {_names([c for c in results.healthy if OURS in results.marks[c] and results.marks[c][OURS].alarm])}")
    return "\n".join(said) + "\n"


def _names(cases: Sequence[str]) -> str:
    shown = ", ".join(f"`{case}`" for case in sorted(cases)[:_MOST_NAMES])
    more = f" and {len(cases) - _MOST_NAMES} more" if len(cases) > _MOST_NAMES else ""
    return f"{len(cases)} case{'' if len(cases) == 1 else 's'}" + (f": {shown}{more}" if cases else "")


def data(cases: Sequence[Case]) -> str:
    """What the splits hold."""
    rows = ["| | *open* | *told* |", "|---|---:|---:|"]
    of = {split: [case for case in cases if case.split == split] for split in ("open", "told")}
    facts = {
        "ill": lambda case: not case.truth.healthy,
        "healthy": lambda case: case.truth.healthy,
        "with a healthy twin": lambda case: case.truth.twin is not None,
        "with fixes executed on it in the lab": lambda case: bool(case.truth.tried),
        "of these with a fix that did not heal": lambda case: any(not each.healed for each in case.truth.tried),
        "with answers of Flink's REST interface": lambda case: case.rest is not None,
    }
    rows += [f"| {name} | {' | '.join(str(sum(map(holds, of[split]))) for split in of)} |" for name, holds in facts.items()]
    sizes = (sum(path.stat().st_size for case in of[split] for path in case.evidence.rglob("*") if path.is_file()) for split in of)
    rows.append(f"| MB of evidence | {' | '.join(f'{size / 1e6:.1f}' for size in sizes)} |")
    causes = Counter(case.truth.cause_class for case in of["open"] if not case.truth.healthy)
    listed = ", ".join(f"{cause} {number}" for cause, number in sorted(causes.items(), key=lambda each: (-each[1], str(each[0]))))
    return "\n".join(rows) + f"\n\nCauses of *open*: {listed}.\nIts engines: {', '.join(engines(of['open']))}.\n"


_ENGINES = re.compile(r"\b(Flink|Kafka Connect|Debezium|PostgreSQL|Beam|Spark|kafka-clients|jobmanager|spark-driver) (\d[\d.]*\d)")


def engines(cases: Sequence[Case]) -> list[str]:
    """The versions that the recordings name: of their logs by the index of the fixtures, of others by what was done."""
    index = [line.split("|")[4] for line in (FIXTURES / "README.md").read_text("utf-8").splitlines() if line.startswith("| `incidents/")]
    roles = {"jobmanager": "Flink", "spark-driver": "Spark"}
    named = _ENGINES.findall("\n".join([*index, *(case.truth.root_cause for case in cases)]))
    return sorted({f"{roles.get(name, name)} {version}" for name, version in named})


def first_runs_text(sets: Iterable[Mapping[str, Any]]) -> str:
    """The text of ``first_runs.json``: a set a line."""
    return "[\n" + ",\n".join(f" {json.dumps(one)}" for one in sets) + "\n]\n"


def first_runs() -> str:
    """What `diag` got of each blind set the first time. A false alarm counts as noted, or as run again where the rest is the same."""
    columns = ("cases", "written by", "words", "entities", "all words", "false alarms", "labels in", "noted in", "run again")
    rows = [f"| {' | '.join(columns)} |", "|---|---|---:|---:|---:|---:|---|---|---|"]
    ran = json.loads(FIRST_RUNS.read_text(encoding="utf-8"))
    alarms = [_alarms(one) for one in ran]
    for one, false in zip(ran, alarms, strict=True):
        shares = [f"{one[key][0]} of {one[key][1]}" for key in _COUNTED]
        shown = f"with {one['product']}: {'the same' if _same(one) else ', '.join(map(str, one['again'][:3]))}" if one["again"] else "–"
        alarm = "not kept" if false is None else f"{false[0]} of {false[1]}"
        rows.append(f"| {' | '.join([one['cases'], one['by'], *shares, alarm, one['labels'], one['noted_in'], shown])} |")
    sums = [f"{part} of {whole}" for part, whole in first_sums().values()]
    return "\n".join([*rows, f"| **all** | | {' | '.join(sums)} | | | |"]) + "\n"


_COUNTED = ("words", "entities", "whole")


def first_sums() -> dict[str, tuple[int, int]]:
    """Of all sets: words, entities, whole cases, and false alarms where they are known; each with of how many."""
    ran = json.loads(FIRST_RUNS.read_text(encoding="utf-8"))
    found = {key: [one[key] for one in ran] for key in _COUNTED} | {"false_alarms": [each for each in map(_alarms, ran) if each]}
    return {key: (sum(each[0] for each in pairs), sum(each[1] for each in pairs)) for key, pairs in found.items()}


def _same(one: Mapping[str, Any]) -> bool:
    return bool(one["again"]) and one["again"][:3] == [one[key][0] for key in _COUNTED]


def _alarms(one: Mapping[str, Any]) -> Sequence[int] | None:
    noted: Sequence[int] | None = one["false_alarms"]
    return noted or (one["again"][3:] if _same(one) else None)


def page(text: str, results: Results, cases: Sequence[Case]) -> str:
    """`text` of the page with all that is made put between its marks."""
    for name, made in (("data", data(cases)), ("tables", tables(results)), ("losses", losses(results)), ("first runs", first_runs())):
        begin, end = f"<!-- {name}:begin -->\n", f"<!-- {name}:end -->"
        before, _, rest = text.partition(begin)
        text = before + begin + made + end + rest.partition(end)[2]
    return text


def write(results: Results, cases: Sequence[Case]) -> None:
    """Bring the page and its plot up to date."""
    PLOT.write_text(plot(results), encoding="utf-8")
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), results, cases), encoding="utf-8")


_SIDE, _EDGE = 300, 46  # pixels of a square, and around it
_COLOURS = ("#4c78a8", "#f58518", "#54a24b", "#e45756", "#b279a2", "#2a7f7f", "#9d755d")


def plot(results: Results) -> str:
    """An SVG: the mark of the cause against false alarms, a square for each group of cases; hollow: the first runs of blind sets."""
    shapes = []
    for at, (title, cases) in enumerate(groups(results).items()):
        left = at * (_SIDE + 2 * _EDGE) + _EDGE
        shapes.append(f'<rect x="{left}" y="{_EDGE}" width="{_SIDE}" height="{_SIDE}" fill="none" stroke="#999"/>')
        shapes.append(_text(left, _EDGE - 24, f"{title.replace('*', '').replace(_REST, 'open, with REST answers')}: {len(cases)} cases"))
        shapes.append(_text(left, _EDGE - 9, "↑ mark of the cause, 0 to 1"))
        shapes.append(_text(left, _SIDE + _EDGE + 30, "→ healthy cases called ill, %"))
        shapes += [_text(left + share * _SIDE, _SIDE + _EDGE + 14, f"{100 * share:.0f}", anchor="middle") for share in (0, 0.5, 1)]
        points = [(line.name, line.cause, line.false_alarms) for line in lines(results, cases)]
        if "told" in title and any(name == OURS for name, _, _ in points):
            first = {key: part / whole for key, (part, whole) in first_sums().items()}
            points.append((_FIRST, first["whole"], first["false_alarms"]))
        taken: list[float] = []
        for name, cause, false_alarms in sorted(points, key=lambda point: point[1]):
            x, y = left + false_alarms * _SIDE, _EDGE + (1 - cause) * _SIDE
            colour = _COLOURS[[*results.adapters, _FIRST].index(name) % len(_COLOURS)]
            shapes.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{"white" if name == _FIRST else colour}" stroke="{colour}"/>')
            label = y - 7 if y > _EDGE + 14 else y + 16
            while any(abs(label - other) < 14 for other in taken):
                label -= 14
            taken.append(label)
            right = x > left + _SIDE / 2
            shown = f"{name} {cause:.2f} / {100 * false_alarms:.0f} %"
            shapes.append(_text(x - 7 if right else x + 7, label, shown, colour, "end" if right else "start"))
    width, height = 3 * (_SIDE + 2 * _EDGE), _SIDE + 2 * _EDGE
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    title = "<title>Cause found against false alarms, per adapter</title>"
    background = f'<rect width="{width}" height="{height}" fill="white"/>'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>\n{title}\n{background}\n' + "\n".join(shapes) + "\n</svg>\n"


def _text(x: float, y: float, words: str, colour: str = "#333", anchor: str = "start") -> str:
    font = f'font-family="sans-serif" font-size="12" text-anchor="{anchor}"'
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}" {font}>{escape(words)}</text>'
