"""CKP303: state exceeds what checkpoint storage in the JobManager's memory takes."""

from analyzers.vocabulary import CRITICAL, FLINK, DataFrame, F, IfGiven, beside, detail, event, found, greatest, rule, the_task


@rule(
    "CKP303", title="State is larger than memory-backed checkpoint storage takes", cause="checkpoint-storage", stage="checkpoint",
    severity=CRITICAL, reason="too-large", logs_of=FLINK, faults=("state-too-large",),
    signatures=("state-too-large-for-memory", "checkpoint-completed"),
    says="A subtask's state[[ of {task}]] is larger than checkpoint storage in the JobManager's memory takes[[: {size_bytes} bytes, at "
    "most {limit_bytes} are allowed]]; no checkpoint can complete[[, since {since} UTC]]",
    next_command="grep -E 'Checkpoint storage is set|State backend is set' jobmanager.log",
)  # fmt: skip
def state_over_memory_limit(faults: DataFrame, log_events: IfGiven) -> DataFrame:
    """Per job, since when state is over the limit (MemCheckpointStreamFactory.checkSize); silent once a checkpoint completed after it."""
    over = event("state-too-large-for-memory")
    lines = log_events.groupBy("scope", "job").agg(
        greatest(detail("size_bytes").cast("long"), over).alias("size_bytes"),
        greatest(detail("limit_bytes").cast("long"), over).alias("limit_bytes"),
        greatest("at", ~over).alias("_done_at"),
    )
    per_job = found(faults, "job", table="faults", failures=F.sum("occurrences"), fault_ids=F.collect_set("fault"), **the_task())
    return beside(per_job, lines, "job").where(F.coalesce(F.col("until") > F.col("_done_at"), F.lit(True)))
