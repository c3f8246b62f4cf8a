"""SPL103: Beam readers got the same split twice, once restored and once fresh (seen in TaskManager logs alone)."""

from collections.abc import Mapping, Sequence
from typing import Any

from analyzers.tables import Row
from analyzers.vocabulary import CRITICAL, FLINK, Column, DataFrame, F, IfGiven, beside, event, number_of, numbered, rule, seconds
from analyzers.vocabulary.quick_looks import grouped


def _both_ways(rows: Sequence[Row], _thresholds: Mapping[str, Any]) -> bool:
    """Whether a split was restored, and one was dealt afresh, by an enumerator that is not known to be the fixed one."""
    for own in grouped(rows).values():
        added = [row["text"] or "" for row in own if row["signature"] == "beam-splits-added"]
        both = all(any(f"splitState.isNull={fresh}" in text for text in added) for fresh in ("true", "false"))
        if both and len(added) == len(own):
            return True
    return False


@rule(
    "SPL103", title="Beam readers got a restored split a second time", cause="duplicate-split", stage="failure", severity=CRITICAL,
    reason="beam-restore", logs_of=FLINK, signatures=("beam-splits-added", "beam-enumerator-created"),
    says="{split_count} split(s) of {source_or_beam} were added to readers twice within {apart_seconds} s[[, the first at {since} UTC]]: "
    "once restored from the checkpoint (isNull=false), once dealt afresh by the enumerator (isNull=true); both readers run, so every "
    "record is read twice[[ (splits {split})]]",
    missing="which subtasks hold the two readers: these lines name none; the reader states in the checkpoint show it (diag "
    "checkpoint-inspect) where they sit in different subtasks",
    next_command="diag checkpoint-inspect CHECKPOINT_DIRECTORY",
    needs=_both_ways,
)  # fmt: skip
def restored_and_fresh(
    log_events: DataFrame,
    jobs_seen: IfGiven,
    *,
    within: int = 120,  # seconds; both come within the start of one attempt
    skew: int = 5,  # seconds between the clocks of two TaskManagers
) -> DataFrame:
    """Split indexes restored and dealt afresh in one start of one job; silent where a fixed enumerator (Beam 2.63+) is in the log."""
    fixed = log_events.where(event("beam-enumerator-created")).select("scope").distinct()
    jobs = jobs_seen.groupBy("scope").agg(number_of("job").alias("_jobs"))
    known = F.col("job").isNotNull() | (F.coalesce("_jobs", F.lit(0)) <= 1)  # with several jobs a line without one can be of any
    added = beside(log_events.where(event("beam-splits-added")).join(fixed, "scope", "left_anti"), jobs).where(known)
    each = F.explode(F.arrays_zip(_every(r"splitIndex=(\d+)"), _every(r"beamSource=([\w.$]+)"), _every(r"splitState\.isNull=(true|false)")))
    splits = added.dropDuplicates(["scope", "at", "text"]).select("scope", "job", "at", "file", "line", "text", each.alias("of"))
    splits = splits.select("*", F.col("of.0").alias("index"), F.col("of.1").alias("source"), F.col("of.2").alias("fresh"))
    restored, fresh = splits.where("fresh = 'false'").alias("r"), splits.where("fresh = 'true'").alias("f")
    same = (
        (F.col("r.scope") == F.col("f.scope"))
        & F.col("r.job").eqNullSafe(F.col("f.job"))
        & (F.col("r.index") == F.col("f.index"))
        & (F.col("r.source") == F.col("f.source"))
        & seconds("r.at", "f.at").between(-skew, within)
    )
    per_job = restored.join(fresh, same).groupBy(F.col("r.scope").alias("scope"), F.col("r.job").alias("job"))
    return per_job.agg(
        number_of("r.index").alias("split_count"),
        numbered("r.index", "split"),
        F.when(F.min("r.source") == F.max("r.source"), F.max("r.source")).alias("source"),
        F.ceil(F.max(F.abs(seconds("r.at", "f.at")))).cast("long").alias("apart_seconds"),
        F.min("r.at").alias("since"),
        F.max("f.at").alias("until"),
        F.slice(F.sort_array(F.array_union(_lines("r"), _lines("f"))), 1, 6).alias("evidence"),
        F.lit(0.8).alias("confidence"),  # the JobManager's pair of lines is the proof that is missing
    ).withColumn("source_or_beam", F.coalesce("source", F.lit("a Beam source")))


def _every(pattern: str) -> Column:
    return F.regexp_extract_all("text", F.lit(pattern), F.lit(1))


def _lines(side: str) -> Column:
    return F.collect_set(F.struct(f"{side}.at", f"{side}.file", f"{side}.line", F.lit("log_events").alias("table"), f"{side}.text"))
