"""The columns of log events, and what is made of columns, in the words of a rule."""

from __future__ import annotations

import re

from pyspark.sql import Column
from pyspark.sql import functions as F


def event(*signatures: str) -> Column:
    """Whether a row of ``log_events``, ``log_counts`` is one of these."""
    return F.col("signature").isin(*signatures)


def detail(name: str) -> Column:
    """What a signature has captured under `name` besides the columns of ``log_events``, as text."""
    return F.col("detail")[name]


def first_of(*cases: tuple[Column | str | float | bool, Column], otherwise: Column | str | float | bool | None = None) -> Column:
    """The value of the first of `cases` (value, condition) whose condition holds; a text or number stands for itself."""
    chosen: Column | None = None
    for value, condition in cases:
        chosen = F.when(condition, value) if chosen is None else chosen.when(condition, value)
    if chosen is None:
        raise ValueError("first_of needs a case")
    return chosen if otherwise is None else chosen.otherwise(otherwise)


def in_short(text: str) -> Column:
    """The first sentence of column `text`, at most 120 letters, cut between words: for headlines."""
    return F.regexp_extract(text, r"^(?:.{1,120}?(?=\. |$)|.{1,120}(?=\s))", 0)


def none(kind: str = "string") -> Column:
    """A null of Spark's type `kind`."""
    return F.lit(None).cast(kind)


def text(template: str) -> Column:
    """`template` with the values of columns for its ``{name}``; null where one of them is null."""
    parts = re.split(r"\{(\w+)\}", template)
    return F.concat(*(F.col(part).cast("string") if number % 2 else F.lit(part) for number, part in enumerate(parts) if part))


def lasting(seconds: Column) -> Column:
    """A time in its largest whole unit: ``45 s``, ``12 min``, ``3 h``, ``12 days``."""
    units = (("days", 172800, 86400), ("h", 7200, 3600), ("min", 120, 60))
    cases = [(F.concat(F.floor(seconds / size), F.lit(f" {unit}")), seconds >= least) for unit, least, size in units]
    return first_of(*cases, otherwise=F.concat(F.floor(seconds), F.lit(" s")))
