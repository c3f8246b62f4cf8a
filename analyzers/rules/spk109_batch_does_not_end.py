"""SPK109: a batch of a Structured Streaming query does not end, while its driver lives."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.derived.failures.failure_signs import BATCH_PLANNED, QUERY_OVER
from analyzers.report.finding import Severity
from analyzers.tables import Row
from analyzers.tables.processes import SPARK_DRIVER
from analyzers.vocabulary.aggregates import seconds
from analyzers.vocabulary.findings import exemplars
from analyzers.vocabulary.rule import rule

_JOBS = ("spark-job-started", "spark-job-finished")


def _one_open(rows: Sequence[Row], thresholds: Mapping[str, Any]) -> bool:
    """A query whose newest batch was planned and made no progress."""
    newest: dict[tuple[Any, ...], dict[str, int]] = defaultdict(dict)
    for row in rows:
        if row["checkpoint"] is not None:
            known = newest[row["scope"], row["job"]]
            what = "planned" if row["signature"] in BATCH_PLANNED else row["signature"]
            known[what] = max(known.get(what, -1), row["checkpoint"])
    return any(known.get("planned", -1) > known.get("query-progress", -1) >= 0 for known in newest.values())


@rule(
    "SPK109",
    title="A batch of the query does not end",
    stage="checkpoint",
    severity=Severity.CRITICAL,
    logs_of=SPARK_DRIVER,
    signatures=("query-started", *BATCH_PLANNED, "query-progress", *_JOBS, *QUERY_OVER),
    says={
        "stuck-call": "Batch {batch} of the query has not ended for {minutes} minutes, until the end of its driver's log (those before "
        "took {longest} s at most): none of its Spark jobs runs, so a call in the driver waits (foreachBatch, a sink's commit, a "
        "listing). Nothing is read meanwhile, and nothing is committed",
        "beside-others": "Batch {batch} of query {query}, one of several in its driver, has not ended for {minutes} minutes, until the end "
        "of the driver's log (those before took {longest} s at most): a call in the driver waits (foreachBatch, a sink's commit, a "
        "listing), a task of its Spark job does, or it is far larger than those before",
        "": "Batch {batch} of the query has not ended for {minutes} minutes, until the end of its driver's log (those before took "
        "{longest} s at most): its Spark job {spark_job} runs. It is far larger than those before, or a task of it waits",
    },
    missing="[[{unseen}]]",
    next_command="jstack $(pgrep -f SparkSubmit)   # on the driver's host: 'stream execution thread'",
    needs=_one_open,
)
def batch_does_not_end(
    log_events: DataFrame,
    log_files: DataFrame,
    *,
    at_least: int = 600,  # seconds; a batch may take minutes after a pause
    times: int = 20,  # and it may be much larger than those before
) -> DataFrame:
    """Per query, where its log goes on long after the newest batch was planned (MicroBatchExecution logs each plan and each progress)."""
    of_query = log_events.where(F.col("job").isNotNull())
    planned, done = F.col("signature").isin(*BATCH_PLANNED), F.col("signature") == "query-progress"
    per_batch = (
        of_query.where(F.col("checkpoint").isNotNull())
        .groupBy("scope", "job", "checkpoint")
        .agg(F.max(F.when(planned, F.col("at"))).alias("planned_at"), F.max(F.when(done, F.col("at"))).alias("done_at"))
    )
    took = F.when(F.col("done_at").isNotNull(), seconds("planned_at", "done_at"))
    batches = per_batch.groupBy("scope", "job").agg(
        F.max(F.when(F.col("planned_at").isNotNull(), F.col("checkpoint"))).alias("batch"),
        F.max(F.when(F.col("done_at").isNotNull(), F.col("checkpoint"))).alias("done"),
        F.max("planned_at").alias("since"),
        F.max(took).alias("longest"),
    )
    open_ones = batches.where(F.col("batch") > F.col("done"))
    later = of_query.drop("checkpoint").join(open_ones, ["scope", "job"]).where(F.col("at") >= F.col("since"))
    number = F.col("detail")["spark_job"].cast("long")
    started, finished = (F.when(F.col("signature") == name, number) for name in _JOBS)
    per_query = later.groupBy("scope", "job", "batch", "since", "longest").agg(
        F.count_if(F.col("signature").isin(*QUERY_OVER)).alias("ends"),
        F.array_except(F.collect_set(started), F.collect_set(finished)).alias("running"),
        F.max(F.when(F.col("signature").isin(*_JOBS), F.col("at"))).alias("worked"),
        F.collect_set("file").alias("files"),
        exemplars(),
    )
    told = log_files.select(F.col("scope").alias("_scope"), F.col("file").alias("_file"), "last_at")
    mine = (F.col("scope") == F.col("_scope")) & F.array_contains("files", F.col("_file"))
    alive = per_query.join(told, mine).groupBy(*per_query.columns).agg(F.max("last_at").alias("until"))
    age = seconds(F.greatest("since", "worked"), "until")
    found = alive.where((F.col("ends") == 0) & (age >= F.greatest(F.lit(at_least), F.col("longest") * times)))
    names = of_query.groupBy("scope", "job").agg(F.max(F.col("detail")["query_name"]).alias("query"))
    others = log_events.where(F.col("job").isNull() & F.col("signature").isin(*_JOBS)).select("scope").distinct()
    others = others.withColumn("shared", F.lit(True))  # no line says whose Spark jobs these are
    found = found.join(names, ["scope", "job"], "left").join(others, "scope", "left")
    stuck = (F.size("running") == 0) & F.col("shared").isNull()
    kind = F.when(stuck, "stuck-call").when(F.col("shared"), "beside-others").otherwise("job-runs")
    return found.withColumns(
        {
            "query": F.coalesce("query", "job"),
            "minutes": F.floor(age / 60),
            "longest": F.round("longest").cast("long"),
            "spark_job": F.array_max("running"),
            "reason": kind,
            "cause": F.when(stuck, "barrier-unacknowledged"),
            "severity": F.when(stuck, "critical").otherwise("warning"),
            "confidence": F.when(stuck, 0.67),
            "unseen": F.when(stuck, "the call that the driver waits in: these logs do not show it, a thread dump does"),
        }
    ).drop("ends", "running", "worked", "files", "shared")
