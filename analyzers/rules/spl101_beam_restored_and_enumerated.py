"""SPL101: Beam's enumerator was restored and then split its source anew: every split has two readers."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.tables.processes import JOBMANAGER
from analyzers.vocabulary.aggregates import agreed, place, seconds
from analyzers.vocabulary.findings import exemplars
from analyzers.vocabulary.rule import has, rule

READ = (
    "enumerator-restored",
    "beam-source-starting",
    "beam-enumerator-created",
    "beam-splits-assigned",
    "job-initializing",
    "job-restored",
    "global-failover",
)
NOTHING_COMMITTED = (  # apache/beam#30539
    "Look at Beam's version first (beam-*.jar of the job, its Classpath line): 2.52 to 2.55 commit nothing on Flink. Then start with "
    "withStartReadTime before {since_or_restore}, or set the group's offsets by hand (kafka-consumer-groups.sh --reset-offsets). "
)
NO_HEALING = (
    "Upgrading alone does not heal it: a checkpoint of the old version does not load in the new one (InvalidClassException of a Coder), "
    "and the positions in the state are those of the second readers"
)


@rule(
    "SPL101",
    title="Beam dealt its source splits twice after a restore",
    cause="duplicate-split",
    stage="failure",
    severity=Severity.CRITICAL,
    logs_of=JOBMANAGER,
    signatures=READ,
    says="{restores} restore(s) gave the splits of {source_or_task} two readers each[[ (splits {split})]][[, since {since} UTC]][[, "
    "{how}]]: the readers got their splits back from the checkpoint, and the enumerator "
    "(Beam 2.52 to 2.62) started anew and dealt the same splits again; every record is read twice from here on",
    next_command="diag checkpoint-inspect CHECKPOINT_DIRECTORY   # which splits sit in two subtasks",
    needs=has(signature=("beam-source-starting",)),
)
def beam_restored_and_enumerated(
    log_events: DataFrame,
    *,
    within: int = 120,  # seconds; both lines belong to one start of the JobMaster, a second apart
) -> DataFrame:
    """Per job: "Restoring SplitEnumerator" with "Starting source" behind it, and no new submission or fixed enumerator (2.63+) between."""
    before = Window.partitionBy("scope", "file").orderBy("line").rowsBetween(Window.unboundedPreceding, 0)
    rows = log_events.withColumns(
        {
            "restored_line": _last("enumerator-restored", "line").over(before),
            "restored_at": _last("enumerator-restored", "at").over(before),
            "restored_task": _last("enumerator-restored", "task").over(before),
            "fresh_line": _last("job-initializing", "line").over(before),
            "fixed_line": _last("beam-enumerator-created", "line").over(before),
            "failover_line": _last("global-failover", "line").over(before),
            "of_job": F.last(F.when(F.col("signature").isin("job-restored", "job-initializing"), F.col("job")), ignorenulls=True).over(
                before
            ),
        }
    )
    again = (
        F.col("restored_line").isNotNull()
        & (F.col("restored_line") > F.coalesce("fresh_line", F.lit(-1)))
        & (F.col("restored_line") > F.coalesce("fixed_line", F.lit(-1)))
        & F.coalesce(seconds("restored_at", "at") <= within, F.lit(True))
    )
    rows = rows.where(again).withColumn("job", F.coalesce("job", "of_job"))
    starting = F.col("signature") == "beam-source-starting"
    indexes = F.regexp_extract_all("text", F.lit(r"splitIndex=(\d+)"), F.lit(1))
    dealt = F.when(F.col("signature") == "beam-splits-assigned", indexes)
    per_job = rows.groupBy("scope", "job").agg(
        F.count_if(starting).alias("starts"),
        F.countDistinct(F.when(starting, F.col("restored_line"))).alias("restores"),
        F.min(F.when(starting, F.col("at"))).alias("since"),
        F.max(F.when(starting, F.col("at"))).alias("until"),
        agreed(F.when(starting, F.regexp_replace(F.col("detail")["source"], r"@[0-9a-f]+$", "")), "source"),
        agreed(F.when(starting, F.col("restored_task")), "task"),
        F.min_by(F.coalesce(F.col("failover_line") > F.coalesce("fresh_line", F.lit(-1)), F.lit(False)), F.when(starting, place())).alias(
            "in_place"
        ),
        F.array_sort(F.transform(F.array_distinct(F.flatten(F.collect_list(dealt))), lambda index: index.cast("long"))).alias("split"),
        exemplars(where=F.col("signature").isin("enumerator-restored", "beam-source-starting", "beam-splits-assigned")),
    )
    return (
        per_job.where(F.col("starts") > 0)
        .withColumns(
            {
                "reason": F.lit("beam-restore"),
                "split": F.when(F.size("split") > 0, F.col("split")),
                "source_or_task": F.coalesce("task", "source", F.lit("a Beam source")),
                "how": F.when(F.col("in_place"), F.lit("first through a global failover inside the running job")),
                "since_or_restore": F.coalesce(F.date_format("since", "yyyy-MM-dd HH:mm:ss 'UTC'"), F.lit("the restore")),
            }
        )
        .drop("starts", "in_place")
    )


def _last(signature: str, column: str) -> Column:
    return F.last(F.when(F.col("signature") == signature, F.col(column)), ignorenulls=True)
