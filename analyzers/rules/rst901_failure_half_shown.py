"""RST901: logs show only part of a failure: what it hit, what came first, or whose it was."""

from analyzers.vocabulary import ANY, UNDECIDED, DataFrame, has, rule
from analyzers.vocabulary.open_ends import still_open

KINDS = ("registration", "container", "out-of-memory", "cancelled", "only-consequences", "process", "retries")


@rule(
    "RST901",
    title="The logs show only part of a failure",
    stage="failure",
    severity=UNDECIDED,
    logs_of=ANY,
    needs=has(kind=KINDS),
    says={
        "registration": "whether the TaskManager of {name} reaches the JobManager[[ at {address}]]: its log ends before it did",
        "container": "to which job container {resource} belonged, which was killed: no line of a streaming job stands beside it",
        "out-of-memory": "whether a job suffers from the memory that ran out[[ at {at} UTC]] ({file}:{line}: {name}): no task, job or "
        "worker failed of it",
        "cancelled": "why tasks were cancelled[[ at {at} UTC]]: the lines show neither a failure nor an order to stop",
        "only-consequences": "why {task} failed[[ at {at} UTC]]: [[{name} is]] only a consequence of another failure or an order; the "
        "JobManager's log just before has the first",
        "process": "whether the process of {name} still works: its log ends at {at} UTC with no shutdown message, while that of {resource} "
        "goes on for {lasted_shown}",
        "retries": "whether {name} answers again: a client has tried {number} times in the {lasted_shown} up to the end of the log, and no "
        "line shows that one succeeded",
    },
    next_command={
        "registration": "diag triage LOG_DIRECTORY   # with the JobManager's log beside it",
        "container": "yarn logs -applicationId APPLICATION   # or kubectl describe pod: whose container it was",
        "process": "kubectl get pods   # or jps on its host: whether the process of {name} runs; or copy its log again",
    },
)
def failure_half_shown(open_ends: DataFrame) -> DataFrame:
    """Logs show only part of a failure: what it hit, what came first, or whose it was."""
    return still_open(open_ends, *KINDS)
