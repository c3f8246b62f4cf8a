"""SPK102: the checkpoint directory of a Structured Streaming query cannot be used by it."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.tables.processes import SPARK_DRIVER
from analyzers.vocabulary.aggregates import agreed, failures
from analyzers.vocabulary.checkpoint_storage import of_spark
from analyzers.vocabulary.findings import beside
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
        found = beside(found, log_events.groupBy("scope", "job").agg(agreed(started, "started")), "job")
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
