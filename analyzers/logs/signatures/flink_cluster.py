"""Processes of a Flink cluster: start banners, configuration, leadership, recovery, shutdown (catalogue section 3, G01–G08)."""

from __future__ import annotations

from analyzers.logs.signatures.identifiers import A_JOB, A_LEADER, JOB
from analyzers.logs.signatures.origin import flink, in_flink, kafka_client
from analyzers.logs.signatures.signature import Signature

_ENTRY = "runtime.entrypoint.ClusterEntrypoint"
_PROCESS = "runtime.dispatcher.runner.SessionDispatcherLeaderProcess"

SIGNATURES = (
    Signature(
        id="flink-banner",
        ref="G01",
        says="A Flink JVM started: version and role; two banners in one log are a restart of the process.",
        literals=(" (Version: ",),
        pattern=r"Starting (?P<component>[^\n]+) \(Version: (?P<version>[^,\s]+), (?:Scala: (?P<scala>[^,]+),"
        r" )?Rev:(?P<revision>[^,]*), Date:",
        sample=flink(
            _ENTRY,
            " Starting StandaloneSessionClusterEntrypoint (Version: 1.20.0, Scala: 2.12, Rev:b1fe7b4, Date:2024-07-25T05:13:11+02:00)",
        ),
        keep=(2000, 500),
    ),
    Signature(
        id="flink-jvm",
        says="The Java that runs a Flink process, from its start banner.",
        literals=(" JVM: ",),
        pattern=r"^\s*JVM: [^\n]* - (?P<java>\d[\w.]*)/",
        sample=flink(_ENTRY, " JVM: OpenJDK 64-Bit Server VM - Eclipse Adoptium - 17/17.0.13+11"),
        keep=(200, 50),
    ),
    Signature(
        id="flink-class-path",
        says="The class path of a Flink process, from its start banner: which connectors lie beside Flink.",
        literals=(" Classpath: ",),
        pattern=r"^\s*Classpath: (?P<class_path>[^\n]{1,16000})",
        sample=flink(_ENTRY, " Classpath: /opt/flink/lib/flink-connector-kafka-3.4.0-1.20.jar:/opt/flink/lib/flink-dist-1.20.5.jar"),
        keep=(20, 5),
    ),
    Signature(
        id="configuration-file",
        says="The file that Flink reads its configuration from (1.19 and later), as legacy or standard YAML.",
        literals=("YAML parser to load flink configuration file from",),
        pattern=r"Using (?P<parser>legacy|standard) YAML parser to load flink configuration file from (?P<path>[^\n]+?)\.?$",
        sample=flink(
            "configuration.GlobalConfiguration",
            "Using standard YAML parser to load flink configuration file from /opt/flink/conf/config.yaml.",
        ),
        keep=(200, 50),
    ),
    Signature(
        id="configuration-property",
        says="One line of the effective Flink configuration.",
        literals=("Loading configuration property:", "Loading dynamic configuration property:"),
        pattern=r"Loading (?P<dynamic>dynamic )?configuration property: (?P<key>[^,\n]+), (?P<value>[^\n]*)",
        sample=flink("configuration.GlobalConfiguration", "Loading configuration property: execution.checkpointing.interval, 30s"),
        keep=(2000, 500),
    ),
    Signature(
        id="configuration-key-old",
        says="A configuration key is read by its deprecated or fallback name.",
        literals=("Config uses deprecated configuration key", "Config uses fallback configuration key"),
        pattern=r"configuration key '(?P<key>[^']+)' instead of (?:proper |)key '(?P<proper_key>[^']+)'",
        sample=flink(
            "configuration.Configuration",
            "Config uses deprecated configuration key 'high-availability' instead of proper key 'high-availability.type'",
            "WARN",
        ),
        keep=(20, 1),
    ),
    Signature(
        id="kafka-clients-version",
        says="The version of the Kafka client library (or broker) in this process.",
        literals=("Kafka version: ", "Kafka version : "),
        pattern=r"Kafka version ?: (?P<version>[\w.-]+)",
        sample=in_flink("org.apache.kafka.common.utils.AppInfoParser", "Kafka version: 3.4.0"),
        keep=(2000, 500),
    ),
    Signature(
        id="kafka-client-started",
        says="When a Kafka client was created, in epoch time: gives the zone of the log.",
        literals=("Kafka startTimeMs:",),
        pattern=r"startTimeMs: (?P<started_ms>\d+)",
        sample=in_flink("org.apache.kafka.common.utils.AppInfoParser", "Kafka startTimeMs: 1733192286996"),
        keep=(100, 20),
    ),
    Signature(
        id="kafka-config-unknown",
        says="A client got properties it does not know: noise, but it shows what was configured.",
        literals=("were supplied but are not used yet", "was supplied but isn't a known config"),
        pattern=r"(?:'(?P<key>[^'\n]+)' was supplied|'\[(?P<keys>[^\]]*)\]' were supplied)",
        sample=kafka_client(
            "consumer.ConsumerConfig",
            "The configuration 'flink.partition-discovery.interval-millis' was supplied but isn't a known config.",
            "WARN",
        ),
        keep=(5, 1),
    ),
    Signature(
        id="cluster-entrypoint",
        ref="G01",
        says="A JobManager process starts its services.",
        literals=("Initializing cluster services.", "ClusterEntrypoint."),
        pattern=r"^(?:Initializing cluster services\.|Starting (?P<component>\w*ClusterEntrypoint)\.)",
        sample=flink(_ENTRY, "Starting StandaloneSessionClusterEntrypoint."),
        keep=(2000, 500),
    ),
    Signature(
        id="leadership-granted",
        ref="G02",
        says="Dispatcher or ResourceManager got the leadership.",
        literals=("granted leadership with",),
        pattern=r"^(?P<contender>Dispatcher|ResourceManager|Resource manager service|DefaultDispatcherRunner)[^\n]* (?:was|is) granted"
        r" leadership"
        r" with (?:fencing token|session id|leader id) (?P<leader>[0-9a-f-]+)",
        sample=flink(
            "runtime.dispatcher.runner.DefaultDispatcherRunner",
            f"DefaultDispatcherRunner was granted leadership with leader id {A_LEADER}. Creating new DispatcherLeaderProcess.",
        ),
        keep=(2000, 500),
    ),
    Signature(
        id="leadership-revoked",
        ref="G03",
        says="Dispatcher or ResourceManager lost the leadership.",
        literals=("revoked leadership", "revoked the leadership"),
        pattern=r"^(?P<contender>Dispatcher|ResourceManager|Resource manager service|DefaultDispatcherRunner|\S*RestEndpoint|https?://\S+)"
        r"[^\n]* (?:was|is|were) revoked (?:the )?leadership",
        sample=flink(
            "runtime.dispatcher.runner.DefaultDispatcherRunner",
            f"DefaultDispatcherRunner was revoked the leadership with leader id {A_LEADER}. Stopping the DispatcherLeaderProcess.",
        ),
        keep=(2000, 500),
    ),
    Signature(
        id="leader-elected",
        ref="G03",
        says="Kubernetes: who leads now.",
        versions="1.12+",
        literals=("New leader elected ",),
        pattern=r"New leader elected (?P<leader>\S*) for (?P<config_map>\S+?)\.?$",
        sample=flink(
            "kubernetes.kubeclient.resources.KubernetesLeaderElector", f"New leader elected {A_LEADER} for orders-cluster-config-map."
        ),
        keep=(200, 50),
    ),
    Signature(
        id="kubernetes-leader-lost",
        ref="G03",
        says="Kubernetes: the leader could not renew its lease in time and gives the leadership up.",
        versions="1.12+ (fabric8 client)",
        literals=("enew deadline reached", "occurred while renewing lock"),
        pattern=r"(?P<what>[Rr]enew deadline reached|occurred while renewing lock)(?:[^\n]*? lock:? '?(?P<lock>[^\n']+))?",
        where="line",
        sample=in_flink(
            "io.fabric8.kubernetes.client.extended.leaderelection.LeaderElector",
            "Renew deadline reached after 15 seconds while renewing lock ConfigMapLock: flink - orders-cluster-config-map"
            " (3b1f0a6e-52d4-4c7e-9a1b-8d2c4e6f7a90)",
            "ERROR",
        ),
        keep=(200, 50),
    ),
    Signature(
        id="kubernetes-lease-failed",
        ref="G03",
        says="Kubernetes: the API server did not answer when the leader's lease was to be acquired, renewed or released.",
        versions="1.20+ (fabric8 client 6): a renewal is logged as acquiring",
        literals=("occurred while acquiring lock", "occurred while releasing lock"),
        pattern=r"occurred while (?P<what>acquiring|releasing) lock '?(?:\w+: )?(?P<lock>[^\n'(]+)",
        where="line",
        sample=in_flink(
            "io.fabric8.kubernetes.client.extended.leaderelection.LeaderElector",
            "Exception occurred while acquiring lock 'ConfigMapLock: flink - orders-cluster-config-map"
            " (3b1f0a6e-52d4-4c7e-9a1b-8d2c4e6f7a90) retrying...'",
            "WARN",
        ),
        keep=(20, 20),
    ),
    Signature(
        id="zookeeper-connection-lost",
        ref="G04",
        says="The connection to ZooKeeper was suspended or lost: leaderships go until it is back.",
        literals=("Connection to ZooKeeper suspended", "Connection to ZooKeeper lost"),
        pattern=r"Connection to ZooKeeper (?P<state>suspended|lost)",
        sample=flink(
            "runtime.leaderelection.ZooKeeperMultipleComponentLeaderElectionDriver",
            "Connection to ZooKeeper suspended, waiting for reconnection.",
            "WARN",
        ),
        keep=(200, 50),
    ),
    Signature(
        id="zookeeper-reconnected",
        ref="G04",
        says="The connection to ZooKeeper is back.",
        literals=("Connection to ZooKeeper was reconnected",),
        sample=flink(
            "runtime.leaderelection.ZooKeeperLeaderElectionDriver",
            "Connection to ZooKeeper was reconnected. Leader election can be restarted.",
        ),
        keep=(200, 50),
    ),
    Signature(
        id="jobs-recovering",
        ref="G05",
        says="A new leader looks for jobs that the previous one left.",
        literals=("Recovering all persisted jobs", "Recover all persisted "),
        pattern=r"Recover(?:ing)? all persisted (?P<what>jobs|job graphs|applications)",
        sample=flink(_PROCESS, "Recover all persisted job graphs that are not finished, yet."),
        keep=(200, 50),
    ),
    Signature(
        id="job-unknown",
        says="A JobManager was asked for a job that it does not have: ended and forgotten, or never recovered.",
        literals=("REST handler: Job ", "Could not find Flink job"),
        pattern=r"(?:REST handler: Job |Could not find Flink job \()(?P<job>[0-9a-f]{32})\b",
        sample=flink(
            "runtime.rest.handler.job.JobDetailsHandler",
            "Exception occurred in REST handler: Job 5f0e64a1c3d2b7980e1f2a3b4c5d6e7f not found",
            "ERROR",
        ),
        keep=(5, 2),
    ),
    Signature(
        id="jobs-recovered",
        ref="G05",
        says="How many jobs the new leader found; 0 with high availability on means there was nothing to recover.",
        versions="1.10+",
        literals=("Successfully recovered ",),
        pattern=r"Successfully recovered (?P<recovered>\d+) persisted (?P<what>job graphs|applications)",
        sample=flink(_PROCESS, "Successfully recovered 1 persisted job graphs."),
        keep=(200, 50),
    ),
    Signature(
        id="job-recovering",
        ref="G05",
        says="One job is taken over from the high-availability store.",
        literals=("Trying to recover job with job id", "Recovered JobGraph(jobId:"),
        pattern=rf"(?:job id |jobId: ){JOB}",
        sample=flink(_PROCESS, f"Trying to recover job with job id {A_JOB}."),
        keep=(200, 50),
    ),
    Signature(
        id="resource-manager-starting",
        ref="G07",
        says="The ResourceManager or its slot manager starts.",
        literals=("Starting the SlotManager.", "Starting the slot manager.", "Starting the resource manager."),
        sample=flink("runtime.resourcemanager.StandaloneResourceManager", "Starting the resource manager."),
    ),
    Signature(
        id="cluster-shutting-down",
        ref="G08",
        says="The JobManager process ends, with its status.",
        literals=(" down with application status ",),
        pattern=r"Shutting (?P<component>\S+) down with application status (?P<to_state>\w+)\. Diagnostics (?P<diagnostics>[^\n]*)",
        sample=flink(
            _ENTRY,
            "Shutting KubernetesApplicationClusterEntrypoint down with application status UNKNOWN. Diagnostics Cluster entrypoint has been"
            " closed externally..",
        ),
        keep=(200, 50),
    ),
    Signature(
        id="process-terminating",
        ref="G08",
        says="A Flink process ends with this exit code.",
        literals=("Terminating cluster entrypoint process", "Terminating TaskManagerRunner with exit code"),
        pattern=r"Terminating (?:cluster entrypoint process )?(?P<component>\w+) with exit code (?P<exit_code>-?\d+)",
        sample=flink(_ENTRY, "Terminating cluster entrypoint process KubernetesApplicationClusterEntrypoint with exit code 2."),
        keep=(200, 50),
    ),
    Signature(
        id="signal-received",
        ref="G08",
        says="The process got a signal: somebody or something stopped it from outside.",
        literals=("RECEIVED SIGNAL ",),
        pattern=r"RECEIVED SIGNAL (?P<signal_number>\d+): (?P<signal>SIG\w+)",
        sample=flink("runtime.entrypoint.ClusterEntrypoint", "RECEIVED SIGNAL 15: SIGTERM. Shutting down as requested."),
        keep=(200, 50),
    ),
    Signature(
        id="yarn-master-failed",
        ref="G31",
        says="YARN: the container of the application master (Flink's JobManager) ended with this exit code.",
        literals=("AM Container for ",),
        pattern=r"AM Container for (?P<attempt_id>appattempt_\w+) exited with\s+exitCode: (?P<exit_code>-?\d+)",
        where="line",
        sample=flink(
            "yarn.YarnClusterDescriptor",
            "Application application_1700000000000_0012 failed 2 times due to AM Container for appattempt_1700000000000_0012_000002"
            " exited with  exitCode: 137",
            "ERROR",
        ),
        keep=(200, 50),
    ),
    Signature(
        id="entrypoint-fatal",
        ref="G08",
        says="The JobManager process ends because of an error (the trace).",
        literals=("Fatal error occurred in the cluster entrypoint", "Could not start cluster entrypoint"),
        sample=flink(
            _ENTRY,
            "Fatal error occurred in the cluster entrypoint.\njava.util.concurrent.CompletionException: java.lang.IllegalStateException",
            "ERROR",
        ),
    ),
    Signature(
        id="uncaught-fatal",
        ref="G08",
        says="A thread's uncaught exception stops the process.",
        literals=("produced an uncaught exception. Stopping the process",),
        pattern=r"Thread '(?P<fatal_thread>[^\n]*)' produced an uncaught exception",
        sample=flink(
            "util.FatalExitExceptionHandler",
            "FATAL: Thread 'flink-pekko.actor.default-dispatcher-15' produced an uncaught exception. Stopping the process...\n"
            "java.lang.OutOfMemoryError: Metaspace",
            "ERROR",
        ),
    ),
)
