"""CKP212: what a series of checkpoints shows by itself: ids that are missing between, state that grows."""

from collections.abc import Mapping, Sequence
from typing import Any

from analyzers.tables import Row
from analyzers.vocabulary import INFO, DataFrame, F, Window, count, found, newest, none, oldest, rule
from analyzers.vocabulary.quick_looks import grouped
from analyzers.vocabulary.restore_points import known_job, of_the_job, series, series_of


def _some_change(files: Sequence[Row], thresholds: Mapping[str, Any]) -> bool:
    """Whether so many ids of a series are missing, or its largest state is so much larger than its smallest."""
    own = (row for row in files if row["state"] == "complete" and row["kind"] != "savepoint" and row["checkpoint"] is not None)
    for same in grouped(own, series_of).values():
        ids, sizes = sorted(row["checkpoint"] for row in same), [row["state_bytes"] or 0 for row in same]
        large = max(sizes) >= max(min(sizes) * thresholds["growth"], thresholds["least_mb"] * 1e6)
        if ids[-1] - ids[0] - len(set(ids)) + 1 >= thresholds["gaps"] or (len(ids) >= thresholds["enough"] and large):
            return True
    return False


@rule(
    "CKP212", title="Checkpoint ids are missing, or state grows", stage="risk", severity=INFO, needs=_some_change,
    says={
        "gaps": "{aborted} checkpoint id(s) between {first} and {checkpoint} are missing: aborted, expired or savepoints, unless they "
        "were not copied",
        "growth": "State grew from {from_mb} MB in checkpoint {first} to {to_mb} MB in checkpoint {checkpoint}[[, {per_hour} MB an hour]]",
    },
    next_command="diag checkpoint-inspect {directory}",
)  # fmt: skip
def series_changes(
    checkpoint_files: DataFrame,
    *,
    gaps: int = 3,  # one or two ids go to savepoints and to restarts
    growth: float = 2.0,  # state breathes with its windows
    enough: int = 4,  # fewer show no direction
    least_mb: float = 10.0,  # less fills no disk
) -> DataFrame:
    """Per job and reason. Ids are used up by every attempt, so a missing one was begun."""
    of_job = (F.col("state") == "complete") & (F.coalesce("kind", F.lit("")) != "savepoint") & F.col("checkpoint").isNotNull()
    rows = checkpoint_files.where(of_job).withColumn("series", series())
    each = Window.partitionBy("scope", "series").orderBy("checkpoint")
    before = {"_id": F.lag("checkpoint").over(each), "_bytes": F.lag("state_bytes").over(each)}
    per_series = found(
        rows.withColumns(before), "series", at="mtime", table="checkpoint_files", file=F.col("path"),
        shown=F.concat(F.lit("checkpoint "), "checkpoint", F.lit(": "), F.coalesce("state_bytes", F.lit(0)), F.lit(" bytes of state")),
        job=known_job(),
        aborted=F.sum(F.greatest(F.col("checkpoint") - F.col("_id") - 1, F.lit(0))),
        first=F.min("checkpoint"),
        checkpoint=F.max("checkpoint"),
        directory=F.max_by(of_the_job(), "checkpoint"),
        since=none("timestamp"),
        _seen=count(),
        _fell=F.coalesce(F.bool_or(F.col("state_bytes") < F.col("_bytes")), F.lit(False)),
        _from=oldest("state_bytes", by="checkpoint"),
        _to=newest("state_bytes", by="checkpoint"),
        _hours=(F.unix_seconds(F.max("mtime")) - F.unix_seconds(F.min("mtime"))) / 3600,
    )  # fmt: skip
    start, end, hours = F.col("_from"), F.col("_to"), F.col("_hours")
    grew = (F.col("_seen") >= enough) & ~F.col("_fell") & (end >= start * growth) & (end >= least_mb * 1e6)
    reasons = F.array(F.when(F.col("aborted") >= gaps, "gaps"), F.when(grew, "growth"))
    return per_series.withColumns(
        {
            "reason": F.explode(F.array_compact(reasons)),
            "from_mb": F.round(start / 1e6, 1),
            "to_mb": F.round(end / 1e6, 1),
            "per_hour": F.when(hours > 0.02, F.round((end - start) / 1e6 / hours, 1)),
        }
    )
