"""SPK103: the log of batches in a checkpoint directory is damaged: files cut or empty, batches or the query's id missing, commits ahead."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.vocabulary.findings import evidence
from analyzers.vocabulary.rule import rule


@rule(
    "SPK103",
    title="The log of batches in the query's checkpoint directory is damaged",
    cause="checkpoint-storage",
    stage="checkpoint",
    severity=Severity.CRITICAL,
    says={
        "damaged": "{damaged} file(s) of the query's batch log cannot be read: {what}. {standing}",
        "gap": "{damaged} batch(es) are missing in the middle of the query's batch log: {what}. {standing}",
        "sparse": "{damaged} batch(es) are in neither offsets/ nor commits/: {what}. With asynchronous progress tracking that is right; "
        "without it the query cannot start again from this directory when one of the newest two is missing",
        "no-id": "The file metadata of the query's checkpoint directory, which holds the query's id, is {what}, although offsets/ and "
        "commits/ have {damaged} batch(es): a query does not start from it (newer releases), or takes another id without a word",
        "ahead": "Batch {batch} is committed and was never planned: two runs wrote to this directory, or files of offsets/ were deleted",
    },
    next_command="diag checkpoint-inspect --strict {path}",
)
def query_log_damaged(batches: DataFrame) -> DataFrame:
    """Per directory. Critical where a restart reads the file: the newest two planned batches and the newest commit.

    Source: ``MicroBatchExecution.populateStartOffsets``, ``HDFSMetadataLog`` (a file that it cannot parse ends the query); asynchronous
    progress tracking (Spark 3.4+) writes offsets and commits of some batches only. Without ``metadata`` Spark makes a new id, and since
    SPARK-55058 refuses to start.
    """
    reach = batches.groupBy("scope", "path").agg(
        F.max(F.when(F.col("planned"), F.col("batch"))).alias("_planned"),
        F.max(F.when(F.col("committed"), F.col("batch"))).alias("_committed"),
    )
    each = batches.join(reach, ["scope", "path"])
    ahead = ~F.col("planned") & (F.col("batch") > F.coalesce("_planned", F.lit(-1)))
    unplanned = F.concat(F.lit("commits/"), "batch", F.lit(" without offsets/"), "batch")
    rows = (
        _said(each.where(F.col("damage").isNotNull()), "damaged", F.col("damage"))
        .unionByName(_said(each.where(ahead), "ahead", unplanned))
        .unionByName(_gaps(each))
        .unionByName(_said(each.where(F.col("metadata").isin("missing", "damaged")), "no-id", F.col("metadata")))
    )
    found = rows.groupBy("scope", "path", "reason").agg(
        F.first("job", ignorenulls=True).alias("job"),
        F.when(F.col("reason").isin("gap", "sparse"), F.sum("_width")).otherwise(F.countDistinct("batch")).alias("damaged"),
        F.max("batch").alias("batch"),
        F.array_join(F.slice(F.array_sort(F.collect_set("said")), 1, 3), "; ").alias("what"),
        F.max("_planned").alias("_planned"),
        F.max("_committed").alias("_committed"),
        F.max("as_of").alias("until"),
        evidence("batches", F.col("said"), file=F.col("path")),
    )
    no_id = F.col("reason") == "no-id"
    needed = no_id | (F.col("batch") >= F.col("_planned") - 1) | (F.col("batch") >= F.coalesce("_committed", F.lit(0)))
    sparse = F.col("reason") == "sparse"
    return found.withColumns(
        {
            "query": F.col("job"),
            "severity": F.when(needed & ~sparse, "critical").when(sparse, "info").otherwise("warning"),
            "cause": F.when(needed & ~sparse, "checkpoint-storage"),
            "standing": F.when(needed, "The query cannot start again from this directory").otherwise(
                "A restart does not read that far back"
            ),
        }
    ).drop("_planned", "_committed")


_SHARED = ("scope", "path", "job", "as_of", "batch", "_planned", "_committed")


def _said(rows: DataFrame, reason: str, said: Column) -> DataFrame:
    return rows.select(*_SHARED, F.lit(1).cast("long").alias("_width"), F.lit(reason).alias("reason"), said.alias("said"))


def _gaps(each: DataFrame) -> DataFrame:
    """One row per hole between planned batches, at its last batch; sparse where nothing of it was committed either."""
    in_order = Window.partitionBy("scope", "path").orderBy("batch")
    before = F.max(F.when(F.col("planned"), F.col("batch"))).over(in_order.rowsBetween(Window.unboundedPreceding, -1))
    done = F.max(F.when(~F.col("planned") & F.col("committed"), F.col("batch"))).over(in_order.rowsBetween(Window.unboundedPreceding, -1))
    holes = each.withColumns({"_before": before, "_done": done}).where(F.col("planned") & (F.col("batch") > F.col("_before") + 1))
    one = F.concat(F.lit("offsets/"), F.col("_before") + 1)
    many = F.concat(one, F.lit(" to offsets/"), F.col("batch") - 1, F.lit(" are missing"))
    said = F.when(F.col("batch") - F.col("_before") == 2, F.concat(one, F.lit(" is missing"))).otherwise(many)
    reason = F.when(F.col("_done") > F.col("_before"), "gap").otherwise("sparse")
    told = {"_width": F.col("batch") - F.col("_before") - 1, "reason": reason, "said": said, "batch": F.col("batch") - 1}
    return holes.withColumns(told).select(*_SHARED, "_width", "reason", "said")
