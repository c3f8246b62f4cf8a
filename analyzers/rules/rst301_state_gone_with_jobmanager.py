"""RST301: the JobManager restarted and the job came back without its state."""

from analyzers.tables import Row
from analyzers.vocabulary import CRITICAL, JOBMANAGER, DataFrame, F, IfGiven, beside, event, exemplars, first_of, rule
from analyzers.vocabulary.checkpoints import in_order

_LAG = "diag lag-report --bootstrap-server HOST:PORT,…   # where the job's group stands now"
_OF_THE_BEGIN = ("no-checkpoint-restored", "job-initializing", "checkpoints-found")


def _is_anew(life: Row) -> bool:
    """Whether a life of a job is one that was forgotten, or began from nothing where another had been; Spark judges the same."""
    before = life["replaces"] and life["before_completed"] is not None and life["before_over"] is False
    from_nothing = life["nothing_found"] or (life["first_checkpoint"] is not None and life["first_checkpoint"] <= 1)
    anew = before and from_nothing and life["restored"] is False and (life["jobmanager_starts"] or 0) > 0
    return life["forgotten"] is not None or bool(anew)


WHY = (
    "why the JobManager ended: if its last lines do not show it, ask the orchestrator (kubectl describe pod, kubectl logs --previous, yarn "
    "logs)"
)


@rule(
    "RST301", title="The job came back without its state after the JobManager restarted", stage="restart", severity=CRITICAL,
    shows="state-lost", cause="jobmanager-lost", logs_of=JOBMANAGER, signatures=(*_OF_THE_BEGIN, "job-state", "jobs-recovered"),
    says={
        "not-recovered": "The job {job_name} is gone since the JobManager was started again[[ at {since} UTC]]: the new one recovered 0 "
        "jobs, and before, the job had completed checkpoint {completed}[[ ({completed_at} UTC)]]",
        "": "The job {job_name} started from nothing[[ at {since} UTC]], after {restarts_shown}[[ ({killed})]]: before, it had completed "
        "checkpoint {completed}[[ ({completed_at} UTC)]], and nothing was restored[[; {storage_shown}]]. "
        "Its state is empty and its sources begin at the committed offsets or at auto.offset.reset: records are skipped or read again"
        "[[. Compared with the start before, it begins "
        "{skipped} offset(s) further on in {skipped_partitions} partition(s): what lies between and was not read before is skipped]]"
        "[[. Compared with the start before, it begins {repeated} offset(s) further back in {repeated_partitions} partition(s): they are "
        "read again]]",
    },
    missing="[[{why_unknown}]]",
    next_command={"memory": _LAG, "": "diag checkpoint-inspect CHECKPOINT_DIRECTORY/{old_job}"},
    needs=lambda lives, _: any(map(_is_anew, lives)),
)  # fmt: skip
def state_gone_with_jobmanager(job_lives: DataFrame, log_events: DataFrame, faults: IfGiven) -> DataFrame:
    """Jobs that completed checkpoints and did not end, and began anew without any after a start of the JobManager, or not at all.

    Jobs are compared by name: Flink gives a new id without high availability.
    """
    col = F.col
    forgotten, in_memory = col("forgotten").isNotNull(), col("before_in_memory")
    from_nothing = ~col("restored") & (col("nothing_found") | (col("first_checkpoint") <= 1)) & (col("jobmanager_starts") > 0)
    anew = col("replaces") & col("before_completed").isNotNull() & ~col("before_over") & from_nothing
    lost = _shown(job_lives.where(forgotten | F.coalesce(anew, F.lit(False))), log_events)
    old_job = first_of((col("job"), forgotten), otherwise=col("before_job"))
    several = F.concat("jobmanager_starts", F.lit(" starts of the JobManager"))
    of_master = faults.where(F.col("fault") == "jobmanager-killed").groupBy("scope")
    why = F.when(F.contains("text", F.lit("OOMKilled")), "its container was killed for its memory").otherwise("its container was killed")
    return beside(lost, of_master.agg(F.max(why).alias("killed"))).withColumns(
        {
            "why_unknown": F.when(F.col("killed").isNull(), WHY),
            "killed_as": F.when(F.contains("killed", F.lit("memory")), "OOMKilled"),
            "for_memory": F.when(F.contains("killed", F.lit("memory")), "jobmanager.memory.process.size"),
            "reason": first_of(("not-recovered", forgotten), ("memory", in_memory), otherwise="no-restore"),
            "old_job": old_job,
            "completed": first_of((col("last_completed"), forgotten), otherwise=col("before_completed")),
            "completed_at": first_of((col("last_completed_at"), forgotten), otherwise=col("before_completed_at")),
            "since": first_of((col("forgotten_from"), forgotten), otherwise=col("began_at")),
            "until": first_of((col("forgotten_at"), forgotten), otherwise=col("last_at")),
            # else only the numbering that begins at 1 shows it
            "confidence": F.when(forgotten | col("nothing_found"), 1.0).otherwise(0.8),
            "storage_shown": F.when(in_memory, "checkpoint storage was the JobManager's memory"),
            "restarts_shown": first_of((several, col("jobmanager_starts") > 1), otherwise="the JobManager was started again"),
            **{way: F.format_number(f"{way}_offsets", 0) for way in ("skipped", "repeated")},
        }
    )


def _shown(lost: DataFrame, log_events: DataFrame) -> DataFrame:
    """`lost` with its evidence: the lines with which each life begins, or the one that shows that no job was recovered."""
    lives = lost.select("scope", F.col("job").alias("_job"), F.col("file").alias("_file"), "begins", "ends", "forgotten")
    begins = event(*_OF_THE_BEGIN) | (event("job-state") & (F.col("from_state") == "CREATED"))
    of_life = (F.col("file") == F.col("_file")) & in_order().between(F.col("begins"), F.col("ends"))
    own = begins & of_life & F.coalesce(F.col("job") == F.col("_job"), F.lit(True))
    shows = first_of((event("jobs-recovered") & (in_order() == F.col("forgotten")), F.col("forgotten").isNotNull()), otherwise=own)
    shown = log_events.join(lives, "scope").where(shows).groupBy("scope", F.col("_job").alias("job"), "begins").agg(exemplars(most=4))
    return beside(lost, shown, "job", "begins")
