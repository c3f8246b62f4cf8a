"""SPK104: The state store of a query lacks a file that its next batch loads."""

from analyzers.vocabulary import CRITICAL, DataFrame, F, count, observed, rule, text
from analyzers.vocabulary.aggregates import listed


@rule(
    "SPK104", title="The query's state store lacks files that the next batch loads", cause="checkpoint-storage", stage="checkpoint",
    severity=CRITICAL,
    says={
        "missing": "{stores} of {all} state store(s) cannot be loaded at version {wanted}, which the next batch needs: missing {what}. The "
        "query fails with CANNOT_LOAD_STATE_STORE",
        "empty-file": "{stores} of {all} state store(s) have an empty file among those that the next batch (version {wanted}) loads: "
        "{what}",
        "behind": "{stores} of {all} state store(s) end before version {wanted}, which the next batch loads: {what}. The state of "
        "committed batches is not here: files were deleted, or the directory was copied while the query ran",
    },
    next_command="diag checkpoint-inspect {path}",
)  # fmt: skip
def state_store_lacks_files(state_store_files: DataFrame) -> DataFrame:
    """Per directory and kind of loss. Source: ``HDFSBackedStateStoreProvider.loadMap``: newest snapshot, then every delta after it."""
    place = text("state/{operator}/{partition}")
    place = F.when(F.col("store") == "default", place).otherwise(F.concat(place, F.lit("/"), "store"))
    versions = F.when(F.col("state") == "empty-file", F.col("empty")).otherwise(F.col("missing"))
    lost = F.concat(place, F.lit(" version "), F.concat_ws(", ", F.slice(versions, 1, 5)))
    per_state = observed(
        state_store_files.where(F.col("state") != "ok").withColumns({"reason": F.col("state"), "_lost": lost}),
        *("path", "reason"),
        table="state_store_files",
        shown=F.col("_lost"),
        file=F.col("path"),
        job=F.first("job", ignorenulls=True),
        query=F.first("job", ignorenulls=True),
        stores=count(),
        wanted=F.max("wanted_version"),
        batch=F.max("wanted_version"),
        last_committed=F.max("wanted_version") - 1,
        what=listed("_lost"),
    )
    return per_state.join(state_store_files.groupBy("scope", "path").agg(count().alias("all")), ["scope", "path"])
