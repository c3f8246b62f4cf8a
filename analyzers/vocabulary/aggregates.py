"""Aggregates that several rules share, as column expressions: what agrees, what came first, how often something failed."""

from __future__ import annotations

from functools import reduce
from operator import and_
from typing import TYPE_CHECKING, Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from analyzers.vocabulary.findings import exemplars

if TYPE_CHECKING:
    from collections.abc import Sequence

WORDS = 240
"""How much of an exception's message a sentence carries."""


def place() -> Column:
    """The order of evidence: time, file, line."""
    return F.struct("at", "file", "line")


def earliest(name: str) -> Column:
    """Aggregate: the first known value of column `name`."""
    return F.min_by(F.col(name), F.when(F.col(name).isNotNull(), place())).alias(name)


def agreed(name: str | Column, alias: str | None = None) -> Column:
    """Aggregate: the value in which all rows that know one agree, else null: a subject is never guessed."""
    value = F.col(name) if isinstance(name, str) else name
    chosen = F.when(F.min(value) == F.max(value), F.max(value))
    return chosen.alias(alias or str(name))


def distinct(name: str | Column, alias: str) -> Column:
    """Aggregate: all known values, sorted; null where there is none."""
    values = F.sort_array(F.collect_set(name))
    return F.when(F.size(values) > 0, values).alias(alias)


def number_of(*values: str | Column) -> Column:
    """Aggregate: how many different values there are, of several columns together where none is null.

    For a distinct count of its own Spark aggregates in four steps instead of two.
    """
    columns = [F.col(value) if isinstance(value, str) else value for value in values]
    if len(columns) == 1:
        return F.size(F.collect_set(columns[0]))
    return F.size(F.collect_set(F.when(reduce(and_, (column.isNotNull() for column in columns)), F.struct(*columns))))


def listed(value: str | Column, *, most: int = 3, apart: str = "; ") -> Column:
    """Aggregate: the first `most` different texts in their order, as one: ``offsets/7 is empty; offsets/9 is missing``, or an empty
    one."""
    return F.array_join(F.slice(F.sort_array(F.collect_set(value)), 1, most), apart)


def numbered(name: str | Column, alias: str, *, by: str | None = None) -> Column:
    """Aggregate: all known values, sorted with the number at their end (of `by`, if given) as a number: orders-2 before orders-10."""
    value = F.col(name) if isinstance(name, str) else name
    key = (F.col(by) if by is not None else value).cast("string")
    number = F.regexp_extract(key, r"(\d{1,18})$", 1).try_cast("long")
    placed = F.struct(F.regexp_replace(key, r"\d{1,18}$", "").alias("words"), number.alias("number"), value.alias("value"))
    return F.transform(F.sort_array(F.collect_set(F.when(value.isNotNull(), placed))), lambda one: one["value"]).alias(alias)


def seconds(since: Column | str, until: Column | str) -> Column:
    """Seconds between two times."""
    return F.unix_micros(until) / 1e6 - F.unix_micros(since) / 1e6


def said() -> Column:
    """What a fault says in one line: the deepest exception with its message, else the event's first line."""
    kind = F.regexp_replace(F.col("root_exception"), r"^[\w.$]*[.$]", "")
    first_line = F.regexp_extract("text", r"^\s*(?:[^\n]{0,200}? - )?([^\n]*)", 1)
    words = F.coalesce(F.nullif(F.concat_ws(": ", kind, F.col("root_message")), F.lit("")), first_line)
    cut = F.when(F.length(words) > WORDS, F.concat(F.substring(words, 1, WORDS - 1), F.lit("…"))).otherwise(words)
    return F.regexp_replace(cut, r"(?<!\.)\.\s*$", "")  # it stands within a sentence


def failures(faults: DataFrame, *more: Column, by: Sequence[str] = ("scope", "job")) -> DataFrame:
    """Per job: how often and since when its tasks failed of these faults.

    Columns: `by`, failures, attempts (null where unknown), fault_ids, what (the first in words), reason, task, subtask, parallelism (where
    all agree), since, until, evidence, and `more`; all_counted where failures without a row are among them. Only faults that failed
    something and are no consequence of another.
    """
    unkept = F.coalesce(F.sum("unkept"), F.lit(0))
    fatal = faults.where(F.col("fatal") & ~F.coalesce("consequence", F.lit(False)))
    return fatal.groupBy(*by).agg(
        # task, JobManager and client print one failure each: where attempts are known rows are failures, else prints are all there is;
        # a run of a Spark query ends with its first failure, and scheduler, stage and query tell it each in words of its own
        F.when(
            F.coalesce(F.min(F.startswith("role", F.lit("spark"))), F.lit(False)) & (number_of("attempt") > 0),
            number_of("attempt"),
        )
        .when(number_of("attempt") > 0, F.count("*") + unkept)
        .otherwise(F.sum("occurrences"))
        .alias("failures"),
        F.nullif(number_of("attempt") + unkept, F.lit(0)).alias("attempts"),
        (unkept > 0).alias("all_counted"),
        F.sort_array(F.collect_set("fault")).alias("fault_ids"),
        F.min_by(said(), place()).alias("what"),
        F.min_by("reason", place()).alias("reason"),
        agreed("task"),
        F.when(F.min("task") == F.max("task"), agreed("subtask")).alias("subtask"),
        F.when((F.min("task") == F.max("task")) & (F.min("subtask") == F.max("subtask")), agreed("parallelism")).alias("parallelism"),
        F.min("at").alias("since"),
        F.max("at").alias("until"),
        exemplars(table="faults"),
        *more,
    )


def count(of: Column | None = None) -> Column:
    """Aggregate: how many rows (for which `of` holds)."""
    return F.count("*") if of is None else F.count_if(of)


def greatest(value: Column | str, of: Column | None = None) -> Column:
    """Aggregate: the greatest `value`, over the rows `of`."""
    return F.max(value if of is None else F.when(of, F.col(value) if isinstance(value, str) else value))


def least(value: Column | str, of: Column | None = None) -> Column:
    """Aggregate: the least `value`, over the rows `of`."""
    return F.min(value if of is None else F.when(of, F.col(value) if isinstance(value, str) else value))


def newest(name: str, by: str = "at") -> Column:
    """Aggregate: column `name` of the row with the greatest `by`."""
    return F.max_by(name, by)


def of_newest(*names: str, by: str = "at") -> dict[str, Any]:
    """Facts: these columns of the row with the greatest `by`."""
    return {name: newest(name, by) for name in names}


def oldest(name: str, by: str = "at") -> Column:
    """Aggregate: column `name` of the row with the least `by`."""
    return F.min_by(name, by)


def goes_on(count: str, *, enough: int, lasting: int, fresh: int | Column) -> Column:
    """Whether what was seen `count` times (a column) from ``since`` to ``until`` lasted for so many seconds, and up to ``end`` but for
    `fresh` seconds: what stopped earlier has healed."""
    return (F.col(count) >= enough) & (seconds("since", "until") >= lasting) & (seconds("until", "end") <= fresh)


def counted(number: str, what: str) -> Column:
    """``5,760 offsets``, ``1 offset``: the column `number` and what it counts."""
    return F.concat(F.format_string("%,d", F.col(number)), F.lit(f" {what}"), F.when(F.col(number) == 1, F.lit("")).otherwise(F.lit("s")))
