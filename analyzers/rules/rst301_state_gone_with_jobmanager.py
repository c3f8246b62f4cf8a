"""RST301: the JobManager restarted and the job came back without its state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.tables import Row
from analyzers.tables.processes import JOBMANAGER
from analyzers.vocabulary.aggregates import counted
from analyzers.vocabulary.checkpoints import in_order
from analyzers.vocabulary.findings import beside, exemplars
from analyzers.vocabulary.jobmanagers import is_jobmanager_start, series, started
from analyzers.vocabulary.rule import rule

ENDED = ("CANCELED", "FINISHED", "FAILED")
RESTORES = ("job-restored", "savepoint-restored")
_LAG = "diag lag-report --bootstrap-server HOST:PORT,…   # where the job's group stands now"
_LOG = {"log": "log", "file": "log_file", "log_until": "log_until"}
OF_JOB = ("job-state", "job-initializing", "checkpoint-triggered", "checkpoint-completed", *RESTORES)
"""Lines that only a living job has; where there is one job, all other lines count as its own, too."""


def _started_later(rows: Sequence[Row], _thresholds: Mapping[str, Any]) -> bool:
    """A start of a JobManager behind the beginning of a job."""
    order = [(row["line"] if row["seq"] is None else row["seq"], row) for row in rows]
    begins = [at for at, row in order if row["signature"] == "job-initializing" or row["from_state"] == "CREATED"]
    starts = [at for at, row in order if started(row)]
    return bool(begins and starts) and max(starts) > min(begins)


@rule(
    "RST301",
    title="The job came back without its state after the JobManager restarted",
    cause="jobmanager-lost",
    stage="restart",
    severity=Severity.CRITICAL,
    logs_of=JOBMANAGER,
    signatures=(
        "flink-banner",
        "jobs-recovered",
        "job-state",
        "job-initializing",
        "no-checkpoint-restored",
        "checkpoints-found",
        "checkpoint-completed",
        "checkpoint-triggered",
        "checkpoint-storage",
        *RESTORES,
    ),
    says={
        "not-recovered": "The job {job_name} is gone since the JobManager was started again[[ at {since} UTC]]: the new one recovered 0 "
        "jobs, and before, the job had completed "
        "checkpoint {last_completed}[[ ({last_completed_at} UTC)]]",
        "": "The job {job_name} started from nothing[[ at {since} UTC]], after {restarts_shown}: before, it had completed checkpoint "
        "{last_completed}[[ ({last_completed_at} UTC)]], "
        "and nothing was restored[[; {storage_shown}]]. Its state is empty and its sources begin at the committed offsets or at "
        "auto.offset.reset: records are skipped or read again[[. {positions_shown}]]",
    },
    missing="why the JobManager went: if its last lines do not tell, ask the orchestrator (kubectl describe pod, kubectl logs --previous, "
    "yarn logs)",
    next_command="{next_look}",
    needs=_started_later,
)
def state_gone_with_jobmanager(
    log_events: DataFrame,
    split_claims: DataFrame | None,
    *,
    within: int = 3600,  # seconds; a JobManager that starts later may well be another cluster whose logs lie beside these
    overlap: int = 60,  # seconds; a process that writes on for longer while the next one lives was not replaced by it
) -> DataFrame:
    """Jobs (by name; Flink gives a new id without high availability) that had checkpoints, did not end, and began anew with none."""
    lives = _lives(log_events)
    each = Window.partitionBy("scope", "job_name").orderBy("began")
    before = ("job", "last_completed", "last_completed_at", "ended", "in_memory", "last_seen", "log", "log_file", "log_until")
    pairs = lives.withColumns({f"old_{name}": F.lag(name).over(each) for name in before})
    lost = pairs.where(
        F.col("old_last_completed").isNotNull()
        & ~F.col("old_ended")
        & ~F.col("restored")
        & (F.col("nothing_found") | (F.col("first_checkpoint") <= 1))
        & (F.col("jobmanager_starts") > 0)
        & (F.col("log") == F.col("old_log"))
        & _follows("since", "log_file", "old_last_seen", "old_log_file", "old_log_until", within, overlap)
    )
    gone = _not_recovered(lives, log_events, within, overlap)
    anew = lost.select(
        "scope",
        "job",
        "job_name",
        "since",
        F.col("last_seen").alias("until"),
        "evidence",
        F.col("old_job"),
        F.col("old_last_completed").alias("last_completed"),
        F.col("old_last_completed_at").alias("last_completed_at"),
        F.when(F.col("old_in_memory"), F.lit("memory")).otherwise(F.lit("no-restore")).alias("reason"),
        F.when(F.col("old_in_memory"), F.lit("checkpoint storage was the JobManager's memory")).alias("storage_shown"),
        F.when(F.col("jobmanager_starts") > 1, F.concat(F.col("jobmanager_starts").cast("string"), F.lit(" starts of the JobManager")))
        .otherwise(F.lit("the JobManager was started again"))
        .alias("restarts_shown"),
        F.when(F.col("nothing_found"), F.lit(1.0))
        .otherwise(F.lit(0.8))
        .alias("confidence"),  # else only the numbering that begins at 1 shows it
    )
    both = anew.unionByName(gone, allowMissingColumns=True)
    inspect = F.concat(F.lit("diag checkpoint-inspect CHECKPOINT_DIRECTORY/"), "old_job")
    look = F.when(F.col("reason") == "memory", F.lit(_LAG)).otherwise(inspect)  # what died with the JobManager nobody can inspect
    known = both.withColumns({"next_look": look, "positions_shown": F.lit(None).cast("string")})
    return known if split_claims is None else _with_positions(known.drop("positions_shown"), split_claims)


def _with_positions(found: DataFrame, split_claims: DataFrame) -> DataFrame:
    """`found` with ``positions_shown``: how far from the start before the new one begins to read, where the claims of both name offsets."""
    claims = split_claims.where(F.col("offset").isNotNull() & F.col("topic").isNotNull())
    claims = claims.select(F.col("scope").alias("_scope"), F.col("job").alias("_job"), "at", "topic", "partition", "offset")
    of_either = (F.col("scope") == F.col("_scope")) & F.col("_job").isin(F.col("job"), F.col("old_job"))
    later = F.when(F.col("job") == F.col("old_job"), F.col("at") >= F.col("since")).otherwise(F.col("_job") == F.col("job"))
    per_partition = (
        found.select("scope", "job", "old_job", "since")
        .join(claims, of_either)
        .withColumn("later", later)
        .groupBy("scope", "job", "topic", "partition")
        .agg(
            F.max(F.when(~F.col("later"), F.col("offset"))).alias("before"),
            F.min_by("offset", F.when(F.col("later"), F.col("at"))).alias("now"),
        )
        .withColumn("by", F.col("now") - F.col("before"))
    )
    sums = per_partition.groupBy("scope", "job").agg(
        *(F.count_if(way).alias(f"{name}_partitions") for name, way in (("on", F.col("by") > 0), ("back", F.col("by") < 0))),
        F.sum(F.greatest("by", F.lit(0))).alias("on"),
        F.sum(F.greatest(-F.col("by"), F.lit(0))).alias("back"),
    )
    told = [
        F.when(
            F.col(f"{name}_partitions") > 0,
            F.concat(
                counted(name, "offset"), F.lit(f" further {name} in "), counted(f"{name}_partitions", "partition"), F.lit(f": {then}")
            ),
        )
        for name, then in (("on", "what lies between and was not read before is skipped"), ("back", "they are read again"))
    ]
    shown = F.nullif(F.concat_ws("; ", *told), F.lit(""))
    both = sums.select("scope", "job", F.concat(F.lit("Compared with the start before, it begins "), shown).alias("positions_shown"))
    return beside(found, both, "job")


def _follows(start: str, file: str, seen: str, old_file: str, old_until: str, within: int, overlap: int) -> Column:
    """Whether a process that starts at `start` can be the successor of one last seen at `seen`; one file is one process after the other."""
    timed = (F.unix_seconds(start) - F.unix_seconds(seen) <= within) & (F.unix_seconds(old_until) - F.unix_seconds(start) <= overlap)
    same_file = F.col(file) == F.col(old_file)
    near = F.unix_seconds(start) - F.unix_seconds(seen) <= within
    return F.when(same_file, F.coalesce(near, F.lit(True))).otherwise(F.coalesce(timed, F.lit(False)))


def _not_recovered(lives: DataFrame, log_events: DataFrame, within: int, overlap: int) -> DataFrame:
    """Jobs that were alive, and a later start of the same JobManager that recovered none, with no new life of theirs."""
    empty = (F.col("signature") == "jobs-recovered") & (F.col("detail")["recovered"] == "0")
    rows = log_events.withColumn("log", series())
    starts = (
        rows.where(is_jobmanager_start())
        .groupBy("scope", "log")
        .agg(F.max("at").alias("started_at"), F.max(in_order()).alias("start"), F.max_by("file", in_order()).alias("start_file"))
    )
    found_none = (
        rows.where(empty).groupBy("scope", "log").agg(F.max("at").alias("emptied_at"), F.max(in_order()).alias("emptied"), exemplars())
    )
    nothing = found_none.join(starts, ["scope", "log"]).where(F.col("emptied") >= F.col("start"))
    newest = F.row_number().over(Window.partitionBy("scope", "job_name").orderBy(F.desc("began")))
    last = lives.withColumn("rank", newest).where((F.col("rank") == 1) & ~F.col("ended") & F.col("last_completed").isNotNull())
    gone = (
        last.drop("evidence", "since")
        .join(nothing, ["scope", "log"])
        .where(F.col("last_order") < F.col("start"))
        .where(_follows("started_at", "start_file", "last_seen", "log_file", "log_until", within, overlap))
    )
    return gone.select(
        "scope",
        "job",
        "job_name",
        F.col("started_at").alias("since"),
        F.col("emptied_at").alias("until"),
        "evidence",
        F.col("job").alias("old_job"),
        "last_completed",
        "last_completed_at",
        F.lit("not-recovered").alias("reason"),
        F.lit(1.0).alias("confidence"),
    )


def _lives(log_events: DataFrame) -> DataFrame:
    """One row per life of a job: from a JobMaster's start (or CREATED to RUNNING) to the next of the same name."""
    created = (F.col("signature") == "job-state") & (F.col("from_state") == "CREATED")
    name = F.col("detail")["job_name"]
    forward = Window.partitionBy("scope").orderBy(in_order(), "file", "line").rowsBetween(Window.unboundedPreceding, 0)
    begins = (F.col("signature") == "job-initializing") | (created & F.coalesce(F.col("_initialized") != F.col("job"), F.lit(True)))
    rows = log_events.withColumn("_initialized", _last(F.col("signature") == "job-initializing", F.col("job")).over(forward))
    rows = rows.withColumns(
        {
            "starts": F.sum(is_jobmanager_start().cast("int")).over(forward),
            "begin": F.when(begins, in_order()),
            # a line without a job id belongs to the JobMaster that starts there
            "of_job": F.coalesce("job", _last(begins, F.col("job")).over(forward)),
        }
    )
    of_one = Window.partitionBy("scope", "of_job").orderBy(in_order(), "file", "line").rowsBetween(Window.unboundedPreceding, 0)
    rows = rows.where(F.col("of_job").isNotNull()).withColumn("began", F.max("begin").over(of_one)).where(F.col("began").isNotNull())
    rows = rows.withColumns({"log": series(), "log_until": F.max("at").over(Window.partitionBy("scope", "file"))})
    checkpoint = F.when(F.col("signature").isin("checkpoint-triggered", "checkpoint-completed"), F.col("checkpoint"))
    done = F.col("signature") == "checkpoint-completed"
    lives = rows.groupBy("scope", F.col("of_job").alias("job"), "began").agg(
        F.max(name).alias("job_name"),
        F.min(F.when(F.col("begin").isNotNull(), F.col("at"))).alias("since"),
        F.max(F.when(F.col("signature").isin(*OF_JOB), F.col("at"))).alias("last_seen"),
        F.max(F.when(F.col("signature").isin(*OF_JOB), in_order())).alias("last_order"),
        *(F.min_by(name, F.when(F.col("begin").isNotNull(), in_order())).alias(called) for name, called in _LOG.items()),
        F.min("starts").alias("starts"),
        (F.count_if(F.col("signature").isin(*RESTORES)) > 0).alias("restored"),
        (F.count_if((F.col("signature") == "no-checkpoint-restored") | (F.coalesce(F.col("detail")["found"], F.lit("")) == "0")) > 0).alias(
            "nothing_found"
        ),
        F.min(checkpoint).alias("first_checkpoint"),
        F.max_by("checkpoint", F.when(done, in_order())).alias("last_completed"),
        F.max(F.when(done, F.col("at"))).alias("last_completed_at"),
        F.coalesce(F.max_by(F.col("to_state").isin(*ENDED), F.when(F.col("signature") == "job-state", in_order())), F.lit(False)).alias(
            "ended"
        ),
        (F.count_if((F.col("signature") == "checkpoint-storage") & (F.col("detail")["storage"] == "jobmanager")) > 0).alias("in_memory"),
        exemplars(where=F.col("signature").isin("no-checkpoint-restored", "job-initializing", "checkpoints-found") | created, most=4),
    )
    of_name = Window.partitionBy("scope", "job_name").orderBy("began")
    return lives.withColumn("jobmanager_starts", F.col("starts") - F.lag("starts").over(of_name))


def _last(where: Column, value: Column) -> Column:
    return F.last(F.when(where, value), ignorenulls=True)
