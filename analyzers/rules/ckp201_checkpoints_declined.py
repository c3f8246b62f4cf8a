"""CKP201: subtasks decline checkpoint after checkpoint."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.tables import Row
from analyzers.tables.processes import JOBMANAGER
from analyzers.vocabulary.aggregates import agreed, distinct, said
from analyzers.vocabulary.checkpoints import in_order
from analyzers.vocabulary.findings import exemplars
from analyzers.vocabulary.rule import rule
from analyzers.vocabulary.subtasks import PLACED, named_executions

HARMLESS = (
    r"tasks not ready|task is closing|operators partially closed|Coordinator is suspending|Coordinator shutdown|has been subsumed|from "
    r"newer checkpoint|was canceled because"
    r"|one input stream is finished|received cancellation from one of its inputs|CancellationException"
)
"""CheckpointFailureReason texts that belong to a start, an end or a failover."""


def _declined_in_earnest(rows: Sequence[Row], thresholds: Mapping[str, Any]) -> bool:
    mine = [row for row in rows if row["signature"] == "checkpoint-declined" and not re.search(HARMLESS, row["text"] or "")]
    declined = {(row["scope"], row["job"], row["checkpoint"]) for row in mine}
    return len(declined) >= int(thresholds["enough"])


@rule(
    "CKP201",
    title="Checkpoints are declined again and again",
    stage="checkpoint",
    severity=Severity.WARNING,
    logs_of=JOBMANAGER,
    signatures=("checkpoint-declined", "checkpoint-completed", *PLACED),
    says="{declined} checkpoint(s) were declined by subtasks and none has completed since[[, the first at {since} UTC]][[, by "
    "{task}{subtask_shown}]][[: {what}]]",
    missing="[[{unnamed}]]",
    needs=_declined_in_earnest,
)
def checkpoints_declined(
    log_events: DataFrame,
    *,
    enough: int = 3,  # one or two belong to a failover
) -> DataFrame:
    """Jobs whose newest checkpoints were declined (CheckpointCoordinator.receiveDeclineMessage), not only around a failover."""
    text = F.coalesce("text", F.lit(""))
    done = log_events.where(F.col("signature") == "checkpoint-completed").groupBy("scope", "job").agg(F.max(in_order()).alias("done"))
    declined = log_events.where((F.col("signature") == "checkpoint-declined") & ~F.rlike(text, F.lit(HARMLESS)))
    declined = declined.join(done, ["scope", "job"], "left").where(in_order() > F.coalesce("done", F.lit(-1)))
    declined = declined.drop("task", "subtask", "parallelism").join(named_executions(log_events), ["scope", "execution"], "left")
    declined = declined.withColumn("said", F.when(F.col("root_exception").isNotNull(), said()))
    per_job = declined.groupBy("scope", "job").agg(
        F.countDistinct("checkpoint").alias("declined"),
        F.min_by("said", F.when(F.col("said").isNotNull(), in_order())).alias("what"),
        distinct(F.when(~F.contains("root_exception", F.lit("SerializedThrowable")), F.col("root_exception")), "exceptions"),
        agreed("task"),
        F.when(F.min("task") == F.max("task"), agreed("subtask")).alias("subtask"),
        F.when(F.min("task") == F.max("task"), agreed("parallelism")).alias("parallelism"),
        F.min("at").alias("since"),
        F.max("at").alias("until"),
        exemplars(),
    )
    unnamed = F.lit("why: this version prints no cause on the JobManager, the log of the TaskManager that declined has it")
    return (
        per_job.where(F.col("declined") >= enough)
        .withColumns(
            {"unnamed": F.when(F.col("what").isNull(), unnamed), "exception": F.when(F.size("exceptions") == 1, F.col("exceptions")[0])}
        )
        .drop("exceptions")
    )
