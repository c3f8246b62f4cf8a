"""SPK111: The driver of a query stopped without a shutdown message, and another driver went on."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from itertools import pairwise
from typing import Any

from analyzers.derived.failures.failure_signs import QUERY_OVER
from analyzers.tables import Row
from analyzers.vocabulary import (
    SPARK_DRIVER,
    WARNING,
    DataFrame,
    F,
    Window,
    count,
    detail,
    event,
    first_of,
    found,
    greatest,
    rule,
    seconds,
)
from analyzers.vocabulary.quick_looks import captured, grouped

ORDERED = ("spark-stopping", "process-stop-requested", "query-twice")
WORK = ("query-progress", "batch-planned")
NO_LINE = "No line says that the query failed or was stopped, nor that the driver was asked to end"


def _one_ended_silently(rows: Sequence[Row], thresholds: Mapping[str, Any]) -> bool:
    """Whether a query has two runs, the second one in a new driver, and no line shortly before its start explains that."""
    dated = sorted((row for row in rows if row["at"] is not None), key=lambda row: (row["at"], row["file"], row["line"]))
    booted = grouped((row for row in dated if row["signature"] == "spark-version"), "file")
    reasons = grouped(row for row in dated if row["signature"] in (*ORDERED, *QUERY_OVER) and row["role"] != "spark-executor")
    around = timedelta(seconds=thresholds["around"])
    for (scope, job), starts in grouped((row for row in dated if row["signature"] == "query-started"), "job").items():
        told = [row["at"] for row in reasons.get((scope,), ()) if job is not None and row["job"] in (None, job)]
        for one, other in pairwise(starts):
            boot = max((row["at"] for row in booted.get((scope, other["file"]), ()) if row["at"] <= other["at"]), default=one["at"])
            new = captured(one, "run") != captured(other, "run") and boot > one["at"]
            if new and not any(boot - around <= at <= other["at"] for at in told):
                return True
    return False


@rule(
    "SPK111", title="The driver of a query stopped without a shutdown message", stage="failure", severity=WARNING, logs_of=SPARK_DRIVER,
    signatures=("query-started", "query-fresh", "query-resumed", "spark-version", *WORK, *ORDERED, *QUERY_OVER),
    needs=_one_ended_silently,
    says={
        "again-and-again": "The driver of query {query} keeps stopping without a shutdown message: {times} times since {since} UTC, the "
        "last time at {until} UTC[[ in or before batch {batch}]]. Each time its log stops there and another driver starts. " + NO_LINE,
        "": "The driver of query {query} stopped {times} time(s) without a shutdown message, the last time at {until} UTC[[ in or before "
        "batch {batch}]]: its log stops there, and at {next_at} UTC another driver starts and continues. " + NO_LINE,
    },
    inferred="It was probably killed from outside, mostly for memory, or its node was lost: an orderly end and SIGTERM leave lines.",
    missing="why it stopped: its own log cannot show it; the orchestrator and the kernel's log of its host do",
    next_command="kubectl describe pod POD   # or kubectl get events, yarn logs -applicationId ID, dmesg -T on its host",
)  # fmt: skip
def driver_ended_silently(
    log_events: DataFrame,
    log_counts: DataFrame,
    log_files: DataFrame,
    *,
    pause: int = 900,  # seconds from the last line to the next driver: Kubernetes backs off up to 300; a later start shows no kill
    around: int = 120,  # seconds before its last batch in which the end may have been ordered
    enough: int = 3,  # ends within `loop`: two may be the luck of a day
    loop: int = 1800,  # seconds: of ends of one cause that come back so soon, and to the end of the log, as the loop may be over
) -> DataFrame:
    """Per query. No line may be missing: both drivers write one file, or as many batches were done as the next run's number shows.

    "Running Spark version" of the next driver shows that SparkContext logs at INFO; else its orderly end would not be seen either.
    Source: SparkContext (shutdown hook), StreamExecution (each run logs its end), MicroBatchExecution (resumes at the first not done).
    """
    runs = _runs(log_events)
    work = log_counts.where(event(*WORK)).select("scope", F.col("job").alias("_job"), "signature", "events", "first_at", "last_at")
    mine = (F.coalesce("_job", "job") == F.col("job")) & F.col("last_at").between(F.col("begun"), F.col("next_at"))
    done, planned = (F.sum(F.when(mine & event(name), F.col("events"))) for name in WORK)
    before = first_of(*((F.col(at), mine & (F.col(at) < F.col("booted"))) for at in ("last_at", "first_at")))
    worked = (F.coalesce(F.max(before), "begun").alias("worked"), F.coalesce(F.least(done, planned), F.lit(0)).alias("batches"))
    files = log_files.select("scope", "file", F.col("last_at").alias("_written"))
    known = runs.join(work, "scope", "left").groupBy(*runs.columns).agg(*worked).join(files, ["scope", "file"], "left")
    ended = F.greatest("worked", F.when(F.col("_written") < F.col("booted"), F.col("_written")))  # killed before its first batch: begun
    whole = (F.col("file") == F.col("next_file")) | (F.col("batches") >= F.col("batch") - F.col("first_batch") - 1)
    silent = known.withColumn("ended_at", ended).where(whole & seconds("ended_at", "booted").between(0, pause))
    by_executor = event("process-stop-requested") & (F.coalesce("role", F.lit("")) == "spark-executor")  # asked once their driver is gone
    reasons = log_events.where(event(*ORDERED, *QUERY_OVER) & ~by_executor)
    reasons = reasons.select("scope", F.col("job").alias("_job"), F.col("at").alias("_at"))
    in_time = F.col("_at").between(F.col("worked") - F.make_dt_interval(secs=F.lit(around)), F.col("next_at"))
    explained = silent.join(reasons, "scope").where(in_time & (F.coalesce("_job", "job") == F.col("job"))).select("scope", "job", "begun")
    silent = silent.join(explained, ["scope", "job", "begun"], "left_anti")
    per_query = found(
        silent.withColumns({name: F.col(f"next_{name}") for name in ("at", "file", "line", "text")}),
        "job",
        at="ended_at",
        times=count(),
        batch=F.max_by("batch", "ended_at"),
        query=F.coalesce(F.max_by("name", "ended_at"), "job"),
        next_at=F.max("next_at"),
        _ends=F.collect_list("ended_at"),
    ).join(log_files.groupBy("scope").agg(F.max("last_at").alias("_newest")), "scope", "left")
    recent = F.size(F.filter("_ends", lambda end: seconds(end, "until") <= loop))
    again = F.coalesce((recent >= enough) & (seconds("until", "_newest") <= loop), F.lit(False))
    return per_query.withColumns(
        {
            "reason": first_of(("again-and-again", again), otherwise="ended-silently"),
            "cause": first_of(("taskmanager-lost", again)),
            "severity": first_of(("critical", again), otherwise="warning"),
            "confidence": F.lit(0.67),  # wanted: what its container shows of its end
        }
    )


def _runs(log_events: DataFrame) -> DataFrame:
    """Each run that another one of the same query in a new driver followed: begun, file, next_at, next_file, booted, batch, first_batch."""
    starts = log_events.where(event("query-started") & F.col("at").isNotNull()).select(
        "scope", "job", "at", "file", "line", "text", detail("run").alias("run"), detail("query_name").alias("name")
    )
    marks = log_events.where(event("query-resumed", "query-fresh", "spark-version")).select(
        "scope", "file", "signature", F.col("at").alias("_at"), F.col("job").alias("_job"), F.col("checkpoint").alias("_batch")
    )
    own = ~event("spark-version") & (F.coalesce("_job", "job") == F.col("job")) & seconds("at", "_at").between(0, 300)
    batch = first_of((F.lit(0), event("query-fresh")), otherwise=F.col("_batch"))
    runs = (
        starts.join(marks, ["scope", "file"], "left")
        .groupBy(*starts.columns)
        .agg(
            F.min_by(batch, F.when(own, F.col("_at"))).alias("first_batch"),
            greatest("_at", event("spark-version") & (F.col("_at") <= F.col("at"))).alias("boot"),
        )
    )
    in_order = Window.partitionBy("scope", "job").orderBy("at", "file", "line")
    after = {"next_run": "run", "booted": "boot", "batch": "first_batch", **{f"next_{n}": n for n in ("at", "file", "line", "text")}}
    both = runs.withColumns({name: F.lead(of).over(in_order) for name, of in after.items()}).withColumnRenamed("at", "begun")
    return both.where((F.col("next_run") != F.col("run")) & (F.col("booted") > F.col("begun"))).drop("line", "text", "run", "boot")
