"""CKP307: files in a job's checkpoint directory that no checkpoint names."""

from analyzers.vocabulary import INFO, DataFrame, F, found, has, none, rule
from analyzers.vocabulary.restore_points import of_the_job


@rule(
    "CKP307", title="Files in the checkpoint directory that no checkpoint names", stage="risk", severity=INFO,
    needs=has(state=("orphaned",)),
    says="{files} file(s), {megabytes} MB, older than the newest checkpoint {checkpoint}, are named by none of the checkpoints read here: "
    "{directories}",
    next_command="diag checkpoint-inspect {directory}",
)  # fmt: skip
def orphaned_files(state_files: DataFrame) -> DataFrame:
    """Per job. They stay behind when a JobManager dies, or when an upload ends after its checkpoint was aborted."""
    return found(
        state_files.where(F.col("state") == "orphaned"), "job", "path", at="mtime", table="state_files", file=F.col("path"),
        shown=F.concat("file", F.lit(": "), "files", F.lit(" files, "), "size_bytes", F.lit(" bytes, such as "), "found_at"),
        files=F.sum("files"),
        megabytes=F.round(F.sum("size_bytes") / 1e6, 1),
        checkpoint=F.max("checkpoint"),
        directories=F.sort_array(F.collect_set("file")),
        directory=F.max(of_the_job()),
        since=none("timestamp"),
    )  # fmt: skip
