"""LAG508: A Spark query, or a DStream, falls ever further behind its input, and no line warns of it."""

from analyzers.vocabulary import CRITICAL, SPARK_DRIVER, DataFrame, F, count, detail, event, first_of, found, has, rule

_BEHIND = r'"maxOffsetsBehindLatest" : "(\d+)"'  # per source: records between the end of the batch and the end of the topic (3.1+)
_TOPIC = r"Kafka\w*\[Subscribe\[([\w.-]+)\]\]"
SHOWN_BY = ("query-progress", "dstream-delay")


@rule(
    "LAG508", title="A query falls behind its input", cause="no-progress", stage="lag", severity=CRITICAL, logs_of=SPARK_DRIVER,
    signatures=(*SHOWN_BY, "batch-behind"), needs=has("enough", signature=SHOWN_BY),
    says={
        "delay": "Batches of the DStream wait ever longer: {last_shown} s in all for the newest of {batches} batches, {first_shown} s for "
        "the first[[ at {since} UTC]]; a batch itself takes {spent} s",
        "": "The query falls ever further behind[[ topic {topic}]]: {last_shown} records at the newest of {batches} batches, {first_shown} "
        "at the first[[ at {since} UTC]]",
    },
)  # fmt: skip
def query_falls_behind(
    log_events: DataFrame,
    *,
    enough: int = 10,  # batches; fewer show no trend
    steady: float = 0.9,  # correlation of the backlog with time: a saw-tooth, or a peak that is worked off, has less
    records: int = 1000,  # behind at the newest batch; what one batch reads
    waits: float = 60,  # seconds of delay at the newest batch
    times: int = 3,  # the first backlog, or the batch's own duration
) -> DataFrame:
    """Per query by the offsets in its progress, per DStream by the delay of its batches; LAG501 has those that a line warns of."""
    delay = detail("delay").try_cast("double")
    rows = log_events.where(event(*SHOWN_BY) & F.col("at").isNotNull()).withColumns(
        {
            "_behind": F.coalesce(delay, F.nullif(F.regexp_extract("text", _BEHIND, 1), F.lit("")).try_cast("double")),
            "_spent": detail("spent").try_cast("double"),
            "_topic": F.nullif(F.regexp_extract("text", _TOPIC, 1), F.lit("")),
            "_order": F.struct("at", "seq"),
        }
    )
    warned = log_events.where(event("batch-behind")).select(F.col("scope").alias("_there"), F.col("job").alias("_whose")).distinct()
    same_query = (F.col("scope") == F.col("_there")) & (F.col("_whose").isNull() | F.col("job").eqNullSafe(F.col("_whose")))
    per_query = found(
        rows.where(F.col("_behind").isNotNull()),
        "job",
        "signature",
        batches=count(),
        _first=F.min_by("_behind", "_order"),
        _last=F.max_by("_behind", "_order"),
        _steady=F.corr(F.unix_seconds("at").cast("double"), "_behind"),
        spent=F.max_by("_spent", "_order"),
        topic=F.when(F.min("_topic") == F.max("_topic"), F.max("_topic")),
    ).join(warned, same_query, "left_anti")
    of_delay = F.col("signature") == "dstream-delay"
    long = F.when(of_delay, (F.col("_last") >= waits) & (F.col("_last") >= F.col("spent") * 2)).otherwise(F.col("_last") >= records)
    grows = (F.col("_steady") >= steady) & (F.col("_last") >= F.col("_first") * times)
    return (
        per_query.where((F.col("batches") >= enough) & long & grows)
        .select(
            "*",
            first_of(("delay", of_delay), otherwise="offsets").alias("reason"),
            F.format_string("%,.0f", "_first").alias("first_shown"),
            F.format_string("%,.0f", "_last").alias("last_shown"),
        )
        .drop("signature")
    )
