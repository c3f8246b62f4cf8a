"""SPK102: the checkpoint directory of a Structured Streaming query cannot be used by it."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from analyzers.diagnosis.coverage import SPARK_DRIVER
from analyzers.report.finding import Severity
from analyzers.vocabulary.aggregates import agreed, failures, joined
from analyzers.vocabulary.checkpoint_storage import of_spark
from analyzers.vocabulary.rule import FAILING, rule

_WRITES = r"CheckpointFileManager[\s\S]*(?:createTempFile|createAtomic)"  # what lies below was made when the query started
_AFTER = "{failures} failure(s)[[ since {since} UTC]]"


@rule(
    "SPK102",
    title="The query's checkpoint directory cannot be used by it",
    cause="checkpoint-storage",
    stage="access",
    severity=Severity.CRITICAL,
    logs_of=SPARK_DRIVER,
    faults=(
        "two-writers",
        "other-query",
        "log-unreadable",
        "log-damaged",
        "checkpoint-missing",
        "query-id-missing",
        "sink-log-missing",
        "storage-write",
        "disk-full",
    ),
    signatures=("query-started", "query-twice"),
    says={
        "two-writers": f"Two runs write to one checkpoint directory[[ ({{path}})]][[, both batch {{batch}}]]: {{what}}; {_AFTER}",
        "other-query": f"The checkpoint directory[[ ({{path}})]] belongs to another query or another version of it: {{what}}; {_AFTER}",
        "missing": f"A file that the query's checkpoint needs[[ ({{path}})]] is missing: {{what}}; {_AFTER}",
        "deleted": f"A directory of the query's checkpoint[[ ({{path}})]] was deleted while the query ran: {{what}}; {_AFTER}",
        "no-id": f"The query does not start: in its checkpoint directory[[ ({{path}})]] the file metadata, which holds the query's id, is "
        f"missing, although offsets/ and commits/ have batches: {{what}}; {_AFTER}",
        "sink-log": "The file sink's own log, _spark_metadata in the output directory, lacks batches that the query's checkpoint has: "
        f"{{what}}; {_AFTER}",
        "write": f"The query cannot write its checkpoint directory[[ ({{path}})]]: {{what}}; {_AFTER}",
        "damaged": f"A file of the query's checkpoint directory[[ ({{path}})]] is damaged: {{what}}; {_AFTER}",
    },
    fix={
        "two-writers": "Stop the second copy of the query (an old driver that was not killed, a second deployment, a notebook), then "
        "start one. Give every "
        "query a checkpoint directory of its own. Do not delete the directory: it holds the place in every source.",
        "other-query": "Start the version of the query that wrote the directory, with the same number and order of sources; or give the "
        "new query a new directory and set "
        "where it begins (startingOffsets), because it takes over nothing from the old one.",
        "missing": "Bring the file back (bucket versions, snapshot), or let the query begin in a new checkpoint directory from offsets "
        "that you choose (startingOffsets): the state of aggregations is lost then. Never delete files under state/ by hand, and let no "
        "two queries use one directory.",
        "deleted": "Find out what deletes below that path (a clean-up of temporary files, a bucket's life-cycle rule, a deployment "
        "script) and keep the checkpoint away from it. Then bring the whole directory back (bucket versions, snapshot) before the query "
        "starts again: started without it, it takes over nothing and begins where startingOffsets says. What it had planned and committed "
        "last stands in the driver's log (Current Committed Offsets).",
        "no-id": "Bring the file metadata back (bucket versions, snapshot, a copy of the directory); or write it anew, one line "
        '{{"id":"…"}} with the id that every earlier log of the driver has in `Starting … [id = …`. Do not delete offsets/ and commits/ '
        "for it: a query in an empty directory has lost its place and its state, and begins where startingOffsets says. A new id lets "
        "sinks that tell batches by the query's id (Delta) write batches again.",
        "sink-log": "The output directory was changed, emptied or not copied with the rest while the checkpoint stayed. Let the query "
        "write where it wrote before, or bring _spark_metadata back (bucket versions, a copy from the old output path). To give the old "
        "output up, begin with a new output and a new checkpoint directory, both, from offsets that you choose: readers of the "
        "directory trust that log, and one of the two alone loses or doubles rows.",
        "write": "Make the checkpoint directory writable for the driver and every executor, with room on it and atomic renames (not a "
        "local path of one host), then restart the query: it goes on from the last committed batch.",
        "damaged": "Stop the query and copy the directory first. Then look at the newest files in offsets/ and commits/ (line 1 is v1, "
        "JSON follows). If only commits/N is broken or empty, move it and .N.crc beside it away: batch N runs again with the same offsets. "
        "If offsets/N is, move it and commits/N, if there is one, away with their .N.crc: batch N is planned anew. Deleting the whole "
        "directory loses the place in every source.",
    },
    missing="[[{unnamed}]]",
    next_command="diag checkpoint-inspect {path_or_placeholder}",
    needs=FAILING,
)
def checkpoint_of_query(faults: DataFrame, log_events: DataFrame | None) -> DataFrame:
    """Fatal faults of the query's own logs in its checkpoint. Source: HDFSMetadataLog, MicroBatchExecution, OffsetSeqLog."""
    batch = F.nullif(F.regexp_extract("text", r"(?:jobs detected for|for batch|offsets/)\s*(\d+)", 1), F.lit("")).cast("long")
    in_text = F.nullif(F.regexp_extract("text", r"concurrently using (\S+?)/offsets", 1), F.lit(""))
    at_start = F.nullif(F.regexp_extract("text", r"Checkpoint location (\S+) is in an inconsistent", 1), F.lit(""))
    deleted = F.max((F.col("fault") == "checkpoint-missing") & F.col("text").rlike(_WRITES)).alias("deleted")
    own = of_spark(faults)
    found = failures(
        own.withColumns({"of_batch": batch, "used": F.coalesce(in_text, at_start)}), agreed("of_batch", "batch"), agreed("used"), deleted
    )
    found = found.withColumn("reason", _reason())
    if log_events is None:
        found = found.withColumn("started", F.lit(None).cast("string"))
    else:
        started = F.when(F.col("signature") == "query-started", F.col("detail")["path"])
        found = joined(found, log_events.groupBy("scope", "job").agg(agreed(started, "started")))
    path = F.coalesce("used", "started")
    return found.withColumns(
        {
            "path": path,
            "path_or_placeholder": F.coalesce(path, F.lit("CHECKPOINT_DIRECTORY")),
            "unnamed": F.when(path.isNull(), F.lit("which directory it is: the query's option checkpointLocation has it")),
        }
    ).drop("used", "started", "deleted")


def _reason() -> Column:
    return (
        F.when(F.array_contains("fault_ids", "two-writers"), F.lit("two-writers"))
        .when(F.array_contains("fault_ids", "other-query"), F.lit("other-query"))
        .when(F.array_contains("fault_ids", "query-id-missing"), F.lit("no-id"))
        .when(F.array_contains("fault_ids", "sink-log-missing"), F.lit("sink-log"))
        .when(F.col("deleted"), F.lit("deleted"))
        .when(F.array_contains("fault_ids", "checkpoint-missing"), F.lit("missing"))
        .when(F.arrays_overlap("fault_ids", F.array(F.lit("storage-write"), F.lit("disk-full"))), F.lit("write"))
        .otherwise(F.lit("damaged"))
    )
