"""CKP304: a checkpoint's `_metadata` is damaged, or holds bytes that cannot be accounted for."""

from analyzers.vocabulary import CRITICAL, DataFrame, F, count, first_of, found, none, of_newest, rule, some
from analyzers.vocabulary.restore_points import advice, is_newest, known_job, series, standing, what_it_means


@rule(
    "CKP304", title="A checkpoint's _metadata is damaged", cause="checkpoint-storage", stage="checkpoint", severity=CRITICAL,
    needs=some(lambda file: file["state"] == "damaged" or (file["unread_bytes"] or 0) > 0),
    says={
        "unread": "{bytes_left} bytes of {files} checkpoint file(s) could not be accounted for, the newest checkpoint {checkpoint}: it was "
        "written by a Flink version that this diag does not know, or is damaged in a way that it does not see",
        "": "{files} checkpoint(s) cannot be read to the end, the newest {checkpoint}: {damage} at byte {damaged_at}. {standing}",
    },
    next_command="diag checkpoint-inspect --strict {path}",
)  # fmt: skip
def checkpoint_damaged(checkpoint_files: DataFrame) -> DataFrame:
    """Per job. Critical where the newest checkpoint is the damaged one: a restart would need it."""
    unread = (F.col("state") == "complete") & (F.col("unread_bytes") > 0)
    reason = first_of(("damaged", F.col("state") == "damaged"), ("unread", unread))
    rows = checkpoint_files.where(F.col("checkpoint").isNotNull()).withColumns({"series": series(), "reason": reason})
    what = F.coalesce("damage", F.concat("unread_bytes", F.lit(" bytes unread")))
    at_byte = F.coalesce(F.concat(F.lit(" at byte "), "damaged_at"), F.lit(""))
    per_series = found(
        rows.where(F.col("reason").isNotNull()), "series", "reason", at="mtime", table="checkpoint_files", file=F.col("path"),
        shown=F.concat(F.lit("checkpoint "), "checkpoint", F.lit(": "), what, at_byte),
        job=known_job(),
        files=count(),
        checkpoint=F.max("checkpoint"),
        **of_newest("path", "damage", "damaged_at", by="checkpoint"),
        bytes_left=F.sum("unread_bytes"),
        since=none("timestamp"),
    )  # fmt: skip
    damaged = F.col("reason") == "damaged"
    return per_series.join(standing(checkpoint_files), ["scope", "series"]).withColumns(
        {
            "severity": first_of(("critical", damaged & is_newest()), ("warning", damaged), otherwise="info"),
            "cause": F.when(damaged, "checkpoint-storage"),
            "standing": what_it_means(),
            "restore_from": advice(),
        }
    )
