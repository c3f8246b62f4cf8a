"""CKP302: the job cannot be restored: the state is missing, damaged, or does not fit the program."""

from analyzers.vocabulary import CRITICAL, FLINK, DataFrame, F, IfGiven, agreed, event, failures, place, rule, some
from analyzers.vocabulary.checkpoint_storage import of_flink, path_named, words
from analyzers.vocabulary.quick_looks import is_failure

OF_ONE_MACHINE = (
    r"(?:/chk-\d+|savepoint-\w|/shared/|taskowned)[^\s()]* \(No such file or directory\)"
    r"|\bfile:/\S*(?:/chk-\d|/savepoint-|/shared/|taskowned)"
)
"""Words of the machine's own file system, and of no other: HDFS prints its paths without a scheme, too."""
SHARE = (
    "That path is one machine's own: a process on another host, or a new pod, finds nothing there. Put state.checkpoints.dir where all of "
    "them see it (s3, hdfs, a shared volume)."
)
KEYS = r"[Kk]ey serializer"
DETAILS = ("savepoint-operator-missing", "max-parallelism-mismatch", "state-file-missing", "checkpoint-unreadable", "restore-failed")
_TIMES = "; {failures} failure(s)[[, the first at {since} UTC]]"


@rule(
    "CKP302", title="The job cannot be restored from its checkpoint or savepoint", cause="checkpoint-storage", stage="failure",
    severity=CRITICAL, logs_of=FLINK, faults=("checkpoint-missing", "restore-incompatible", "restore-failed", "log-damaged"),
    signatures=DETAILS, needs=some(lambda fault: is_failure(fault) and not (fault["role"] or "").startswith("spark")),
    says={
        "missing": f"The job cannot be restored, the checkpoint or a file of it is missing: {{what}}[[, at {{path}}]]{_TIMES}",
        "incompatible": f"The job cannot be restored, the state does not fit the program: {{what}}{_TIMES}",
        "key-type": f"The job cannot be restored, the type of its keys has changed since the state was written: {{what}}{_TIMES}. A key "
        "serializer must stay as it is: keys decide where state lies, and their schema cannot evolve",
        "damaged": f"The job cannot be restored, the checkpoint is damaged: {{what}}[[, at {{path}}]]{_TIMES}",
        "": f"The job cannot be restored: {{what}}[[, task {{task}} {{subtask_shown}}]]{_TIMES}",
    },
    next_command="diag checkpoint-inspect {path_or_placeholder}",
)  # fmt: skip
def restore_impossible(faults: DataFrame, log_events: IfGiven) -> DataFrame:
    """Per job: failed attempts to restore, with the path or operator that the text names."""
    rows = of_flink(faults).withColumn("_path", path_named())
    path = F.min_by("_path", F.when(F.col("_path").isNotNull(), place())).alias("path")
    per_job = failures(rows, path, F.bool_or(words().rlike(OF_ONE_MACHINE)).alias("_of_one_machine"))
    operators = log_events.where(event(*DETAILS)).groupBy("scope").agg(agreed("operator"))
    return per_job.join(operators, "scope", "left").withColumns(
        {
            "operator": F.when(F.col("reason") == "incompatible", F.col("operator")),
            "reason": F.when((F.col("reason") == "incompatible") & F.rlike("what", F.lit(KEYS)), F.lit("key-type")).otherwise(
                F.col("reason")
            ),
            "path_or_placeholder": F.coalesce("path", F.lit("CHECKPOINT_DIRECTORY")),
            "local": F.when(F.col("_of_one_machine"), SHARE),
        }
    )
