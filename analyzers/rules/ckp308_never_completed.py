"""CKP308: a job's checkpoint directory holds no completed checkpoint."""

from analyzers.vocabulary import WARNING, DataFrame, F, IfGiven, Window, found, greatest, has, newest, none, rule
from analyzers.vocabulary.restore_points import directory, known_job, series

UNPROVEN = "A job that ran well and was cancelled leaves the same directory: its log or the JobManager shows which it is."


@rule(
    "CKP308", title="The job has no completed checkpoint", stage="checkpoint", severity=WARNING, needs=has(state=("never", "empty")),
    says="No completed checkpoint lies in {directory}[[, the directory of job {of_job}]][[, though checkpoint {checkpoint} was begun]]: a "
    "restart has nothing to start from and begins at the consumer group's offsets or at the source's start position",
    inferred="[[Job {successor} in the directory beside it wrote checkpoints later: this may be left over from an earlier start.]]"
    "[[{unproven}]]",
    next_command="[[diag triage {unread}]]"
    "[[diag checkpoint-inspect {unasked} --flink-rest http://JOBMANAGER:8081   # does the JobManager complete any?]]"
    "[[ls -l {asked}   # is it the directory that the job writes to?]]",
)  # fmt: skip
def never_completed(
    checkpoint_files: DataFrame,
    jobs_seen: IfGiven,
    jobs: IfGiven,
    *,
    begun: int = 3,  # the first is in flight for a while; ids only grow, so a third without a first means that two were aborted
) -> DataFrame:
    """Per job directory: room for shared state and nothing else, or only ``chk-N`` without `_metadata`.

    Not of a job that finished, or that was cancelled after checkpoints had completed: they are deleted with it.
    """
    state, above = F.col("state"), F.regexp_replace(directory(), r"/chk-\d+$", "")
    of = F.when(state == "never", F.col("path")).otherwise(series())
    per_job = found(
        checkpoint_files.withColumns({"series": of, "directory": above}), "series", at="mtime", table="checkpoint_files",
        shown=F.concat("state", F.lit(": "), "path"), file=F.col("path"),
        job=known_job(),
        directory=F.max("directory"),
        checkpoint=F.max("checkpoint"),
        since=none("timestamp"),
        _whole_at=greatest("mtime", state == "complete"),
        _none=F.bool_and(state.isin("never", "empty")),
        _never=F.bool_or(state == "never"),
    )  # fmt: skip
    neighbours = Window.partitionBy("scope", F.regexp_replace("directory", r"/[^/]+$", ""))
    later = F.max("_whole_at").over(neighbours) > F.col("until")
    none_there = F.col("_none") & (F.col("_never") | (F.col("checkpoint") >= begun))
    rows = per_job.withColumn("successor", F.when(later, F.max_by("job", "_whole_at").over(neighbours))).where(none_there)
    rows = _running(_running(rows, jobs_seen, "_logged"), jobs, "_asked")
    logged, asked, where = F.col("_logged"), F.col("_asked"), F.col("directory")
    unseen = ~logged & ~asked & F.col("checkpoint").isNull()  # one that was begun and aborted is trouble by itself
    return rows.withColumns(
        {
            "of_job": F.col("job"),
            "severity": F.when(F.col("successor").isNotNull() | unseen, "info").otherwise("warning"),
            "unproven": F.when(unseen & F.col("successor").isNull(), UNPROVEN),
            "unread": F.when(~logged & ~asked, "LOG_DIRECTORY"),
            "unasked": F.when(logged & ~asked, where),
            "asked": F.when(asked, where),
        }
    )


def _running(rows: DataFrame, jobs: DataFrame, seen: str) -> DataFrame:
    """`rows` without the jobs that `jobs` knows to have ended well, with `seen` where it knows the job at all."""
    state, completed = newest("state", by="as_of").alias("_state"), F.max("checkpoints_completed").alias("_completed")
    known = jobs.groupBy("scope", "job").agg(state, completed, F.lit(True).alias(seen))
    well = (F.col("_state") == "FINISHED") | ((F.col("_state") == "CANCELED") & (F.coalesce("_completed", F.lit(1)) > 0))
    both = rows.join(known, ["scope", "job"], "left").where(~F.coalesce(well, F.lit(False)))
    return both.withColumn(seen, F.coalesce(seen, F.lit(False))).drop("_state", "_completed")
