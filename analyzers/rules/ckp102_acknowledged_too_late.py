"""CKP102: checkpoints expire, and the acknowledgements come later: subtasks are slow, not stuck."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.tables.processes import JOBMANAGER
from analyzers.vocabulary.aggregates import agreed, distinct
from analyzers.vocabulary.checkpoints import CHECKPOINT_LIFE, barrier_record, how_many_expired
from analyzers.vocabulary.findings import exemplars
from analyzers.vocabulary.rule import has, rule
from analyzers.vocabulary.subtasks import PLACED, named_executions, subtask_name


@rule(
    "CKP102",
    title="Checkpoints are acknowledged after their time-out",
    cause="barrier-unacknowledged",
    stage="checkpoint",
    severity=Severity.CRITICAL,
    logs_of=JOBMANAGER,
    signatures=("checkpoint-late-ack", "checkpoint-ack-refused", *CHECKPOINT_LIFE, *PLACED),
    says="{how_many} expired[[ after {timeout_seconds} s each]], and {late} expired checkpoint(s) were acknowledged later"
    "[[, by {late_subtasks}]]: these subtasks are slow, not stuck[[; since {since} UTC]]",
    missing="[[{unnamed}]]",
    next_command="diag checkpoint-inspect --flink-rest http://JOBMANAGER:8081 --job {job}   # who is late, and in which phase",
    needs=has(signature=("checkpoint-late-ack", "checkpoint-ack-refused"), at_least="enough"),
)
def acknowledged_too_late(
    log_events: DataFrame,
    log_counts: DataFrame | None,
    *,
    last: int = 10,  # as CKP101
    enough: int = 2,  # one late acknowledgement follows every single expired checkpoint
) -> DataFrame:
    """Jobs with several expired checkpoints that were acknowledged late (CheckpointCoordinator.receiveAcknowledgeMessage)."""
    discarded = F.contains(F.coalesce(F.col("detail")["because"], F.lit("")), F.lit("discarded"))
    late = log_events.where((F.col("signature") == "checkpoint-late-ack") | ((F.col("signature") == "checkpoint-ack-refused") & discarded))
    late = late.drop("task", "subtask", "parallelism").join(named_executions(log_events), ["scope", "execution"], "left")
    per_job = late.groupBy("scope", "job").agg(
        F.countDistinct("checkpoint").alias("late"),
        distinct(subtask_name(F.col("task"), F.col("subtask"), F.col("parallelism")), "late_subtasks"),
        agreed("task"),
        F.when(F.min("task") == F.max("task"), agreed("subtask")).alias("subtask"),
        F.when(F.min("task") == F.max("task"), agreed("parallelism")).alias("parallelism"),
        F.count_if(F.col("task").isNull()).alias("nameless"),
        exemplars(),
    )
    only_one = (F.col("nameless") == 0) & F.col("subtask").isNotNull()
    unnamed = F.lit(
        "the names of the late subtasks: the lines give execution ids only, the JobManager's log from the job's start or the REST API "
        "names them"
    )
    return (
        per_job.join(barrier_record(log_events, log_counts, last=last), ["scope", "job"])
        .where((F.col("late") >= enough) & (F.col("expired") >= enough) & F.col("still"))
        .withColumns(
            {
                "reason": F.lit("slow"),
                "how_many": how_many_expired(),
                "task": F.when(F.col("nameless") == 0, F.col("task")),
                "subtask": F.when(only_one, F.col("subtask")),
                "unnamed": F.when(F.col("late_subtasks").isNull(), unnamed),
                "fault_ids": F.array(F.lit("tolerance-expired")),
                # wanted: three expiries, a late acknowledgement, its subtask's name
                "confidence": (F.least("expired", F.lit(3)) + F.lit(1) + F.col("late_subtasks").isNotNull().cast("int")) / 5,
            }
        )
        .drop("still", "ended", "completed", "in_a_row", "more", "nameless")
    )
