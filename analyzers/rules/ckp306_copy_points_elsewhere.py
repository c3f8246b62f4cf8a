"""CKP306: a copied checkpoint names state files where it was copied from."""

from analyzers.vocabulary import INFO, DataFrame, F, found, has, none, number_of, rule
from analyzers.vocabulary.restore_points import known_job, of_the_job, series


@rule(
    "CKP306", title="A copied checkpoint points to where it was copied from", stage="risk", severity=INFO,
    needs=has(state=("elsewhere", "unchecked")),
    says={
        "elsewhere": "{copied} state file(s) of {checkpoints} checkpoint(s) lie in this copy, but the checkpoint names them at {stated}: "
        "Flink reads them there, not here",
        "": "{copied} state file(s) of {checkpoints} checkpoint(s) are named at {stated}, which cannot be seen from here: whether they "
        "are there was not checked",
    },
    next_command="diag checkpoint-inspect --rebase {stated}=NEW {directory}",
)  # fmt: skip
def copy_points_elsewhere(state_files: DataFrame) -> DataFrame:
    """Per job and reason. Source: `FileStateHandle` keeps an absolute path, `RelativeFileStateHandle` does not."""
    rows = state_files.where(F.col("state").isin("elsewhere", "unchecked")).withColumns({"series": series(), "reason": F.col("state")})
    return found(
        rows, "series", "reason", at="as_of", table="state_files", file=F.col("path"),
        shown=F.concat("state", F.lit(": "), F.coalesce("file", F.concat("files", F.lit(" more")))),
        job=known_job(),
        copied=F.sum("files"),
        checkpoints=number_of("path"),
        stated=F.min(F.regexp_replace("file", r"/(shared|taskowned|chk-\d+)/.*$|/[^/]*$", "")),
        directory=F.max_by(of_the_job(), "checkpoint"),
        since=none("timestamp"),
    )  # fmt: skip
