"""CKP310: Flink skipped the state of an operator when it restored the job."""

from analyzers.vocabulary import CRITICAL, JOBMANAGER, DataFrame, F, first_of, found, rule
from analyzers.vocabulary.aggregates import listed

_LEFT = "Flink skipped the state of {who}[[ ({megabytes} MB)]] when it restored the job[[ from {path}]][[ at {since} UTC]]"


@rule(
    "CKP310", title="Flink skipped an operator's state at the restore", cause="checkpoint-storage", stage="failure", severity=CRITICAL,
    logs_of=JOBMANAGER, needs=lambda rows, _: bool(rows),
    says={
        "uid-changed": f"{_LEFT}: an operator of that name runs now with the id {{new_operator}}[[, uid {{new_uid}}]], so it began without "
        "any state",
        "shrank": f"{_LEFT}: the program has no operator with that id, and the job's checkpoints shrank from {{before_mb}} to "
        "{after_mb} MB: it began without that state",
        "removed": f"{_LEFT}. The job has no operator that was not in that checkpoint: it was taken out of the program",
        "unknown": f"{_LEFT}: the program has no operator with that id",
        "": f"{_LEFT}: the program has no operator with that id, so nothing uses that state any longer",
    },
    missing={
        "unknown": "whether that state was empty: with allowNonRestoredState Flink logs the same line for an operator without state",
        "": "",
    },
    next_command="diag checkpoint-inspect {path_or_placeholder}",
)  # fmt: skip
def state_skipped(skipped_state: DataFrame) -> DataFrame:
    """Per job, restored checkpoint and reason. Critical where the state is known to hold something and the operator was not removed."""
    name = F.coalesce(F.concat("name", F.lit(" (operator "), "operator", F.lit(")")), F.concat(F.lit("operator "), "operator"))
    per_restore = found(
        skipped_state, "job", "path", "reason", table="log_events", most=5,
        operator=F.when(F.min("operator") == F.max("operator"), F.max("operator")),
        who=listed(name, apart=", "),
        uid=F.min("uid"),
        old_id=F.min("operator"),
        megabytes=F.format_number(F.sum("size_bytes") / 1e6, 1),
        new_operator=F.min("new_operator"),
        new_uid=F.min("new_uid"),
        before_mb=F.format_number(F.max("before_bytes") / 1e6, 0),
        after_mb=F.format_number(F.max("after_bytes") / 1e6, 0),
    )  # fmt: skip
    return per_restore.withColumns(
        {
            "damage_stays": F.lit(True),
            "severity": first_of(("warning", F.col("reason").isin("removed", "unknown")), otherwise="critical"),
            "confidence": first_of(
                (1.0, F.col("reason") == "uid-changed"), (0.9, F.col("reason").isin("dropped", "shrank")), otherwise=0.5
            ),
            "path_or_placeholder": F.coalesce("path", F.lit("SAVEPOINT_DIRECTORY")),
            "old_uid": F.coalesce(F.concat(F.lit('.uid("'), "uid", F.lit('")')), F.lit("the old .uid(…)")),
        }
    )
