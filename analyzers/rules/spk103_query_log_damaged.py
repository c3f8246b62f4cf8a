"""SPK103: the log of batches in a query's checkpoint directory is damaged: files cut or empty, batches missing, commits ahead."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from analyzers.finding import Severity
from analyzers.rule import rule
from analyzers.samples import evidence


@rule(
    "SPK103",
    title="The log of batches in the query's checkpoint directory is damaged",
    cause="checkpoint-storage",
    stage="checkpoint",
    severity=Severity.CRITICAL,
    says={
        "damaged": "{damaged} file(s) of the query's batch log cannot be read: {what}. {standing}",
        "gap": "{damaged} batch(es) are missing in the middle of the query's batch log: {what}. {standing}",
        "ahead": "Batch {batch} is committed and was never planned: two runs wrote to this directory, or files of offsets/ were deleted",
    },
    fix={
        "damaged": "Stop the query and copy the directory {path} first. If offsets/{batch} is broken and commits/{batch} does not exist, "
        "move offsets/{batch} (and .{batch}.crc) away: the batch is planned anew. If only commits/{batch} is broken, move that one away: "
        "the batch is run again with the same offsets. Then look at the storage: rename must be atomic there, the disk not full.",
        "gap": "Stop the query and copy the directory {path} first. Bring the missing files back (bucket versions, snapshot). Otherwise "
        "begin in a new checkpoint directory from the offsets of the newest batch before the gap (diag lists them).",
        "ahead": "Find the second copy of the query and stop it. Copy the directory {path}, then bring back offsets/ or begin in a new "
        "checkpoint directory from offsets that you choose.",
    },
    next_command="diag checkpoint-inspect --strict {path}",
)
def query_log_damaged(batches: DataFrame) -> DataFrame:
    """Per directory. Critical where a restart reads the file: the newest two planned batches and the newest commit.

    Source: ``MicroBatchExecution.populateStartOffsets``, ``HDFSMetadataLog`` (a file that it cannot parse ends the query).
    """
    reach = batches.groupBy("scope", "path").agg(
        F.max(F.when(F.col("planned"), F.col("batch"))).alias("_planned"),
        F.min(F.when(F.col("planned"), F.col("batch"))).alias("_first"),
        F.max(F.when(F.col("committed"), F.col("batch"))).alias("_committed"),
    )
    each = batches.join(reach, ["scope", "path"])
    expected = reach.where("_planned > _first").withColumn("batch", F.explode(F.sequence("_first", "_planned")))
    absent = expected.join(batches.where("planned").select("scope", "path", "batch"), ["scope", "path", "batch"], "left_anti")
    gaps = absent.join(
        batches.groupBy("scope", "path").agg(F.first("job", ignorenulls=True).alias("job"), F.max("as_of").alias("as_of")),
        ["scope", "path"],
    )
    ahead = ~F.col("planned") & (F.col("batch") > F.coalesce("_planned", F.lit(-1)))
    unplanned = F.concat(F.lit("commits/"), "batch", F.lit(" without offsets/"), "batch")
    rows = (
        _said(each.where(F.col("damage").isNotNull()), "damaged", F.col("damage"))
        .unionByName(_said(each.where(ahead), "ahead", unplanned))
        .unionByName(_said(gaps, "gap", F.concat(F.lit("offsets/"), "batch", F.lit(" is missing"))))
    )
    found = rows.groupBy("scope", "path", "reason").agg(
        F.first("job", ignorenulls=True).alias("job"),
        F.countDistinct("batch").alias("damaged"),
        F.max("batch").alias("batch"),
        F.array_join(F.slice(F.array_sort(F.collect_set("said")), 1, 3), "; ").alias("what"),
        F.max("_planned").alias("_planned"),
        F.max("_committed").alias("_committed"),
        F.max("as_of").alias("until"),
        evidence("batches", F.col("said"), file=F.col("path")),
    )
    needed = (F.col("batch") >= F.col("_planned") - 1) | (F.col("batch") >= F.coalesce("_committed", F.lit(0)))
    return found.withColumns(
        {
            "query": F.col("job"),
            "severity": F.when(needed, "critical").otherwise("warning"),
            "cause": F.when(needed, "checkpoint-storage"),
            "standing": F.when(needed, "The query cannot start again from this directory").otherwise(
                "A restart does not read that far back"
            ),
        }
    ).drop("_planned", "_committed")


def _said(rows: DataFrame, reason: str, said: Column) -> DataFrame:
    shared = ("scope", "path", "job", "as_of", "batch", "_planned", "_committed")
    return rows.select(*shared, F.lit(reason).alias("reason"), said.alias("said"))
