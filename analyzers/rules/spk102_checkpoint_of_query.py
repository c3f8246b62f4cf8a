"""SPK102: A Structured Streaming query cannot use its checkpoint directory."""

from analyzers.vocabulary import (
    CRITICAL,
    FAILING,
    SPARK_DRIVER,
    Column,
    DataFrame,
    F,
    IfGiven,
    beside,
    detail,
    event,
    failures,
    first_of,
    rule,
)
from analyzers.vocabulary.aggregates import agreed
from analyzers.vocabulary.checkpoint_storage import of_spark

WRITES = r"CheckpointFileManager[\s\S]*(?:createTempFile|createAtomic)"  # what lies below was made when the query started
BATCH = r"(?:jobs detected for|for batch|offsets/)\s*(\d+)"
SHARED, LEFT = r"concurrently using (\S+?)/offsets", r"Checkpoint location (\S+) is in an inconsistent"
STATE_FILE = r"(state/\d+/\d+/(?:[\w-]+/)?\d+\.(?:delta|snapshot|zip|changelog))"
AFTER = "{what}; {failures} failure(s)[[ since {since} UTC]]"


@rule(
    "SPK102", title="The query's checkpoint directory cannot be used by it", cause="checkpoint-storage", stage="access",
    severity=CRITICAL, logs_of=SPARK_DRIVER, signatures=("query-started", "query-twice"), needs=FAILING,
    faults=(
        "two-writers", "other-query", "log-unreadable", "log-damaged", "checkpoint-missing", "query-id-missing", "sink-log-missing",
        "storage-write", "disk-full", "restore-incompatible", "restore-failed", "state-unreadable",
        "state-damaged", "state-missing", "state-not-written",
    ),
    says={
        "two-writers": f"Two runs write to one checkpoint directory[[ ({{path}})]][[, both batch {{batch}}]]: {AFTER}",
        "other-query": f"The checkpoint directory[[ ({{path}})]] belongs to another query or another version of it: {AFTER}",
        "missing": f"A file that the query's checkpoint needs[[ ({{path}})]] is missing[[: {{lost}}]]: {AFTER}",
        "deleted": f"A directory of the query's checkpoint[[ ({{path}})]] was deleted while the query ran: {AFTER}",
        "no-id": f"The query does not start: its checkpoint directory[[ ({{path}})]] has no file metadata, which holds the query's id, "
        f"although offsets/ and commits/ have batches: {AFTER}",
        "sink-log": "The file sink's own log, _spark_metadata in the output directory, lacks batches that the query's checkpoint has: "
        f"{AFTER}",
        "incompatible": f"The state that the query's checkpoint holds[[ ({{path}})]] does not fit the query as it is now: {AFTER}",
        "unreadable": f"The query cannot read its state[[ ({{path}})]]: {AFTER}",
        "write": f"The query cannot write its checkpoint directory[[ ({{path}})]]: {AFTER}",
        "damaged": f"A file of the query's checkpoint directory[[ ({{path}})]] is damaged: {AFTER}",
    },
    missing="[[which directory it is: see the query's option {named_by}]]",
    next_command="diag checkpoint-inspect {directory}",
)  # fmt: skip
def checkpoint_of_query(faults: DataFrame, log_events: IfGiven) -> DataFrame:
    """Fatal faults of the query's own logs in its checkpoint. Source: HDFSMetadataLog, MicroBatchExecution, OffsetSeqLog."""
    batch, shared, left = (F.nullif(F.regexp_extract("text", pattern, 1), F.lit("")) for pattern in (BATCH, SHARED, LEFT))
    own = of_spark(faults).withColumns({"_batch": batch.cast("long"), "_used": F.coalesce(shared, left)})
    deleted = F.max((F.col("fault") == "checkpoint-missing") & F.col("text").rlike(WRITES)).alias("_deleted")
    lost = agreed(F.nullif(F.regexp_extract("text", STATE_FILE, 1), F.lit("")), "lost")
    failed = failures(own, agreed("_batch", "batch"), agreed("_used"), deleted, lost)
    started = log_events.groupBy("scope", "job").agg(agreed(F.when(event("query-started"), detail("path")), "_started"))
    path = F.coalesce("_used", "_started")

    def among(*faults: str) -> Column:
        return F.arrays_overlap("fault_ids", F.array(*(F.lit(fault) for fault in faults)))

    return beside(failed, started, "job").withColumns(
        {
            "reason": first_of(
                ("two-writers", among("two-writers")),
                ("other-query", among("other-query")),
                ("no-id", among("query-id-missing")),
                ("sink-log", among("sink-log-missing")),
                ("deleted", F.col("_deleted")),
                ("missing", among("checkpoint-missing", "state-missing")),
                ("write", among("storage-write", "disk-full", "state-not-written")),
                ("incompatible", among("restore-incompatible")),
                ("unreadable", among("state-unreadable", "restore-failed")),
                otherwise="damaged",
            ),
            "path": path,
            "directory": F.coalesce(path, F.lit("CHECKPOINT_DIRECTORY")),
            "named_by": F.when(path.isNull(), F.lit("checkpointLocation")),
        }
    )
