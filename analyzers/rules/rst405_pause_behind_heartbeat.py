"""RST405: a JVM stood still for so long that its heartbeat was missed."""

from analyzers.vocabulary import CRITICAL, FLINK, Column, DataFrame, F, IfGiven, Window, detail, first_of, has, joined, rule
from analyzers.vocabulary.aggregates import agreed, count, failures, seconds
from analyzers.vocabulary.workers import VICTIMS, lost_workers

PAUSES = ("gc-pause", "gc-pause-jdk8", "safepoint-stop", "thread-starved")


@rule(
    "RST405", title="A pause of the JVM is behind a lost heartbeat", cause="taskmanager-lost", stage="access", severity=CRITICAL,
    logs_of=FLINK, signatures=PAUSES, faults=("heartbeat-lost", "executor-lost"),
    says="Worker[[ {resource}]][[ ({file_named})]] stood still for {paused_seconds} s around the loss of its heartbeat at {since} UTC "
    "({pauses} pause(s), the longest {longest_seconds} s[[, heap {heap}]]): it had not died; {failures} failure(s)",
    inferred="[[{assumed}]]",
    next_command={
        "garbage-collection": "jmap -histo:live PID | head -30   # on the worker[[ {resource}]] while it runs: what fills its heap",
        "frozen": "cat /sys/fs/cgroup/cpu.stat   # in the worker's container: nr_throttled; then dmesg -T on its host",
    },
    needs=has(fatal=(True,)),
)  # fmt: skip
def pause_behind_heartbeat(
    faults: DataFrame,
    log_events: DataFrame,
    attempts: IfGiven,
    *,
    before: int = 120,  # seconds; heartbeat.timeout is 50 s (Spark 120 s): what froze the process began that much earlier
    after: int = 60,  # seconds; a unified GC log writes its line when the pause is over
    standing: int = 25,  # seconds in all: half a heartbeat.timeout; shorter stops do not lose a heartbeat
) -> DataFrame:
    """Lost heartbeats with pauses of the same worker beside them; where names do not match, of the only process with such lines."""
    lost = lost_workers(faults.where("fatal"), attempts)
    near = (F.col("scope") == F.col("_scope")) & seconds("paused_at", "at").between(-after, before)
    stops = ("paused_seconds", "longest_seconds", "pauses", "heap", "file_named")
    per_loss = (
        joined(lost, _pauses(log_events), near & (_same_worker() | F.col("only_one")))
        .groupBy("scope", "file", "line")
        .agg(
            F.round(F.sum("paused")).cast("long").alias("paused_seconds"),
            F.round(F.max("paused"), 1).alias("longest_seconds"),
            count().alias("pauses"),
            F.max("heap").alias("heap"),
            agreed("pause_file", "file_named"),
            F.min(_same_worker()).alias("named"),
            F.max("collector").alias("collector"),
            F.collect_set("shown").alias("seen"),
        )
        .where(F.col("paused_seconds") >= standing)
    )
    found = failures(
        lost.join(per_loss, ["scope", "file", "line"]),
        agreed("resource"),
        F.max(F.struct(*stops)).alias("_worst"),  # of several losses the one with the longest standstill
        F.min("named").alias("_named"),
        F.max("collector").alias("_collector"),
        F.slice(F.sort_array(F.array_distinct(F.flatten(F.collect_list("seen")))), 1, 5).alias("_seen"),
    )
    assumed = "That the pauses are those of the lost worker is inferred: these logs have no others, and no line names the process."
    return found.drop(*VICTIMS).withColumns(
        {
            **{name: F.col("_worst")[name] for name in stops},
            "evidence": F.concat("evidence", "_seen"),
            "reason": first_of(("garbage-collection", F.col("_collector")), otherwise="frozen"),
            "assumed": first_of((assumed, ~F.col("_named"))),
            "confidence": first_of((1.0, F.col("_named")), otherwise=0.75),
        }
    )


def _pauses(log_events: DataFrame) -> DataFrame:
    """One row per stop: _scope, paused_at, paused (seconds), pause_path, pause_file, pause_host, heap, collector, only_one, shown."""
    stopped = F.coalesce(
        detail("pause_ms").cast("double") / 1000,
        detail("pause_seconds").cast("double"),
        F.regexp_replace(detail("stopped_seconds"), ",", ".").cast("double"),
        detail("stopped_ns").cast("double") / 1e9,
        F.col("duration_ms") / 1000,
    )
    collected = F.col("signature").startswith("gc-pause")
    rows = log_events.where(stopped.isNotNull() & F.col("at").isNotNull()).select(
        F.col("scope").alias("_scope"),
        F.col("at").alias("paused_at"),
        stopped.alias("paused"),
        F.col("file").alias("pause_path"),
        F.regexp_extract("file", r"([^/]+)$", 1).alias("pause_file"),
        F.col("host").alias("pause_host"),
        F.when(collected, F.concat(detail("before"), F.lit("->"), detail("after"), F.lit(" of "), detail("total"))).alias("heap"),
        collected.alias("collector"),
        F.struct("at", "file", "line", F.lit("log_events").alias("table"), "text").alias("shown"),
    )
    # a safepoint line and a GC line report one stop: where a file has both, the GC lines are counted
    kept = rows.withColumn("_gc", F.max("collector").over(Window.partitionBy("_scope", "pause_path"))).where(
        F.col("collector") | ~F.col("_gc")
    )
    each = Window.partitionBy("_scope")
    return kept.withColumn("only_one", F.min("pause_path").over(each) == F.max("pause_path").over(each)).drop("_gc")


def _same_worker() -> Column:
    """Whether the file or host of a pause is named like the lost worker."""
    name, host = (F.lower(F.coalesce(column, F.lit(""))) for column in ("resource", "worker_host"))
    place = F.lower(F.concat_ws(" ", "pause_path", "pause_host"))
    return ((F.length(name) >= 3) & F.contains(place, name)) | ((F.length(host) >= 3) & (host != "localhost") & F.contains(place, host))
