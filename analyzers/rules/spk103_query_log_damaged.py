"""SPK103: The batch log of a checkpoint directory is damaged: files cut or empty, batches or the query's id missing, commits ahead."""

from analyzers.vocabulary import CRITICAL, Column, DataFrame, F, Window, first_of, greatest, number_of, observed, rule, text
from analyzers.vocabulary.aggregates import listed

REACH = "[[. The query cannot start again from {unusable}]][[. A restart does not read as far back as batch {old_batch}]]"
PARTS = ("scope", "path", "job", "as_of", "batch", "_planned", "_committed", "_width", "reason", "_said")


@rule(
    "SPK103", title="The log of batches in the query's checkpoint directory is damaged", cause="checkpoint-storage", stage="checkpoint",
    severity=CRITICAL,
    says={
        "damaged": f"{{damaged}} file(s) of the query's batch log cannot be read: {{what}}{REACH}",
        "gap": f"{{damaged}} file(s) are missing in the middle of the query's batch log: {{what}}{REACH}",
        "sparse": "{damaged} batch number(s) are in neither offsets/ nor commits/: {what}. With asynchronous progress tracking that is "
        "right; without it the query cannot start again from this directory when one of the newest two is missing",
        "no-id": "The file metadata of the query's checkpoint directory, which holds the query's id, is {what}, although offsets/ and "
        "commits/ have batches ({damaged}): newer releases do not start from it, older ones silently take another id",
        "ahead": "Batch {batch} is committed and was never planned: two runs wrote to this directory, or files of offsets/ were deleted",
    },
    next_command="diag checkpoint-inspect --strict {path}",
)  # fmt: skip
def query_log_damaged(batches: DataFrame) -> DataFrame:
    """Per directory. Critical where a restart reads the file: the newest two planned batches and the newest commit.

    Source: ``MicroBatchExecution.populateStartOffsets``, ``HDFSMetadataLog`` (a file that it cannot parse ends the query); asynchronous
    progress tracking (Spark 3.4+) writes offsets and commits of some batches only. Without ``metadata`` Spark makes a new id, and since
    SPARK-55058 refuses to start.
    """
    newest = (greatest("batch", F.col("planned")).alias("_planned"), greatest("batch", F.col("committed")).alias("_committed"))
    each = batches.join(batches.groupBy("scope", "path").agg(*newest), ["scope", "path"])
    ahead = ~F.col("planned") & (F.col("batch") > F.coalesce("_planned", F.lit(-1)))
    rows = (
        _parts(each.where(F.col("damage").isNotNull()), "damaged", F.col("damage"))
        .unionByName(_parts(each.where(ahead), "ahead", text("commits/{batch} without offsets/{batch}")))
        .unionByName(_parts(each.where(F.col("metadata").isin("missing", "damaged")), "no-id", F.col("metadata")))
        .unionByName(_gaps(each))
    )
    holes = F.col("reason").isin("gap", "sparse")
    per_path = observed(
        rows,
        *("path", "reason"),
        table="batches",
        shown=F.col("_said"),
        file=F.col("path"),
        job=F.first("job", ignorenulls=True),
        damaged=F.when(holes, F.sum("_width")).otherwise(number_of("batch")),
        batch=F.max("batch"),
        what=listed("_said"),
        _planned=F.max("_planned"),
        _committed=F.max("_committed"),
    )
    read = (F.col("batch") >= F.col("_planned") - 1) | (F.col("batch") >= F.coalesce("_committed", F.lit(0)))
    needed, sparse = (F.col("reason") == "no-id") | read, F.col("reason") == "sparse"
    return per_path.withColumns(
        {
            "query": F.col("job"),
            "severity": first_of(("info", sparse), ("critical", needed), otherwise="warning"),
            "cause": first_of(("checkpoint-storage", needed & ~sparse)),
            "unusable": F.when(needed, F.col("path")),
            "old_batch": F.when(~needed, F.col("batch")),
        }
    )


def _parts(rows: DataFrame, reason: str, said: Column) -> DataFrame:
    return rows.withColumns({"_width": F.lit(1).cast("long"), "reason": F.lit(reason), "_said": said}).select(*PARTS)


def _gaps(each: DataFrame) -> DataFrame:
    """One row per hole between planned batches, at its last batch; sparse where nothing of it was committed either."""
    earlier = Window.partitionBy("scope", "path").orderBy("batch").rowsBetween(Window.unboundedPreceding, -1)
    before = greatest("batch", F.col("planned")).over(earlier)
    done = greatest("batch", ~F.col("planned") & F.col("committed")).over(earlier)
    behind = each.withColumns({"_before": before, "_done": done}).where(F.col("planned") & (F.col("batch") > F.col("_before") + 1))
    holes = behind.withColumns({"_first": F.col("_before") + 1, "batch": F.col("batch") - 1})
    width = F.col("batch") - F.col("_before")
    several = text("offsets/{_first} to offsets/{batch} are missing")
    said = F.when(width == 1, text("offsets/{_first} is missing")).otherwise(several)
    reason = first_of(("gap", F.col("_done") > F.col("_before")), otherwise="sparse")
    return holes.withColumns({"_width": width, "reason": reason, "_said": said}).select(*PARTS)
