"""Checkpoints of Flink: life of each one, failures, and what TaskManagers say about barriers (catalogue C01–C38)."""

from __future__ import annotations

from analyzers.logs.signatures.identifiers import A_JOB, AN_EXECUTION, EXECUTION, JOB, SUBTASK, TASK
from analyzers.logs.signatures.origin import failed_task, flink, flink_log4j1
from analyzers.logs.signatures.signature import Signature

_COORDINATOR = "runtime.checkpoint.CheckpointCoordinator"  # PendingCheckpoint logs under this name, too
_FAILURES = "runtime.checkpoint.CheckpointFailureManager"
_BARRIERS = "streaming.runtime.io.checkpointing.SingleCheckpointBarrierHandler"
_SUBTASK = "streaming.runtime.tasks.SubtaskCheckpointCoordinatorImpl"
_ON_TASK = r"(?P<task>[^\n]*) " + SUBTASK + r"(?:#(?P<attempt>\d+))?"
_OPERATOR = r"(?P<operator>[^\n]*) " + SUBTASK + r"(?:#(?P<attempt>\d+))?"
_AT = r"(?: at (?P<resource>\S+) @ (?P<named_host>\S+) \(dataPort=[^)]*\))?"

SIGNATURES = (
    Signature(
        id="checkpoint-triggered",
        ref="C01 C02",
        says="A checkpoint or savepoint began; `@` gives the epoch time, and so the zone of the log.",
        literals=("Triggering checkpoint ",),
        pattern=rf"Triggering checkpoint (?P<checkpoint>\d+) (?:\(type=(?P<type>[^\n]+)\) )?@ (?P<triggered_ms>\d+) for job {JOB}",
        sample=flink(
            _COORDINATOR,
            "Triggering checkpoint 42 (type=CheckpointType{name='Checkpoint', sharingFilesStrategy=FORWARD_BACKWARD})"
            f" @ 1733192286996 for job {A_JOB}.",
        ),
        keep=(100, 100),
    ),
    Signature(
        id="checkpoint-completed",
        ref="C03 C04",
        says="A checkpoint completed.",
        literals=("Completed checkpoint ",),
        pattern=rf"Completed checkpoint (?P<checkpoint>\d+) for job {JOB} \((?P<size_bytes>\d+) bytes(?:,| in )"
        r"(?: checkpointDuration=)?(?P<duration_ms>\d+) ms(?:, finalizationTime=(?P<finalization_ms>\d+) ms)?\)",
        sample=flink(
            _COORDINATOR,
            f"Completed checkpoint 42 for job {A_JOB} (18274 bytes, checkpointDuration=1204 ms, finalizationTime=15 ms).",
        ),
        keep=(100, 100),
    ),
    Signature(
        id="checkpoint-expired",
        ref="C05",
        says="A checkpoint was not acknowledged by every subtask in time; no version names the subtask.",
        literals=("expired before completing",),
        pattern=rf"Checkpoint (?P<checkpoint>\d+) of job {JOB} expired before completing",
        sample=flink(_COORDINATOR, f"Checkpoint 43 of job {A_JOB} expired before completing."),
        keep=(2000, 500),
    ),
    Signature(
        id="checkpoint-declined",
        ref="C06",
        says="A subtask declined a checkpoint; the trace says why (1.11+).",
        literals=("Decline checkpoint ",),
        pattern=rf"Decline checkpoint (?P<checkpoint>\d+) by task {EXECUTION} of job {JOB}{_AT}",
        sample=flink(
            _COORDINATOR,
            f"Decline checkpoint 43 by task {AN_EXECUTION} of job {A_JOB} at tm-1 @ worker-1 (dataPort=40123).\n"
            "org.apache.flink.util.SerializedThrowable: java.io.IOException: Could not perform checkpoint 43 for operator db-writer.",
        ),
        keep=(200, 50),
    ),
    Signature(
        id="checkpoint-discarded",
        ref="C07",
        says="A pending checkpoint was given up.",
        versions="<=1.10",
        literals=("Discarding checkpoint ",),
        pattern=rf"Discarding checkpoint (?P<checkpoint>\d+) of job {JOB}",
        sample=flink_log4j1(_COORDINATOR, f"Discarding checkpoint 43 of job {A_JOB}."),
        keep=(200, 50),
    ),
    Signature(
        id="checkpoint-late-ack",
        ref="C08",
        says="A subtask acknowledged a checkpoint that had already expired: it is slow, not stuck.",
        literals=("Received late message for now expired checkpoint attempt",),
        pattern=rf"checkpoint attempt (?P<checkpoint>\d+) from task {EXECUTION} of job {JOB}{_AT}",
        sample=flink(
            _COORDINATOR,
            f"Received late message for now expired checkpoint attempt 43 from task {AN_EXECUTION} of job {A_JOB}"
            " at tm-1 @ worker-1 (dataPort=40123).",
            "WARN",
        ),
        keep=(200, 50),
    ),
    Signature(
        id="checkpoint-ack-refused",
        ref="C09",
        says="An acknowledgement came for an unknown execution or a discarded checkpoint.",
        literals=("Could not acknowledge the checkpoint",),
        pattern=rf"the checkpoint (?P<checkpoint>\d+) for task {EXECUTION} of job {JOB}{_AT}, because (?P<because>[^\n]+)",
        sample=flink(
            _COORDINATOR,
            f"Could not acknowledge the checkpoint 43 for task {AN_EXECUTION} of job {A_JOB} at tm-1 @ worker-1 (dataPort=40123),"
            " because the pending checkpoint had been discarded already",
            "WARN",
        ),
    ),
    Signature(
        id="checkpoint-failed",
        ref="C10 C11",
        says="A checkpoint failed to start or to complete; the trace holds the reason; how many failed in a row before this one.",
        literals=("Failed to trigger checkpoint ", "Failed to trigger or complete checkpoint "),
        pattern=rf"Failed to trigger (?:or complete )?checkpoint (?:(?P<checkpoint>\d+)|UNKNOWN_CHECKPOINT_ID) for job {JOB}\."
        r"(?: \((?P<consecutive>\d+) consecutive failed attempts so far\))?",
        sample=flink(
            _FAILURES,
            f"Failed to trigger or complete checkpoint 43 for job {A_JOB}. (0 consecutive failed attempts so far)\n"
            "org.apache.flink.runtime.checkpoint.CheckpointException: Checkpoint expired before completing.",
            "WARN",
        ),
        keep=(2000, 500),
    ),
    Signature(
        id="checkpoint-not-triggered",
        ref="C12 C14",
        says="A checkpoint was not started, usually because tasks are still being deployed: harmless at a start.",
        literals=("Failed to trigger checkpoint for job", "Triggering Checkpoint "),
        pattern=rf"(?:Failed to trigger checkpoint for job|Triggering Checkpoint (?P<checkpoint>\d+) for job) {JOB}"
        r" (?:since|because|failed due to) (?P<because>[^\n]+)",
        sample=flink(
            _FAILURES,
            f"Failed to trigger checkpoint for job {A_JOB} since Checkpoint triggering task Source: orders (1/4) of job {A_JOB} is"
            f" not being"
            " executed at the moment. Aborting checkpoint. Failure reason: Not all required tasks are currently running..",
        ),
        versions="1.13+",
    ),
    Signature(
        id="checkpoint-task-not-running",
        ref="C13",
        says="A task that must send the barrier does not run yet, or no longer.",
        literals=("Checkpoint triggering task ",),
        pattern=rf"triggering task {TASK} of job {JOB} is not (?:being executed|in state RUNNING but (?P<from_state>[A-Z]+))",
        where="line",
        sample=flink(
            _COORDINATOR,
            f"Checkpoint triggering task Source: orders (1/4) of job {A_JOB} is not in state RUNNING but DEPLOYING instead."
            " Aborting checkpoint.",
        ),
    ),
    Signature(
        id="checkpoint-tolerance-exceeded",
        ref="C15",
        says="More checkpoints failed than tolerated: the job restarts; the text after `due to` is the last one's reason.",
        literals=("Exceeded checkpoint tolerable failure threshold",),
        pattern=r"failure threshold\.(?: The latest checkpoint failed due to (?P<because>.+?), view the Checkpoint History)?",
        where="line",
        sample=flink(
            "runtime.jobmaster.JobMaster",
            "Trying to recover from a global failure.\n"
            "org.apache.flink.util.FlinkRuntimeException: Exceeded checkpoint tolerable failure threshold. The latest checkpoint failed due"
            " to Checkpoint expired before completing., view the Checkpoint History tab or the Job Manager log to find out why continuous"
            " checkpoints failed.",
        ),
    ),
    Signature(
        id="checkpoint-queued",
        ref="C16",
        says="How long a checkpoint request waited for its turn.",
        versions="1.11+",
        literals=("checkpoint request time in queue",),
        pattern=r"in queue: (?P<duration_ms>\d+)",
        sample=flink("runtime.checkpoint.CheckpointRequestDecider", "checkpoint request time in queue: 10003"),
        keep=(100, 100),
    ),
    Signature(
        id="checkpoint-store-failed",
        ref="C17",
        says="The metadata store did not take a checkpoint: its state is written, yet it may not be found again.",
        versions="1.12+",
        literals=("An error occurred while writing checkpoint",),
        pattern=r"writing checkpoint (?P<checkpoint>\d+) to the underlying metadata store",
        sample=flink(
            _COORDINATOR,
            "An error occurred while writing checkpoint 43 to the underlying metadata store. Flink was not able to determine whether the"
            " metadata was successfully persisted.",
            "WARN",
        ),
    ),
    Signature(
        id="checkpoint-not-finalized",
        ref="C18",
        says="All subtasks acknowledged, but the checkpoint's metadata could not be written.",
        literals=("Could not finalize the pending checkpoint", "Could not complete the pending checkpoint"),
        pattern=r"the pending checkpoint (?P<checkpoint>\d+)\.",
        where="line",
        sample=flink(
            _FAILURES,
            f"Failed to trigger or complete checkpoint 43 for job {A_JOB}. (0 consecutive failed attempts so far)\n"
            "org.apache.flink.runtime.checkpoint.CheckpointException: Could not finalize the pending checkpoint 43."
            " Failure reason: Failure to finalize checkpoint.",
            "WARN",
        ),
        keep=(200, 50),
    ),
    Signature(
        id="checkpoints-stopped",
        ref="C19",
        says="The checkpoint coordinator of a job stopped: a consequence.",
        literals=("Stopping checkpoint coordinator for job",),
        pattern=rf"for job {JOB}",
        sample=flink(_COORDINATOR, f"Stopping checkpoint coordinator for job {A_JOB}."),
    ),
    Signature(
        id="checkpoint-coordinated",
        ref="C20",
        says="A source coordinator learnt that a checkpoint completed or was aborted.",
        versions="1.11+",
        literals=("Marking checkpoint ",),
        pattern=r"Marking checkpoint (?P<checkpoint>\d+) as (?P<outcome>completed|aborted) for source (?P<task>[^\n]*?)\.?$",
        sample=flink("runtime.source.coordinator.SourceCoordinator", "Marking checkpoint 42 as completed for source Source: orders."),
        keep=(100, 100),
    ),
    Signature(
        id="checkpoint-events-lost",
        ref="C21",
        says="A coordinator's event did not reach its subtask before the barrier.",
        versions="1.13+",
        literals=("Failing OperatorCoordinator checkpoint because some OperatorEvents",),
        where="line",
        sample=flink(
            _FAILURES,
            f"Failed to trigger or complete checkpoint 43 for job {A_JOB}. (0 consecutive failed attempts so far)\n"
            "Caused by: org.apache.flink.util.FlinkException: Failing OperatorCoordinator checkpoint because some OperatorEvents before"
            " this checkpoint barrier were not received by the target tasks.",
            "WARN",
        ),
    ),
    Signature(
        id="checkpoint-with-finished-tasks",
        ref="C22",
        says="Tasks finished, and this version or setting takes no checkpoints after that.",
        versions="1.13+",
        literals=("have already finished and checkpointing with finished tasks is not enabled", "has been finished, abort the checkpoint"),
        pattern=rf"(?:checkpoint for job {JOB} since )?[Ss]ome tasks of (?:the job have already finished and|"
        r"job \S+ has been finished, abort)",
        where="line",
        keep=(20, 20),
        sample=flink(
            _FAILURES,
            f"Failed to trigger checkpoint for job {A_JOB} since Some tasks of the job have already finished and checkpointing with"
            f" finished"
            " tasks is not enabled. Failure reason: Not all required tasks are currently running..",
        ),
    ),
    Signature(
        id="barrier-overtaken",
        ref="C30",
        says="A newer barrier arrived while this subtask still aligned the old one: direct evidence of who held it.",
        literals=("before completing current checkpoint",),
        pattern=rf"^{_ON_TASK}[^\n]*: Received checkpoint barrier for checkpoint (?P<newer>\d+) before completing current checkpoint"
        r" (?P<checkpoint>\d+)\. Skipping current checkpoint",
        sample=flink(
            _BARRIERS,
            "enrich-profile (2/4)#3: Received checkpoint barrier for checkpoint 44 before completing current checkpoint 43."
            " Skipping current checkpoint.",
            "WARN",
        ),
        keep=(200, 50),
    ),
    Signature(
        id="barrier-abandoned",
        ref="C31",
        says="An input ended, or cancelled the checkpoint, while this subtask still aligned it.",
        literals=("before completing current checkpoint",),
        pattern=rf"^{_ON_TASK}[^\n]*: Received (?P<what>EndOfPartition|cancellation barrier)[^\n]* before completing current checkpoint"
        r" (?P<checkpoint>\d+)",
        sample=flink(
            _BARRIERS,
            "enrich-profile (2/4)#3: Received EndOfPartition(-1) before completing current checkpoint 43. Skipping current checkpoint.",
            "WARN",
        ),
    ),
    Signature(
        id="checkpoint-start-delayed",
        ref="C32",
        says="A subtask had all barriers but its thread was busy for more than 30 s before it took the snapshot.",
        versions="1.12+",
        literals=("Time from receiving all checkpoint barriers/RPC",),
        pattern=r"barriers/RPC (?:for checkpoint (?P<checkpoint>\d+) )?to executing (?:it )?exceeded threshold: (?P<duration_ms>\d+)ms",
        sample=flink(
            _SUBTASK,
            "Time from receiving all checkpoint barriers/RPC for checkpoint 43 to executing exceeded threshold: 48213ms",
            "WARN",
        ),
        keep=(200, 50),
    ),
    Signature(
        id="checkpoint-aborted-on-task",
        ref="C33",
        says="A subtask heard that the checkpoint was aborted: a consequence.",
        versions="1.11+",
        literals=(
            "has been notified as aborted, would not trigger any checkpoint",
            "Out of order checkpoint barrier (aborted previously?)",
            "checkpoint aborted via notification",
        ),
        pattern=r"Checkpoint (?P<checkpoint>\d+) has been notified|barrier \(aborted previously\?\): (?P<newest>\d+)|aborted via"
        r" notification",
        where="line",
        sample=flink(_SUBTASK, "Checkpoint 43 has been notified as aborted, would not trigger any checkpoint."),
    ),
    Signature(
        id="checkpoint-async-failed",
        ref="C34",
        says="The asynchronous part of a subtask's snapshot failed; the trace says on which storage.",
        literals=("asynchronous part of checkpoint ",),
        pattern=rf"^{_ON_TASK} - asynchronous part of checkpoint (?P<checkpoint>\d+) could not be completed",
        sample=flink(
            "streaming.runtime.tasks.AsyncCheckpointRunnable",
            "totals (2/4)#3 - asynchronous part of checkpoint 43 could not be completed.\n"
            "java.lang.Exception: Could not materialize checkpoint 43 for operator totals (2/4)#3.",
        ),
        keep=(200, 50),
    ),
    Signature(
        id="checkpoint-not-materialized",
        ref="C34",
        says="The state of one operator could not be written.",
        literals=("Could not materialize checkpoint ",),
        pattern=rf"materialize checkpoint (?P<checkpoint>\d+) for operator {_OPERATOR}\.",
        where="line",
        sample=flink(
            "streaming.runtime.tasks.AsyncCheckpointRunnable",
            "totals (2/4)#3 - asynchronous part of checkpoint 43 could not be completed.\n"
            "java.lang.Exception: Could not materialize checkpoint 43 for operator totals (2/4)#3.",
        ),
        keep=(200, 50),
    ),
    Signature(
        id="snapshot-failed",
        ref="C35",
        says="An operator could not take its snapshot: the checkpoint is declined, the trace says why.",
        literals=("Could not complete snapshot ", "Could not perform checkpoint "),
        pattern=r"Could not (?:complete snapshot|perform checkpoint) (?P<checkpoint>\d+) for operator"
        r" (?P<operator>[^\n]*?)(?: \((?P<subtask1>\d+)/(?P<parallelism>\d+)\)(?:#(?P<attempt>\d+))?)?\.",
        where="line",
        sample=failed_task(
            "java.io.IOException: Could not perform checkpoint 43 for operator db-writer (2/4)#3.",
            "Caused by: org.apache.flink.runtime.checkpoint.CheckpointException: Could not complete snapshot 43 for operator db-writer"
            " (2/4)#3. Failure reason: Checkpoint was declined.",
        ),
        keep=(200, 50),
    ),
    Signature(
        id="checkpoint-cancelled-operator",
        ref="C36",
        says="An operator was cancelled while it took a snapshot: a consequence.",
        literals=("was cancelled while performing checkpoint",),
        pattern=r"Operator (?P<operator>[^\n]*) was cancelled while performing checkpoint (?P<checkpoint>\d+)",
        sample=flink("streaming.runtime.tasks.StreamTask", "Operator db-writer (2/4)#3 was cancelled while performing checkpoint 43."),
    ),
    Signature(
        id="checkpoint-acknowledged",
        ref="C37",
        says="A subtask acknowledged (DEBUG): who is missing is the set of deployed executions without this line.",
        literals=("Received acknowledge message for checkpoint",),
        pattern=rf"for checkpoint (?P<checkpoint>\d+) from task {EXECUTION} of job {JOB}{_AT}",
        sample=flink(
            _COORDINATOR,
            f"Received acknowledge message for checkpoint 43 from task {AN_EXECUTION} of job {A_JOB} at tm-1 @ worker-1 (dataPort=40123).",
            "DEBUG",
        ),
        keep=(2000, 500),
    ),
    Signature(
        id="checkpoint-started-on-task",
        ref="C37",
        says="A subtask began its snapshot (DEBUG).",
        literals=("Starting checkpoint ",),
        pattern=r"Starting checkpoint \(?(?P<checkpoint>\d+)\)? (?P<type>[^\n]*) on task (?P<task>[^\n]*) "
        + SUBTASK
        + r"(?:#(?P<attempt>\d+))?",
        sample=flink("streaming.runtime.tasks.StreamTask", "Starting checkpoint 43 CHECKPOINT on task totals (2/4)#3", "DEBUG"),
        keep=(2000, 500),
    ),
    Signature(
        id="barrier-received",
        ref="C37",
        says="A subtask got a barrier from one of its channels (DEBUG).",
        literals=("Received barrier from channel",),
        pattern=rf"^{_ON_TASK}[^\n]*: Received barrier from channel (?P<channel>[^\n]*?) @ (?P<checkpoint>\d+)",
        sample=flink(
            _BARRIERS, "totals (2/4)#3: Received barrier from channel InputChannelInfo{gateIdx=0, inputChannelIdx=2} @ 43.", "DEBUG"
        ),
        keep=(2000, 500),
    ),
    Signature(
        id="iceberg-commit-skipped",
        says="Iceberg's sink takes a checkpoint for committed, and leaves its files out of the table.",
        literals=("Skipping committing checkpoint ", "Skip commit for checkpoint "),
        pattern=r"(?:Skipping committing|Skip commit for) checkpoint (?P<checkpoint>\d+)(?:\. (?P<committed>\d+) is already committed)?",
        sample=flink(
            "org.apache.iceberg.flink.sink.IcebergFilesCommitter", "Skipping committing checkpoint 2001. 2148 is already committed."
        ),
        keep=(200, 50),
    ),
    Signature(
        id="async-call-timed-out",
        ref="C38",
        says="An asynchronous call of the job did not come back within its timeout.",
        literals=("Async function call has timed out",),
        where="line",
        sample=failed_task("java.util.concurrent.TimeoutException: Async function call has timed out."),
    ),
)
