"""LAG406: a source task of Kafka Connect cannot commit its offsets, as its producer does not get its records out in time."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.vocabulary.aggregates import seconds
from analyzers.vocabulary.findings import exemplars
from analyzers.vocabulary.rule import has, rule


@rule(
    "LAG406",
    title="A source task of Kafka Connect cannot commit its offsets",
    cause="offset-commit",
    stage="commit",
    severity=Severity.CRITICAL,
    signatures=("connect-flush-timeout", "connect-flush"),
    says={
        "producer-stuck": "The source task {connect_task} of Kafka Connect has committed no offsets {times} times[[ since {since} UTC]], "
        "up to the end of its log: {outstanding} record(s) do not get out of its producer, and when it waited for {fewest} they did not "
        "either",
        "": "The source task {connect_task} of Kafka Connect has committed no offsets {times} times[[ since {since} UTC]], up to the end "
        "of its log: up to {outstanding} records were still in its producer when offset.flush.timeout.ms ran out. A restart reads again "
        "what was not committed",
    },
    needs=has(signature=("connect-flush-timeout",), at_least="enough"),
)
def connect_flush(
    log_events: DataFrame,
    *,
    enough: int = 3,  # times; a single one is tried again and harms nothing
    few: int = 10,  # records; so few are sent in a moment by any producer that can send, however many wait behind them later
    fresh: int = 600,  # seconds before the end of the log; offsets are committed once a minute (offset.flush.interval.ms)
) -> DataFrame:
    """Per source task, unless a later flush is seen to have ended. Source: Kafka's WorkerSourceTask, KAFKA-12226."""
    outstanding = F.col("detail")["outstanding"].cast("long")
    rows = log_events.withColumns({"connect_task": F.col("detail")["connect_task"], "outstanding": outstanding})
    failed = F.col("signature") == "connect-flush-timeout"
    last = Window.partitionBy("scope", "file", "connect_task")
    later = rows.withColumn("_failed", F.max(F.when(failed, F.col("line"))).over(last)).where(~failed & (F.col("line") > F.col("_failed")))
    # nothing to wait for, or a second one that began while no failure stands between
    well = later.groupBy("scope", "connect_task").agg(((F.min("outstanding") == 0) | (F.count("*") > 1)).alias("well"))
    per_task = (
        rows.where(failed)
        .groupBy("scope", "connect_task")
        .agg(
            F.count("*").alias("times"),
            F.max("outstanding").alias("outstanding"),
            F.min("outstanding").alias("fewest"),
            F.min("at").alias("since"),
            F.max("at").alias("until"),
            F.max("as_of").alias("end"),
            exemplars(),
        )
    )
    goes_on = F.coalesce(seconds("until", "end") <= fresh, F.lit(True))
    return (
        per_task.join(well, ["scope", "connect_task"], "left")
        .where((F.col("times") >= enough) & goes_on & ~F.coalesce("well", F.lit(False)))
        .withColumns(
            {
                "job": F.lit(None).cast("string"),
                "reason": F.when(F.col("fewest") <= few, F.lit("producer-stuck")).otherwise(F.lit("flush-too-slow")),
                "outstanding": F.coalesce(F.col("outstanding").cast("string"), F.lit("some")),
            }
        )
        .drop("end", "well")
    )
