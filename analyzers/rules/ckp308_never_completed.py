"""CKP308: a job's checkpoint directory without a single checkpoint."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.vocabulary.findings import evidence
from analyzers.vocabulary.restore_points import directory, series
from analyzers.vocabulary.rule import rule


@rule(
    "CKP308",
    title="The job has no completed checkpoint",
    stage="checkpoint",
    severity=Severity.WARNING,
    says="No completed checkpoint lies in {directory}[[, the directory of job {of_job}]][[, though checkpoint {checkpoint} was begun]]: a "
    "restart has nothing to start from and begins at the consumer group's offsets or at the source's start position",
    inferred="[[Job {successor} beside it wrote its checkpoints later: this may be what is left of an earlier start.]][[{unproven}]]",
    next_command="[[diag triage {unread}]]"
    "[[diag checkpoint-inspect {unasked} --flink-rest http://JOBMANAGER:8081   # does the JobManager complete any?]]"
    "[[ls -l {asked}   # is it the directory that the job writes to?]]",
)
def never_completed(
    checkpoint_files: DataFrame,
    jobs_seen: DataFrame | None,
    jobs: DataFrame | None,
    *,
    begun: int = 3,  # the first is in flight for a while; ids only grow, so a third without a first means that two were given up
) -> DataFrame:
    """Per job directory: room for shared state and nothing else, or only ``chk-N`` without `_metadata`.

    Not of a job that finished, or that was cancelled after checkpoints had completed: they are deleted with it.
    """
    above = F.regexp_replace(directory(), r"/chk-\d+$", "")
    rows = checkpoint_files.withColumns(
        {"series": F.when(F.col("state") == "never", F.col("path")).otherwise(series()), "directory": above}
    )
    per_job = rows.groupBy("scope", "series").agg(
        F.first("job", ignorenulls=True).alias("job"),
        F.max("directory").alias("directory"),
        F.max("checkpoint").alias("checkpoint"),
        F.max(F.when(F.col("state") == "complete", F.col("mtime"))).alias("_whole_at"),
        F.bool_and(F.col("state").isin("never", "empty")).alias("_none"),
        F.bool_or(F.col("state") == "never").alias("_never"),
        F.max("mtime").alias("until"),
        evidence("checkpoint_files", F.concat(F.col("state"), F.lit(": "), "path"), at="mtime", file=F.col("path")),
    )
    none = F.col("_none") & (F.col("_never") | (F.col("checkpoint") >= begun))
    beside = Window.partitionBy("scope", F.regexp_replace("directory", r"/[^/]+$", ""))
    later = F.when(F.max("_whole_at").over(beside) > F.col("until"), F.max_by("job", "_whole_at").over(beside))
    found = per_job.withColumns({"successor": later, "of_job": F.col("job"), "_logged": F.lit(False), "_asked": F.lit(False)}).where(none)
    for table, seen in ((jobs_seen, "_logged"), (jobs, "_asked")):
        if table is not None:
            found = _running(found, table, seen)
    where = F.col("directory")
    unseen = ~F.col("_logged") & ~F.col("_asked") & F.col("checkpoint").isNull()  # a begun one was given up: that is trouble by itself
    unproven = unseen & F.col("successor").isNull()
    return found.withColumns(
        {
            "severity": F.when(F.col("successor").isNotNull() | unseen, "info").otherwise("warning"),
            "unproven": F.when(
                unproven,
                F.lit("A job that ran well and was cancelled leaves the same directory: its log or the JobManager tells which it is."),
            ),
            "unread": F.when(~F.col("_logged") & ~F.col("_asked"), F.lit("LOG_DIRECTORY")),
            "unasked": F.when(F.col("_logged") & ~F.col("_asked"), where),
            "asked": F.when(F.col("_asked"), where),
        }
    ).drop("series", "_none", "_never", "_whole_at", "_logged", "_asked")


def _running(found: DataFrame, jobs: DataFrame, seen: str) -> DataFrame:
    """`found` without the jobs that `jobs` knows to have ended well, with `seen` where it knows the job at all."""
    known = jobs.groupBy("scope", "job").agg(
        F.max_by("state", "as_of").alias("_state"), F.max("checkpoints_completed").alias("_completed"), F.lit(True).alias("_known")
    )
    rows = found.join(known, ["scope", "job"], "left").withColumn(seen, F.coalesce("_known", F.lit(False)))
    well = (F.col("_state") == "FINISHED") | ((F.col("_state") == "CANCELED") & (F.coalesce("_completed", F.lit(1)) > 0))
    return rows.where(~F.coalesce(well, F.lit(False))).drop("_state", "_completed", "_known")
