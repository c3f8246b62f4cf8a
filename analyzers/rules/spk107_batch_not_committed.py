"""SPK107: The newest batch of a query is planned and not committed."""

from analyzers.vocabulary import INFO, DataFrame, F, IfGiven, beside, first_of, found, greatest, rule, text


@rule(
    "SPK107", title="The newest batch of the query is planned and not committed", stage="risk", severity=INFO,
    says="Batch {batch} was planned at {since} UTC and is not committed[[, {minutes} minutes later]][[ (batches took {usual} seconds)]]: "
    "it runs, or it failed and will run again with the same offsets, or the query was stopped",
    next_command="diag triage LOG_DIRECTORY",
)  # fmt: skip
def batch_not_committed(
    batches: DataFrame,
    attempts: IfGiven,
    *,
    at_least_seconds: int = 600,  # a batch may take minutes after a pause
    times: int = 20,  # and it may be much larger than those before
) -> DataFrame:
    """Per directory. The picture alone is no fault; a warning where the newest evidence is much later than any batch took.

    Not where logs show that the batch failed: its failure is a finding of its own.
    """
    planned, committed = F.col("planned"), F.col("committed")
    newest_plan = F.when(planned, F.col("batch"))
    per_path = found(
        batches,
        "path",
        of=planned & ~committed,
        at="mtime",
        table="batches",
        shown=text("offsets/{batch} without commits/{batch}"),
        file=F.col("path"),
        job=F.first("job", ignorenulls=True),
        query=F.first("job", ignorenulls=True),
        batch=F.max(newest_plan),
        since=F.max_by(F.coalesce("planned_at", "mtime"), newest_plan),
        until=F.max("as_of"),
        _done=greatest("batch", committed),
        _written=F.max_by("mtime", newest_plan),
        _usual=F.median(F.when(committed & planned, F.unix_seconds("committed_at") - F.unix_seconds("mtime"))),
    )
    failed = attempts.where((F.col("ended") == "failed") & F.col("batch").isNotNull())
    unfinished = beside(per_path.where(F.col("batch") > F.coalesce("_done", F.lit(-1))), failed, "job", "batch", how="left_anti")
    age = F.unix_seconds("until") - F.unix_seconds("_written")  # the file system's clock against itself
    late = age > F.greatest(F.lit(at_least_seconds), F.coalesce("_usual", F.lit(0)) * times)
    return unfinished.withColumns(
        {
            "minutes": F.when(age >= 60, F.round(age / 60).cast("long")),
            "usual": F.when(F.col("_usual") >= 1, F.round("_usual").cast("long")),
            "severity": first_of(("warning", late), otherwise="info"),
        }
    )
