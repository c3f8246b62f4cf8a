"""TaskManagers lost, replaced or unreachable: heartbeats, workers, container diagnostics, network partners (catalogue G20–G34)."""

from __future__ import annotations

from analyzers.logs.signatures.identifiers import A_JOB, A_LEADER, JOB, RESOURCE
from analyzers.logs.signatures.origin import failed_task, flink, in_flink
from analyzers.logs.signatures.signature import Signature

_ACTIVE = "runtime.resourcemanager.active.ActiveResourceManager"
_RM = "runtime.resourcemanager.StandaloneResourceManager"
_EXECUTOR = "runtime.taskexecutor.TaskExecutor"
_POD_KILLED = (
    "Worker orders-taskmanager-1-3 is terminated. Diagnostics: Pod terminated, container termination statuses:"
    " [flink-main-container(exitCode=137, reason=OOMKilled, message=null)], pod status: Failed(reason=null, message=null)"
)

SIGNATURES = (
    Signature(
        id="heartbeat-timeout",
        ref="G20",
        says="A TaskManager's heartbeat stayed out for heartbeat.timeout (50 s): what killed or froze it happened that much earlier.",
        literals=("eartbeat of TaskManager with id", "eartbeat of JobManager with id", "eartbeat of ResourceManager with id"),
        # up to 1.13 the exception says `The heartbeat of …`, with two blanks before `timed out`
        pattern=rf"TimeoutException: (?:The h|H)eartbeat of (?P<whose>TaskManager|JobManager|ResourceManager) with id {RESOURCE}"
        rf" +timed out",
        where="line",
        sample=failed_task("java.util.concurrent.TimeoutException: Heartbeat of TaskManager with id tm-1(10.0.0.7:40123) timed out."),
    ),
    Signature(
        id="taskmanager-unreachable",
        ref="G21",
        says="A TaskManager refuses connections: its process is gone (found faster than by heartbeat).",
        versions="1.14+",
        literals=("is no longer reachable.",),
        pattern=rf"(?P<whose>TaskManager|JobManager) with id {RESOURCE} is no longer reachable",
        where="line",
        sample=failed_task(
            "org.apache.flink.runtime.jobmaster.JobMasterException: TaskManager with id tm-1(10.0.0.7:40123) is no longer reachable."
        ),
    ),
    Signature(
        id="heartbeat-timeout-noted",
        ref="G22 G23",
        says="A side of the cluster misses the heartbeat of another; said in its own log.",
        literals=("The heartbeat of ",),
        pattern=rf"^The heartbeat of \(?(?P<whose>TaskManager|JobManager|ResourceManager)\)? with id {RESOURCE} +timed out",
        sample=flink(_RM, "The heartbeat of TaskManager with id tm-1(10.0.0.7:40123) timed out."),
        keep=(200, 50),
    ),
    Signature(
        id="taskexecutor-disconnected",
        ref="G22",
        says="The ResourceManager closed its connection to a TaskManager, and why.",
        literals=("Closing TaskExecutor connection",),
        pattern=rf"TaskExecutor connection {RESOURCE} because: (?P<because>[^\n]*)",
        sample=flink(_RM, "Closing TaskExecutor connection tm-1(10.0.0.7:40123) because: The TaskExecutor is shutting down."),
        keep=(200, 50),
    ),
    Signature(
        id="jobmanager-disconnected",
        ref="G22 G23",
        says="The ResourceManager or a TaskManager gave up its connection to a JobMaster.",
        literals=("Disconnect job manager ", "Close JobManager connection for job", "Close ResourceManager connection"),
        pattern=r"(?P<what>Disconnect job manager|Close JobManager connection|Close ResourceManager connection)"
        rf"(?:[^\n]*?\bjob {JOB})?",
        sample=flink(_EXECUTOR, f"Close JobManager connection for job {A_JOB}."),
        keep=(200, 50),
    ),
    Signature(
        id="taskexecutor-given-up",
        ref="G22",
        says="A JobMaster gave up its connection to a TaskManager.",
        literals=("Disconnect TaskExecutor ",),
        pattern=rf"Disconnect TaskExecutor {RESOURCE} because: (?P<because>[^\n]*)",
        sample=flink(
            "runtime.jobmaster.JobMaster", "Disconnect TaskExecutor tm-1 because: Heartbeat of TaskManager with id tm-1 timed out."
        ),
        keep=(200, 50),
    ),
    Signature(
        id="remote-taskmanager-lost",
        ref="G24",
        says="A data connection to a TaskManager broke: a victim's line, the named TaskManager is the suspect.",
        literals=(
            "Connection unexpectedly closed by remote task manager",
            "Lost connection to task manager",
            "Connecting to remote task manager",
            "Error at remote task manager",
            "Sending the partition request to",
        ),
        pattern=r"(?:closed by remote task manager|Lost connection to task manager|Connecting to remote task manager|"
        r"Error at remote task manager|partition request to) '(?:(?P<named_host>[^/'\s]+))?/?(?P<address>[^'\s]+)"
        r"(?: \[ (?P<resource>[^\s(]+)\([^)]*\) \] ?)?'",
        where="line",
        sample=failed_task(
            "org.apache.flink.runtime.io.network.netty.exception.RemoteTransportException: Connection unexpectedly closed by remote task"
            " manager 'worker-2/10.0.0.8:40123 [ tm-2(10.0.0.8:6122) ] '. This might indicate that the remote task manager was lost."
        ),
        keep=(20, 5),
    ),
    Signature(
        id="slots-lost",
        ref="G25",
        says="A job lost slots with its TaskManager.",
        literals=("has no more allocated slots for job", "No more slots registered at JobMaster", "The TaskExecutor is shutting down"),
        pattern=rf"TaskExecutor (?P<address>\S+) has no more allocated slots for job {JOB}|"
        r"registered at JobMaster (?P<resource>\S+?)\.?$|(?P<what>The TaskExecutor is shutting down)",
        where="line",
        sample=failed_task(
            "org.apache.flink.util.FlinkException: TaskExecutor pekko.tcp://flink@10.0.0.7:6122/user/rpc/taskmanager_0 has no more"
            " allocated"
            f" slots for job {A_JOB}."
        ),
    ),
    Signature(
        id="slot-removed",
        ref="G25",
        says="A slot was removed under a running task.",
        versions="<=1.9.0",
        literals=("The assigned slot ",),
        pattern=r"The assigned slot (?P<slot>\S+) was removed",
        where="line",
        sample=failed_task("org.apache.flink.util.FlinkException: The assigned slot container_e08_1_000002_0 was removed."),
    ),
    Signature(
        id="partition-not-found",
        ref="G25",
        says="An intermediate result is gone: its producer or TaskManager died.",
        literals=("PartitionNotFoundException",),
        pattern=r"PartitionNotFoundException: Partition (?P<result_partition>\S+) not found",
        where="line",
        sample=failed_task(
            "org.apache.flink.runtime.io.network.partition.PartitionNotFoundException: Partition bc764cd8ddf7a0cf#1@7d1e5b9a3c8f2046"
            " not found."
        ),
        keep=(20, 5),
    ),
    Signature(
        id="worker-terminated",
        ref="G26",
        says="Kubernetes or YARN ended a TaskManager's container; the diagnostics say why.",
        versions="1.12+",
        literals=(" is terminated. Diagnostics:",),
        pattern=r"Worker (?P<resource>\S+) is terminated\. Diagnostics: (?P<diagnostics>[^\n]*)",
        sample=flink(_ACTIVE, _POD_KILLED),
        keep=(200, 50),
    ),
    Signature(
        id="worker-requested",
        ref="G26",
        says="A new TaskManager is requested.",
        versions="1.12+",
        literals=("Requesting new worker with resource spec",),
        pattern=r"current pending count: (?P<pending>\d+)",
        sample=flink(
            _ACTIVE,
            "Requesting new worker with resource spec WorkerResourceSpec {cpuCores=2.0, taskHeapSize=1.425gb (1530082070 bytes)},"
            " current pending count: 1.",
        ),
        keep=(200, 50),
    ),
    Signature(
        id="worker-registered",
        says="A TaskManager that was requested has come.",
        versions="1.12+",
        literals=(" is registered.",),
        pattern=r"^Worker (?P<resource>\S+) is registered\.",
        sample=flink(_ACTIVE, "Worker orders-taskmanager-1-4 is registered."),
        keep=(200, 50),
    ),
    Signature(
        id="worker-request-failed",
        says="Kubernetes or YARN did not grant a TaskManager; the exception says why.",
        versions="1.12+",
        literals=("Failed requesting worker with resource spec",),
        pattern=r"Failed requesting worker with resource spec [^\n]*current pending count: (?P<pending>\d+)",
        levels=("WARN",),
        sample=flink(
            _ACTIVE,
            "Failed requesting worker with resource spec WorkerResourceSpec {cpuCores=2.0, numSlots=2}, current pending count: 0\n"
            "java.util.concurrent.CompletionException: io.fabric8.kubernetes.client.KubernetesClientException: Failure executing: POST at:"
            ' https://10.96.0.1/api/v1/namespaces/shop/pods. Message: pods "orders-tm" is forbidden: exceeded quota: team-shop.',
            "WARN",
        ),
        keep=(20, 20),
    ),
    Signature(
        id="requirements-unfulfilled",
        says="The resource manager has not the slots that a job needs, and cannot get more.",
        versions="1.12+",
        literals=("Could not fulfill resource requirements of job",),
        pattern=rf"requirements of job {JOB}(?:\. Free slots: (?P<free>\d+))?",
        levels=("WARN",),
        sample=flink(
            "runtime.resourcemanager.slotmanager.DeclarativeSlotManager",
            f"Could not fulfill resource requirements of job {A_JOB}. Free slots: 0",
            "WARN",
        ),
        keep=(20, 20),
    ),
    Signature(
        id="worker-never-registered",
        ref="G26",
        says="A requested TaskManager did not come: pending pod, no quota, crash at start.",
        versions="1.13+",
        literals=(" did not register in ",),
        pattern=r"Worker (?P<resource>\S+) did not register in (?P<after>[^,]+)",
        sample=flink(
            _ACTIVE, "Worker orders-taskmanager-1-4 did not register in PT5M, will stop it and request a new one if needed.", "WARN"
        ),
        keep=(200, 50),
    ),
    Signature(
        id="worker-refused",
        says="Kubernetes did not create the pod of a TaskManager; the API server's message says why.",
        versions="1.12+",
        literals=("Could not create pod ",),
        pattern=r"Could not create pod (?P<resource>[^,\s]+), exception: (?P<what_happened>[^\n]*)",
        levels=("WARN",),
        sample=flink(
            "kubernetes.KubernetesResourceManagerDriver",
            "Could not create pod orders-taskmanager-1-4, exception: java.util.concurrent.CompletionException:"
            " io.fabric8.kubernetes.client.KubernetesClientException: Failure executing: POST at:"
            ' https://10.96.0.1/api/v1/namespaces/shop/pods. Message: pods "orders-taskmanager-1-4" is forbidden: exceeded quota:'
            " team-shop, requested: limits.memory=4Gi, used: limits.memory=64Gi, limited: limits.memory=64Gi. Received status: Status(",
            "WARN",
        ),
        keep=(20, 20),
    ),
    Signature(
        id="worker-start-failing",
        ref="G26",
        says="TaskManagers fail to start faster than the limit: no new ones for a while.",
        versions="1.13+",
        literals=("Reaching max start worker failure rate",),
        pattern=r"failure rate: (?P<rate>[^\n]+)",
        sample=flink(
            _ACTIVE,
            "Reaching max start worker failure rate: 10.0 events per minute, exceeding the allowed rate, retry after PT3S",
            "WARN",
        ),
        keep=(20, 5),
    ),
    Signature(
        id="pod-terminated",
        ref="G31",
        says="Kubernetes: exit code and reason of a TaskManager's container.",
        versions="1.12+",
        literals=("container termination statuses:",),
        pattern=r"\[(?P<container>[^(\s\[]+)\(exitCode=(?P<exit_code>\d+), reason=(?P<reason>[^,]+), message=",
        where="line",
        sample=flink(_ACTIVE, _POD_KILLED),
        keep=(200, 50),
    ),
    Signature(
        id="yarn-container-failed",
        ref="G31",
        says="YARN: why a TaskManager's container ended.",
        literals=(" marked as failed.", " was preempted by yarn", "killed by YARN, either due to being released"),
        pattern=r"Container (?P<resource>container_\S+) (?:(?:was |is )?marked as failed|was preempted by yarn|(?:was )?killed by YARN)",
        where="line",
        sample=flink(
            _ACTIVE,
            "Worker container_e08_1700000000000_0012_01_000003 is terminated. Diagnostics: Container"
            " container_e08_1700000000000_0012_01_000003 marked as failed.\n Exit code:-104.\n Diagnostics:[2024-12-03"
            " 02:18:06.101]Container"
            " is running 12582912B beyond the 'PHYSICAL' memory limit.",
        ),
        keep=(200, 50),
    ),
    Signature(
        id="association-failed",
        ref="G33",
        says="The RPC connection to another Flink process broke or is refused.",
        literals=("Association with remote system",),
        pattern=r"remote system \[\S*?@(?P<address>[^\]\s]+)\] has failed[^\n]*?Reason: \[(?P<because>[^\n]*)\]",
        sample=in_flink(
            "org.apache.pekko.remote.ReliableDeliverySupervisor",
            "Association with remote system [pekko.tcp://flink@10.0.0.7:6122] has failed, address is now gated for [50] ms."
            " Reason: [Disassociated] ",
            "WARN",
        ),
        versions="akka <=1.17, pekko 1.18+",
        keep=(20, 5),
    ),
    Signature(
        id="remote-quarantined",
        ref="G33",
        says="A Flink process shut another out: only a restart of one of them heals it.",
        literals=("quarantined",),
        pattern=r"(?:@(?P<address>[\w.:-]+)[^\n]*)?quarantined",
        sample=in_flink(
            "akka.remote.Remoting",
            "Association to [akka.tcp://flink@10.0.0.7:6122] having UID [1234567] is irrecoverably failed. UID is now quarantined and all"
            " messages to this UID will be delivered to dead letters.",
            "WARN",
        ),
        keep=(20, 5),
    ),
    Signature(
        id="resourcemanager-unresolved",
        ref="G34",
        says="A TaskManager does not reach the ResourceManager and tries again.",
        literals=("Could not resolve ResourceManager address",),
        pattern=r"ResourceManager address \S*?@(?P<address>[^/\s,]+)",
        sample=flink(
            _EXECUTOR,
            "Could not resolve ResourceManager address pekko.tcp://flink@jobmanager:6123/user/rpc/resourcemanager_*, retrying in 10000 ms:"
            " Could not connect to rpc endpoint under address pekko.tcp://flink@jobmanager:6123/user/rpc/resourcemanager_*.",
        ),
        keep=(20, 5),
    ),
    Signature(
        id="resourcemanager-registered",
        ref="G34",
        says="A TaskManager registered at the ResourceManager.",
        literals=("Successful registration at resource manager",),
        pattern=r"at resource manager \S*?@(?P<address>[^/\s]+)",
        sample=flink(
            _EXECUTOR,
            "Successful registration at resource manager pekko.tcp://flink@jobmanager:6123/user/rpc/resourcemanager_* under registration id"
            " 5e2f8c1d4a5968778695a4b3c2d1e0ff.",
        ),
        keep=(20, 5),
    ),
    Signature(
        id="rpc-misaddressed",
        says="A Flink process drops what is sent to it under a name that is not its own.",
        literals=(" for non-local recipient ",),
        pattern=r"arriving at \[\S*?@(?P<dialled>[^\]/\s]+)\S*\] inbound addresses are \[\S*?@(?P<address>[^\]/\s]+)",
        sample=in_flink(
            "akka.remote.EndpointWriter",
            "dropping message [class akka.actor.ActorSelectionMessage] for non-local recipient [Actor[akka.tcp://flink@jobmanager-hs:6123/]]"
            " arriving at [akka.tcp://flink@jobmanager-hs:6123] inbound addresses are [akka.tcp://flink@jobmanager:6123]",
            "ERROR",
        ),
        versions="akka <=1.17, pekko 1.18+",
        keep=(20, 5),
    ),
    Signature(
        id="registration-timed-out",
        ref="G34",
        says="A TaskManager never reached the ResourceManager and ends itself.",
        literals=("within the specified maximum registration duration",),
        pattern=r"registration duration (?P<duration>.+?)\. This indicates",
        where="line",
        sample=flink(
            _EXECUTOR,
            "Fatal error occurred in TaskExecutor pekko.tcp://flink@10.0.0.7:6122/user/rpc/taskmanager_0.\n"
            "org.apache.flink.runtime.taskexecutor.exceptions.RegistrationTimeoutException: Could not register at the"
            " ResourceManager within"
            " the specified maximum registration duration PT5M. This indicates a problem with this instance. Terminating now.",
            "ERROR",
        ),
    ),
    Signature(
        id="taskmanager-fatal",
        says="A TaskManager ends because of an error (the trace).",
        literals=("Fatal error occurred in TaskExecutor", "Fatal error occurred while executing the TaskManager"),
        pattern=r"Fatal error occurred (?:in TaskExecutor (?P<address>\S+?)\.?$|while executing)",
        sample=flink(
            "runtime.taskexecutor.TaskManagerRunner",
            "Fatal error occurred while executing the TaskManager. Shutting it down...\njava.lang.OutOfMemoryError: Metaspace",
            "ERROR",
        ),
    ),
    Signature(
        id="taskmanager-registered",
        says="A TaskManager joined the cluster.",
        literals=("Registering TaskManager with ResourceID",),
        pattern=r"with ResourceID (?P<resource>\S+) \((?P<rpc_address>[^)]*)\)",
        sample=flink(
            _RM,
            "Registering TaskManager with ResourceID tm-1 (pekko.tcp://flink@10.0.0.7:6122/user/rpc/taskmanager_0) at ResourceManager",
        ),
        keep=(2000, 500),
    ),
    Signature(
        id="job-manager-registered",
        says="A TaskManager registered at the JobMaster of a job.",
        literals=("Successful registration at job manager",),
        pattern=rf"at job manager (?P<rpc_address>\S+) for job {JOB}",
        sample=flink(
            "runtime.taskexecutor.DefaultJobLeaderService",
            f"Successful registration at job manager pekko.tcp://flink@10.0.0.5:6123/user/rpc/jobmanager_2 for job {A_JOB}.",
        ),
        keep=(200, 50),
    ),
    Signature(
        id="job-leader-unknown",
        says="A TaskManager tries to reach the JobMaster that leads a job.",
        literals=("Try to register at job manager",),
        pattern=r"at job manager (?P<rpc_address>\S+) with leader id (?P<leader>[0-9a-f-]+)",
        sample=flink(
            "runtime.taskexecutor.DefaultJobLeaderService",
            f"Try to register at job manager pekko.tcp://flink@10.0.0.5:6123/user/rpc/jobmanager_2 with leader id {A_LEADER}.",
        ),
    ),
)
