"""SPL105: a split's position is lower than in the checkpoint before, along one lineage."""

from analyzers.vocabulary import CRITICAL, DataFrame, F, first_of, has, numbered, rule
from analyzers.vocabulary.splits import splits_of

_FELL = (
    "The positions of {split_count} source split(s) of operator {operator} went back in checkpoint {checkpoint}, compared with the "
    "checkpoint before it[[ ({guess})]]"
)


@rule(
    "SPL105", title="A split's position went back along the lineage of checkpoints", cause="duplicate-split", stage="failure",
    severity=CRITICAL,
    says={
        "beam": f"{_FELL}: {{fallen}}. A second reader, started by the restore, replaced the first one in the state; the first still "
        "reads, so records are read twice",
        "": f"{_FELL}, and no restore from an older one explains it: {{fallen}}. Records between were read again",
    },
    next_command="diag triage LOG_DIRECTORY   # what the job was restored from, and which readers got the splits",
    needs=has(problem=("went-back",)),
)  # fmt: skip
def position_went_back(split_audit: DataFrame) -> DataFrame:
    """Per job, operator and checkpoint. In Beam it is the mark of a doubled split; elsewhere a warning, as offsets can be reset by hand."""
    each = F.concat("identity", F.lit(" from "), F.col("offsets")[0], F.lit(" to "), F.col("offsets")[1])
    rows = split_audit.where(F.col("problem") == "went-back").withColumn("_each", each)
    beam, inferred = F.bool_and(F.startswith("connector", F.lit("beam"))), F.bool_or("inferred")
    return splits_of(
        rows, "checkpoint",
        shown=F.concat("_each", F.lit(" in checkpoint "), "checkpoint", F.lit(", compared with "), "compared_with"),
        fallen=numbered("_each", "fallen", by="identity"),
        guess=first_of(("from which the job seems to have been restored: its checkpoint ids go on from there", inferred)),
        reason=first_of(("beam", beam), otherwise="went-back"),
        cause=first_of(("duplicate-split", beam)),
        severity=first_of(("critical", beam), otherwise="warning"),
        confidence=first_of((0.7, inferred), otherwise=1.0),  # a lineage that only the ids of checkpoints show is one of two witnesses
    )  # fmt: skip
