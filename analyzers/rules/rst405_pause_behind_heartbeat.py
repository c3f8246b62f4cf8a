"""RST405: a JVM stood still for so long that its heartbeat was missed."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.tables.processes import FLINK
from analyzers.vocabulary.aggregates import agreed, failures, seconds
from analyzers.vocabulary.rule import rule
from analyzers.vocabulary.workers import lost_workers

PAUSES = ("gc-pause", "gc-pause-jdk8", "safepoint-stop", "thread-starved")


@rule(
    "RST405",
    title="A pause of the JVM is behind a lost heartbeat",
    cause="taskmanager-lost",
    stage="access",
    severity=Severity.CRITICAL,
    logs_of=FLINK,
    signatures=PAUSES,
    faults=("heartbeat-lost", "executor-lost"),
    says="Worker[[ {resource}]][[ ({file_named})]] stood still for {paused_seconds} s around the loss of its heartbeat at {since} UTC "
    "({pauses} pause(s), the longest {longest_seconds} s[[, heap {heap}]]): it was not dead, it was frozen; {failures} failure(s)",
    inferred="[[{assumed}]]",
    next_command={
        "garbage-collection": "jmap -histo:live PID | head -30   # on the worker[[ {resource}]] while it runs: what fills its heap",
        "frozen": "cat /sys/fs/cgroup/cpu.stat   # in the worker's container: nr_throttled; then dmesg -T on its host",
    },
)
def pause_behind_heartbeat(
    log_events: DataFrame,
    faults: DataFrame,
    attempts: DataFrame | None,
    *,
    before: int = 120,  # seconds; heartbeat.timeout is 50 s (Spark 120 s): what froze the process began that much earlier
    after: int = 60,  # seconds; a unified GC log writes its line when the pause is over
    standing: int = 25,  # seconds in all: half a heartbeat.timeout; shorter stops do not lose a heartbeat
) -> DataFrame:
    """Lost heartbeats with pauses of the same worker beside them; of the only process with such lines where names do not tell."""
    lost = lost_workers(faults.where(F.col("fatal")), attempts)
    pauses = _pauses(log_events)
    near = seconds("paused_at", "at").between(-after, before)
    beside = lost.join(pauses, (lost["scope"] == pauses["_scope"]) & near & (_same_worker() | F.col("only_one")), "inner")
    per_loss = beside.groupBy("scope", "file", "line").agg(
        F.round(F.sum("paused")).cast("long").alias("paused_seconds"),
        F.round(F.max("paused"), 1).alias("longest_seconds"),
        F.count("*").alias("pauses"),
        F.max("heap").alias("heap"),
        agreed("pause_file", "file_named"),
        F.min(_same_worker()).alias("named"),
        F.max("collector").alias("collector"),
        F.slice(F.array_sort(F.collect_set("shown")), 1, 5).alias("seen"),
    )
    told = lost.join(per_loss.where(F.col("paused_seconds") >= standing), ["scope", "file", "line"], "inner")
    found = failures(
        told,
        agreed("resource"),
        *(F.max_by(name, "paused_seconds").alias(name) for name in ("paused_seconds", "longest_seconds", "pauses", "heap", "file_named")),
        F.min("named").alias("named"),
        F.max("collector").alias("collector"),
        F.flatten(F.collect_set("seen")).alias("seen"),
    )
    assumed = F.lit(
        "That the pauses are those of the lost worker is inferred: they are the only ones in these logs, and no line names whose they are."
    )
    return found.withColumns(
        {
            "evidence": F.concat("evidence", F.slice("seen", 1, 5)),
            "reason": F.when(F.col("collector"), F.lit("garbage-collection")).otherwise(F.lit("frozen")),
            "assumed": F.when(~F.col("named"), assumed),
            "confidence": F.when(F.col("named"), F.lit(1.0)).otherwise(F.lit(0.75)),
        }
    ).drop("seen", "named", "collector", "task", "subtask", "parallelism")  # its tasks are victims


def _pauses(log_events: DataFrame) -> DataFrame:
    """One row per stop: _scope, paused_at, paused (seconds), pause_file, pause_host, heap, collector, only_one, shown."""
    detail = F.col("detail")
    stopped = F.coalesce(
        detail["pause_ms"].cast("double") / 1000,
        detail["pause_seconds"].cast("double"),
        F.regexp_replace(detail["stopped_seconds"], ",", ".").cast("double"),
        detail["stopped_ns"].cast("double") / 1e9,
        F.col("duration_ms") / 1000,
    )
    collected = F.col("signature").startswith("gc-pause")
    shown = F.struct("at", F.col("file"), F.col("line"), F.lit("log_events").alias("table"), F.col("text"))
    rows = log_events.where(stopped.isNotNull() & F.col("at").isNotNull()).select(
        F.col("scope").alias("_scope"),
        F.col("at").alias("paused_at"),
        stopped.alias("paused"),
        F.col("file").alias("pause_path"),
        F.regexp_extract("file", r"([^/]+)$", 1).alias("pause_file"),
        F.col("host").alias("pause_host"),
        F.when(collected, F.concat(detail["before"], F.lit("->"), detail["after"], F.lit(" of "), detail["total"])).alias("heap"),
        collected.alias("collector"),
        shown.alias("shown"),
    )
    each = Window.partitionBy("_scope")
    # a safepoint line and a GC line tell of one stop: where a file has both, the GC lines are counted
    both = rows.withColumn("_gc", F.max("collector").over(Window.partitionBy("_scope", "pause_path")))
    kept = both.where(F.col("collector") | ~F.col("_gc"))
    return kept.withColumn("only_one", F.min("pause_path").over(each) == F.max("pause_path").over(each)).drop("_gc")


def _same_worker() -> Column:
    """Whether the file or host of a pause is named like the lost worker."""
    name = F.lower(F.coalesce("resource", F.lit("")))
    place = F.lower(F.concat_ws(" ", "pause_path", "pause_host"))
    host = F.lower(F.coalesce("worker_host", F.lit("")))
    return ((F.length(name) >= 3) & F.contains(place, name)) | ((F.length(host) >= 3) & (host != "localhost") & F.contains(place, host))
