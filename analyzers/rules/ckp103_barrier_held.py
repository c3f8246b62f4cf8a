"""CKP103: a TaskManager's log names the subtask that holds the barrier."""

import re  # noqa: I001  # one name a line is a page

from analyzers.components import packages
from analyzers.vocabulary import (
    CRITICAL, TASKMANAGER, Column, DataFrame, F, Window, beside, count, detail, distinct, earliest, event, first_of, found, greatest, has,
    rule, the_task,
)  # fmt: skip
from analyzers.vocabulary.checkpoints import EXPIRY, has_expired
from analyzers.vocabulary.subtasks import deployed_to, subtask_name

HELD = ("task-stuck-cancelling", "checkpoint-start-delayed", "barrier-overtaken")
TASK_THREAD = r"^(.+) \((\d+)/(\d+)\)#(\d+)"
"""Flink names the thread of a subtask after it; layouts that print the thread name the delayed subtask."""
OF_FRAMEWORKS = r"(?:[\w.@-]+/)?(?:" + "|".join(map(re.escape, packages("runtime", "engine", "peer"))) + r")\."
FRAME = r"(?:[\w.@-]+/)?[\w$.<>]+\.[\w$<>]+\([^)\n]*\)"
UNNAMED = "which subtask it was: the line names none; print the thread (%t) in the log layout, or ask the REST API"


@rule(
    "CKP103", title="A subtask that holds the barrier is named", cause="barrier-unacknowledged", stage="checkpoint", severity=CRITICAL,
    logs_of=TASKMANAGER, signatures=(*HELD, *EXPIRY, "checkpoint-tolerance-exceeded", "task-deploying"), needs=has(signature=HELD),
    says={
        "stuck-call": "{culprits} cannot be cancelled: stuck for {blocked_seconds} s[[ in {stuck_in}]][[, after {expired} checkpoint(s) "
        "had expired]][[ (since {since} UTC)]]: its thread waits inside a call, so it can neither pass the barrier on nor stop",
        "blocked-thread": "{culprits} had all barriers, but its thread was busy for up to {blocked_seconds} s before it took the "
        "snapshot[[; {expired} checkpoint(s) expired]][[, the first at {since} UTC]]",
        "": "{culprits} still waited for barriers of checkpoint {checkpoints} when the next one came[[; {expired} checkpoint(s) "
        "expired]][[, the first at {since} UTC]]: it, or the subtask that feeds the input it waits for, holds the barrier",
    },
    missing={"blocked-thread": "[[{unnamed}]]"},
    next_command="jstack PID   # on the TaskManager of {culprits}[[ ({placed})]]; or the thread dump in the web UI",
)  # fmt: skip
def barrier_held(
    log_events: DataFrame,
    checkpoint_expiries: DataFrame,
    *,
    enough: int = 2,  # one barrier is overtaken around every failover
) -> DataFrame:
    """Per job, the subtasks named by the strongest kind of line there is; only where checkpoints expire (or are skipped `enough` times)."""
    waits = F.coalesce(detail("stuck_seconds"), detail("seconds")).cast("long")
    per_job = found(
        _strongest(log_events), "job",
        _kind=F.min("_kind"),
        _named=distinct(subtask_name(F.col("task"), F.col("subtask"), F.col("parallelism")), "_named"),
        checkpoints=distinct(F.when(event("barrier-overtaken"), F.col("checkpoint")), "checkpoints"),
        **the_task(),
        blocked_seconds=greatest(F.coalesce(waits, F.round(F.col("duration_ms") / 1000).cast("long"))),
        _host=earliest("host"),
        placed=F.when(F.count("placed") == count(), F.array_join(F.sort_array(F.collect_set("placed")), ", ")),
        stuck_in=F.min(F.when(event("task-stuck-cancelling"), _stuck_in())),
    )  # fmt: skip
    in_all, or_more = F.greatest("expired", "in_a_row"), F.col("in_a_row_or_more") & (F.col("in_a_row") > F.col("expired"))
    expiries = checkpoint_expiries.select(
        "scope", "job", in_all.alias("expired"), F.when(or_more, F.array(F.lit("expired"))).alias("at_least"),
        F.col("since").alias("_since"), F.col("until").alias("_until"),
    )  # fmt: skip
    gave_up = event("checkpoint-tolerance-exceeded") & F.contains(F.coalesce("text", F.lit("")), F.lit("expired"))
    restarts = log_events.where(gave_up).groupBy("scope", "job").agg(count().alias("_restarts"))
    lost = log_events.where(has_expired()).groupBy("scope").agg(F.collect_set("checkpoint").alias("_lost"))
    judged = beside(beside(per_job, expiries, "job"), restarts, "job").join(lost, "scope", "left")
    of_lost = F.coalesce(F.size(F.array_intersect("checkpoints", "_lost")), F.lit(0)) > 0
    expires = (F.coalesce("expired", F.lit(0)) > 0) | F.col("_restarts").isNotNull()
    critical = F.when(F.col("_kind") == "3-aligning", of_lost | (F.size("checkpoints") >= enough)).otherwise(expires)
    only = F.coalesce(F.size("_named") == 1, F.lit(False))
    return judged.where(critical | (F.col("_kind") == "1-stuck-call")).withColumns(
        {
            "severity": first_of(("critical", critical), otherwise="warning"),
            "reason": F.substring("_kind", 3, 40),
            "task": F.when(only, F.col("task")),
            "subtask": F.when(only, F.col("subtask")),
            "culprits": F.coalesce(F.array_join("_named", ", "), F.concat(F.lit("A subtask of "), "_host"), F.lit("A subtask")),
            "unnamed": F.when(F.col("_named").isNull(), UNNAMED),
            "expired": F.when(F.col("expired") > 0, F.col("expired")),
            "since": F.coalesce("_since", "since"),
            "until": F.greatest("_until", "until"),
            "fault_ids": F.array(F.lit("tolerance-expired")),
            # wanted: proof that checkpoints expire, a line that shows who held the barrier, and exactly one name
            "confidence": (critical.cast("int") + F.lit(1) + only.cast("int")) / 3,
        }
    )


def _strongest(log_events: DataFrame) -> DataFrame:
    """Per job the lines of the strongest kind, with the names that threads give and with ``placed``: where that attempt was deployed."""
    delayed = event("checkpoint-start-delayed")
    thread = {
        name: F.when(delayed, F.nullif(F.regexp_extract(F.coalesce("thread", F.lit("")), TASK_THREAD, at), F.lit("")))
        for at, name in enumerate(("task", "subtask", "parallelism", "attempt"), start=1)
    }
    rows = log_events.where(event(*HELD)).withColumns(
        {
            "task": F.coalesce("task", thread["task"]),
            "subtask": F.coalesce("subtask", thread["subtask"].cast("long") - 1),
            "parallelism": F.coalesce("parallelism", thread["parallelism"].cast("long")),
            "attempt": F.coalesce("attempt", thread["attempt"].cast("long")),
            "_kind": first_of(("1-stuck-call", event("task-stuck-cancelling")), ("2-blocked-thread", delayed), otherwise="3-aligning"),
        }
    )
    strength = first_of(("9-nameless", delayed & F.col("task").isNull()), otherwise=F.col("_kind"))
    best = F.min(strength).over(Window.partitionBy("scope", F.coalesce("job", F.lit(""))))
    chosen = rows.withColumn("_best", best).where((F.col("_kind") == F.col("_best")) | (F.col("_best") == "9-nameless"))
    return beside(chosen, deployed_to(log_events), "job", "task", "subtask", "attempt")


def _stuck_in() -> Column:
    """The first frame of the dump behind the line that is neither Java's nor Flink's, else its first frame."""
    own = F.regexp_extract("text", rf"\n\s*(?:at )?((?!{OF_FRAMEWORKS}){FRAME})", 1)
    top = F.regexp_extract("text", rf"in method:\s*\n?\s*(?:at )?({FRAME})", 1)
    return F.nullif(F.coalesce(F.nullif(own, F.lit("")), top), F.lit(""))
