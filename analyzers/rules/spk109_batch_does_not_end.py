"""SPK109: A batch of a Structured Streaming query does not end, while its driver is alive."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from math import inf
from typing import Any

from analyzers.derived.failures.failure_signs import BATCH_DONE, BATCH_PLANNED, QUERY_OVER
from analyzers.tables import Row
from analyzers.vocabulary import (
    CRITICAL,
    SPARK_DRIVER,
    DataFrame,
    F,
    Window,
    count,
    detail,
    event,
    exemplars,
    first_of,
    greatest,
    joined,
    rule,
    seconds,
)
from analyzers.vocabulary.quick_looks import grouped, silent_for

REALTIME = "query-realtime"
LEFT = "spark-task-finished"
_PROGRESS = "query-progress"
TASKS = ("tasks_done", "tasks")
JOBS = ("spark-job-started", "spark-job-finished")
_OF_QUERY = ("_name", "_realtime", "_shared")
UNENDED = "has not ended for {minutes} minutes, until the end of its driver's log (earlier ones took {longest} s at most)"


def _one_open(rows: Sequence[Row], thresholds: Mapping[str, Any]) -> bool:
    """Whether the newest planned batch of a query made no progress, and was planned long before the end of the logs; where lines tell of
    single tasks, or in Real-time Mode, it says nothing that none is open."""
    told = {row["signature"] for row in rows}
    if not told.isdisjoint((LEFT, REALTIME)):
        begins = (row for row in rows if row["signature"] in (*BATCH_PLANNED, _PROGRESS) and row["checkpoint"] is not None)
        apart = grouped(begins, "job", lambda row: row["signature"] == _PROGRESS)
        return any(silent_for(own, unknown=inf) >= thresholds["at_least"] for own in apart.values())
    newest: dict[tuple[Any, ...], int] = defaultdict(int)
    for row in rows:
        if row["checkpoint"] is not None and row["signature"] in (*BATCH_PLANNED, *BATCH_DONE):
            key = (row["scope"], row["job"], row["signature"] in BATCH_DONE)
            newest[key] = max(newest[key], row["checkpoint"])
    planned = grouped((row for row in rows if row["signature"] in BATCH_PLANNED and row["checkpoint"] is not None), "job")
    return any(
        batch > newest.get((scope, job, True), newest.get((scope, None, True), batch))
        and silent_for(planned[scope, job], unknown=inf) >= thresholds["at_least"]
        for (scope, job, done), batch in newest.items()
        if not done
    )


@rule(
    "SPK109", title="A batch of the query does not end", stage="checkpoint", severity=CRITICAL, logs_of=SPARK_DRIVER,
    signatures=("query-started", REALTIME, LEFT, *BATCH_PLANNED, *BATCH_DONE, *JOBS, *QUERY_OVER), needs=_one_open,
    says={
        "stuck-call": f"Batch {{batch}} of the query {UNENDED}: none of its Spark jobs runs, so a call in the driver waits (foreachBatch, "
        "a sink's commit, a listing). Nothing is read meanwhile, and nothing is committed",
        "few-tasks": f"Batch {{batch}} of the query {UNENDED}: {{waiting}} of the {{tasks}} tasks of its stage {{stage}} has not ended, "
        "and no other one has for as long. Nothing is committed meanwhile",
        "real-time": f"Batch {{batch}} of the query, which runs in Real-time Mode, {UNENDED}: one of its tasks waits. Nothing is committed "
        "meanwhile, and a restart reads all of it again",
        "beside-others": f"Batch {{batch}} of query {{query}}, one of several in its driver, {UNENDED}: a call in the driver waits "
        "(foreachBatch, a sink's commit, a listing), a task of its Spark job waits, or the batch is far larger than earlier ones",
        "": f"Batch {{batch}} of the query {UNENDED}: its Spark job {{spark_job}} runs. The batch is far larger than earlier ones, or one "
        "of its tasks waits",
    },
    missing={
        "few-tasks": "what that task waits for: a thread dump of its executor shows it",
        "stuck-call": "the call that the driver waits in: these logs do not show it, a thread dump does",
    },
    next_command={
        "few-tasks": "curl -s 'http://DRIVER:4040/api/v1/applications/APP/stages/{stage_number}/0/taskList?status=running'   # where",
        "": "jstack $(pgrep -f SparkSubmit)   # on the driver's host: 'stream execution thread'",
    },
)  # fmt: skip
def batch_does_not_end(
    log_events: DataFrame,
    log_files: DataFrame,
    *,
    at_least: int = 600,  # seconds; a batch may take minutes after a pause
    times: int = 20,  # and it may be much larger than those before
    few: float = 0.02,  # of the tasks of a stage, or one: skewed data leaves more of them
    late: int = 3,  # times; in Real-time Mode its trigger says how long it lasts
) -> DataFrame:
    """Per query whose log continues long after the newest batch was planned (MicroBatchExecution logs each plan and each progress)."""
    of_query = _with_query(log_events)
    planned, done = F.col("_planned_at"), F.col("_done_at")
    per_batch = _begun(of_query.where(F.col("checkpoint").isNotNull())).groupBy("scope", "job", F.col("checkpoint").alias("batch"))
    times_of = {"_planned_at": greatest("at", event(*BATCH_PLANNED)), "_done_at": greatest("at", event(*BATCH_DONE))}
    ends = per_batch.agg(*(value.alias(name) for name, value in times_of.items()))
    next_planned = F.lead("_planned_at").over(Window.partitionBy("scope", "job").orderBy("batch"))
    batches = (
        ends.withColumn("_next_at", next_planned)
        .groupBy("scope", "job")
        .agg(
            greatest("batch", planned.isNotNull()).alias("batch"),
            greatest("batch", done.isNotNull()).alias("_known_done"),
            greatest("batch", F.coalesce(done, "_next_at").isNotNull()).alias("_done"),
            F.max(planned).alias("since"),
            F.max(seconds(planned, F.coalesce(done, "_next_at"))).alias("longest"),
        )
    )
    later = joined(of_query, batches.where(F.col("batch") > F.col("_done")), ["scope", "job"]).where(F.col("at") >= F.col("since"))
    started, finished = (F.collect_set(F.when(event(name), detail("spark_job").cast("long"))) for name in JOBS)
    newest = F.when(event(LEFT), F.struct("at", "seq", detail("stage").alias("stage"), *(detail(n).cast("long").alias(n) for n in TASKS)))
    per_query = later.groupBy("scope", "job", "batch", "since", "longest", "_known_done", *_OF_QUERY).agg(
        F.max(newest).alias("_left"),
        count(event(*QUERY_OVER)).alias("_over"),
        F.array_except(started, finished).alias("_running"),
        greatest("at", event(*JOBS)).alias("_worked"),
        F.collect_set("file").alias("_files"),
        exemplars(where=~event(LEFT)),  # the executor of a task that ended is not the one to look at
    )
    files = log_files.groupBy("scope").agg(F.collect_list(F.struct("file", "last_at")).alias("_logs"))
    own = F.filter("_logs", lambda log: F.array_contains("_files", log["file"]))
    known = per_query.join(files, "scope").withColumn("until", F.array_max(F.transform(own, lambda log: log["last_at"])))
    real_time, shared = F.col("_realtime"), F.col("_shared")
    age = seconds(F.greatest("since", "_worked", "_left.at"), "until")
    left = F.col("_left.tasks") - F.col("_left.tasks_done")
    one = F.coalesce((left > 0) & (left <= F.greatest(F.lit(1), F.col("_left.tasks") * few)), F.lit(False))
    # a query without new data plans no batch: that the last one ended, only its own line says
    open_ = F.col("_known_done").isNotNull() | one
    stuck = ~one & (F.size("_running") == 0) & ~shared
    usual = F.col("longest") * F.when(real_time, late).otherwise(times)
    return known.where(open_ & (F.col("_over") == 0) & (age >= F.greatest(F.lit(at_least), usual))).withColumns(
        {
            "query": F.coalesce("_name", F.nullif(F.col("job"), F.lit(""))),
            "job": F.nullif(F.col("job"), F.lit("")),
            "waiting": left,
            "tasks": F.col("_left.tasks"),
            "stage": F.col("_left.stage"),
            "stage_number": F.regexp_extract("_left.stage", r"^\d+", 0),
            "minutes": F.floor(age / 60),
            "longest": F.round("longest").cast("long"),
            "spark_job": F.array_max("_running"),
            "reason": first_of(
                ("real-time", real_time),
                ("few-tasks", one),
                ("stuck-call", stuck),
                ("beside-others", shared),
                otherwise="job-runs",
            ),
            "cause": first_of(("barrier-unacknowledged", stuck | real_time | one)),
            "severity": first_of(("critical", stuck | real_time | one), otherwise="warning"),
            "confidence": first_of((0.67, stuck | real_time | one)),
        }
    )


def _begun(rows: DataFrame) -> DataFrame:
    """`rows` of batches with when those of Real-time Mode began: right behind the one before. Their offsets are written at their end."""
    own = F.struct("checkpoint", "signature")
    next_one = F.struct((F.col("checkpoint") + 1).alias("checkpoint"), F.lit(BATCH_PLANNED[0]).alias("signature"))
    known = rows.where(~F.col("_realtime") | ~event(*BATCH_PLANNED))
    both = F.when(F.col("_realtime") & event(_PROGRESS), F.array(own, next_one)).otherwise(F.array(own))
    return known.select("scope", "job", "at", F.inline(both))


def _with_query(rows: DataFrame) -> DataFrame:
    """`rows` of queries, with _name and _realtime, and _shared: whether no line says which query some Spark jobs of the scope are of.

    Where only one query is seen, or none by its id (then ``""``), lines without an id are its own.
    """
    scope, query = Window.partitionBy("scope"), Window.partitionBy("scope", "job")
    of_batches = event("query-started", *BATCH_PLANNED, *BATCH_DONE)
    queries = F.sort_array(F.collect_set(F.when(of_batches, F.col("job"))).over(scope))
    known = rows.withColumns(
        {"_queries": queries, "_any": F.max(of_batches).over(scope), "_shared": F.max(F.col("job").isNull() & event(*JOBS)).over(scope)}
    )
    only = F.when(F.size("_queries") <= 1, F.coalesce(F.get("_queries", F.lit(0)), F.lit("")))
    own = known.withColumn("job", F.coalesce("job", only)).where(F.col("_any") & F.col("job").isNotNull())
    return own.withColumns({"_name": F.max(detail("query_name")).over(query), "_realtime": F.max(event(REALTIME)).over(query)})
