"""RST304: TaskManagers end themselves because no JobManager answers."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.aggregates import failures
from analyzers.finding import Severity
from analyzers.log_roles import FLINK
from analyzers.rule import FAILING, rule


@rule(
    "RST304",
    title="TaskManagers find no JobManager",
    cause="jobmanager-lost",
    stage="failure",
    severity=Severity.CRITICAL,
    logs_of=FLINK,
    faults=("jobmanager-heartbeat",),
    says="A TaskManager ended itself because no JobManager answered it: {what}; {failures} time(s)[[, first at {since} UTC]]",
    fix="Look whether a JobManager runs, and read its own log from that time on (killed, restarting, without leadership). If it runs: "
    "compare the address that the TaskManager asks for (jobmanager.rpc.address and port, or the leader in ZooKeeper / Kubernetes) with its "
    "own, and open the way between the two. A longer taskmanager.registration.timeout only makes it wait.",
    missing="why the JobManager does not answer: its log is not among these",
    needs=FAILING,
)
def no_jobmanager_answers(faults: DataFrame, log_files: DataFrame) -> DataFrame:
    """Fatal ends of TaskManagers for want of a JobManager; not where a JobManager's log is at hand, which tells more."""
    masters = log_files.where(F.col("role") == "jobmanager").select("scope").distinct()
    alone = faults.where(F.col("role") == "taskmanager").join(masters, "scope", "left_anti")
    return failures(alone).withColumns({"reason": F.lit("not-answering"), "confidence": F.lit(0.7)}).drop("task", "subtask", "parallelism")
