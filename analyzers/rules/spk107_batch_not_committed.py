"""SPK107: the newest batch of a query is planned and not committed."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.vocabulary.findings import evidence
from analyzers.vocabulary.rule import rule


@rule(
    "SPK107",
    title="The newest batch of the query is planned and not committed",
    stage="risk",
    severity=Severity.INFO,
    says="Batch {batch} was planned at {since} UTC and is not committed[[, {minutes} minutes later]][[ (batches took {usual} seconds)]]: "
    "it runs, or it failed and will run again with the same offsets, or the query was stopped",
    next_command="diag triage LOG_DIRECTORY",
)
def batch_not_committed(
    batches: DataFrame,
    attempts: DataFrame | None,
    *,
    at_least_seconds: int = 600,  # a batch may take minutes after a pause
    times: int = 20,  # and it may be much larger than those before
) -> DataFrame:
    """Per directory. The picture alone is no fault; a warning where the newest evidence is much later than any batch took.

    Not where logs tell that the batch failed: what it failed of is a finding of its own.
    """
    took = F.when(F.col("committed") & F.col("planned"), F.unix_seconds("committed_at") - F.unix_seconds("mtime"))
    newest = F.max(F.when(F.col("planned"), F.col("batch")))
    per_path = batches.groupBy("scope", "path").agg(
        F.first("job", ignorenulls=True).alias("job"),
        newest.alias("batch"),
        F.max(F.when(F.col("committed"), F.col("batch"))).alias("_done"),
        F.max_by(F.coalesce("planned_at", "mtime"), F.when(F.col("planned"), F.col("batch"))).alias("since"),
        F.max_by("mtime", F.when(F.col("planned"), F.col("batch"))).alias("_written"),
        F.median(took).alias("_usual"),
        F.max("as_of").alias("until"),
    )
    open_ones = batches.where(F.col("planned") & ~F.col("committed"))
    shown = open_ones.groupBy("scope", "path").agg(
        evidence("batches", F.concat(F.lit("offsets/"), "batch", F.lit(" without commits/"), "batch"), at="mtime", file=F.col("path"))
    )
    age = F.unix_seconds("until") - F.unix_seconds("_written")  # the file system's clock against itself
    found = per_path.where(F.col("batch") > F.coalesce("_done", F.lit(-1))).join(shown, ["scope", "path"])
    if attempts is not None:
        failed = attempts.where((F.col("ended") == "failed") & F.col("batch").isNotNull())
        found = found.join(failed.select("scope", "job", "batch").distinct(), ["scope", "job", "batch"], "left_anti")
    late = age > F.greatest(F.lit(at_least_seconds), F.coalesce("_usual", F.lit(0)) * times)
    return found.withColumns(
        {
            "query": F.col("job"),
            "minutes": F.when(age >= 60, F.round(age / 60).cast("long")),
            "usual": F.when(F.col("_usual") >= 1, F.round("_usual").cast("long")),
            "severity": F.when(late, "warning").otherwise("info"),
        }
    ).drop("_done", "_usual", "_written")
