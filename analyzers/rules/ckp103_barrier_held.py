"""CKP103: a TaskManager's log names the subtask that holds the barrier."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.tables.processes import TASKMANAGER
from analyzers.vocabulary.aggregates import agreed, distinct, earliest
from analyzers.vocabulary.checkpoints import CHECKPOINT_LIFE, barrier_record, has_expired
from analyzers.vocabulary.findings import exemplars
from analyzers.vocabulary.rule import has, rule
from analyzers.vocabulary.subtasks import deployed_to, subtask_name

HELD = ("task-stuck-cancelling", "checkpoint-start-delayed", "barrier-overtaken")
TASK_THREAD = r"^(.+) \((\d+)/(\d+)\)#(\d+)"
"""Flink names the thread of a subtask after it; layouts that print the thread tell who was delayed."""
OF_FRAMEWORKS = r"(?:[\w.@-]+/)?(?:java|javax|jdk|sun|com\.sun|scala|akka|org\.apache\.(?:flink|pekko|beam\.runners))\."
FRAME = r"(?:[\w.@-]+/)?[\w$.<>]+\.[\w$<>]+\([^)\n]*\)"


@rule(
    "CKP103",
    title="A subtask that holds the barrier is named",
    cause="barrier-unacknowledged",
    stage="checkpoint",
    severity=Severity.CRITICAL,
    logs_of=TASKMANAGER,
    signatures=(*HELD, "checkpoint-tolerance-exceeded", "task-deploying", *CHECKPOINT_LIFE),
    says={
        "stuck-call": "{culprits} cannot be cancelled: stuck for {blocked_seconds} s[[ in {stuck_in}]][[, after {expired} checkpoint(s) "
        "had expired]][[ (since {since} UTC)]]: its thread waits inside a call, "
        "so it can neither pass the barrier on nor stop",
        "blocked-thread": "{culprits} had all barriers, but its thread was busy for up to {blocked_seconds} s before it took the "
        "snapshot[[; {expired} checkpoint(s) expired]][[, the first at {since} UTC]]",
        "": "{culprits} still waited for barriers of checkpoint {checkpoints} when the next one came[[; {expired} checkpoint(s) "
        "expired]][[, the first at {since} UTC]]: "
        "it, or the subtask that feeds the input it waits for, holds the barrier",
    },
    missing={"blocked-thread": "[[{unnamed}]]"},
    next_command="jstack PID   # on the TaskManager of {culprits}[[ ({placed})]]; or the thread dump in the web UI",
    needs=has(signature=HELD),
)
def barrier_held(
    log_events: DataFrame,
    log_counts: DataFrame | None,
    *,
    enough: int = 2,  # one barrier is overtaken around every failover
    last: int = 10,  # as CKP101
) -> DataFrame:
    """Per job, the subtasks named by the strongest kind of line there is; only where checkpoints expire (or are skipped `enough` times)."""
    rows = log_events.where(F.col("signature").isin(*HELD))
    rows = rows.withColumns({"task": _named(1), "subtask": _named(2) - 1, "parallelism": _named(3), "attempt": _named(4), "kind": _kind()})
    places = deployed_to(log_events).withColumnsRenamed({name: f"_{name}" for name in ("scope", "job", "task", "subtask", "attempt")})
    there = F.col("job").eqNullSafe(F.col("_job"))
    for name in ("scope", "task", "subtask", "attempt"):
        there &= F.col(name) == F.col(f"_{name}")
    rows = rows.join(places, there, "left").drop("_scope", "_job", "_task", "_subtask", "_attempt")
    strongest = F.min(
        F.when(F.col("signature") != "checkpoint-start-delayed", F.col("kind")).otherwise(
            F.when(F.col("task").isNotNull(), F.col("kind")).otherwise(F.lit("9-"))
        )
    )
    chosen = rows.withColumn("best", strongest.over(Window.partitionBy("scope", F.coalesce("job", F.lit("")))))
    chosen = chosen.where((F.col("kind") == F.col("best")) | (F.col("best") == "9-"))
    seconds = F.coalesce(F.col("detail")["stuck_seconds"], F.col("detail")["seconds"]).cast("long")
    per_job = chosen.groupBy("scope", "job").agg(
        F.min("kind").alias("kind"),
        distinct(subtask_name(F.col("task"), F.col("subtask"), F.col("parallelism")), "named"),
        distinct(F.when(F.col("signature") == "barrier-overtaken", F.col("checkpoint")), "checkpoints"),
        agreed("task"),
        F.when(F.min("task") == F.max("task"), agreed("subtask")).alias("subtask"),
        F.when(F.min("task") == F.max("task"), agreed("parallelism")).alias("parallelism"),
        F.max(F.coalesce(seconds, F.round(F.col("duration_ms") / 1000).cast("long"))).alias("blocked_seconds"),
        earliest("host"),
        F.when(F.count("placed") == F.count("*"), F.array_join(F.array_sort(F.collect_set("placed")), ", ")).alias("placed"),
        F.min(F.when(F.col("signature") == "task-stuck-cancelling", _stuck_in())).alias("stuck_in"),
        F.min("at").alias("first_at"),
        F.max("at").alias("last_at"),
        exemplars(),
    )
    return _judged(per_job, log_events, log_counts, enough=enough, last=last)


def _judged(per_job: DataFrame, log_events: DataFrame, log_counts: DataFrame | None, *, enough: int, last: int) -> DataFrame:
    in_all = F.greatest("expired", "in_a_row").alias("expired")
    least = F.when(F.col("more") & (F.col("in_a_row") > F.col("expired")), F.array(F.lit("expired"))).alias("at_least")
    record = barrier_record(log_events, log_counts, last=last).select(
        "scope", F.col("job").alias("of_job"), in_all, least, "since", "until"
    )
    gave_up = log_events.where(
        (F.col("signature") == "checkpoint-tolerance-exceeded") & F.contains(F.coalesce("text", F.lit("")), F.lit("expired"))
    )
    restarted = gave_up.groupBy("scope", F.col("job").alias("restarted_job")).agg(F.count("*").alias("restarts"))
    lost = log_events.where(has_expired()).groupBy("scope").agg(F.collect_set("checkpoint").alias("lost"))
    found = (
        per_job.join(record, (per_job["scope"] == record["scope"]) & per_job["job"].eqNullSafe(record["of_job"]), "left")
        .drop(record["scope"])
        .join(
            restarted.withColumnRenamed("scope", "_scope"),
            (F.col("scope") == F.col("_scope")) & F.col("job").eqNullSafe(F.col("restarted_job")),
            "left",
        )
        .join(lost, "scope", "left")
    )
    expires = (F.coalesce("expired", F.lit(0)) > 0) | (F.coalesce("restarts", F.lit(0)) > 0)
    overtaken = F.col("kind") == "3-aligning"
    of_lost = F.size(F.array_intersect("checkpoints", F.coalesce("lost", F.array().cast("array<bigint>")))) > 0
    critical = F.when(overtaken, of_lost | (F.size("checkpoints") >= enough)).otherwise(expires)
    only = F.size("named") == 1
    return (
        found.where(critical | (F.col("kind") == "1-stuck-call"))
        .withColumns(
            {
                "severity": F.when(critical, F.lit("critical")).otherwise(F.lit("warning")),
                "reason": F.substring("kind", 3, 40),
                "task": F.when(only, F.col("task")),
                "subtask": F.when(only, F.col("subtask")),
                "culprits": F.coalesce(F.array_join("named", ", "), F.concat(F.lit("A subtask of "), F.col("host")), F.lit("A subtask")),
                "unnamed": F.when(
                    F.col("named").isNull(),
                    F.lit("which subtask it was: the line carries no name; print the thread (%t) in the log layout, or ask the REST API"),
                ),
                "expired": F.when(F.col("expired") > 0, F.col("expired")),
                "since": F.coalesce("since", "first_at"),
                "until": F.greatest("until", "last_at"),
                "fault_ids": F.array(F.lit("tolerance-expired")),
                # wanted: proof that checkpoints expire, a line that shows who held the barrier, and exactly one name
                "confidence": (critical.cast("int") + F.lit(1) + F.coalesce(only, F.lit(False)).cast("int")) / 3,
            }
        )
        .drop("of_job", "_scope", "restarted_job", "restarts", "lost", "kind", "named", "first_at", "last_at", "host")
    )


def _kind() -> Column:
    stuck = F.when(F.col("signature") == "task-stuck-cancelling", F.lit("1-stuck-call"))
    return stuck.when(F.col("signature") == "checkpoint-start-delayed", F.lit("2-blocked-thread")).otherwise(F.lit("3-aligning"))


def _named(group: int) -> Column:
    """Part `group` of the task thread's name where the line itself names nobody: task, subtask from 1, parallelism, attempt."""
    column = ("task", "subtask", "parallelism", "attempt")[group - 1]
    part = F.nullif(F.regexp_extract(F.coalesce("thread", F.lit("")), TASK_THREAD, group), F.lit(""))
    if group == 1:
        return F.coalesce(column, F.when(F.col("signature") == "checkpoint-start-delayed", part))
    own = F.col(column) + (1 if group == 2 else 0)
    return F.coalesce(own, F.when(F.col("signature") == "checkpoint-start-delayed", part.cast("long")))


def _stuck_in() -> Column:
    """The first frame of the dump behind the line that is neither Java's nor Flink's, else its first frame."""
    own = F.regexp_extract("text", rf"\n\s*(?:at )?((?!{OF_FRAMEWORKS}){FRAME})", 1)
    top = F.regexp_extract("text", rf"in method:\s*\n?\s*(?:at )?({FRAME})", 1)
    return F.nullif(F.coalesce(F.nullif(own, F.lit("")), top), F.lit(""))
