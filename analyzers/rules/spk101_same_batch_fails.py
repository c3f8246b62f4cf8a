"""SPK101: a Structured Streaming query fails on the same batch after each start."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.tables.processes import SPARK_DRIVER
from analyzers.vocabulary.aggregates import agreed, distinct, earliest, failures
from analyzers.vocabulary.rule import FAILING, rule

POISON = ("deserialise", "corrupt-batch", "record-too-large", "sink-refuses", "user-code-data", "user-code")
OFFSETS = ("query-started", "query-resumed", "query-offsets-at-failure")
_READING = r"(?:[Ww]hile reading file|reading file|for file|Input file|File path):? (\S*[\w/](?:\.[\w.]+)?)"


@rule(
    "SPK101",
    title="The same batch fails after each start of the query",
    cause="poison-record",
    stage="access",
    severity=Severity.CRITICAL,
    logs_of=SPARK_DRIVER,
    faults=POISON,
    signatures=OFFSETS,
    says="Batch {batch} of the query fails after each start[[ since {since} UTC]]: {what}; {failures} failure(s) in {attempts} run(s)"
    "[[, in {user_frame}]][[; it reads {input_file}]]",
    missing="which record of the batch it is[[: it lies between {committed} and {available}]]; a batch query with the same code over the "
    "offsets or files of "
    "that batch finds it[[. The files of a file source are listed in {listed_in}]]",
    next_command="diag checkpoint-inspect {path_or_placeholder}   # offsets/{batch} without commits/{batch}: planned, never done",
    needs=FAILING,
)
def same_batch_fails(
    faults: DataFrame,
    attempts: DataFrame,
    log_events: DataFrame | None,
    *,
    enough: int = 2,  # the first failure may be anything; the same batch with the same error again is its records
) -> DataFrame:
    """Per query the batch in which `enough` runs failed alike. Source: MicroBatchExecution re-runs a planned, uncommitted batch."""
    runs = attempts.where((F.col("ended") == "failed") & F.col("batch").isNotNull())
    runs = runs.select(F.col("scope").alias("_scope"), F.col("job").alias("_job"), F.col("attempt").alias("_attempt"), "batch")
    mine = (F.col("scope") == F.col("_scope")) & (F.col("job") == F.col("_job")) & (F.col("attempt") == F.col("_attempt"))
    of_batch = faults.join(runs, mine, "inner").drop("_scope", "_job", "_attempt")
    found = failures(
        of_batch.withColumn("read", F.nullif(F.regexp_extract("text", _READING, 1), F.lit(""))),
        earliest("user_frame"),
        agreed("read", "input_file"),
        by=("scope", "job", "batch", "fault"),
    ).where(F.col("attempts") >= enough)
    if log_events is None:
        nothing = F.lit(None).cast("string")
        return found.withColumns(
            {"committed": nothing, "available": nothing, "path": nothing, "listed_in": nothing, "path_or_placeholder": F.lit("CHECKPOINT")}
        ).drop("fault")
    return _placed(found, log_events).drop("fault")


def _placed(found: DataFrame, log_events: DataFrame) -> DataFrame:
    """`found` with the checkpoint directory and the offsets between which the batch lies, where the log states them."""
    most = 200  # characters of offsets in a sentence; a topic of many partitions has thousands
    detail = F.col("detail")
    resumed = F.col("signature") == "query-resumed"
    known = log_events.groupBy("scope", "job").agg(
        agreed(F.when(F.col("signature") == "query-started", detail["path"]), "path"),
        distinct(F.when(resumed, F.col("checkpoint")), "_batches"),
        agreed(F.when(resumed, detail["committed"]), "_from"),
        agreed(F.when(resumed, detail["available"]), "_to"),
    )
    both = found.join(known, ["scope", "job"], "left")
    this = (F.size("_batches") == 1) & F.array_contains("_batches", F.col("batch")) & (F.length("_from") + F.length("_to") <= 2 * most)
    return both.withColumns(
        {
            "committed": F.when(this, F.col("_from")),
            "available": F.when(this, F.col("_to")),
            "listed_in": F.when(F.coalesce(_of_files("_to"), F.lit(True)), F.concat("path", F.lit("/sources/0"))),
            "path_or_placeholder": F.coalesce("path", F.lit("CHECKPOINT_DIRECTORY")),
        }
    ).drop("_batches", "_from", "_to")


def _of_files(offsets: str) -> Column:
    """Whether a query with these offsets reads files: that source names itself in them, as most others do."""
    return F.contains(offsets, F.lit("FileStreamSource["))
