"""State of Flink jobs: backend, checkpoint storage, high-availability stores, restores that cannot work (catalogue C40–C54)."""

from __future__ import annotations

from analyzers.logs.signatures.identifiers import A_JOB, A_VERTEX
from analyzers.logs.signatures.origin import failed_task, flink
from analyzers.logs.signatures.signature import Signature

_MASTER = "runtime.jobmaster.JobMaster"
_STORE = "runtime.checkpoint.DefaultCompletedCheckpointStoreUtils"


def _not_started(cause: str) -> str:
    """A job whose JobMaster does not come up, with its cause."""
    return flink(
        "runtime.dispatcher.StandaloneDispatcher",
        f"Job {A_JOB} reached terminal state FAILED.\norg.apache.flink.runtime.client.JobInitializationException: Could not start the"
        f" JobMaster."
        f"\nCaused by: {cause}",
    )


SIGNATURES = (
    Signature(
        id="state-backend-default",
        ref="C40",
        says="No state backend is configured: the default is used.",
        versions="<=1.18",
        literals=("No state backend has been configured",),
        pattern=r"using default \((?P<backend>[^)]*)\)",
        sample=flink(
            _MASTER,
            "No state backend has been configured, using default (HashMap)"
            " org.apache.flink.runtime.state.hashmap.HashMapStateBackend@1b2c3d4e",
        ),
    ),
    Signature(
        id="state-backend",
        ref="C40 C41 C43",
        says="Where working state lives.",
        literals=("State backend is set to", "State backend loader loads the state backend as", "Loading state backend via factory"),
        pattern=r"(?:State backend is set to|loads the state backend as|state backend via factory) (?P<backend>[^\n@]+?)(?:@[0-9a-f]+)?"
        r"(?: \(checkpoints to filesystem \"(?P<path>[^\"]+)\"\))?$",
        sample=flink(_MASTER, "State backend is set to heap memory org.apache.flink.runtime.state.hashmap.HashMapStateBackend@1b2c3d4e"),
    ),
    Signature(
        id="state-backend-deprecated",
        ref="C40",
        says="A deprecated state backend is configured; MemoryStateBackend keeps checkpoints in the JobManager.",
        versions="1.13–1.20",
        literals=("state backend has been deprecated", "MemoryStateBackend has been deprecated"),
        pattern=r"(?P<backend>\w{1,60}) (?:state backend )?has been deprecated",
        sample=flink(_MASTER, "filesystem state backend has been deprecated. Please use 'hashmap' state backend instead.", "WARN"),
    ),
    Signature(
        id="checkpoint-storage",
        ref="C42",
        says="Where checkpoints go; `jobmanager` means: lost with the JobManager, and limited to 5 MiB of state.",
        versions="1.13+",
        literals=("Checkpoint storage is set to",),
        pattern=r"is set to '(?P<storage>[^']+)'(?:: \(checkpoints \"(?P<path>[^\"]*)\"\))?",
        sample=flink(_MASTER, "Checkpoint storage is set to 'filesystem': (checkpoints \"s3://state/orders\")"),
    ),
    Signature(
        id="state-backend-of-application",
        ref="C43",
        says="The program, not the cluster, chose the state backend or the checkpoint storage.",
        literals=(
            "Using application-defined state backend",
            "to configure application-defined state backend",
            "Using application defined checkpoint storage",
            "to configure application-defined checkpoint storage",
            "as Job checkpoint storage",
        ),
        pattern=r"(?:application[- ]defined (?P<what>state backend|checkpoint storage): |Using legacy state backend )(?P<backend>[^\n]*?)"
        r"(?: as Job checkpoint storage|$)",
        sample=flink(
            _MASTER,
            "Using application-defined state backend: File State Backend (checkpoints: 'file:/data/checkpoints',"
            " savepoints: 'null', asynchronous: TRUE, fileStateThreshold: 20480)",
        ),
    ),
    Signature(
        id="state-backend-unknown",
        ref="C44",
        says="The configured state backend is no known name and no class: the job cannot start.",
        literals=("Cannot find configured state backend factory class",),
        pattern=r"factory class: (?P<backend>\S+)",
        where="line",
        sample=_not_started(
            "org.apache.flink.util.DynamicCodeLoadingException: Cannot find configured state backend factory class: rocksdbb"
        ),
    ),
    Signature(
        id="ha-factory-unknown",
        ref="C50",
        says="The configured high availability is no known mode and no factory class: the process cannot start.",
        literals=("HighAvailabilityServicesFactory'. Please make sure",),
        pattern=r"instantiate class '(?P<class_name>[^']+)' of type",
        where="line",
        sample=flink(
            "runtime.entrypoint.ClusterEntrypoint",
            "Could not start cluster entrypoint StandaloneSessionClusterEntrypoint.\n"
            "Caused by: org.apache.flink.util.FlinkException: Could not instantiate class"
            " 'org.apache.flink.runtime.highavailability.zookeeper.ZooKeeperHaServices' of type"
            " 'org.apache.flink.runtime.highavailability.HighAvailabilityServicesFactory'. Please make sure that this class is on your"
            " class path.",
            "ERROR",
        ),
    ),
    Signature(
        id="ha-evidence",
        ref="C50",
        says="High availability is on: a ZooKeeper namespace or a high-availability checkpoint store is in use.",
        literals=("as Zookeeper namespace", "Initialized ZooKeeperCompletedCheckpointStore", "Initialized DefaultCompletedCheckpointStore"),
        pattern=r"(?:Using '(?P<path>[^']+)' as Zookeeper namespace|Initialized (?P<store>\w+CompletedCheckpointStore)(?: in"
        r" '(?P<store_path>[^']*)')?)",
        sample=flink("runtime.util.ZooKeeperUtils", "Using '/flink/orders' as Zookeeper namespace."),
    ),
    Signature(
        id="checkpoints-found",
        ref="C51",
        says="How many checkpoints the high-availability store holds; 0 after a restart means an empty state.",
        literals=(" checkpoints in ",),
        pattern=r"Found (?P<found>\d+) checkpoints in (?P<store>[^\n]+?)\.$",
        sample=flink(_STORE, "Found 1 checkpoints in KubernetesStateHandleStore{configMapName='orders-2f4c6a-config-map'}."),
    ),
    Signature(
        id="checkpoints-recovering",
        ref="C51",
        says="The JobManager reads checkpoints back from its high-availability store.",
        literals=("Recovering checkpoints from", "Trying to retrieve checkpoint", "checkpoints from storage"),
        pattern=r"Recovering checkpoints from (?P<store>[^\n]+?)\.$|Trying to retrieve checkpoint (?P<checkpoint>\d+)|"
        r"Trying to fetch (?P<found>\d+) checkpoints",
        sample=flink(_STORE, "Recovering checkpoints from KubernetesStateHandleStore{configMapName='orders-2f4c6a-config-map'}."),
    ),
    Signature(
        id="checkpoint-unreadable",
        ref="C52",
        says="A checkpoint that the store names cannot be read.",
        literals=(
            "This indicates that the retrieved state handle is broken",
            "state written by an older Flink version",
            "checkpoints from storage.",
        ),
        pattern=r"Could not retrieve checkpoint (?P<checkpoint>\d+) from state handle under (?P<path>\S+?)\. This indicates|"
        r"Could not read any of the (?P<found>\d+) checkpoints|older Flink version",
        where="line",
        sample=_not_started(
            "org.apache.flink.util.FlinkException: Could not retrieve checkpoint 42 from state handle under /0000000000000000042. This"
            " indicates that the retrieved state handle is broken. Try cleaning the state handle store."
        ),
    ),
    Signature(
        id="ha-store-corrupted",
        ref="C53",
        says="A ConfigMap of the high-availability store holds unreadable data.",
        versions="1.12+",
        literals=("contained corrupted data. Ignoring the key",),
        pattern=r"ConfigMap (?P<config_map>\S+) contained corrupted data\. Ignoring the key (?P<key>\S+?)\.?$",
        sample=flink(
            "kubernetes.highavailability.KubernetesStateHandleStore",
            "ConfigMap orders-2f4c6a-config-map contained corrupted data. Ignoring the key checkpointID-0000000000000000042.",
            "WARN",
        ),
    ),
    Signature(
        id="ha-store-failed",
        ref="C54",
        says="The high-availability store of checkpoints could not be opened.",
        versions="1.13+",
        literals=("Failed to initialize high-availability",),
        pattern=r"high-availability (?P<what>completed checkpoint store|checkpoint id counter)",
        where="line",
        sample=_not_started(
            "org.apache.flink.runtime.client.JobExecutionException: Failed to initialize high-availability completed checkpoint store"
        ),
    ),
    Signature(
        id="savepoint-operator-missing",
        says="A savepoint holds state of an operator that the program no longer has, or whose uid changed.",
        literals=("Cannot map checkpoint/savepoint state for operator", "There is no operator for the state "),
        pattern=r"(?:rollback to checkpoint/savepoint (?P<path>\S+)\. )?(?:Cannot map checkpoint/savepoint state for|There is no)"
        r" operator (?:for the state )?(?P<operator>[0-9a-f]{32})",
        where="line",
        sample=_not_started(
            "java.lang.IllegalStateException: Failed to rollback to checkpoint/savepoint s3://state/savepoint-2f4c6a-0011. Cannot map"
            f" checkpoint/savepoint state for operator {A_VERTEX} to the new program, because the operator is not available in the new"
            " program. If you want to allow to skip this, you can set the --allowNonRestoredState option on the CLI."
        ),
    ),
    Signature(
        id="state-skipped",
        says="The restored checkpoint or savepoint holds an operator that the program does not have, and Flink skips its state.",
        versions="`Skipping savepoint` 1.0+, of a savepoint given by path; `Skipped checkpoint` 1.2+, also when one region is restarted",
        literals=("Skipping savepoint state for operator", "Skipped checkpoint state for operator"),
        pattern=r"(?P<kind>Skipping savepoint|Skipped checkpoint) state for operator (?P<operator>[0-9a-f]{32})",
        sample=flink("runtime.checkpoint.Checkpoints", f"Skipping savepoint state for operator {A_VERTEX}."),
        keep=(200, 50),
    ),
    Signature(
        id="max-parallelism-mismatch",
        says="State was written with another max parallelism than the program has now.",
        literals=("Max parallelism mismatch between checkpoint/savepoint state",),
        pattern=r"Cannot map operator (?P<operator>[0-9a-f]{32}) with max parallelism (?P<written>\d+) to new program with max parallelism"
        r" (?P<wanted>\d+)",
        where="line",
        sample=_not_started(
            "java.lang.IllegalStateException: Failed to rollback to checkpoint/savepoint s3://state/savepoint-2f4c6a-0011. Max parallelism"
            f" mismatch between checkpoint/savepoint state and new program. Cannot map operator {A_VERTEX} with max parallelism 128 to new"
            " program with max parallelism 4096. This indicates that the program has been changed in a non-compatible way after the"
            " checkpoint/savepoint."
        ),
    ),
    Signature(
        id="state-serializer-incompatible",
        says="State was written by a serializer that the new program's serializer cannot follow.",
        literals=("must not be incompatible with the old state serializer", "StateMigrationException"),
        where="line",
        sample=failed_task(
            "Caused by: org.apache.flink.util.StateMigrationException: The new state serializer"
            " (org.apache.flink.api.java.typeutils.runtime.PojoSerializer@1f2e3d4c) must not be incompatible with the old state serializer"
            " (org.apache.flink.api.java.typeutils.runtime.PojoSerializer@5b6a7988)."
        ),
    ),
    Signature(
        id="state-too-large-for-memory",
        says="State exceeds what memory-backed checkpoint storage takes.",
        literals=("Size of the state is larger than the maximum permitted memory-backed state",),
        pattern=r"Size=(?P<size_bytes>\d+)\s*, maxSize=(?P<limit_bytes>\d+)",
        where="line",
        sample=failed_task(
            "Caused by: java.io.IOException: Size of the state is larger than the maximum permitted memory-backed state. Size=7340032,"
            " maxSize=5242880. Consider using a different checkpoint storage, like the FileSystemCheckpointStorage."
        ),
    ),
    Signature(
        id="state-file-missing",
        says="A checkpoint that should be restored is not there.",
        literals=("Cannot find checkpoint or savepoint file/directory", "Cannot find meta data file"),
        pattern=r"Cannot find (?:checkpoint or savepoint file/directory '(?P<path>[^']+)'|meta data file '[^']+' in directory"
        r" '(?P<directory>[^']+)')",
        where="line",
        sample=_not_started(
            "java.io.FileNotFoundException: Cannot find checkpoint or savepoint file/directory 's3://state/savepoint-2f4c6a-0011'"
            " on file system 's3'."
        ),
    ),
    Signature(
        id="restore-failed",
        says="An operator's state could not be restored from any of its copies.",
        literals=(
            "Could not restore operator state backend",
            "Could not restore keyed state backend",
            "Failed when trying to restore heap backend",
        ),
        pattern=r"(?:Could not restore (?P<what>operator|keyed) state backend for (?P<operator>\w+)_(?P<operator_id>[0-9a-f]{32})"
        r"_\((?P<subtask1>\d+)/(?P<parallelism>\d+)\)|heap backend)",
        where="line",
        sample=failed_task(
            f"Caused by: org.apache.flink.util.FlinkException: Could not restore keyed state backend for KeyedProcessOperator_{A_VERTEX}"
            "_(2/4) from any of the 1 provided restore options."
        ),
    ),
)
