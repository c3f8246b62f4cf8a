"""RST204: the sink refuses a row, again in each attempt."""

from analyzers.derived.failures.dead_letters import SAMPLE
from analyzers.vocabulary import CRITICAL, FAILING, DataFrame, F, IfGiven, agreed, failures, first_of, rule
from analyzers.vocabulary.connect import connect_task, its_connector, of_connect
from analyzers.vocabulary.user_code import same_batch, without_jobs

_AFTER = "{what}; {failures} failure(s)[[ in {attempts} attempt(s)]][[ since {since} UTC]]"


@rule(
    "RST204", title="The sink refuses a row", stage="access", severity=CRITICAL, shows="record-fails", cause="poison-record", needs=FAILING,
    faults=("sink-refuses", "connect-data", "record-too-large"),
    says={
        "too-large": f"A record is too large for the target topic[[ (written by {{task}})]][[ {{subtask_shown}}]]: {_AFTER}",
        "": f"The sink refuses a row[[ of {{task}}]][[ {{subtask_shown}}]]: {_AFTER}",
    },
    missing="which record it is: the message names the value at best, not topic and offset",
    next_command="[[diag checkpoint-inspect {checkpoints}   # the source offsets at or after which the record lies]]"
    "[[curl -s http://CONNECT:8083/connectors/{connector}/status   # each task's state, and the trace of what failed it]]",
)  # fmt: skip
def sink_refuses(
    faults: DataFrame,
    attempts: IfGiven,
    *,
    batches: int = 2,  # as SPK101, which then names the batch
) -> DataFrame:
    """Rows that a healthy target rejects (constraint, mapping, size, HTTP 400/413/422), per job."""
    stopped = faults.where(~F.startswith("text", F.lit(SAMPLE)))  # the headers of a dead letter: that record was tolerated
    found = without_jobs(failures(stopped, agreed("user_frame"), *connect_task()), same_batch(attempts, enough=batches))
    return found.withColumns(
        {
            "reason": first_of(("too-large", F.array_contains("fault_ids", "record-too-large")), otherwise="sink-refuses"),
            "connector": its_connector(),
            "checkpoints": F.when(~of_connect(), "CHECKPOINT_DIRECTORY"),  # which command is printed
            "confidence": F.when(F.col("attempts") > 1, 1.0).otherwise(0.8),  # wanted: the same refusal in a second attempt
        }
    )
