"""RST101: the job fails, restarts and fails again."""

from analyzers.vocabulary import WARNING, DataFrame, F, Window, count, found, has, rule, seconds


@rule(
    "RST101", title="The job is in a restart loop", stage="restart", severity=WARNING, needs=has(ended=("failed",), at_least="enough"),
    says="Job {job} failed {failures} time(s)[[ in {span}]][[, last at {until} UTC]][[; {done} completed in between: {checkpoints}]]",
)  # fmt: skip
def restart_loop(
    attempts: DataFrame,
    *,
    enough: int = 3,  # one failure is an incident, two may be a failed deployment; three that end alike are a loop
) -> DataFrame:
    """Failed attempts per job; planned restarts do not count."""
    failed = F.col("ended") == "failed"
    why = F.coalesce("trigger_says", F.lit("no reason in these logs"))
    shown = F.struct(
        F.coalesce("line_at", "ended_at").alias("at"), "file", "line", F.lit("attempts").alias("table"),
        F.concat(F.lit("attempt "), "attempt", F.lit(" failed: "), why).alias("text"),
    )  # fmt: skip
    each = Window.partitionBy("scope", "job")
    first, last = (one(F.when(failed, F.col("attempt"))).over(each) for one in (F.min, F.max))
    between = (F.col("attempt") > first) & (F.col("attempt") <= last)
    per_job = found(
        attempts.withColumn("_between", between), "job", of=failed, at="ended_at",
        failures=count(failed),
        checkpoints=F.sum(F.when(F.col("_between"), F.col("checkpoints_completed"))),
        done=F.when(F.count("run") > 0, "batches").otherwise("checkpoints"),  # only a query of Spark has runs
        evidence=F.slice(F.sort_array(F.collect_set(F.when(failed, shown))), 1, 5),
    )  # fmt: skip
    took = F.round(seconds("since", "until")).cast("long")
    span = (
        F.when(took < 120, F.format_string("%d s", took))
        .when(took < 600, F.format_string("%d min %d s", F.floor(took / 60), took % 60))
        .otherwise(F.format_string("%d min", F.round(took / 60).cast("long")))
    )
    return per_job.where(F.col("failures") >= enough).withColumn("span", F.when(took.isNotNull(), span))
