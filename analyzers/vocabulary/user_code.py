"""Which failures of user code are the same record again: shared by the rules on poison records and on unknown faults."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from analyzers.tables import Row
from analyzers.vocabulary.aggregates import agreed, earliest, failures
from analyzers.vocabulary.columns import first_of
from analyzers.vocabulary.findings import beside
from analyzers.vocabulary.quick_looks import attempts_of, grouped, is_failure
from analyzers.vocabulary.rule import has

USER_CODE = ("user-code-data", "user-code")
"""Fault classes of code over one record; the exception of the first is one that wrong data throws."""


def names_record(fault: Row) -> bool:
    """Whether a fault names topic and partition."""
    return fault["topic"] is not None and fault["partition"] is not None


def some_record(faults: Sequence[Row], thresholds: Mapping[str, Any]) -> bool:
    """Whether `user_code_failures` could have a clue."""
    own = [row for row in faults if is_failure(row) and row["fault"] in USER_CODE]
    alike = grouped(own, "job", "fingerprint").values()
    return has(fault=("user-code-data",))(own, {}) or any(attempts_of(same) >= thresholds["enough"] for same in alike)


def some_other(faults: Sequence[Row], thresholds: Mapping[str, Any]) -> bool:
    """Whether a job failed of which `user_code_failures` is not bound to have a clue: wrong data in several attempts, or in none."""
    for own in grouped(filter(is_failure, faults), "job").values():
        alike = grouped((row for row in own if row["fault"] in USER_CODE), "fingerprint").values()
        if not any(_is_record(same, thresholds["enough"]) for same in alike):
            return True
    return False


def _is_record(same: Sequence[Row], enough: int) -> bool:
    of_data = all(row["fault"] == "user-code-data" for row in same)
    return of_data and (attempts_of(same) >= enough or any(row["attempt"] is None for row in same))


def user_code_failures(faults: DataFrame, attempts: DataFrame, *, enough: int) -> DataFrame:
    """Failures of user code, one row per job and identity: the columns of `failures`, user_frame, and how it is known to be a record.

    ``clue``: ``user-code`` (`enough` attempts, and one of the later ones completed no checkpoint), ``user-code-tries`` (Spark tried one
    task several times), ``user-code-records`` (`enough` attempts, but checkpoints completed in each: several records), ``user-code-once``
    (a data error in a fragment), else null.
    """
    own = faults.where(F.col("fault").isin(*USER_CODE))
    # checkpoints (batches) completed in the attempt; none where no line shows any
    done = attempts.groupBy("scope", "job", "attempt").agg(F.max("checkpoints_completed").alias("_done"))
    again = F.col("attempt") > F.min("attempt").over(Window.partitionBy("scope", "job", "fingerprint"))
    tries = F.nullif(F.regexp_extract("text", r"Task \d+ in stage [\d.]+ failed (\d+) times", 1), F.lit("")).cast("int")
    marked = beside(own, done, "job", "attempt").withColumns({"_again": again, "_tries": tries})
    same = failures(
        marked,
        earliest("user_frame"),
        F.coalesce(F.max("_tries"), F.lit(0)).alias("tries"),
        F.count_if(F.col("_again") & (F.coalesce("_done", F.lit(0)) == 0)).alias("_stuck"),
        F.max(F.col("attempt").isNull()).alias("_outside"),
        agreed("fault", "_class"),
        by=("scope", "job", "fingerprint"),
    )
    repeated, data = F.coalesce(F.col("attempts"), F.lit(0)) >= enough, F.col("_class") == "user-code-data"
    clue = first_of(
        ("user-code", repeated & (F.col("_stuck") > 0)),
        ("user-code-tries", data & (F.col("tries") > 1)),
        ("user-code-records", data & repeated),
        ("user-code-once", data & F.col("_outside")),
    )
    return same.withColumn("clue", clue)


def same_batch(attempts: DataFrame, *, enough: int) -> DataFrame:
    """Queries of which `enough` runs failed in one and the same batch (rule SPK101 reports them): scope, job."""
    failed = attempts.where((F.col("ended") == "failed") & F.col("batch").isNotNull())
    return failed.groupBy("scope", "job", "batch").count().where(F.col("count") >= enough).select("scope", "job").distinct()


def without_jobs(found: DataFrame, jobs: DataFrame) -> DataFrame:
    """`found` without the rows whose scope and job are among `jobs`."""
    named = jobs.select("scope", "job").distinct().withColumn("_there", F.lit(True))
    return beside(found, named, "job").where(F.col("_there").isNull()).drop("_there")
