"""Jobs of Flink: submission, states, restores, restart strategies, slots (catalogue A08, A09, A23–A27, G06, section 3)."""

from __future__ import annotations

from analyzers.logs.signatures.identifiers import A_GRAPH, A_JOB, A_LEADER, AN_ALLOCATION, JOB, UNKNOWN_HEADER
from analyzers.logs.signatures.origin import flink
from analyzers.logs.signatures.signature import Signature

_GRAPH = "runtime.executiongraph.ExecutionGraph"
_MASTER = "runtime.jobmaster.JobMaster"
_COORDINATOR = "runtime.checkpoint.CheckpointCoordinator"
_DISPATCHER = "runtime.dispatcher.StandaloneDispatcher"
_NAMED_JOB = rf"job '?(?P<job_name>[^\n]*?)'? \({JOB}\)"

SIGNATURES = (
    Signature(
        id="job-state",
        ref="A08 A26",
        says="A job changed its state; RUNNING to RESTARTING has its cause in an earlier line, FAILING and FAILED carry it.",
        literals=(" switched from state ",),
        pattern=rf"^{UNKNOWN_HEADER}Job (?P<job_name>[^\n]*) \({JOB}\) switched from state (?P<from_state>[A-Z]+) to"
        rf" (?P<to_state>[A-Z]+)\b",
        sample=flink(_GRAPH, f"Job orders-totals ({A_JOB}) switched from state RUNNING to RESTARTING."),
        keep=(2000, 500),
    ),
    Signature(
        id="application-state",
        says="Flink 2.3 prints a second state machine beside the job's: never count both.",
        versions="2.3+",
        literals=(" switched from state ",),
        pattern=r"^Application (?P<application>[^\n]*) \((?P<application_id>[0-9a-f]{32})\) switched from state"
        r" (?P<from_state>[A-Z]+) to (?P<to_state>[A-Z]+)\b",
        sample=flink(
            "runtime.application.AbstractApplication",
            f"Application SingleJobApplication(orders-totals) ({A_GRAPH}) switched from state CREATED to RUNNING.",
        ),
    ),
    Signature(
        id="job-suspended",
        ref="A09",
        says="The JobManager lost the leadership of the job and suspended it.",
        literals=("has been suspended.",),
        pattern=rf"Job {JOB} has been suspended",
        sample=flink(_GRAPH, f"Job {A_JOB} has been suspended."),
        keep=(2000, 500),
    ),
    Signature(
        id="job-terminal",
        ref="A26",
        says="A job came to its end: FINISHED, CANCELED, FAILED, SUSPENDED.",
        versions="1.10+",
        literals=(" reached terminal state ",),
        pattern=rf"Job {JOB} reached (?:globally )?terminal state (?P<to_state>[A-Z]+)",
        sample=flink(_DISPATCHER, f"Job {A_JOB} reached terminal state FAILED."),
        keep=(2000, 500),
    ),
    Signature(
        id="job-received",
        says="A job was submitted to the cluster: its name and id.",
        literals=("Received JobGraph submission", "Received job submission"),
        pattern=rf"submission (?:'(?P<job_name>[^\n]*)' \({JOB}\)|(?P<job_id>[0-9a-f]{{32}}) \((?P<name>[^\n]*)\))",
        sample=flink(_DISPATCHER, f"Received job submission 'orders-totals' ({A_JOB})."),
        versions="all; `<job> (<name>)` <=1.13, `JobGraph submission` <=2.2",
        keep=(2000, 500),
    ),
    Signature(
        id="job-submitted",
        says="A client program submitted a job.",
        literals=(" is submitted.", "Submitting Job with JobId="),
        pattern=rf"(?:Job |JobId=){JOB}",
        sample=flink("client.deployment.application.executors.EmbeddedExecutor", f"Job {A_JOB} is submitted."),
        keep=(2000, 500),
    ),
    Signature(
        id="job-initializing",
        ref="G06",
        says="The JobMaster of a job starts up.",
        literals=("Initializing job ",),
        pattern=rf"^Initializing {_NAMED_JOB}\.",
        sample=flink(_MASTER, f"Initializing job 'orders-totals' ({A_JOB})."),
        keep=(2000, 500),
    ),
    Signature(
        id="job-starting",
        ref="G06",
        says="The JobMaster of a job begins its execution.",
        literals=("Starting execution of job ",),
        pattern=rf"^Starting execution of {_NAMED_JOB} under job master id (?P<leader>[0-9a-f]+)",
        sample=flink(_MASTER, f"Starting execution of job 'orders-totals' ({A_JOB}) under job master id {A_GRAPH}."),
        keep=(2000, 500),
    ),
    Signature(
        id="job-master-stopping",
        ref="G06",
        says="The JobMaster of a job stops: the job ended or its leadership went.",
        literals=("Stopping the JobMaster for job",),
        pattern=rf"{_NAMED_JOB}",
        sample=flink(_MASTER, f"Stopping the JobMaster for job 'orders-totals' ({A_JOB})."),
        keep=(2000, 500),
    ),
    Signature(
        id="execution-graph-created",
        says="Ties the execution graph, the first part of execution ids, to its job.",
        versions="1.16+",
        literals=("Created execution graph ",),
        pattern=rf"Created execution graph (?P<graph>[0-9a-f]{{32}}) for job {JOB}",
        sample=flink(_GRAPH, f"Created execution graph {A_GRAPH} for job {A_JOB}."),
        keep=(2000, 500),
    ),
    Signature(
        id="restart-strategy",
        ref="A15",
        says="The restart strategy in force.",
        versions="1.10+",
        literals=("Using restart back off time strategy",),
        pattern=rf"strategy (?P<strategy>\w+)(?:\((?P<parameters>[^\n]*)\))? for (?P<job_name>[^\n]*) \({JOB}\)\.",
        sample=flink(
            _MASTER,
            "Using restart back off time strategy FixedDelayRestartBackoffTimeStrategy(maxNumberRestartAttempts=3, backoffTimeMS=10000)"
            f" for orders-totals ({A_JOB}).",
        ),
    ),
    Signature(
        id="failover-strategy",
        says="The failover strategy in force: region or full.",
        versions="1.10+",
        literals=("Using failover strategy",),
        pattern=rf"strategy (?P<strategy>[\w.$]+)(?:@[0-9a-f]+)? for (?P<job_name>[^\n]*) \({JOB}\)\.",
        sample=flink(
            _MASTER,
            "Using failover strategy org.apache.flink.runtime.executiongraph.failover.RestartPipelinedRegionFailoverStrategy@7eeddc1a"
            f" for orders-totals ({A_JOB}).",
        ),
    ),
    Signature(
        id="job-restored",
        ref="A23",
        says="The job goes on from a checkpoint or savepoint.",
        versions="all; path from 1.12",
        literals=("Restoring job ",),
        pattern=rf"Restoring job {JOB} from (?:latest valid checkpoint: )?(?P<kind>Checkpoint|Savepoint) (?P<checkpoint>\d+)"
        r" @ (?P<triggered_ms>\d+) for \S{4,32}(?: located at (?P<path>\S+?))?\.?$",
        sample=flink(
            _COORDINATOR,
            f"Restoring job {A_JOB} from Checkpoint 41 @ 1733192286000 for {A_JOB} located at s3://state/orders/{A_JOB}/chk-41.",
        ),
        keep=(2000, 500),
    ),
    Signature(
        id="no-checkpoint-restored",
        ref="A24",
        says="No checkpoint of this job id to restore; printed by every submission, also before a restore from a given savepoint.",
        versions="1.11.3+",
        literals=("No checkpoint found during restore",),
        sample=flink(_COORDINATOR, "No checkpoint found during restore."),
        keep=(2000, 500),
    ),
    Signature(
        id="savepoint-restored",
        ref="A25",
        says="The job starts from a savepoint or retained checkpoint given by path.",
        literals=("from savepoint ",),
        pattern=rf"Starting job {JOB} from savepoint (?P<path>\S+)(?: \((?P<option>[^)]*)\))?",
        sample=flink(_COORDINATOR, f"Starting job {A_JOB} from savepoint s3://state/savepoint-2f4c6a-0011 (allowing non restored state)"),
        keep=(2000, 500),
    ),
    Signature(
        id="checkpoint-id-reset",
        ref="A25",
        says="Checkpoint numbering goes on after a savepoint.",
        literals=("Reset the checkpoint ID of job",),
        pattern=rf"of job {JOB} to (?P<checkpoint>\d+)",
        sample=flink(_COORDINATOR, f"Reset the checkpoint ID of job {A_JOB} to 42."),
    ),
    Signature(
        id="adaptive-restarting",
        ref="A26",
        says="The adaptive scheduler restarts the job because of a failure (the trace).",
        versions="1.13+",
        literals=("Restarting job.",),
        pattern=r"^Restarting job\.$",
        sample=flink(
            "runtime.scheduler.adaptive.AdaptiveScheduler",
            "Restarting job.\norg.apache.flink.util.FlinkException: Disconnect from TaskManager tm-1",
        ),
        keep=(2000, 500),
    ),
    Signature(
        id="adaptive-failing",
        ref="A26",
        says="The adaptive scheduler gives the job up.",
        versions="1.13+",
        literals=("Failing job.",),
        pattern=r"^Failing job\.$",
        sample=flink(
            "runtime.scheduler.adaptive.AdaptiveScheduler",
            "Failing job.\norg.apache.flink.runtime.JobException: Recovery is suppressed by NoRestartBackoffTimeStrategy",
        ),
        keep=(2000, 500),
    ),
    Signature(
        id="slots-unavailable",
        ref="A27",
        says="The cluster has not the slots that the job needs.",
        versions="1.10+; minimum required resources 1.13+",
        literals=(
            "Could not allocate the required slot within slot request timeout",
            "Could not acquire the minimum required resources",
            "Slot request bulk is not fulfillable",
        ),
        pattern=r"(?P<problem>Could not allocate the required slot within slot request timeout|Could not acquire the minimum required"
        r" resources|"
        r"Slot request bulk is not fulfillable)(?:, failing slot requests\. Acquired: (?P<acquired>[^\n]*?)\. Current slot pool status)?",
        where="line",
        sample=flink(
            _GRAPH,
            f"Job orders-totals ({A_JOB}) switched from state RUNNING to FAILING.\n"
            "Caused by: org.apache.flink.runtime.jobmanager.scheduler.NoResourceAvailableException: Could not allocate the required slot"
            " within slot request timeout. Please make sure that the cluster has enough resources.",
        ),
    ),
    Signature(
        id="slot-allocated",
        says="A slot of this TaskManager belongs to a job: ties the TaskManager's executions to the job.",
        literals=("Receive slot request ",),
        pattern=rf"Receive slot request (?P<allocation>[0-9a-f]{{32}}) for job {JOB}",
        sample=flink(
            "runtime.taskexecutor.TaskExecutor",
            f"Receive slot request {AN_ALLOCATION} for job {A_JOB} from resource manager with leader id {A_GRAPH}.",
        ),
        keep=(200, 50),
    ),
    Signature(
        id="slot-requested",
        says="The ResourceManager gives a slot of a TaskManager to a job.",
        versions="1.13+",
        literals=("Starting allocation of slot ",),
        pattern=rf"allocation of slot (?P<allocation>[0-9a-f]{{32}}) from (?P<resource>\S+) for job {JOB}",
        sample=flink(
            "runtime.resourcemanager.slotmanager.DefaultSlotStatusSyncer",
            f"Starting allocation of slot {AN_ALLOCATION} from tm-1 for job {A_JOB} with resource profile ResourceProfile{{UNKNOWN}}.",
        ),
        keep=(200, 50),
    ),
    Signature(
        id="job-connection",
        says="This TaskManager serves a job from here on.",
        literals=("Establish JobManager connection for job",),
        pattern=rf"connection for job {JOB}",
        sample=flink("runtime.taskexecutor.TaskExecutor", f"Establish JobManager connection for job {A_JOB}."),
        keep=(200, 50),
    ),
    Signature(
        id="job-leader-granted",
        ref="G02",
        says="A JobMaster got the leadership of its job.",
        literals=("JobManager runner for job", "JobMasterServiceLeadershipRunner for job"),
        pattern=rf"for job (?:(?P<job_name>[^\n]*) \()?{JOB}\)? (?:was |is )?granted leadership"
        r" with (?:session|leader) id (?P<leader>[0-9a-f-]+)",
        sample=flink(
            "runtime.jobmaster.JobMasterServiceLeadershipRunner",
            f"JobMasterServiceLeadershipRunner for job {A_JOB} was granted leadership with leader id {A_LEADER}."
            " Creating new JobMasterServiceProcess.",
        ),
        keep=(2000, 500),
    ),
    Signature(
        id="job-leader-revoked",
        ref="G03",
        says="A JobMaster lost the leadership of its job.",
        literals=("revoked leadership", "revoked the leadership", "lost leadership"),
        pattern=rf"[Jj]ob (?:leader for job id )?(?:(?P<job_name>[^\n]*) \()?{JOB}\)?[^\n]*"
        r"(?:revoked (?:the )?leadership|lost leadership)",
        where="line",
        sample=flink("runtime.taskexecutor.TaskExecutor", f"JobManager for job {A_JOB} with leader id {A_LEADER} lost leadership."),
        keep=(2000, 500),
    ),
)
