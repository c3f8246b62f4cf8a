"""Checkpoints of one job in the order of their ids: which is the newest, which is whole, and what Flink can be started from."""

from __future__ import annotations

import re

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from analyzers.tables import Row

DEFAULT_TIMEOUT_SECONDS = 600
"""``execution.checkpointing.timeout`` by default."""


def directory(path: str | Column = "path") -> Column:
    """The directory of a `_metadata`, or the checkpoint directory itself."""
    return F.regexp_replace(path, r"/_metadata$", "")


def of_the_job() -> Column:
    """The directory above: the one in which all checkpoints of the job lie."""
    return F.regexp_replace("path", "/[^/]+/_metadata$", "")


def series() -> Column:
    """What neighbours share: the job, else the directory in which ``chk-N`` lies; a savepoint stands for itself."""
    above = F.when(F.rlike(directory(), F.lit(r"/chk-\d+$")), F.regexp_replace(directory(), r"/chk-\d+$", "")).otherwise(directory())
    return F.coalesce("job", above)


def series_of(row: Row) -> str:
    """`series` of one row."""
    return row["job"] if row["job"] is not None else re.sub(r"(?:/chk-\d+)?(?:/_metadata)?$", "", row["path"])


def known_job() -> Column:
    """Aggregate: the job of a series, where any of its checkpoints names it."""
    return F.first("job", ignorenulls=True)


def whole() -> Column:
    """Whether nothing is known that would keep Flink from restoring it."""
    lost = F.coalesce("state_files_missing", F.lit(0)) + F.coalesce("state_files_wrong_size", F.lit(0))
    return (F.col("state") == "complete") & (lost == 0)


def standing(checkpoint_files: DataFrame) -> DataFrame:
    """Per scope and series: newest (id with a `_metadata`), newest_whole, restore_path and whole_at (of newest_whole)."""
    files = checkpoint_files.where(F.col("checkpoint").isNotNull()).withColumns({"series": series(), "_whole": whole()})
    return files.groupBy("scope", "series").agg(
        F.max(F.when(F.col("state") != "empty", F.col("checkpoint"))).alias("newest"),
        F.max(F.when(F.col("_whole"), F.col("checkpoint"))).alias("newest_whole"),
        F.max_by(directory(), F.when(F.col("_whole"), F.col("checkpoint"))).alias("restore_path"),
        F.max_by("mtime", F.when(F.col("_whole"), F.col("checkpoint"))).alias("whole_at"),
    )


def is_newest(checkpoint: str = "checkpoint") -> Column:
    """Over the columns of `standing`: whether no newer one was written."""
    return F.col(checkpoint) >= F.col("newest")


def what_it_means() -> Column:
    """Over the columns of `standing`, what a broken checkpoint means for the next start."""
    newer = F.concat(F.lit("Checkpoint "), F.coalesce("newest_whole", "newest"), F.lit(" is newer"))
    return F.when(is_newest(), "It is the newest one: a restart from it fails").otherwise(newer)


def advice() -> Column:
    """What to restore from, over the columns of `standing`: names the directory, so that it can be typed."""
    named = F.concat(F.lit("checkpoint "), "newest_whole", F.lit(" (flink run -s "), "restore_path", F.lit(" …)"))
    return F.coalesce(named, F.lit("an older checkpoint or a savepoint that lies elsewhere (none of those read here is whole)"))
