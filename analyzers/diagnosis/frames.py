"""The rows that a rule sees, as Spark frames, each selection made once."""

from __future__ import annotations

import threading
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import TYPE_CHECKING

from analyzers.bundle.encoding import storable
from analyzers.derived.failures.progress import MIN_DROPPED_ROWS
from analyzers.tables import TABLES, Row
from analyzers.tables.arrow import arrow
from analyzers.tables.by_column import ByColumn, column

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from analyzers.vocabulary.rule import Rule


Tables = Mapping[str, Sequence[Row]]


_COUNTED_FROM = {
    "faults": frozenset(("task-failed", "query-failed", "fatal-task-error", "global-failover")),
    "attempts": frozenset(("job-state",)),
}
"""Tables from whose rows failures are counted, and the signatures without which rows are missing there."""


ONE_PARTITION = 20_000  # rows; of one partition Spark knows that nothing has to be exchanged: a rule is one stage, not two to eight


_Key = tuple[str, frozenset[str]]


_KINDS = {"log_events": "signature", "log_counts": "signature", "faults": "fault"}
"""The columns by which rules name their rows of a table."""


class Chosen:
    """The rows of the tables that a rule has to do with: sorted by kind once, not looked through for every rule."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._places: dict[str, dict[str, array[int]]] = {}
        self._cut_off: dict[str, Set[str]] = {}
        self._lock = threading.Lock()

    def __contains__(self, name: str) -> bool:
        return name in self._tables

    def scanned_for(self, signatures: Set[str]) -> bool:
        """Whether the logs were scanned for signatures of a user's own."""
        return not signatures or signatures <= {row["signature"] for row in self._tables.get("scanned_patterns", ())}

    def any(self, name: str) -> bool:
        """Whether a table has rows."""
        return bool(self._tables[name])

    def rows(self, rule: Rule, name: str) -> Sequence[Row]:
        """In the order of the table."""
        return self.of_kinds(name, key_of(rule, name)[1])

    def of_kinds(self, name: str, wanted: Set[str]) -> Sequence[Row]:
        """Those of these kinds; none named = all."""
        rows = self._tables.get(name, ())
        if not wanted:
            return rows
        places = self._places_in(name)
        mine = sorted(at for kind in wanted for at in places.get(kind, ()))
        return rows.pick(mine) if isinstance(rows, ByColumn) else [rows[at] for at in mine]

    def cut_off(self, derived: str) -> Set[str]:
        """Scopes of which log lines that `derived` is made from were counted, but are no rows any more."""
        with self._lock:
            if derived not in self._cut_off:
                missing: Counter[str] = Counter()
                for row in self.of_kinds("log_counts", _COUNTED_FROM[derived]):
                    missing[row["scope"]] += row["events"]
                missing.subtract(row["scope"] for row in self.of_kinds("log_events", _COUNTED_FROM[derived]))
                self._cut_off[derived] = frozenset(scope for scope, number in missing.items() if number >= MIN_DROPPED_ROWS)
            return self._cut_off[derived]

    def _places_in(self, name: str) -> dict[str, array[int]]:
        if name not in self._places:
            places: defaultdict[str, array[int]] = defaultdict(lambda: array("q"))
            for at, kind in enumerate(column(self._tables.get(name, ()), _KINDS[name])):
                places[kind].append(at)
            self._places[name] = places
        return self._places[name]


class Frames:
    """Spark frames of the tables a rule sees, made from Arrow once per distinct selection, and kept for as long as a rule will want it."""

    def __init__(self, tables: Chosen, session: Callable[[], SparkSession]) -> None:
        self._tables = tables
        self._session = session
        self._made: dict[_Key, DataFrame] = {}
        self._as_arrow: dict[str, tuple[Set[str], pa.Table]] = {}  # and of which kinds; none named = all
        self._wanted: Counter[_Key] = Counter()
        self._lock = threading.Lock()

    def expect(self, rules: Iterable[Rule]) -> None:
        """These rules will ask, each once."""
        self._wanted.update(key for rule in rules for key in self._keys(rule))

    def of(self, rule: Rule, name: str) -> DataFrame:
        key = key_of(rule, name)
        with self._lock:
            if key not in self._made:
                rows = self._rows(*key)
                frame = self._session().createDataFrame(rows)
                self._made[key] = frame.coalesce(1) if len(rows) <= ONE_PARTITION else frame
            return self._made[key]

    def _rows(self, name: str, kinds: Set[str]) -> pa.Table:
        """Rows of these kinds; none named = all. What the rules that are expected want of a table is made Arrow once."""
        import pyarrow as pa
        import pyarrow.compute as pc

        held, whole = self._as_arrow.get(name, (None, None))
        if whole is None or (held and not (kinds and kinds <= held)):
            asked = [kinds, *(of for table, of in self._wanted if table == name)]
            held = frozenset().union(*asked) if all(asked) else frozenset()
            whole = arrow_of(name, self._tables.of_kinds(name, held))
            self._as_arrow[name] = held, whole
        if not kinds:
            return whole
        mine = whole.filter(pc.is_in(whole[_KINDS[name]], value_set=pa.array(sorted(kinds))))
        return mine if len(mine) else arrow(TABLES[name], [])  # PySpark reads no table without a chunk

    def done(self, rule: Rule) -> None:
        """`rule` has what it wanted: what no other rule waits for is let go, in the JVM too."""
        with self._lock:
            for key in self._keys(rule):
                self._wanted[key] -= 1
                if self._wanted[key] <= 0:
                    self._made.pop(key, None)
                    del self._wanted[key]
                if all(name != key[0] for name, _ in self._wanted):
                    self._as_arrow.pop(key[0], None)

    def has(self, rule: Rule, name: str) -> bool:
        """Whether `rule` is given this table."""
        return name in self._tables

    def counts_cut_off(self, rule: Rule) -> Set[str]:
        """Scopes in which more failures happened than there are rows from which `rule` counts them."""
        return frozenset().union(*(self._tables.cut_off(of) for of in _COUNTED_FROM if of in (*rule.tables, *rule.optional)))

    def _keys(self, rule: Rule) -> list[_Key]:
        return [key_of(rule, name) for name in (*rule.tables, *rule.optional) if self.has(rule, name) or name in rule.emptied]


def arrow_of(name: str, rows: Sequence[Row]) -> pa.Table:
    """`rows` of a table; lone surrogates spelled out: file names hold them, which are bytes, and so does the JSON of others."""
    try:
        return arrow(TABLES[name], rows)
    except UnicodeEncodeError:
        return arrow(TABLES[name], rows, storable)


def key_of(rule: Rule, name: str) -> _Key:
    """Which rows of a table `rule` sees: those of these kinds; none named = all."""
    return name, {"signature": rule.signatures, "fault": rule.faults}[_KINDS[name]] if name in _KINDS else frozenset()


def kind_column(name: str) -> str:
    """The column by which rules name their rows of this table."""
    return _KINDS[name]


def is_of_kinds(name: str) -> bool:
    """Whether rules name their rows of this table by kind."""
    return name in _KINDS
