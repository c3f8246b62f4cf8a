"""SPK116: the sink skips batches of the query, as its table holds higher numbers for committed: what they read is not written."""

from typing import Any

from analyzers.vocabulary import CRITICAL, DataFrame, F, found, newest, rule

_HELD = "It holds batch {committed} for committed[[, under txnAppId {app_id}]][[, of {committed_at} UTC]]"
_GOES_ON = "The query commits its offsets behind each of them, so that nothing shows as lag"


@rule(
    "SPK116", title="A sink skips batches that its table holds for committed", cause="offset-commit", stage="commit", severity=CRITICAL,
    says={
        "batches-skipped": "The sink of query {job_name} writes nothing to {table_name}: it has skipped {skips} batch(es) since {since} "
        f"UTC, {{first}} to {{newest}}, as already committed. {_HELD}. {_GOES_ON}",
        "batches-hole": "The sink of query {job_name} has skipped {skips} batch(es) from {since} UTC to {until} UTC, {first} to {newest}, "
        "as already committed; later ones are written. What the skipped ones read is missing in {table_name}",
        "batches-anew": f"{{table_name}} gets no rows of query {{job_name}}. {_HELD}; the query counts from {{first}} again since "
        f"{{since}} UTC and is at {{newest}}: the sink skips each of these. {_GOES_ON}",
        "batches-unread": "The sink of query {job_name} has not read batches {first} to {newest}, since {since} UTC: the offsets of the "
        "sources move in each of them, numInputRows is 0. A file sink does so where _spark_metadata of {table_name} holds their numbers"
        f"[[: its newest is {{held}}]]. {_GOES_ON}",
    },
    missing={
        "batches-unread": "the newest number in _spark_metadata of {table_name}: if it is not above {newest}, this is not the reason",
        "batches-skipped": "whether the query was started with another checkpoint directory, and where that began",
    },
    next_command="diag triage LOG_DIRECTORY FILE   # FILE: `ls` of _spark_metadata, or the newest files of _delta_log",
)  # fmt: skip
def sink_skips_batches(sink_skips: DataFrame) -> DataFrame:
    """Per query. Source: FileStreamSink.addBatch, DeltaSink.addBatch, OptimisticTransaction.txnVersion: only a higher number is written."""
    names = (
        "reason", "job_name", "table_name", "directory", "committed", "committed_at", "newest", "first", "skips", "until",
    )  # fmt: skip
    facts: dict[str, Any] = {name: newest(name, "at") for name in names} | {"app_id": newest("application", "at")}
    made = found(sink_skips.where(F.col("reason").startswith("batches-")), "job", table="sink_skips", **facts)
    unread = F.col("reason") == "batches-unread"
    return made.withColumns(
        {
            "job_name": F.coalesce("job_name", "job", F.lit("of this log")),
            "table_name": F.coalesce("table_name", F.lit("its table")),
            "held": F.col("committed").cast("string"),
            "committed": F.coalesce(F.col("committed").cast("string"), F.lit("a higher one")),
            "damage_stays": F.lit(True),
            "confidence": F.when(unread, 0.7).otherwise(0.9),  # wanted: the table's own list of commits
        }
    )
