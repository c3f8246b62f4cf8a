"""Tasks of a Flink job: transitions, deployment, failover decisions, cancellation that hangs (catalogue A01–A22)."""

from __future__ import annotations

from analyzers.logs.signatures.identifiers import (
    A_VERTEX,
    AN_ALLOCATION,
    AN_EXECUTION,
    AN_OLD_EXECUTION,
    ATTEMPT,
    EXECUTION,
    JOB,
    LOCATION,
    SUBTASK,
    TASK,
    TASK_EXECUTION,
    UNKNOWN_HEADER,
)
from analyzers.logs.signatures.origin import failed_task, flink, flink_log4j1
from analyzers.logs.signatures.signature import Signature

_GRAPH = "runtime.executiongraph.ExecutionGraph"  # Execution, ExecutionVertex and DefaultExecutionGraph log under this name
_REGION = "runtime.executiongraph.failover.flip1.RestartPipelinedRegionFailoverStrategy"
_MASTER = "runtime.jobmaster.JobMaster"
_TASK = "runtime.taskmanager.Task"

SIGNATURES = (
    Signature(
        id="task-transition",
        ref="A01 A07",
        says="A subtask changed its state without failing; ties an execution id to its task.",
        literals=(") switched from ",),
        pattern=rf"^{UNKNOWN_HEADER}{TASK_EXECUTION} switched from (?P<from_state>[A-Z]+) to (?P<to_state>(?!FAILED)[A-Z]+)"
        r"(?: due to (?P<because>\w+))?\.",
        sample=flink(_GRAPH, f"Source: orders -> parse (2/4) ({AN_EXECUTION}) switched from INITIALIZING to RUNNING."),
        keep=(200, 50),
    ),
    Signature(
        id="task-failed",
        ref="A02 A03 A04 A05 A06",
        says="A subtask failed; the stack trace is its cause, unless an earlier failure of the same cycle is.",
        versions="all; `on <location>` 1.10.2+ (JobManager), `with failure cause:` 1.13+ (TaskManager)",
        literals=(" to FAILED",),
        # without the execution's id, where people cut it out
        pattern=rf"^{UNKNOWN_HEADER}{TASK}{ATTEMPT}(?: \({EXECUTION}\))? switched from (?P<from_state>[A-Z]+) to (?P<to_state>FAILED)"
        # before 1.12 the place is often a slot object; and people blot hosts out
        rf"(?: on (?:{LOCATION}|\S[^\n]{{0,300}}?))?(?:\.| with failure cause:|$)",
        sample=flink(
            _GRAPH,
            f"Source: orders -> parse (2/4) ({AN_EXECUTION}) switched from RUNNING to FAILED on tm-1 @ worker-1 (dataPort=40123).\n"
            'java.lang.NumberFormatException: For input string: "12,50"\n\tat com.example.Parse.map(Parse.java:42)',
        ),
        keep=(200, 50),
    ),
    Signature(
        id="failover-region",
        ref="A10",
        says="The region failover strategy handles the failure of one subtask.",
        versions="1.9–1.15",
        literals=("Calculating tasks to restart to recover the failed task",),
        pattern=r"failed task (?P<vertex>[0-9a-f]{32})_(?P<subtask>\d+)\.",
        sample=flink(_REGION, f"Calculating tasks to restart to recover the failed task {A_VERTEX}_1."),
        keep=(200, 50),
    ),
    Signature(
        id="failover-tasks",
        ref="A11",
        says="How many tasks restart because of one failed subtask: one line per failure that is handled.",
        versions="1.9–1.15",
        literals=("tasks should be restarted to recover the failed task",),
        pattern=r"(?P<tasks>\d{1,9}) tasks should be restarted to recover the failed task (?P<vertex>[0-9a-f]{32})_(?P<subtask>\d+)\.",
        sample=flink(_REGION, f"12 tasks should be restarted to recover the failed task {A_VERTEX}_1. "),
        keep=(2000, 500),
    ),
    Signature(
        id="tasks-restarting",
        ref="A12",
        says="How many tasks restart because of one failed execution.",
        versions="1.16+",
        literals=("tasks will be restarted to recover the failed task",),
        pattern=rf"(?P<tasks>\d{{1,9}}) tasks will be restarted to recover the failed task {EXECUTION}\.",
        sample=flink(_MASTER, f"12 tasks will be restarted to recover the failed task {AN_EXECUTION}."),
        keep=(2000, 500),
    ),
    Signature(
        id="global-failover",
        ref="A13",
        says="The JobManager itself failed the job (coordinator, checkpoint tolerance): every task restarts; the trace is the cause.",
        versions="1.10+",
        literals=("Trying to recover from a global failure.",),
        sample=flink(
            _MASTER,
            "Trying to recover from a global failure.\n"
            "org.apache.flink.util.FlinkException: Global failure triggered by OperatorCoordinator for 'Source: orders'"
            f" (operator {A_VERTEX}).",
        ),
        keep=(2000, 500),
    ),
    Signature(
        id="global-restart",
        ref="A14",
        says="How many tasks restart after a global failure.",
        versions="1.16+",
        literals=("tasks will be restarted to recover from a global failure",),
        pattern=r"(?P<tasks>\d{1,9}) tasks will be restarted",
        sample=flink(_MASTER, "12 tasks will be restarted to recover from a global failure."),
        keep=(2000, 500),
    ),
    Signature(
        id="restart-suppressed",
        ref="A15",
        says="The restart strategy gave up: the job fails for good.",
        literals=("Recovery is suppressed by", "Failed task restarting is suppressed by"),
        pattern=r"suppressed by (?P<strategy>\w+)(?:\((?P<parameters>[^\n]*)\))?",
        where="line",
        sample=flink(
            _GRAPH,
            "Job orders-totals (2f4c6a8e0b1d3f5a7c9e2b4d6f8a0c1e) switched from state FAILING to FAILED.\n"
            "org.apache.flink.runtime.JobException: Recovery is suppressed by"
            " FixedDelayRestartBackoffTimeStrategy(maxNumberRestartAttempts=3, backoffTimeMS=10000)",
        ),
    ),
    Signature(
        id="failure-not-recoverable",
        ref="A16",
        says="The failure forbids a restart (SuppressRestartsException).",
        literals=("The failure is not recoverable",),
        where="line",
        sample=flink(
            _GRAPH,
            "Job orders-totals (2f4c6a8e0b1d3f5a7c9e2b4d6f8a0c1e) switched from state RUNNING to FAILING.\n"
            "org.apache.flink.runtime.JobException: The failure is not recoverable",
        ),
    ),
    Signature(
        id="job-restart-legacy",
        ref="A17",
        says="The scheduler of Flink up to 1.9 restarts the job, or cannot.",
        versions="<=1.12",
        literals=("Try to restart or fail the job", "Restarting the job ", "Could not restart the job"),
        pattern=rf"(?P<step>Try to restart or fail|Restarting|Could not restart) the job (?P<job_name>[^\n]*) \({JOB}\)"
        r"(?: because (?P<because>[^\n]*)\.)?",
        sample=flink_log4j1(
            _GRAPH, "Could not restart the job orders-totals (2f4c6a8e0b1d3f5a7c9e2b4d6f8a0c1e) because the restart strategy prevented it."
        ),
        keep=(2000, 500),
    ),
    Signature(
        id="task-deploying",
        ref="A18",
        says="The JobManager deploys a subtask: which attempt on which TaskManager, in which slot.",
        literals=("Deploying ",),
        pattern=rf"^Deploying {TASK} \(attempt #(?P<attempt>\d+)\)(?: with attempt id {EXECUTION})?"
        r"(?: and vertex id [0-9a-f]{32}_\d+)? to (?P<resource>\S+)"
        r"(?: @ (?P<named_host>\S+))?(?: \(dataPort=(?P<data_port>[^)]*)\))?(?: with allocation id (?P<allocation>[0-9a-f]{32}))?",
        sample=flink(
            _GRAPH,
            f"Deploying Source: orders -> parse (2/4) (attempt #3) with attempt id {AN_EXECUTION} and vertex id {A_VERTEX}_1"
            f" to tm-1 @ worker-1 (dataPort=40123) with allocation id {AN_ALLOCATION}",
        ),
        keep=(200, 50),
    ),
    Signature(
        id="task-received",
        ref="A19",
        says="A TaskManager got a subtask to run: ties execution, attempt and slot.",
        versions="1.12+; before: `Received task <task>.`",
        literals=("Received task ",),
        pattern=rf"^Received task {TASK}{ATTEMPT}(?: \({EXECUTION}\))?(?:, deploy into slot with allocation id"
        rf" (?P<allocation>[0-9a-f]{{32}}))?\.",
        logger="TaskExecutor",
        sample=flink(
            "runtime.taskexecutor.TaskExecutor",
            f"Received task Source: orders -> parse (2/4)#3 ({AN_EXECUTION}), deploy into slot with allocation id {AN_ALLOCATION}.",
        ),
        keep=(200, 50),
    ),
    Signature(
        id="task-stuck-cancelling",
        ref="A20",
        says="A cancelled subtask does not end; the stack below names the frame it is stuck in.",
        literals=("did not react to cancelling signal",),
        pattern=rf"^Task '(?P<task>[^\n]*) {SUBTASK}(?:#(?P<attempt>\d+))?' did not react to cancelling signal"
        r"(?: for (?P<seconds>\d+) seconds, but is stuck in method|"
        r" - (?P<step>[\w ]+); it is stuck for (?P<stuck_seconds>\d+) seconds in method)",
        sample=flink(
            _TASK,
            "Task 'enrich-profile (2/4)#3' did not react to cancelling signal - interrupting; it is stuck for 30 seconds in method:\n"
            " java.base@17.0.12/sun.nio.ch.Net.poll(Native Method)\ncom.example.Profiles.fetch(Profiles.java:61)",
            "WARN",
        ),
        keep=(20, 5),
    ),
    Signature(
        id="task-not-exiting",
        ref="A21",
        says="A cancelled subtask outlived task.cancellation.timeout: the TaskManager's JVM is killed for it.",
        literals=("Task did not exit gracefully within",),
        pattern=r"gracefully within (?P<seconds>\d+)",
        where="line",
        sample=flink(_TASK, "Task did not exit gracefully within 180 + seconds.", "ERROR"),
    ),
    Signature(
        id="fatal-task-error",
        ref="A22 G32",
        says="A subtask met an error that ends the TaskManager's JVM (out of memory and the like).",
        literals=("Encountered fatal error ",),
        pattern=r"Encountered fatal error (?P<fatal>[\w.$]+) - terminating the JVM",
        sample=flink(
            _TASK,
            "Encountered fatal error java.lang.OutOfMemoryError - terminating the JVM\njava.lang.OutOfMemoryError: Java heap space",
            "ERROR",
        ),
    ),
    Signature(
        id="task-fail-too-late",
        says="A failure was reported for an execution that the TaskManager has already let go: a consequence.",
        literals=("Cannot find task to fail for execution",),
        pattern=rf"to fail for execution {EXECUTION} with exception",
        sample=flink(
            "runtime.taskexecutor.TaskExecutor",
            f"Cannot find task to fail for execution {AN_EXECUTION} with exception:\n"
            "java.lang.Exception: Cannot deploy task, the task slot is gone",
        ),
        keep=(20, 5),
    ),
    Signature(
        id="operator-failed",
        ref="D09",
        says="User code of a chained operator threw: the frames below the framework's name it.",
        literals=("Could not forward element to next operator",),
        where="line",
        sample=failed_task(
            "org.apache.flink.streaming.runtime.tasks.ExceptionInChainedOperatorException: Could not forward element to next operator",
            "\tat org.apache.flink.streaming.runtime.tasks.CopyingChainingOutput.pushToOperator(CopyingChainingOutput.java:92)",
            "Caused by: java.lang.NullPointerException",
            "\tat com.example.Totals.processElement(Totals.java:37)",
        ),
    ),
    Signature(
        id="task-unknown-execution",
        ref="G25",
        says="The JobManager finds that a TaskManager no longer runs an execution.",
        versions="1.12+",
        literals=("is unexpectedly no longer running on task executor",),
        pattern=rf"Execution {EXECUTION} is unexpectedly no longer running on task executor (?P<resource>\S+?)\.?$",
        where="line",
        sample=flink(
            _GRAPH,
            f"Source: orders -> parse (2/4) ({AN_OLD_EXECUTION}) switched from RUNNING to FAILED on tm-1 @ worker-1 (dataPort=40123).\n"
            f"org.apache.flink.util.FlinkException: Execution {AN_OLD_EXECUTION} is unexpectedly no longer running on task executor tm-1.",
        ),
    ),
    Signature(
        id="checkpoint-confirmed",
        says="A checkpoint is complete: its task on a TaskManager was notified.",
        versions="sinks with transactions and file sinks at INFO; any task at DEBUG",
        literals=(
            " complete, committing transaction ",
            "received completion notification for checkpoint with id=",
            "Notification of completed checkpoint ",
        ),
        pattern=r"(?: - checkpoint |notification for checkpoint with id=|Notification of completed checkpoint )(?P<checkpoint>\d+)"
        r"(?: complete, committing transaction|\b)",
        sample=flink(
            "streaming.api.functions.sink.TwoPhaseCommitSinkFunction",
            "FlinkKafkaProducer 0/2 - checkpoint 16 complete, committing transaction TransactionHolder{handle=KafkaTransactionState"
            " [transactionalId=Sink: ledger-0, producerId=41, epoch=3], transactionStartTime=1772614800000} from checkpoint 16",
        ),
        keep=(5, 20),
    ),
)
