"""CKP104: the job restarts because too many of its checkpoints expire."""

from analyzers.vocabulary import CRITICAL, FAILING, JOBMANAGER, DataFrame, F, failures, none, rule


@rule(
    "CKP104", title="The job restarts because checkpoints expire", cause="barrier-unacknowledged", stage="checkpoint", severity=CRITICAL,
    logs_of=JOBMANAGER, faults=("tolerance-expired",), needs=FAILING,
    says="The job failed {failures} time(s) because more checkpoints expired than it tolerates[[, the first at {since} UTC]]: some "
    "subtask does not acknowledge the barrier in time, and each restart goes back to the last completed checkpoint",
    missing="which subtask does not acknowledge: no line about an expired checkpoint names it; the checkpoint's details in the REST API or "
    "web UI and a thread dump do",
    next_command="diag triage --flink-rest http://JOBMANAGER:8081[[ --job {job}]]   # which subtask holds the barrier, and where its "
    "thread stands",
)  # fmt: skip
def restarts_for_expired(faults: DataFrame) -> DataFrame:
    """Per job, how often the failure manager failed the job over expired checkpoints (CHECKPOINT_EXPIRED counts since Flink 1.11)."""
    unknown = {"task": none(), "subtask": none("long"), "parallelism": none("long")}  # the line of an expiry never names the culprit
    # wanted: the restart's own text, that it happened more than once, and the culprit's name, which is never there
    return failures(faults).withColumns({"reason": F.lit("expired"), "confidence": F.lit(0.8), **unknown})
