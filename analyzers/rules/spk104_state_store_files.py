"""SPK104: the state store of a query lacks a file that its next batch loads."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.vocabulary.findings import evidence
from analyzers.vocabulary.rule import rule


@rule(
    "SPK104",
    title="The query's state store lacks files that the next batch loads",
    cause="checkpoint-storage",
    stage="checkpoint",
    severity=Severity.CRITICAL,
    says={
        "missing": "{stores} of {all} state store(s) cannot be loaded at version {wanted}, which the next batch needs: missing {what}. The "
        "query fails with CANNOT_LOAD_STATE_STORE",
        "empty-file": "{stores} of {all} state store(s) have an empty file among those that the next batch (version {wanted}) loads: "
        "{what}",
        "behind": "{stores} of {all} state store(s) end before version {wanted}, which the next batch loads: {what}. Batches were "
        "committed whose state is not here: files were deleted, or the directory was copied while the query ran",
    },
    next_command="diag checkpoint-inspect {path}",
)
def state_store_lacks_files(state_store_files: DataFrame) -> DataFrame:
    """Per directory and kind of loss. Source: ``HDFSBackedStateStoreProvider.loadMap``: newest snapshot, then every delta after it."""
    all_stores = state_store_files.groupBy("scope", "path").agg(F.count("*").alias("all"))
    name = F.concat(
        F.lit("state/"),
        "operator",
        F.lit("/"),
        "partition",
        F.when(F.col("store") == "default", "").otherwise(F.concat(F.lit("/"), "store")),
    )
    lost = F.concat(
        name,
        F.lit(" version "),
        F.concat_ws(", ", F.slice(F.when(F.col("state") == "empty-file", F.col("empty")).otherwise(F.col("missing")), 1, 5)),
    )
    rows = state_store_files.where(F.col("state") != "ok").withColumn("_said", lost)
    found = rows.groupBy("scope", "path", F.col("state").alias("reason")).agg(
        F.first("job", ignorenulls=True).alias("job"),
        F.count("*").alias("stores"),
        F.max("wanted_version").alias("wanted"),
        F.array_join(F.slice(F.array_sort(F.collect_set("_said")), 1, 3), "; ").alias("what"),
        F.max("as_of").alias("until"),
        evidence("state_store_files", F.col("_said"), file=F.col("path")),
    )
    return found.join(all_stores, ["scope", "path"]).withColumns(
        {"query": F.col("job"), "batch": F.col("wanted"), "last_committed": F.col("wanted") - 1}
    )
