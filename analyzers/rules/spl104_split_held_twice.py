"""SPL104: one checkpoint holds a source split in two readers."""

from analyzers.vocabulary import CRITICAL, DataFrame, F, first_of, has, numbered, rule
from analyzers.vocabulary.splits import splits_of


@rule(
    "SPL104", title="A checkpoint holds a source split in two readers", cause="duplicate-split", stage="failure", severity=CRITICAL,
    says="Checkpoint {checkpoint} holds {split_count} source split(s) of operator {operator} in two readers each[[ (since checkpoint "
    "{first_checkpoint})]]: {held}. Records are read twice",
    next_command="diag checkpoint-inspect {path}",
    needs=has(problem=("held-twice",)),
)  # fmt: skip
def split_held_twice(split_audit: DataFrame) -> DataFrame:
    """Per job and operator, splits held twice in the newest checkpoint that shows it. The audit leaves out splits of no known identity."""
    each = F.concat("identity", F.lit(" by subtasks "), F.concat_ws(" and ", "subtasks"), F.lit(" at "), F.concat_ws(" and ", "offsets"))
    rows = split_audit.where(F.col("problem") == "held-twice").withColumn("_each", each)
    beam = F.bool_and(F.startswith("connector", F.lit("beam")))
    return splits_of(
        rows,
        shown=F.concat("_each", F.lit(" in checkpoint "), "checkpoint"),
        held=numbered("_each", "held", by="identity"),
        reason=first_of(("beam", beam), otherwise="held-twice"),
    )
