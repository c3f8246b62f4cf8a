"""SPL101: Beam's enumerator was restored and then split its source anew: every split has two readers."""

from collections.abc import Mapping, Sequence
from typing import Any

from analyzers.tables import Row
from analyzers.vocabulary import CRITICAL, JOBMANAGER, Column, DataFrame, F, Window, detail, event, first_of, found, number_of, rule
from analyzers.vocabulary.aggregates import agreed, count, place, seconds
from analyzers.vocabulary.quick_looks import grouped

SHOWN = ("enumerator-restored", "beam-source-starting", "beam-splits-assigned")


def _one_starts_restored(rows: Sequence[Row], _thresholds: Mapping[str, Any]) -> bool:
    """Whether a source starts behind an enumerator that was restored, with no new submission or fixed enumerator between, in one log."""
    for own in grouped(rows, "file").values():
        restored = False
        for row in sorted(own, key=lambda row: row["line"] or 0):
            if row["signature"] == "beam-source-starting" and restored:
                return True
            if row["signature"] in ("enumerator-restored", "beam-enumerator-created", "job-initializing"):
                restored = row["signature"] == "enumerator-restored"
    return False


@rule(
    "SPL101", title="Beam dealt its source splits twice after a restore", cause="duplicate-split", stage="failure", severity=CRITICAL,
    reason="beam-restore", logs_of=JOBMANAGER,
    signatures=(*SHOWN, "beam-enumerator-created", "job-initializing", "job-restored", "global-failover"),
    says="{restores} restore(s) gave the splits of {source_or_task} two readers each[[ (splits {split})]][[, since {since} UTC]][[, "
    "{how}]]: the readers got their splits back from the checkpoint, and the enumerator (Beam 2.52 to 2.62) started anew and dealt the "
    "same splits again; every record is read twice from then on",
    next_command="diag checkpoint-inspect CHECKPOINT_DIRECTORY   # which splits sit in two subtasks",
    needs=_one_starts_restored,
)  # fmt: skip
def beam_restored_and_enumerated(
    log_events: DataFrame,
    *,
    within: int = 120,  # seconds; both lines belong to one start of the JobMaster, a second apart
) -> DataFrame:
    """Per job: "Restoring SplitEnumerator" with "Starting source" behind it, and no new submission or fixed enumerator (2.63+) between."""
    rows = log_events.withColumns(
        {
            "_restored_line": _before("line", "enumerator-restored"),
            "_restored_at": _before("at", "enumerator-restored"),
            "_restored_task": _before("task", "enumerator-restored"),
            "_fresh_line": F.coalesce(_before("line", "job-initializing"), F.lit(-1)),
            "_fixed_line": F.coalesce(_before("line", "beam-enumerator-created"), F.lit(-1)),
            "_failover_line": _before("line", "global-failover"),
            "job": F.coalesce("job", _before("job", "job-restored", "job-initializing")),
        }
    )
    restored = F.col("_restored_line")
    again = (restored > F.col("_fresh_line")) & (restored > F.col("_fixed_line"))
    starting = event("beam-source-starting")
    indexes = F.when(event("beam-splits-assigned"), F.regexp_extract_all("text", F.lit(r"splitIndex=(\d+)"), F.lit(1)))
    in_place = F.coalesce(F.col("_failover_line") > F.col("_fresh_line"), F.lit(False))
    per_job = found(
        rows.where(again & F.coalesce(seconds("_restored_at", "at") <= within, F.lit(True))), "job",
        since=F.min(F.when(starting, F.col("at"))),
        until=F.max(F.when(starting, F.col("at"))),
        of=event(*SHOWN),
        restores=number_of(F.when(starting, restored)),
        source=agreed(F.when(starting, F.regexp_replace(detail("source"), r"@[0-9a-f]+$", "")), "source"),
        task=agreed(F.when(starting, F.col("_restored_task")), "task"),
        split=F.transform(
            F.sort_array(F.transform(F.array_distinct(F.flatten(F.collect_list(indexes))), lambda index: index.cast("long"))),
            lambda index: index.cast("string"),
        ),
        _starts=count(starting),
        _in_place=F.min_by(in_place, F.when(starting, place())),
    )  # fmt: skip
    return per_job.where(F.col("_starts") > 0).withColumns(
        {
            "source_or_task": F.coalesce("task", "source", F.lit("a Beam source")),
            "how": first_of(("first through a global failover inside the running job", F.col("_in_place"))),
        }
    )


def _before(column: str, *signatures: str) -> Column:
    """The value of `column` in the newest line of `signatures` up to this one, in its file."""
    up_to_here = Window.partitionBy("scope", "file").orderBy("line").rowsBetween(Window.unboundedPreceding, 0)
    return F.last(F.when(event(*signatures), F.col(column)), ignorenulls=True).over(up_to_here)
