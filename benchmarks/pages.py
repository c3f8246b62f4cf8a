"""How the pages of all bundles and recordings read at 80 columns: `python -m benchmarks.pages`. What is counted hangs on no host."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from statistics import median

from analyzers.diagnosis.diagnose import judge
from analyzers.tables import Row
from cli.engine.spark import Engine
from cli.renderers import terminal
from cli.renderers.card import cards
from tests.bundles import ALL, shown_by
from tests.test_pages import alone, said_twice

WIDTH = 80


def main() -> None:
    tables: defaultdict[str, list[Row]] = defaultdict(list)
    for case in ALL:
        for name, rows in shown_by(case).items():
            tables[name] += rows
    with Engine.start("local[*]") as engine:
        report = judge(dict(tables), engine.session, command="triage", version="bench")
    rows: list[int] = []
    words: list[int] = []
    steps: list[int] = []
    twice = cut = several = 0
    shown: Counter[str] = Counter()
    for scope in sorted({case.scope for case in ALL}):
        own = alone(report, scope)
        page = terminal.page(own, width=WIDTH)
        shown[page.lstrip()[:1] if not own.verdicts else "✗"] += 1
        twice += len(said_twice(page))
        if not own.verdicts:
            continue
        jobs = cards(own)
        several += len(jobs) > 1
        if len(jobs) == 1:
            rows.append(page.count("\n"))
        words += [len(card.headline.split()) for card in jobs]
        steps += [len(card.verdict.steps) for card in jobs if card.verdict]
        cut += sum(v.code not in page for v in own.verdicts[:5])
    for name, numbers in (("rows of a page with one ill job", rows), ("words of a headline", words), ("steps of a fix", steps)):
        print(f"| {name} | {_spread(numbers)} |")
    print(f"| sentences that stand twice on a page | {twice} |")
    print(f"| verdicts that a page leaves out | {cut} |")
    print(f"| pages with a verdict, of several ill jobs | {shown['✗']}, {several} |")


def _spread(numbers: Sequence[int]) -> str:
    return f"median {median(numbers):g}, most {max(numbers)}, {len(numbers)} pages" if numbers else "–"


if __name__ == "__main__":
    main()
