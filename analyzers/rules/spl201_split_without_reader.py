"""SPL201: no reader holds a split."""

from analyzers.vocabulary import WARNING, DataFrame, F, first_of, has, rule
from analyzers.vocabulary.splits import splits_of


@rule(
    "SPL201", title="A source split has no reader", cause="no-progress", stage="lag", severity=WARNING, reason="held-by-nobody",
    says="No reader holds {split_count} assigned source split(s) of operator {operator} in checkpoint {checkpoint}[[ (since checkpoint "
    "{first_checkpoint})]]: {split}. Nothing there is read",
    next_command="diag checkpoint-inspect {path}",
    needs=has(problem=("held-by-nobody",)),
)  # fmt: skip
def split_without_reader(split_audit: DataFrame) -> DataFrame:
    """Per job and operator, in its newest whole checkpoint. A reader may be on its way in one checkpoint, not in two."""
    rows = split_audit.where(F.col("newest") & (F.col("problem") == "held-by-nobody"))
    text = F.concat("identity", F.lit(": "), "problem", F.lit(" in checkpoint "), F.col("checkpoint").cast("string"))
    lasts = F.col("first_checkpoint").isNotNull()
    return splits_of(rows, shown=text).withColumns(
        {
            "severity": first_of(("critical", lasts), otherwise="warning"),
            "confidence": first_of((0.9, lasts), otherwise=0.5),
        }
    )
