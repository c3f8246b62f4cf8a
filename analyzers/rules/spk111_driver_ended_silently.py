"""SPK111: the driver of a query ended without a word, and another one went on."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from analyzers.derived.failures.failure_signs import QUERY_OVER
from analyzers.report.finding import Severity
from analyzers.tables.processes import SPARK_DRIVER
from analyzers.vocabulary.aggregates import seconds
from analyzers.vocabulary.findings import exemplars
from analyzers.vocabulary.rule import has, rule

_ORDERED = ("spark-stopping", "process-stop-requested", "query-twice")
_WORK = ("query-progress", "batch-planned")


@rule(
    "SPK111",
    title="The driver of a query ended without a word",
    stage="failure",
    severity=Severity.WARNING,
    logs_of=SPARK_DRIVER,
    signatures=("query-started", "query-fresh", "query-resumed", "spark-version", *_WORK, *_ORDERED, *QUERY_OVER),
    says={
        "again-and-again": "The driver of query {query} ends again and again without a word: {times} times since {since} UTC, the last "
        "time at {ended} UTC[[ in or before batch {batch}]]. Each time its log stops there and another driver starts. No line says that "
        "the query failed or was stopped, nor that the driver was asked to end",
        "": "The driver of query {query} ended {times} time(s) without a word, the last time at {ended} UTC[[ in or before batch "
        "{batch}]]: its log stops there, and at {next_at} UTC another driver starts and goes on. No line says that the query failed or "
        "was stopped, nor that the driver was asked to end",
    },
    inferred="It was probably killed from outside, mostly for memory, or its node was lost: an orderly end and SIGTERM leave lines.",
    missing="what ended it: its own log cannot say it; the orchestrator and the kernel's log of its host do",
    next_command="kubectl describe pod POD   # or kubectl get events, yarn logs -applicationId ID, dmesg -T on its host",
    needs=has(signature=("query-started",)),
)
def driver_ended_silently(
    log_events: DataFrame,
    log_counts: DataFrame,
    log_files: DataFrame,
    *,
    pause: int = 900,  # seconds from the last line to the next driver: Kubernetes backs off up to 300; a later start tells of no kill
    around: int = 120,  # seconds before its last batch in which the end may have been ordered
    enough: int = 3,  # ends within `loop`: two may be the luck of a day
    loop: int = 1800,  # seconds: of ends of one cause that come back so soon, and to the end of the log, as the loop may be over
) -> DataFrame:
    """Per query. No line may be missing: both drivers write one file, or as many batches were done as the next run's number tells.

    "Running Spark version" of the next driver shows that SparkContext logs at INFO; else its orderly end would not be seen either.
    Source: SparkContext (shutdown hook), StreamExecution (each run logs its end), MicroBatchExecution (resumes at the first not done).
    """
    runs = _runs(log_events)
    last = log_counts.where(F.col("signature").isin(*_WORK)).select(
        F.col("scope").alias("_scope"), F.col("job").alias("_job"), "signature", "events", "first_at", "last_at"
    )
    of_run = (
        (F.col("scope") == F.col("_scope"))
        & (F.coalesce("_job", "job") == F.col("job"))
        & F.col("last_at").between(F.col("begun"), F.col("next_at"))
    )
    done, planned = (F.sum(F.when(F.col("signature") == name, F.col("events"))) for name in _WORK)
    before = F.when(F.col("last_at") < F.col("booted"), F.col("last_at")).when(F.col("first_at") < F.col("booted"), F.col("first_at"))
    worked = (
        runs.join(last, of_run, "left")
        .groupBy(*runs.columns)
        .agg(
            F.coalesce(F.max(before), "begun").alias("worked"),  # killed before its first batch
            F.coalesce(F.least(done, planned), F.lit(0)).alias("batches"),
        )
    )
    told = log_files.select(F.col("scope").alias("_scope"), F.col("file").alias("_file"), F.col("last_at").alias("_written"))
    mine = (F.col("scope") == F.col("_scope")) & (F.col("file") == F.col("_file"))
    ended = F.greatest("worked", F.when(F.col("_written") < F.col("booted"), F.col("_written")))
    silent = worked.join(told, mine, "left").withColumn("ended_at", ended).drop("_scope", "_file", "_written")
    whole = (F.col("file") == F.col("next_file")) | (F.col("batches") >= F.col("batch") - F.col("first_batch") - 1)
    silent = silent.where(whole & seconds("ended_at", "booted").between(0, pause))
    ordered = log_events.where(_says_why()).select(F.col("scope").alias("_scope"), F.col("job").alias("_job"), F.col("at").alias("_at"))
    same = (F.col("scope") == F.col("_scope")) & (F.coalesce("_job", "job") == F.col("job"))
    silent = silent.join(
        ordered, same & F.col("_at").between(F.col("worked") - F.make_dt_interval(secs=F.lit(around)), F.col("next_at")), "left_anti"
    )
    shown = {name: F.col(f"next_{name}") for name in ("at", "file", "line", "text")}
    per_query = (
        silent.withColumns(shown)
        .groupBy("scope", "job")
        .agg(
            F.count("*").alias("times"),
            F.min("ended_at").alias("since"),
            F.max("ended_at").alias("until"),
            F.max("next_at").alias("_next"),
            F.max_by("batch", "ended_at").alias("batch"),
            F.max_by("name", "ended_at").alias("query"),
            F.collect_list("ended_at").alias("_ends"),
            exemplars(),
        )
    )
    newest = log_files.groupBy("scope").agg(F.max("last_at").alias("_newest"))
    recent = F.size(F.filter("_ends", lambda end: seconds(end, "until") <= loop))
    again = (recent >= enough) & (seconds("until", "_newest") <= loop)
    told_by = per_query.join(newest, "scope", "left").withColumn("_again", F.coalesce(again, F.lit(False)))
    return told_by.withColumns(
        {
            "reason": F.when(F.col("_again"), F.lit("again-and-again")).otherwise(F.lit("ended-silently")),
            "cause": F.when(F.col("_again"), F.lit("taskmanager-lost")),
            "severity": F.when(F.col("_again"), F.lit("critical")).otherwise(F.lit("warning")),
            "ended": F.date_format("until", "yyyy-MM-dd HH:mm:ss"),
            "next_at": F.date_format("_next", "yyyy-MM-dd HH:mm:ss"),
            "query": F.coalesce("query", "job"),
            "confidence": F.lit(0.67),  # wanted: what its container says of its end
        }
    ).drop("_next", "_ends", "_newest", "_again")


def _runs(log_events: DataFrame) -> DataFrame:
    """Each run that another one of the same query in a new driver followed: begun, file, next_at, next_file, booted, batch, first_batch."""
    signature, detail = F.col("signature"), F.col("detail")
    starts = log_events.where((signature == "query-started") & F.col("at").isNotNull())
    places = log_events.where(signature.isin("query-resumed", "query-fresh")).select(
        F.col("scope").alias("_scope"), F.col("file").alias("_file"), F.col("at").alias("_at"), F.col("job").alias("_job"),
        F.when(signature == "query-fresh", F.lit(0)).otherwise(F.col("checkpoint")).alias("_batch"),
    )  # fmt: skip
    boots = log_events.where(signature == "spark-version").select(
        F.col("scope").alias("_scope"), F.col("file").alias("_file"), F.col("at").alias("_at")
    )
    mine = (F.col("scope") == F.col("_scope")) & (F.col("file") == F.col("_file"))
    behind = mine & (F.coalesce("_job", "job") == F.col("job")) & seconds("at", "_at").between(0, 300)
    rows = starts.select("scope", "job", "at", "file", "line", "text", detail["run"].alias("run"), detail["query_name"].alias("name"))
    rows = rows.join(places, behind, "left").groupBy(*rows.columns).agg(F.min_by("_batch", "_at").alias("at_batch"))
    booted = rows.join(boots, mine & (F.col("_at") <= F.col("at")), "left").groupBy(*rows.columns).agg(F.max("_at").alias("boot"))
    per_query = Window.partitionBy("scope", "job").orderBy("at", "file", "line")
    after = {name: F.lead(name).over(per_query) for name in ("run", "at", "file", "line", "text", "boot", "at_batch")}
    both = booted.select(
        "scope", "job", "name", "run", F.col("at").alias("begun"), "file", F.col("at_batch").alias("first_batch"),
        *(value.alias(f"next_{name}") for name, value in after.items()),
    )  # fmt: skip
    renamed = both.withColumnsRenamed({"next_boot": "booted", "next_at_batch": "batch"})
    return renamed.where((F.col("next_run") != F.col("run")) & (F.col("booted") > F.col("begun"))).drop("run", "next_run")


def _says_why() -> Column:
    """Lines that tell of an end: of the query, or of the driver in order. Executors are asked to stop when their driver is gone, too."""
    by_executor = (F.col("signature") == "process-stop-requested") & (F.coalesce("role", F.lit("")) == "spark-executor")
    return F.col("signature").isin(*_ORDERED, *QUERY_OVER) & ~by_executor
