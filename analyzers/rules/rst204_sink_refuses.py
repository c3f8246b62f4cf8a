"""RST204: the sink refuses a row, again in each attempt."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.vocabulary.aggregates import agreed, failures
from analyzers.vocabulary.rule import FAILING, rule
from analyzers.vocabulary.user_code import same_batch, without_jobs


@rule(
    "RST204",
    title="The sink refuses a row",
    cause="poison-record",
    stage="access",
    severity=Severity.CRITICAL,
    faults=("sink-refuses", "record-too-large"),
    says={
        "too-large": "A record is too large for the target topic[[ (written by {task})]][[ {subtask_shown}]]: {what}; {failures} "
        "failure(s)[[ in {attempts} attempt(s)]][[ since {since} UTC]]",
        "": "The sink refuses a row[[ of {task}]][[ {subtask_shown}]]: {what}; {failures} failure(s)[[ in {attempts} attempt(s)]][[ "
        "since {since} UTC]]",
    },
    missing="which record it is: the message names the value at best, not topic and offset",
    next_command="diag checkpoint-inspect CHECKPOINT_DIRECTORY   # the source offsets at or after which the record lies",
    needs=FAILING,
)
def sink_refuses(
    faults: DataFrame,
    attempts: DataFrame | None,
    *,
    batches: int = 2,  # as SPK101, which then names the batch
) -> DataFrame:
    """Rows that a healthy target rejects (constraint, mapping, size, HTTP 400/413/422), per job."""
    found = failures(faults, agreed("user_frame"))
    if attempts is not None:
        found = without_jobs(found, same_batch(attempts, enough=batches))
    large = F.array_contains("fault_ids", "record-too-large")
    repeated = F.coalesce("attempts", F.lit(0)) > 1
    return found.withColumns(
        {
            "reason": F.when(large, F.lit("too-large")).otherwise(F.lit("sink-refuses")),
            "confidence": F.when(repeated, F.lit(1.0)).otherwise(F.lit(0.8)),  # wanted: the same refusal in a second attempt
        }
    )
