"""CKP303: state exceeds what checkpoint storage in the JobManager's memory takes."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.tables.processes import FLINK
from analyzers.vocabulary.aggregates import agreed
from analyzers.vocabulary.findings import exemplars
from analyzers.vocabulary.rule import rule


@rule(
    "CKP303",
    title="State is larger than memory-backed checkpoint storage takes",
    cause="checkpoint-storage",
    stage="checkpoint",
    severity=Severity.CRITICAL,
    logs_of=FLINK,
    faults=("state-too-large",),
    signatures=("state-too-large-for-memory", "checkpoint-completed"),
    says="A subtask's state[[ of {task}]] is larger than checkpoint storage in the JobManager's memory takes[[: {size_bytes} bytes, at "
    "most {limit_bytes} are allowed]]; "
    "no checkpoint can complete[[, since {since} UTC]]",
    next_command="grep -E 'Checkpoint storage is set|State backend is set' jobmanager.log",
)
def state_over_memory_limit(faults: DataFrame, log_events: DataFrame | None) -> DataFrame:
    """Per job, since when state is over the limit (MemCheckpointStreamFactory.checkSize); silent once a checkpoint completed after it."""
    per_job = faults.groupBy("scope", "job").agg(
        F.sum("occurrences").alias("failures"),
        agreed("task"),
        F.when(F.min("task") == F.max("task"), agreed("subtask")).alias("subtask"),
        F.when(F.min("task") == F.max("task"), agreed("parallelism")).alias("parallelism"),
        F.array(F.lit("state-too-large")).alias("fault_ids"),
        F.lit("too-large").alias("reason"),
        F.min("at").alias("since"),
        F.max("at").alias("until"),
        exemplars(table="faults"),
    )
    if log_events is None:
        return per_job.withColumns({"size_bytes": F.lit(None).cast("long"), "limit_bytes": F.lit(None).cast("long")})
    over = F.col("signature") == "state-too-large-for-memory"
    told = log_events.groupBy(F.col("scope").alias("_scope"), F.col("job").alias("of_job")).agg(
        F.max(F.when(over, F.col("detail")["size_bytes"].cast("long"))).alias("size_bytes"),
        F.max(F.when(over, F.col("detail")["limit_bytes"].cast("long"))).alias("limit_bytes"),
        F.max(F.when(~over, F.col("at"))).alias("done_at"),
    )
    same = (F.col("scope") == F.col("_scope")) & F.col("job").eqNullSafe(F.col("of_job"))
    goes_on = F.col("done_at").isNull() | F.col("until").isNull() | (F.col("until") > F.col("done_at"))
    return per_job.join(told, same, "left").where(goes_on).drop("_scope", "of_job", "done_at")
