"""From rows to findings: one row per thing that is wrong, with since, until, evidence and facts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from analyzers.vocabulary.columns import none


def exemplars(table: str = "log_events", most: int = 5, where: Column | None = None) -> Column:
    """Aggregate: the first `most` rows of a group as evidence (table, file, line, at, text), ordered by time, file and line."""
    # a fault began when the first line told of it, and is shown by the line that tells most
    row = F.struct(
        (F.coalesce("line_at", "at") if table == "faults" else F.col("at")).alias("at"),
        F.col("file").alias("file"),
        F.col("line").alias("line"),
        F.lit(table).alias("table"),
        F.col("text").alias("text"),
    )
    return _first(row, where, most)


def evidence(
    table: str, text: Column, *, at: str = "as_of", file: Column | None = None, most: int = 5, where: Column | None = None
) -> Column:
    """Aggregate: the first `most` rows of a group as evidence, in the order of their texts; `file` where a row is about a file."""
    row = F.struct(
        F.col(at).alias("at"),
        (none() if file is None else file).alias("file"),
        none("long").alias("line"),
        F.lit(table).alias("table"),
        text.alias("text"),
    )
    return _first(row, where, most)


def _first(row: Column, where: Column | None, most: int) -> Column:
    return F.slice(F.sort_array(F.collect_set(row if where is None else F.when(where, row))), 1, most).alias("evidence")


_MEANT = {
    "at": "the name of a column with times",
    "table": "the name of the table that the rows are of",
    "most": "how many lines of evidence are kept",
    "file": "the file that a row is about, beside shown",
    "shown": "the text of a row of another table than log_events",
    "of": "the condition that a row shows it",
}


def _no_fact(name: str) -> str:
    return f"no fact can be named {name}, which is a parameter of found(): {_MEANT[name]}; give the fact another name"


def _is_aggregate(rows: DataFrame, column: Column) -> bool:
    try:
        rows.agg(column)
    except AnalysisException:
        return False
    return True


def found(
    rows: DataFrame,
    *by: str,
    of: Column | None = None,
    at: str = "at",
    table: str = "log_events",
    shown: Column | None = None,
    file: Column | None = None,
    most: int = 5,
    **facts: Column,
) -> DataFrame:
    """One row per scope and `by`: job, since, until (first and last time `at`), evidence and `facts` (aggregates, by name).

    `of`: the rows that show it; the others only count in facts, and a group without any is left out. `table`: what `rows` are of; where
    its rows are no lines of a log, `shown` is the text that stands for one, and `file` the file that it is about. The job is null unless
    it is in `by` or among the facts; facts named since, until or evidence take the place of those made here. Raises `ValueError` where
    a parameter was given what can only be meant as a fact of that name.
    """
    taken = [name for name, value in {"at": at, "table": table, "most": most}.items() if isinstance(value, Column)]
    taken += ["file"] if file is not None and shown is None else ["shown"] if shown is not None and table == "log_events" else []
    if taken:
        raise ValueError(_no_fact(taken[0]))
    seen = F.col(at) if of is None else F.when(of, F.col(at))
    made = {
        "job": none(),
        "since": F.min(seen),
        "until": F.max(seen),
        "evidence": exemplars(table, most, of) if shown is None else evidence(table, shown, at=at, file=file, most=most, where=of),
        **facts,
    }
    if of is not None:
        made["_shown"] = F.count_if(of)
    try:
        groups = rows.groupBy("scope", *by).agg(*(value.alias(name) for name, value in made.items() if name not in by))
    except AnalysisException as error:
        if of is not None and _is_aggregate(rows, of):
            raise ValueError(_no_fact("of")) from error
        raise
    return groups if of is None else groups.where(F.col("_shown") > 0).drop("_shown")


def joined(left: DataFrame, right: DataFrame, on: str | Sequence[str] | Column) -> DataFrame:
    """The inner join. Spark does not see that one of two partitions is one itself, and would exchange it for each join to come."""
    both = left.join(right, on if isinstance(on, str | Column) else list(on))
    return both.coalesce(1) if both.sparkSession.conf.get("spark.sql.shuffle.partitions") == "1" else both


def beside(left: DataFrame, right: DataFrame, *by: str, how: str = "left") -> DataFrame:
    """`left` with the columns of `right` for the same scope and `by`, where null equals null (plain equality would drop it)."""
    keys = ("scope", *by)
    other = right.withColumnsRenamed({name: f"_right_{name}" for name in keys})
    same = F.col("scope") == F.col("_right_scope")
    for name in by:
        same = same & F.col(name).eqNullSafe(F.col(f"_right_{name}"))
    both = joined(left, other, same) if how == "inner" else left.join(other, same, how)
    if how == "full":
        both = both.withColumns({name: F.coalesce(name, f"_right_{name}") for name in keys})
    return both.drop(*(f"_right_{name}" for name in keys))


def the_task() -> dict[str, Any]:
    """Facts: task, subtask and parallelism, where all rows of a group agree: a subject is never guessed."""
    one_task = F.min("task") == F.max("task")
    one_subtask = one_task & (F.min("subtask") == F.max("subtask"))
    return {
        "task": F.when(one_task, F.max("task")),
        "subtask": F.when(one_subtask, F.max("subtask")),
        "parallelism": F.when(one_subtask, F.when(F.min("parallelism") == F.max("parallelism"), F.max("parallelism"))),
    }
