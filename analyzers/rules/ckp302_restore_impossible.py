"""CKP302: the job cannot be restored: the state is missing, damaged, or does not fit the program."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.tables.processes import FLINK
from analyzers.vocabulary.aggregates import agreed, failures
from analyzers.vocabulary.checkpoint_storage import of_flink, path_named, words
from analyzers.vocabulary.rule import FAILING, rule

_OF_ONE_MACHINE = (
    r"(?:/chk-\d+|savepoint-\w|/shared/|taskowned)[^\s()]* \(No such file or directory\)"
    r"|\bfile:/\S*(?:/chk-\d|/savepoint-|/shared/|taskowned)"
)
"""What the file system of the machine says, and no other: HDFS names its paths without a scheme, too."""
_SHARE = (
    "That path is one machine's own: a process on another host, or a pod that was made anew, finds nothing there. Let "
    "state.checkpoints.dir lie where all of them see it (s3, hdfs, a shared volume)."
)
DETAILS = ("savepoint-operator-missing", "max-parallelism-mismatch", "state-file-missing", "checkpoint-unreadable", "restore-failed")


@rule(
    "CKP302",
    title="The job cannot be restored from its checkpoint or savepoint",
    cause="checkpoint-storage",
    stage="failure",
    severity=Severity.CRITICAL,
    logs_of=FLINK,
    faults=("checkpoint-missing", "restore-incompatible", "restore-failed", "log-damaged"),
    signatures=DETAILS,
    says={
        "missing": "The job cannot be restored, the checkpoint or a file of it is missing: {what}[[, at {path}]]; {failures} "
        "failure(s)[[, the first at {since} UTC]]",
        "incompatible": "The job cannot be restored, the state does not fit the program: {what}; {failures} "
        "failure(s)[[, the first at {since} UTC]]",
        "damaged": "The job cannot be restored, the checkpoint is damaged: {what}[[, at {path}]]; {failures} failure(s)[[, the first at "
        "{since} UTC]]",
        "": "The job cannot be restored: {what}[[, task {task} {subtask_shown}]]; {failures} failure(s)[[, the first at {since} UTC]]",
    },
    missing=None,
    next_command="diag checkpoint-inspect {path_or_placeholder}",
    needs=FAILING,
)
def restore_impossible(faults: DataFrame, log_events: DataFrame | None) -> DataFrame:
    """Per job: failed attempts to restore, with the path or operator that the text names."""
    rows = of_flink(faults).withColumn("named", path_named())
    first_named = F.min_by("named", F.when(F.col("named").isNotNull(), F.struct("at", "file", "line"))).alias("path")
    found = failures(rows, first_named, F.bool_or(words().rlike(_OF_ONE_MACHINE)).alias("of_one_machine"))
    if log_events is not None:
        told = log_events.where(F.col("signature").isin(*DETAILS)).groupBy("scope").agg(agreed("operator"))
        found = found.join(told, "scope", "left")
    else:
        found = found.withColumn("operator", F.lit(None).cast("string"))
    return found.withColumns(
        {
            "operator": F.when(F.col("reason") == "incompatible", F.col("operator")),
            "path_or_placeholder": F.coalesce("path", F.lit("CHECKPOINT_DIRECTORY")),
            "local": F.when(F.col("of_one_machine"), F.lit(_SHARE)),
        }
    ).drop("of_one_machine")
