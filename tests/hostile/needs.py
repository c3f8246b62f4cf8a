"""Does a rule ever find something where its need says that it cannot? Bundles of each rule, damaged at random, judged with and without.

    python -m tests.hostile.needs            # every rule with a need; or: needs BRK105 LAG302 --mutants 200 --seed 7

A need decides in Python, before Spark, whether a rule is judged at all, and repeats a condition of it: one that says no too often makes
the rule silent, and no report tells. Lines are only counted, cut off, thinned by kind, moved apart or together, stripped of time, job,
broker or client; answers are incomplete.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from analyzers.derived import derive
from analyzers.diagnosis.diagnose import prepared
from analyzers.diagnosis.frames import Chosen
from analyzers.diagnosis.run_rules import can_find, run_rules
from analyzers.logs.scan.bound import AT_LEAST
from analyzers.rules.catalogue import load_rules
from analyzers.tables import Row
from tests.bundles import INCIDENTS, Case, cases, shown_by

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from analyzers.vocabulary.rule import Rule

Tables = Mapping[str, Sequence[Row]]
_MOMENTS = ("at", "first_at", "last_at", "as_of")
_STRIPPED = ("at", "job", "broker", "client", "left_out", "address", "seq", "exception_chain", "root_exception", "task", "host")
_FEW = 2  # incidents beside a rule's own bundles


def mutants(tables: Tables, count: int, chance: random.Random) -> Iterator[Tables]:
    """`tables` as they are, and damaged in `count` ways."""
    yield tables
    for _ in range(count):
        some = tables
        for damage in chance.sample(_DAMAGES, chance.choice((1, 1, 2))):
            some = damage(some, chance)
        yield some


def _with_events(tables: Tables, keep: Callable[[Row], bool], counted: Callable[[Row], bool] = lambda row: True) -> Tables:
    """Without the lines, and the counts of lines, that are not to be kept."""
    kept = {"log_events": keep, "log_counts": counted}
    return {name: [row for row in rows if kept[name](row)] if name in kept else rows for name, rows in tables.items()}


def _only_counted(tables: Tables, chance: random.Random) -> Tables:
    """As the bound on rows does: of a line that is no row any more the one before it tells."""
    share, left, rest = chance.choice((0.1, 0.4, 0.8)), list[Row](), Counter(row["signature"] for row in tables.get("log_events", ()))
    seen: Counter[str] = Counter()
    for row in tables.get("log_events", ()):
        seen[row["signature"]] += 1
        rest[row["signature"]] -= 1
        stays = seen[row["signature"]] <= AT_LEAST[0] or rest[row["signature"]] < AT_LEAST[1]
        if left and not stays and left[-1]["file"] == row["file"] and chance.random() < share:
            holes = left[-1]["left_out"] or {}
            left[-1] = left[-1] | {"left_out": holes | {row["signature"]: str(int(holes.get(row["signature"], 0)) + 1)}}
        else:
            left.append(row)
    return {**tables, "log_events": left} if "log_events" in tables else tables


def _thinned(tables: Tables, chance: random.Random) -> Tables:
    kinds = sorted({row["signature"] for row in tables.get("log_events", ())})
    gone = set(chance.sample(kinds, min(len(kinds), chance.choice((1, 2, 5)))))
    return _with_events(tables, lambda row: row["signature"] not in gone, lambda row: row["signature"] not in gone)


def _cut_off(tables: Tables, chance: random.Random) -> Tables:
    times = sorted(row["at"] for row in tables.get("log_events", ()) if row["at"])
    if not times:
        return tables
    place, before = chance.choice(times), chance.random() < 0.5

    def stays(column: str) -> Callable[[Row], bool]:
        return lambda row: row[column] is None or (row[column] <= place) == before

    return _with_events(tables, stays("at"), stays("last_at" if before else "first_at"))


def _incomplete(tables: Tables, chance: random.Random) -> Tables:
    """Rows of answers and of checkpoints that are missing."""
    share = chance.choice((0.1, 0.5))
    return {name: rows if name.startswith("log_") else [row for row in rows if chance.random() > share] for name, rows in tables.items()}


def _moved(tables: Tables, chance: random.Random) -> Tables:
    times = [row["at"] for row in tables.get("log_events", ()) if row["at"]]
    if not times:
        return tables
    first, factor = min(times), chance.choice((0.02, 0.2, 0.5, 2, 5, 50))

    def moved(row: Row) -> Row:
        own = {name: first + (row[name] - first) * factor for name in _MOMENTS if isinstance(row.get(name), datetime)}
        return row | own

    return {name: [moved(row) for row in rows] for name, rows in tables.items()}


def _stripped(tables: Tables, chance: random.Random) -> Tables:
    column, share = chance.choice(_STRIPPED), chance.choice((0.2, 1.0))
    return {
        name: [row | {column: None} if column in row and chance.random() <= share else row for row in rows]
        if name == "log_events" else rows
        for name, rows in tables.items()
    }  # fmt: skip


_DAMAGES = (_only_counted, _thinned, _cut_off, _moved, _stripped, _incomplete)


def sources(rule: Rule) -> list[Case]:
    """The bundles of `rule`, and some incidents in which it has something to look at."""
    own = [*cases(f"{rule.code}/fires*"), *cases(f"{rule.code}/quiet*")]
    return own + [case for case in INCIDENTS if can_find(rule, _chosen(case), {})][:_FEW]


@lru_cache(None)
def _chosen(case: Case) -> Chosen:
    return Chosen(derive(shown_by(case)))


def silenced(rule: Rule, session: SparkSession, count: int, seed: int, raised: int = 1) -> tuple[int, list[tuple[str, Tables, Any]]]:
    """How many mutants `rule` finds something in, and those of them in which its need says that it could not."""
    chance = random.Random(f"{rule.code} {seed}")
    own: dict[str, Tables] = {}
    every: dict[str, list[Row]] = defaultdict(list)
    for case in sources(rule):
        for number, some in enumerate(mutants(shown_by(case), count, chance)):
            scope = f"{case.scope}#{number}"
            whole = prepared({name: [row | {"scope": scope} for row in rows] for name, rows in some.items()}).whole
            if not all(name in whole for name in rule.tables):
                continue
            own[scope] = whole
            for name in (*rule.tables, *rule.optional):
                every[name].extend(dict(row) for row in whole.get(name, ()))
    given = {name: value * raised for name, value in rule.thresholds.items() if name == "enough"}
    outcome = run_rules([replace(rule, needs=None)], every, lambda: session, untold={}, thresholds={rule.code: given})
    if outcome.defects:
        raise SystemExit(f"{rule.code}: {outcome.defects[0]}")
    found = {finding.scope: finding for finding in outcome.findings}
    return len(found), [(scope, own[scope], found[scope]) for scope in sorted(found) if not can_find(rule, Chosen(own[scope]), given)]


def main() -> None:
    from cli.engine.spark import Engine

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("codes", nargs="*", metavar="CODE")
    parser.add_argument("--mutants", type=int, default=30, help="of each bundle")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--raised", type=int, default=1, help="thresholds named enough are so many times as high")
    wanted = parser.parse_args()
    wrong = 0
    with Engine.start("local[2]") as engine:
        for rule in load_rules():
            if rule.needs is None or (wanted.codes and rule.code not in wanted.codes):
                continue
            found, silent = silenced(rule, engine.session(), wanted.mutants, wanted.seed, wanted.raised)
            wrong += bool(silent)
            print(f"{rule.code}: {found} mutants with findings, {len(silent)} of them silenced by its need", flush=True)
            for scope, _, finding in silent[:3]:
                print(f"    {scope}: {finding.says}")
    raise SystemExit(f"{wrong} rules have a need that silences them" if wrong else 0)


if __name__ == "__main__":
    main()
