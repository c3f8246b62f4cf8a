"""CKP305: state files that a checkpoint names are not there, or have another size."""

from analyzers.vocabulary import CRITICAL, DataFrame, F, evidence, first_of, newest, rule
from analyzers.vocabulary.restore_points import advice, is_newest, known_job, of_the_job, series, standing, what_it_means


@rule(
    "CKP305", title="State files that a checkpoint names are missing", cause="checkpoint-storage", stage="checkpoint", severity=CRITICAL,
    says={
        "alone": "Nothing but _metadata lies beside checkpoint {checkpoint}: its {wanted} state file(s) are not here. Either only "
        "_metadata was copied, or the state is lost",
        "": "{lost} of the {wanted} state file(s) that checkpoint {checkpoint} names are {how}[[ (operators: {operators})]]: {examples}. "
        "{standing}",
    },
    next_command="diag checkpoint-inspect {directory}",
)  # fmt: skip
def state_files_missing(state_files: DataFrame, checkpoint_files: DataFrame) -> DataFrame:
    """Per job, the newest checkpoint with missing files. Critical where it is the newest of all: a restart needs it."""
    sizes = F.concat(F.lit(" ("), "size_bytes", F.lit(" bytes instead of "), "expected_bytes", F.lit(")"))
    short = F.when(F.col("state") == "wrong-size", sizes).otherwise("")
    shown = F.concat(F.coalesce("file", F.concat("files", F.lit(" more"))), short)
    missing = state_files.where(F.col("state").isin("missing", "wrong-size")).withColumn("series", series())
    files = missing.groupBy("scope", "series", "path").agg(
        F.slice(F.sort_array(F.collect_set(shown)), 1, 3).alias("examples"),
        F.sort_array(F.collect_set(F.coalesce("name", F.substring("operator", 1, 8)))).alias("operators"),
        evidence("state_files", F.concat(F.col("state"), F.lit(": "), shown), file=F.col("path")),
    )
    lost = {"series": series(), "lost": F.col("state_files_missing") + F.col("state_files_wrong_size")}
    broken = checkpoint_files.withColumns(lost).where(F.col("lost") > 0).groupBy("scope", "series").agg(
        known_job().alias("job"),
        F.max("checkpoint").alias("checkpoint"),
        F.max("as_of").alias("until"),
        newest("path", by="checkpoint").alias("path"),
        newest("lost", by="checkpoint").alias("lost"),
        newest("state_files", by="checkpoint").alias("wanted"),
        newest("state_files_wrong_size", by="checkpoint").alias("_short"),
        newest("metadata_alone", by="checkpoint").alias("_alone"),
    )  # fmt: skip
    all_short = F.col("_short") == F.col("lost")
    alone = F.col("_alone") & (F.col("lost") == F.col("wanted")) & (F.col("_short") == 0)
    both = broken.join(files, ["scope", "series", "path"]).join(standing(checkpoint_files), ["scope", "series"])
    return both.withColumns(
        {
            "reason": first_of(("alone", alone), ("size", all_short), otherwise="missing"),
            "cause": F.when(~alone & is_newest(), "checkpoint-storage"),
            "severity": first_of(("info", alone), ("warning", ~is_newest()), otherwise="critical"),
            "how": first_of(("of another size", all_short), ("missing or of another size", F.col("_short") > 0), otherwise="missing"),
            "standing": what_it_means(),
            "restore_from": advice(),
            "directory": F.coalesce("restore_path", of_the_job()),
        }
    )
