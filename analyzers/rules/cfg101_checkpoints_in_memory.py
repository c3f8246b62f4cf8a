"""CFG101: checkpoints are kept in the JobManager's memory."""

from analyzers.vocabulary import FLINK, WARNING, DataFrame, F, beside, detail, event, found, matching, none, rule

_NAMED = r"(?: - |\] )((?:No state backend|State backend|Checkpoint storage|MemoryStateBackend)[^\n@]{0,90})"


@rule("CFG101", title="Checkpoints are kept in the JobManager's memory", stage="risk", severity=WARNING, logs_of=FLINK,
    signatures=("checkpoint-storage", "state-backend", "state-backend-default", "state-backend-deprecated"),
    needs=matching("storage is set to 'jobmanager|JobManager|job manager|Memory"),
    says="Checkpoints of this job are kept in the JobManager's heap ('{setting}'). They are lost when the JobManager restarts, even with "
    "high availability (it stores only a pointer), and no subtask may hold more than 5 MiB of state",
    next_command="grep -E 'Checkpoint storage is set|state backend' jobmanager.log",
)  # fmt: skip
def checkpoints_in_memory(log_events: DataFrame) -> DataFrame:
    """Per job, what its JobMaster logs; TaskManagers print the line for jobs without checkpoints as well, so theirs do not count."""
    by_master = log_events.where(F.endswith("logger", F.lit("JobMaster")) | (F.col("role") == "jobmanager"))
    in_memory = (
        (event("checkpoint-storage") & (detail("storage") == "jobmanager"))
        | (event("state-backend") & F.rlike("text", F.lit(r"checkpoints? to JobManager|is set to job manager")))
        | (event("state-backend-default") & F.rlike("text", F.lit(r"using default \(Memory")))
        | (event("state-backend-deprecated") & F.contains("text", F.lit("MemoryStateBackend")))
    )
    order = F.coalesce("seq", "line")
    setting = F.coalesce(
        F.nullif(F.min_by(F.regexp_extract("text", _NAMED, 1), order), F.lit("")), F.lit("memory-backed checkpoint storage")
    )
    per_job = found(by_master.where(in_memory), "job", setting=setting, until=none("timestamp"))
    # a later line may name another storage: the last line counts
    storages = by_master.where(event("checkpoint-storage")).groupBy("scope", "job")
    durable = storages.agg(F.max_by(detail("storage"), order).alias("_storage")).where(F.col("_storage") != "jobmanager")
    return beside(per_job, durable, "job").where(F.col("_storage").isNull())
