"""RST404: the job cannot get the slots it needs."""

from analyzers.vocabulary import CRITICAL, FAILING, JOBMANAGER, DataFrame, F, IfGiven, beside, count, event, failures, first_of, rule
from analyzers.vocabulary.workers import VICTIMS

_COUNTED = "{what}; {failures} time(s)[[ since {since} UTC]]"


@rule(
    "RST404", title="The job cannot get the slots it needs", cause="taskmanager-lost", stage="access", severity=CRITICAL,
    logs_of=JOBMANAGER, faults=("no-slots",), signatures=("worker-requested", "worker-never-registered", "worker-start-failing"),
    says={
        "workers-missing": f"The job waits for slots: {_COUNTED}. TaskManagers that Flink requested do not come: {{never}} did not register"
        "[[, {asked} request(s)]]",
        "": f"The job[[ {{job}}]] cannot get its slots: {_COUNTED}",
    },
    missing="which worker is missing and why: the events of the resource manager or cluster show it",
    next_command="curl -s http://JOBMANAGER:8081/overview   # slots-total, slots-available, taskmanagers",
    needs=FAILING,
)  # fmt: skip
def no_slots(faults: DataFrame, attempts: IfGiven, log_events: IfGiven) -> DataFrame:
    """Slot requests that were not fulfilled, per job; a warning where the job got them in the end."""
    well = F.col("ended").isin("running", "planned", "finished") & (F.col("checkpoints_completed") > 0)
    newest = attempts.groupBy("scope", "job").agg(F.max_by(well, "attempt").alias("_well"))
    workers = log_events.groupBy("scope").agg(
        count(event("worker-never-registered", "worker-start-failing")).alias("_never"),
        F.nullif(count(event("worker-requested")), F.lit(0)).alias("asked"),
    )
    found = beside(beside(failures(faults), newest, "job"), workers)
    return found.drop(*VICTIMS).withColumns(
        {
            "severity": first_of(("warning", F.col("_well")), otherwise="critical"),
            "never": F.coalesce("_never", F.lit(0)),
            "reason": first_of(("workers-missing", F.col("_never") > 0), otherwise="no-slots"),
        }
    )
