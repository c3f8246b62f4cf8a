"""SPL201: no reader holds a split, or the job has not found a partition."""

from analyzers.vocabulary import WARNING, DataFrame, F, first_of, has, rule
from analyzers.vocabulary.splits import splits_of

PROBLEMS = ("held-by-nobody", "not-discovered")


@rule(
    "SPL201", title="A source split has no reader", cause="no-progress", stage="lag", severity=WARNING,
    says={
        "held-by-nobody": "No reader holds {split_count} assigned source split(s) of operator {operator} in checkpoint {checkpoint}"
        "[[ (since checkpoint {first_checkpoint})]]: {split}. Nothing there is read",
        "not-discovered": "Checkpoint {checkpoint} does not contain {split_count} partition(s) of the job's topics: {split}. This is "
        "normal where the job reads chosen partitions; otherwise it does not discover new ones",
    },
    next_command="diag checkpoint-inspect {path}",
    needs=has(problem=PROBLEMS),
)  # fmt: skip
def split_without_reader(split_audit: DataFrame) -> DataFrame:
    """Per job, operator and problem, in its newest whole checkpoint. A reader may be on its way in one checkpoint, not in two."""
    rows = split_audit.where(F.col("newest") & F.col("problem").isin(*PROBLEMS)).withColumn("reason", F.col("problem"))
    text = F.concat("identity", F.lit(": "), "problem", F.lit(" in checkpoint "), F.col("checkpoint").cast("string"))
    lasts = F.col("first_checkpoint").isNotNull()
    return splits_of(rows, "reason", shown=text).withColumns(
        {
            "severity": first_of(("info", F.col("reason") == "not-discovered"), ("critical", lasts), otherwise="warning"),
            "confidence": first_of((0.9, lasts), otherwise=0.5),
        }
    )
