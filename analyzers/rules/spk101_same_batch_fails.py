"""SPK101: A Structured Streaming query fails in the same batch after each start."""

from collections.abc import Mapping, Sequence
from typing import Any

from analyzers.tables import Row
from analyzers.vocabulary import (
    CRITICAL,
    JOBMANAGER,
    SPARK_DRIVER,
    TASKMANAGER,
    DataFrame,
    F,
    IfGiven,
    agreed,
    beside,
    detail,
    distinct,
    event,
    failures,
    rule,
)
from analyzers.vocabulary.aggregates import earliest
from analyzers.vocabulary.quick_looks import attempts_of, grouped, is_failure

POISON = ("deserialise", "corrupt-batch", "record-too-large", "sink-refuses", "user-code-data", "user-code")
READING = r"(?:[Ww]hile reading file|reading file|for file|Input file|File path):? (\S*[\w/](?:\.[\w.]+)?)"
MOST = 400  # characters of offsets in a sentence; a topic of many partitions has thousands


def _failed_again(rows: Sequence[Row], thresholds: Mapping[str, Any]) -> bool:
    """Whether runs of a query failed alike often enough; the attempts that Flink's processes report are of no batch."""
    of_queries = (row for row in rows if is_failure(row) and row["role"] not in (*JOBMANAGER, *TASKMANAGER))
    return any(attempts_of(same) >= thresholds["enough"] for same in grouped(of_queries, "job", "fault").values())


@rule(
    "SPK101", title="The same batch fails after each start of the query", cause="poison-record", stage="access", severity=CRITICAL,
    logs_of=SPARK_DRIVER, faults=POISON, signatures=("query-started", "query-resumed", "query-offsets-at-failure"), needs=_failed_again,
    says="Batch {batch} of the query fails after each start[[ since {since} UTC]]: {what}; {failures} failure(s) in {attempts} run(s)"
    "[[, in {user_frame}]][[; it reads {input_file}]]",
    missing="which record of the batch it is[[: it lies between {committed} and {available}]]; a batch query with the same code over the "
    "offsets or files of that batch finds it[[. The files of a file source are listed in {listed_in}]]",
    next_command="diag checkpoint-inspect {directory}   # offsets/{batch} without commits/{batch}: planned, not done",
)  # fmt: skip
def same_batch_fails(
    faults: DataFrame,
    attempts: DataFrame,
    log_events: IfGiven,
    *,
    enough: int = 2,  # the first failure may be anything; the same batch with the same error again is its records
) -> DataFrame:
    """Per query the batch in which `enough` runs failed alike. Source: MicroBatchExecution re-runs a planned, uncommitted batch."""
    runs = attempts.where((F.col("ended") == "failed") & F.col("batch").isNotNull()).select("scope", "job", "attempt", "batch")
    of_batch = beside(faults, runs, "job", "attempt", how="inner")
    read = F.nullif(F.regexp_extract("text", READING, 1), F.lit(""))
    by = ("scope", "job", "batch", "fault")
    failed = failures(of_batch.withColumn("_read", read), earliest("user_frame"), agreed("_read", "input_file"), by=by)
    resumed = event("query-resumed")
    known = log_events.groupBy("scope", "job").agg(
        agreed(F.when(event("query-started"), detail("path")), "path"),
        distinct(F.when(resumed, F.col("checkpoint")), "_batches"),
        agreed(F.when(resumed, detail("committed")), "_from"),
        agreed(F.when(resumed, detail("available")), "_to"),
    )
    this = (F.size("_batches") == 1) & F.array_contains("_batches", F.col("batch")) & (F.length("_from") + F.length("_to") <= MOST)
    of_files = F.coalesce(F.contains("_to", F.lit("FileStreamSource[")), F.lit(True))  # that source names itself in offsets
    return beside(failed.where(F.col("attempts") >= enough), known, "job").withColumns(
        {
            "committed": F.when(this, F.col("_from")),
            "available": F.when(this, F.col("_to")),
            "listed_in": F.when(of_files, F.concat("path", F.lit("/sources/0"))),
            "directory": F.coalesce("path", F.lit("CHECKPOINT_DIRECTORY")),
        }
    )
