"""SPL103: Beam readers got the same split twice, once restored and once fresh (seen in TaskManager logs alone)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.tables import Row
from analyzers.tables.processes import FLINK
from analyzers.vocabulary.aggregates import numbered, seconds
from analyzers.vocabulary.rule import rule


def _both_ways(rows: Sequence[Row], _thresholds: Mapping[str, Any]) -> bool:
    """A split that was restored, and one that was dealt afresh."""
    added = [row["text"] or "" for row in rows if row["signature"] == "beam-splits-added"]
    return all(any(f"splitState.isNull={fresh}" in text for text in added) for fresh in ("true", "false"))


@rule(
    "SPL103",
    title="Beam readers got a restored split a second time",
    cause="duplicate-split",
    stage="failure",
    severity=Severity.CRITICAL,
    logs_of=FLINK,
    signatures=("beam-splits-added", "beam-enumerator-created"),
    says="{split_count} split(s) of {source_or_beam} were added to readers twice within {apart_seconds} s[[, the first at {since} UTC]]: "
    "once restored from the checkpoint (isNull=false), once dealt afresh by the enumerator (isNull=true); "
    "both readers live, so every record is read twice[[ (splits {split})]]",
    missing="which subtasks hold the two readers: these lines name none; the checkpoint's reader states do (diag checkpoint-inspect), if "
    "they sit in different subtasks",
    next_command="diag checkpoint-inspect CHECKPOINT_DIRECTORY",
    needs=_both_ways,
)
def restored_and_fresh(
    log_events: DataFrame,
    jobs_seen: DataFrame | None,
    *,
    within: int = 120,  # seconds; both come within the start of one attempt
    skew: int = 5,  # seconds between the clocks of two TaskManagers
) -> DataFrame:
    """Split indexes restored and dealt afresh in one start of one job; silent where a fixed enumerator (Beam 2.63+) shows itself."""
    fixed = log_events.where(F.col("signature") == "beam-enumerator-created").select("scope").distinct()
    added = (
        log_events.where(F.col("signature") == "beam-splits-added")
        .join(fixed, "scope", "left_anti")
        .dropDuplicates(["scope", "at", "text"])
    )
    if jobs_seen is not None:  # with several jobs a line without a job could be anybody's
        several = jobs_seen.groupBy("scope").agg(F.countDistinct("job").alias("jobs")).where(F.col("jobs") > 1)
        alone = added.join(several, "scope", "left_anti")
        added = alone.unionByName(added.join(several.select("scope"), "scope").where(F.col("job").isNotNull()))
    parts = F.arrays_zip(
        _every(r"splitIndex=(\d+)").alias("i"),
        _every(r"beamSource=([\w.$]+)").alias("s"),
        _every(r"splitState\.isNull=(true|false)").alias("n"),
    )
    splits = added.select("scope", "job", "at", "file", "line", "text", F.explode(parts).alias("p"))
    splits = splits.select(
        "scope",
        "job",
        "at",
        "file",
        "line",
        "text",
        F.col("p.i").cast("long").alias("index"),
        F.col("p.s").alias("source"),
        F.col("p.n").alias("fresh"),
    )
    restored = splits.where(F.col("fresh") == "false").alias("r")
    fresh = splits.where(F.col("fresh") == "true").alias("f")
    same = (
        (F.col("r.scope") == F.col("f.scope"))
        & F.col("r.job").eqNullSafe(F.col("f.job"))
        & (F.col("r.index") == F.col("f.index"))
        & (F.col("r.source") == F.col("f.source"))
        & seconds("r.at", "f.at").between(-skew, within)
    )
    pairs = restored.join(fresh, same)
    per_job = pairs.groupBy(F.col("r.scope").alias("scope"), F.col("r.job").alias("job")).agg(
        F.countDistinct("r.index").alias("split_count"),
        numbered("r.index", "split"),
        F.when(F.min("r.source") == F.max("r.source"), F.max("r.source")).alias("source"),
        F.ceil(F.max(F.abs(seconds("r.at", "f.at")))).cast("long").alias("apart_seconds"),
        F.min("r.at").alias("since"),
        F.max("f.at").alias("until"),
        F.slice(F.array_sort(F.array_union(F.collect_set(_shown("r")), F.collect_set(_shown("f")))), 1, 6).alias("evidence"),
    )
    return per_job.withColumns(
        {
            "reason": F.lit("beam-restore"),
            "source_or_beam": F.coalesce("source", F.lit("a Beam source")),
            "confidence": F.lit(0.8),  # the JobManager's pair of lines is the proof that is missing
        }
    )


def _every(pattern: str) -> Column:
    return F.regexp_extract_all("text", F.lit(pattern), F.lit(1))


def _shown(side: str) -> Column:
    return F.struct(f"{side}.at", f"{side}.file", f"{side}.line", F.lit("log_events").alias("table"), f"{side}.text")
