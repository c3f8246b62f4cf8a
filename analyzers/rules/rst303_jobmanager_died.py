"""RST303: the JobManager's process died."""

from analyzers.tables import Row
from analyzers.vocabulary import (
    CRITICAL,
    JOBMANAGER,
    Column,
    DataFrame,
    F,
    IfGiven,
    agreed,
    count,
    detail,
    event,
    first_of,
    found,
    greatest,
    number_of,
    rule,
    said,
    some,
)  # fmt: skip
from analyzers.vocabulary.checkpoints import in_order
from analyzers.vocabulary.quick_looks import captured

DEATHS = ("entrypoint-fatal", "uncaught-fatal", "process-terminating", "out-of-memory-exit", "yarn-master-failed")
BY_THE_JOB = ("0", "1", "1443", "1445", "130", "143")
"""Exit codes of an end that was wanted, of a job that failed, of a process that could not start (ApplicationStatus, ClusterEntrypoint)."""
OTHER_CAUSES = ("checkpoint-storage", "broker-unreachable", "external-system", "poison-record", "barrier-unacknowledged", "offset-reset")
OF_THE_PROGRAM = ("told-to-end", "file-system-missing", "class-not-made", "class-twice", "native-library", "main-failed")
"""What any JobManager would die of that starts this program with this image: RST001 reports it."""

_UNREADABLE = "Could not retrieve submitted (?:ExecutionPlan|JobGraph) from state handle|retrieved state handle is broken"
_ZOOKEEPER = r"Unhandled error in ZooKeeper|zookeeper\.KeeperException|curator\.\w*ConnectionLoss"
_OFTEN = "({times} time(s)[[, first at {since} UTC]])"


def _could_be_death(row: Row) -> bool:
    """Whether a line could be `_is_death`: an end with an exit code that says how the job ended is none."""
    return row["signature"] in DEATHS and (row["signature"] != "process-terminating" or captured(row, "exit_code") not in BY_THE_JOB)


@rule(
    "RST303", title="The JobManager's process died", stage="failure", severity=CRITICAL, cause="jobmanager-lost", logs_of=JOBMANAGER,
    signatures=("job-restored", *DEATHS), needs=some(_could_be_death),
    says={
        "out-of-memory": f"The JobManager's process ran out of memory and died {_OFTEN}[[: {{what}}]]",
        "exit-code": f"The JobManager's process ended with exit code {{exit_code}} {_OFTEN}[[: {{killed}}]]",
        "zookeeper": f"The JobManager could not reach ZooKeeper any more and ended its own process {_OFTEN}[[: {{what}}]]",
        "recovery-data": "The JobManager's process ends while it takes the jobs over, because it cannot read what high availability "
        f"stored of one {_OFTEN}[[: {{what}}]]",
        "": f"A fatal error ended the JobManager's process {_OFTEN}[[: {{what}}]]",
    },
    missing={
        "exit-code": "why it ended: the lines give no exception; its .out file, the kernel's log and the orchestrator (kubectl describe "
        "pod, yarn logs) do",
    },
    next_command="kubectl logs --previous POD   # or jobmanager.out, or dmesg -T on its host: the last lines of the process",
)  # fmt: skip
def jobmanager_died(
    log_events: DataFrame,
    faults: IfGiven,
    *,
    enough: int = 3,  # with high availability, one or two deaths are taken over without harm
) -> DataFrame:
    """Per scope, fatal ends of JobManagers; a warning where a new one took the job over from a checkpoint."""
    explained = (
        faults.where(F.col("cause").isin(*OTHER_CAUSES) | F.col("fault").isin(*OF_THE_PROGRAM)).select("scope", "file", "line").distinct()
    )
    deaths = log_events.where(_is_death()).join(explained, ["scope", "file", "line"], "left_anti")  # an end that another rule explains
    text = F.coalesce("text", F.lit(""))
    what = F.when(~event("process-terminating"), said())
    per_scope = found(
        deaths,
        times=number_of(F.coalesce(F.floor(F.unix_seconds("at") / 60), F.col("line"))),  # several lines show one death
        exit_code=agreed(detail("exit_code").cast("long"), "exit_code"),
        exception=agreed("root_exception"),
        job=agreed("job"),
        what=F.min_by(what, F.when(what.isNotNull(), in_order())),
        _out_of_memory=count(text.contains("OutOfMemoryError")),
        _zookeeper=count(text.rlike(_ZOOKEEPER)),
        _unreadable=count(text.rlike(_UNREADABLE)),
        _fatal=count(event("entrypoint-fatal", "uncaught-fatal")),
        _last=F.max(in_order()),
    )  # fmt: skip
    restored = log_events.groupBy("scope").agg(greatest(in_order(), event("job-restored")).alias("_restored"))
    taken_over = (F.col("_restored") > F.col("_last")) & (F.col("times") < enough)
    return per_scope.join(restored, "scope", "left").withColumns(
        {
            "reason": first_of(
                ("out-of-memory", F.col("_out_of_memory") > 0),
                ("zookeeper", F.col("_zookeeper") > 0),
                ("recovery-data", F.col("_unreadable") > 0),
                ("fatal-error", F.col("_fatal") > 0),
                otherwise="exit-code",
            ),
            "severity": F.when(taken_over, "warning").otherwise("critical"),
            "killed": first_of(
                ("killed (SIGKILL), mostly for memory", F.col("exit_code") == 137), ("an uncaught exception", F.col("exit_code") == 239)
            ),
        }
    )


def _is_death() -> Column:
    component, code = F.coalesce(detail("component"), F.lit("")), detail("exit_code")
    return (
        (event("entrypoint-fatal") & F.coalesce("text", F.lit("")).contains("Fatal error occurred"))
        | (event("uncaught-fatal", "out-of-memory-exit") & (F.col("role") == "jobmanager"))
        | (event("process-terminating") & component.rlike("ClusterEntry[Pp]oint") & ~code.isin(*BY_THE_JOB))
        | (event("yarn-master-failed") & (code != "0"))
    )
