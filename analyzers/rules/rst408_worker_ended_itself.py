"""RST408: a TaskManager ended itself because of an error."""

from analyzers.vocabulary import TASKMANAGER, WARNING, DataFrame, F, agreed, beside, event, first_of, found, greatest, has, number_of, rule
from analyzers.vocabulary.aggregates import place, said

EXPLAINED_ELSEWHERE = "OutOfMemoryError|RegistrationTimeoutException|Could not register at the ResourceManager"

NO_FILE = r"!|^-$|\.(?:gz|bz2|xz|zst|lz4)$"
"""Inside of an archive, standard input, or packed: nothing that grep reads."""


@rule(
    "RST408", title="A TaskManager ended itself", stage="failure", severity=WARNING, logs_of=TASKMANAGER,
    signatures=("taskmanager-fatal", "taskmanager-registered"),
    says="TaskManager[[ {resource}]] ended itself at {since} UTC because of an error that must not happen in a task: {what}"
    "[[; {others} more did so, too]][[. No other one is registered in these logs: {no_worker} is left, and the job waits for slots while "
    "its state is RUNNING]]",
    next_command="[[grep -A 60 'Fatal error occurred' {file_named}   # the whole trace]]",
    needs=has(signature=("taskmanager-fatal",)),
)  # fmt: skip
def worker_ended_itself(log_events: DataFrame) -> DataFrame:
    """Per scope; out of memory is RST402's, a JobManager that cannot be reached RST304's. Source: TaskManagerRunner.onFatalError."""
    who, known = F.coalesce("host", "file"), event("taskmanager-registered")
    fatal = event("taskmanager-fatal") & ~F.coalesce("text", F.lit("")).rlike(EXPLAINED_ELSEWHERE) & F.col("at").isNotNull()
    ended = found(
        log_events.where(fatal),
        workers=number_of(who),
        resource=agreed("host"),
        what=F.min_by(said(), place()),
        file_named=F.min_by(F.when(~F.col("file").rlike(NO_FILE), F.col("file")), place()),
        _ended=F.collect_set(who),
    )
    registered = log_events.groupBy("scope").agg(
        F.collect_set(F.when(known, F.col("resource"))).alias("_known"), greatest("at", known).alias("_newest")
    )
    none_left = (F.size(F.array_except("_known", "_ended")) == 0) & (F.col("_newest") < F.col("since"))
    return beside(ended, registered).withColumns(
        {"others": F.when(F.col("workers") > 1, F.col("workers") - 1), "no_worker": first_of(("no worker", none_left))}
    )
