"""CKP312: the sink skips checkpoints of the job, as its table holds a higher one for committed: their files are not added."""

from typing import Any

from analyzers.vocabulary import CRITICAL, DataFrame, F, found, newest, rule

_HELD = "The sink[[ of {job_name}]] adds nothing more to [[{table_name}]]: it holds checkpoint {committed} for committed"
_GOES_ON = "What they wrote is in files that no snapshot has, and the sources go on behind it"


@rule(
    "CKP312", title="A sink skips checkpoints that its table holds for committed", cause="offset-commit", stage="commit", severity=CRITICAL,
    says={
        "skipped": f"{_HELD}, and has skipped {{skips}} checkpoint(s) since {{since}} UTC, {{first}} to {{newest}}. {_GOES_ON}",
        "hole": "The sink[[ of {job_name}]] has skipped {skips} checkpoint(s) from {since} UTC to {until} UTC, {first} to {newest}, as "
        "[[{table_name}]] held {committed} for committed; later ones are added. What the skipped ones wrote is in files that no snapshot "
        "has",
        "counts-anew": f"{_HELD}[[ (at {{committed_at}} UTC)]], and the job, started without state under its old job id, counts from "
        f"{{first}} again and is at {{newest}}: none of these is added. {_GOES_ON}",
    },
    next_command="SELECT committed_at, summary['flink.job-id'], summary['flink.max-committed-checkpoint-id'] FROM TABLE.snapshots "
    "ORDER BY committed_at DESC LIMIT 5;",
)  # fmt: skip
def sink_skips_checkpoints(sink_skips: DataFrame) -> DataFrame:
    """Per job. Source: IcebergFilesCommitter.notifyCheckpointComplete, IcebergCommitter: only what is above the table's number is added."""
    names = ("reason", "job_name", "table_name", "committed", "committed_at", "newest", "first", "skips", "until")
    facts: dict[str, Any] = {name: newest(name, "at") for name in names}
    made = found(sink_skips.where(~F.col("reason").startswith("batches-")), "job", table="sink_skips", **facts)
    return made.withColumns(
        {
            "table_name": F.coalesce("table_name", F.lit("its table")),
            "committed": F.coalesce(F.col("committed").cast("string"), F.lit("a higher one")),
            "damage_stays": F.lit(True),
            "confidence": F.lit(0.9),  # wanted: the table's own list of files
        }
    )
