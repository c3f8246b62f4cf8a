"""LAG406: A source task of Kafka Connect cannot commit its offsets, as its producer does not send its records in time."""

from analyzers.vocabulary import CRITICAL, DataFrame, F, Window, count, detail, event, first_of, found, has, rule, seconds


@rule(
    "LAG406", title="A source task of Kafka Connect cannot commit its offsets", cause="offset-commit", stage="commit", severity=CRITICAL,
    signatures=("connect-flush-timeout", "connect-flush"), needs=has(signature=("connect-flush-timeout",), at_least="enough"),
    says={
        "producer-stuck": "Source task {connect_task} of Kafka Connect failed to commit its offsets {times} times[[ since {since} UTC]], "
        "up to the end of its log: its producer cannot send {outstanding} record(s), nor could it when only {fewest} waited",
        "": "Source task {connect_task} of Kafka Connect failed to commit its offsets {times} times[[ since {since} UTC]], up to the end "
        "of its log: up to {outstanding} records were still in its producer when offset.flush.timeout.ms ran out. A restart reads again "
        "what was not committed",
    },
)  # fmt: skip
def connect_flush(
    log_events: DataFrame,
    *,
    enough: int = 3,  # times; a single one is tried again and harms nothing
    few: int = 10,  # records; so few are sent in a moment by any producer that can send, however many wait behind them later
    fresh: int = 600,  # seconds before the end of the log; offsets are committed once a minute (offset.flush.interval.ms)
) -> DataFrame:
    """Per source task, unless a later flush ended. Source: Kafka's WorkerSourceTask, KAFKA-12226."""
    failed, waiting = event("connect-flush-timeout"), F.col("_outstanding")
    last = F.max(F.when(failed, F.col("line"))).over(Window.partitionBy("scope", "file", "connect_task"))
    rows = log_events.withColumns({"connect_task": detail("connect_task"), "_outstanding": detail("outstanding").cast("long")})
    later = rows.withColumn("_last", last).where(~failed & (F.col("line") > F.col("_last")))
    # nothing to wait for, or a second one that began while no failure stands between
    well = later.groupBy("scope", "connect_task").agg(((F.min(waiting) == 0) | (F.count("*") > 1)).alias("_well"))
    per_task = found(
        rows.where(failed),
        "connect_task",
        times=count(),
        outstanding=F.coalesce(F.max(waiting).cast("string"), F.lit("some")),
        fewest=F.min(waiting),
        _end=F.max("as_of"),
    )
    goes_on = F.coalesce(seconds("until", "_end") <= fresh, F.lit(True)) & ~F.coalesce("_well", F.lit(False))
    ill = per_task.join(well, ["scope", "connect_task"], "left").where((F.col("times") >= enough) & goes_on)
    return ill.withColumn("reason", first_of(("producer-stuck", F.col("fewest") <= few), otherwise="flush-too-slow"))
