"""LAG507: a subtask was deployed and does not reach RUNNING, so that nothing flows and no checkpoint begins."""

from collections.abc import Mapping, Sequence, Set
from math import inf
from typing import Any

from analyzers.tables import Row

from analyzers.vocabulary import (  # isort: skip
    CRITICAL, FLINK, Column, DataFrame, F, IfGiven, Window, count, event, first_of, found, greatest, joined, rule, seconds,
    the_task,
)  # fmt: skip
from analyzers.vocabulary.quick_looks import grouped, lasted, silent_for
from analyzers.vocabulary.subtasks import subtask_name

WAITING = ("CREATED", "SCHEDULED", "DEPLOYING", "INITIALIZING")
OVER = ("checkpoint-completed", "job-terminal")
REFUSED = ("checkpoint-task-not-running", "checkpoint-not-triggered")
PRODUCERS = ("producer-initialized", "transaction-coordinator-found")
_STAYS = (
    "{which} {state}[[ for {minutes} minutes]], since {since} UTC, up to the end of the log[[; {refused} checkpoint(s) could not be "
    "triggered meanwhile]]"
)


def _one_waits(rows: Sequence[Row], thresholds: Mapping[str, Any]) -> bool:
    """Whether an execution, or a task that the coordinator names, was last seen waiting, and long enough before the end of the logs, with
    no checkpoint and no end of a job behind it."""
    ends = grouped(row for row in rows if row["signature"] in OVER and row["at"])
    over = {scope: max(row["at"] for row in own) for (scope, *_), own in ends.items()}
    moves = (row for row in rows if row["signature"] in ("task-transition", "task-failed") and row["execution"] and row["at"])
    entered = [same for same in grouped(moves, "execution", "task").values() if _is_waiting({row["to_state"] for row in same})]
    named = [[row] for row in rows if row["signature"] == "checkpoint-task-not-running" and row["from_state"] and row["at"]]
    last = ((same, max(row["at"] for row in same), over.get(same[0]["scope"])) for same in (*entered, *named))
    waiting = (same for same, at, end in last if end is None or at > end)
    return any(lasted(same) + silent_for(same, unknown=inf) >= thresholds["lasting"] for same in waiting)


def _is_waiting(states: Set[str | None]) -> bool:
    return states <= {*WAITING, None} and not states.isdisjoint(("DEPLOYING", "INITIALIZING"))


@rule(
    "LAG507", title="A subtask does not reach RUNNING", cause="no-progress", stage="restart", severity=CRITICAL, logs_of=FLINK,
    needs=_one_waits, signatures=("task-transition", "task-failed", *OVER, *REFUSED, *PRODUCERS),
    says={
        "transactions": f"{_STAYS}. Its sink initializes one transactional producer after the other (at least {{producers}} "
        "transactional ids): it aborts the transactions that earlier runs may have left open",
        "finished": "{which} has FINISHED, and no checkpoint is triggered since ({refused} refused between {since} and {until} UTC): this "
        "job takes none once a source has ended, and a failure begins again at the last one before",
        "": _STAYS,
    },
    next_command="curl -s http://JOBMANAGER:8081/jobs/JOB/vertices/VERTEX/subtasks   # then a thread dump of the TaskManager it is on",
)  # fmt: skip
def never_runs(
    log_events: DataFrame,
    log_files: IfGiven,
    log_counts: IfGiven,
    *,
    lasting: int = 300,  # seconds; deploying and restoring small state take seconds
    lasting_alone: int = 600,  # seconds, where no checkpoint was refused meanwhile: large state is restored for minutes
    enough: int = 3,  # refused checkpoints; one or two belong to every start
    many: int = 5,  # transactional ids; a sink that restores begins one, and commits that of its checkpoint
) -> DataFrame:
    """Per job, the newest executions that never ran, and the tasks that the checkpoint coordinator names as not running, to the log's end.

    Source: Execution, DefaultCheckpointPlanCalculator; the Kafka sink aborts transactions in its writer's constructor.
    """
    ends = log_files.where(F.col("role").isin(*FLINK)).groupBy("scope").agg(F.max("last_at").alias("_end"))
    transactional = F.nullif(F.regexp_extract("text", r"transactionalId=([^\s,\]]+)", 1), F.lit(""))
    lines = log_events.groupBy("scope").agg(
        count(event("task-transition")).alias("_rows"),
        greatest("at", event(*OVER)).alias("_over_at"),
        F.collect_set(F.when(event(*PRODUCERS), F.struct("at", transactional.alias("id")))).alias("_producers"),
    )
    # of many such lines some are rows, all are counted; newer Flink prints one line that is of both signatures
    refusals = (F.collect_list(F.when(event(name), F.struct("last_at", "events"))) for name in REFUSED)
    counts = log_counts.groupBy("scope").agg(
        F.sum(F.when(event("task-transition"), F.col("events"))).alias("_all"), F.array(*refusals).alias("_refusals")
    )
    known = joined(lines, ends, "scope").join(counts, "scope", "left")
    # a subtask whose line of RUNNING is only counted would look stuck: where lines were left out, nothing follows from the last one
    whole = event("checkpoint-task-not-running") | (F.col("_all") <= F.col("_rows"))
    waits = (
        _entered(log_events)
        .unionByName(_named(log_events), allowMissingColumns=True)
        .join(known, "scope")
        .withColumn("_for", seconds("at", "_end"))
    )
    per_job = found(
        waits.where(whole & (F.col("_for") >= lasting)),
        "job",
        **the_task(),
        _over_at=F.max("_over_at"),
        _producers=F.any_value("_producers"),
        _refusals=F.any_value("_refusals"),
        _which=F.sort_array(F.collect_set(subtask_name(F.col("task"), F.col("subtask"), F.col("parallelism")))),
        _states=F.sort_array(F.collect_set("to_state")),
        _for=F.max("_for"),
    )
    begun = F.min("since").over(Window.partitionBy("scope"))
    since, ids = F.col("_since"), F.transform(F.filter("_producers", lambda one: one["at"] >= F.col("_since")), lambda one: one["id"])
    refused = F.array_max(F.transform("_refusals", lambda of: _events(F.filter(of, lambda one: one["last_at"] >= since))))
    judged = per_job.withColumn("_since", begun).withColumns(
        {"producers": F.size(F.array_distinct(F.array_compact(ids))), "refused": F.nullif(refused, F.lit(0))}
    )
    proven = F.coalesce(F.col("refused") >= enough, F.lit(False)) | (F.col("_for") >= lasting_alone)
    finished = F.array_contains("_states", "FINISHED")
    more = F.format_string(" and %d more", F.size("_which") - 2)
    which = F.concat(F.array_join(F.slice("_which", 1, 2), ", "), F.when(F.size("_which") > 2, more).otherwise(""))
    return (
        judged.where(proven & (F.col("_over_at").isNull() | (F.col("_over_at") < F.col("_since"))))
        .withColumns(
            {
                "reason": first_of(
                    ("finished", finished), ("transactions", F.col("producers") >= many), otherwise=F.lower(F.col("_states")[0])
                ),
                "state": first_of(("have been ", F.size("_which") > 1), otherwise="has been "),
                "which": which,
                "minutes": F.round(F.col("_for") / 60).cast("long"),
            }
        )
        .withColumn("state", F.concat("state", F.array_join("_states", " or ")))
    )


def _events(counts: Column) -> Column:
    """How many events an array of counts adds up to."""
    return F.aggregate(counts, F.lit(0).cast("long"), lambda total, one: total + one["events"])


def _entered(log_events: DataFrame) -> DataFrame:
    """The newest execution of each subtask, where no line has it in any state beyond INITIALIZING: its last line."""
    rows = log_events.where(event("task-transition", "task-failed") & F.col("execution").isNotNull() & F.col("at").isNotNull())
    same, subtask = Window.partitionBy("scope", "execution", "task"), Window.partitionBy("scope", "task", "subtask")
    known = rows.withColumns(
        {
            "_went_on": F.max((~F.col("to_state").isin(*WAITING)).cast("int")).over(same),
            "_began": F.min("at").over(same),
        }
    ).withColumn("_newest", F.max("_began").over(subtask))
    # a state of a TaskManager's log and of the JobManager's: the first line of the state that it stays in
    stays = known.where(
        (F.col("_went_on") == 0) & (F.col("_began") == F.col("_newest")) & F.col("to_state").isin("DEPLOYING", "INITIALIZING")
    )
    first = stays.withColumn("_rank", F.row_number().over(same.orderBy(F.col("to_state").desc(), "at", "line")))
    return first.where(F.col("_rank") == 1)


def _named(log_events: DataFrame) -> DataFrame:
    """Tasks that the coordinator of older Flink names with their state, each time that it refuses a checkpoint for them."""
    rows = log_events.where(event("checkpoint-task-not-running") & F.col("from_state").isNotNull() & F.col("at").isNotNull())
    same = Window.partitionBy("scope", "job", "task", "subtask", "from_state")
    ranked = rows.withColumn("_rank", F.row_number().over(same.orderBy("at", "line")))
    return ranked.where(F.col("_rank") == 1).withColumn("to_state", F.col("from_state"))
