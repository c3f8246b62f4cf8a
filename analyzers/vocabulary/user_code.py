"""Which failures of user code are the same record again: shared by the rules about poison records and about unknown faults."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from analyzers.vocabulary.aggregates import agreed, earliest, failures
from analyzers.vocabulary.findings import beside

USER_CODE = ("user-code-data", "user-code")
"""Fault classes of code over one record; the first says itself that the data is to blame."""


def user_code_failures(faults: DataFrame, attempts: DataFrame | None, *, enough: int) -> DataFrame:
    """Failures of user code, one row per job and identity: the columns of `failures`, user_frame, and how it is known to be a record.

    ``clue``: ``same`` (`enough` attempts, and one of the later ones got to no checkpoint), ``tried`` (Spark tried one task several times),
    ``moved`` (`enough` attempts, but checkpoints completed in each: several records), ``alone`` (a data error in a fragment), else null.
    """
    own = faults.where(F.col("fault").isin(*USER_CODE))
    each = Window.partitionBy("scope", "job", "fingerprint")
    marked = _with_progress(own, attempts).withColumns(
        {
            "again": F.col("attempt") > F.min("attempt").over(each),
            "tries": F.nullif(F.regexp_extract("text", r"Task \d+ in stage [\d.]+ failed (\d+) times", 1), F.lit("")).cast("int"),
        }
    )
    same = failures(
        marked,
        earliest("user_frame"),
        F.coalesce(F.max("tries"), F.lit(0)).alias("tries"),
        F.count_if(F.col("again") & (F.col("progress") == 0)).alias("stuck"),
        F.max(F.col("attempt").isNull()).alias("outside"),
        agreed("fault", "class"),
        by=("scope", "job", "fingerprint"),
    )
    return same.withColumn("clue", _clue(enough)).drop("stuck", "outside", "class")


def _clue(enough: int) -> Column:
    repeated, data = F.coalesce(F.col("attempts"), F.lit(0)) >= enough, F.col("class") == "user-code-data"
    return (
        F.when(repeated & (F.col("stuck") > 0), F.lit("same"))
        .when(data & (F.col("tries") > 1), F.lit("tried"))
        .when(data & repeated, F.lit("moved"))
        .when(data & F.col("outside"), F.lit("alone"))
    )


def _with_progress(faults: DataFrame, attempts: DataFrame | None) -> DataFrame:
    """`faults` with ``progress``: checkpoints (batches) completed in the attempt, 0 where nothing tells of any."""
    if attempts is None:
        return faults.withColumn("progress", F.lit(0))
    done = attempts.groupBy("scope", "job", F.col("attempt").alias("_attempt")).agg(F.max("checkpoints_completed").alias("_done"))
    keys = done.withColumnsRenamed({"scope": "_scope", "job": "_job"})
    mine = (F.col("scope") == F.col("_scope")) & F.col("job").eqNullSafe(F.col("_job")) & (F.col("attempt") == F.col("_attempt"))
    both = faults.join(keys, mine, "left").withColumn("progress", F.coalesce("_done", F.lit(0)))
    return both.drop("_scope", "_job", "_attempt", "_done")


def same_batch(attempts: DataFrame, *, enough: int) -> DataFrame:
    """Queries of which `enough` runs failed in one and the same batch (rule SPK101 speaks of them): scope, job."""
    failed = attempts.where((F.col("ended") == "failed") & F.col("batch").isNotNull())
    return failed.groupBy("scope", "job", "batch").count().where(F.col("count") >= enough).select("scope", "job").distinct()


def without_jobs(found: DataFrame, jobs: DataFrame) -> DataFrame:
    """`found` without the rows whose scope and job are among `jobs`."""
    return (
        beside(found, jobs.select("scope", "job").distinct().withColumn("_there", F.lit(True)), "job")
        .where(F.col("_there").isNull())
        .drop("_there")
    )
