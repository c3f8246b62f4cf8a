"""The Flink Kubernetes operator: what it says of a deployment, in its own log, beside its events (`planned`).

A line names its resource in the header, ``[INFO ][shop/orders]`` (`derived/failures/owners.py`). The same event is written again at
each reconciliation, about once a minute, until it is over; the operator writes nothing when one is over but what it does next.
"""

from __future__ import annotations

from analyzers.logs.signatures.signature import Signature


def _operator(logger: str, message: str, level: str = "INFO") -> str:
    return f"2024-12-03 02:18:06,996 o.a.f.k.o.{logger} [{level:<5}][shop/orders] {message}"


_HA = "HA metadata not available to restore from last state. It is possible that the job has finished or terminally failed"

SIGNATURES = (
    Signature(
        id="operator-job-state",
        says="The operator sees that the state of a job changed.",
        versions="operator 1.0+",
        literals=("Job status changed from ",),
        pattern=r"Job status changed from (?P<from_state>[A-Z_]+) to (?P<to_state>[A-Z_]+)",
        sample=_operator("o.JobStatusObserver", "Job status changed from RECONCILING to RUNNING"),
        keep=(20, 20),
        apart=("to_state",),
    ),
    Signature(
        id="operator-exception",
        says="The operator could not do what it had to do with a deployment, and tries again.",
        versions="operator 1.0+; UpgradeFailureException 1.9+",
        literals=(
            "kubernetes.operator.exception.RecoveryFailureException",
            "kubernetes.operator.exception.UpgradeFailureException",
            "kubernetes.operator.exception.DeploymentFailedException",
            "kubernetes.operator.exception.ReconciliationException",
            "kubernetes.operator.exception.ValidationException",
        ),
        pattern=r"kubernetes\.operator\.exception\.(?P<raised>\w+): (?P<what_happened>[^\n]*)",
        where="line",
        sample=_operator("r.ReconciliationUtils", "Error while upgrading Flink Deployment", "ERROR")
        + f"\norg.apache.flink.kubernetes.operator.exception.UpgradeFailureException: {_HA}",
        keep=(20, 20),
        apart=("raised",),
    ),
    Signature(
        id="kubernetes-refused",
        says="Kubernetes does not make a pod: its service account is missing, or the account that asks for it lacks the right.",
        literals=("is forbidden: error looking up service account ",),
        pattern=r"is forbidden: error looking up service account (?P<account>[\w./-]+)",
        where="line",
        sample='Warning  FailedCreate  4h48m  JobManagerDeployment  pods "orders-d5c476cb6-" is forbidden: error looking up service account'
        ' shop/flink: serviceaccount "flink" not found',
        keep=(20, 20),
    ),
    Signature(
        id="operator-deployment-observed",
        says="The operator looks at a JobManager deployment that is not ready.",
        versions="operator 1.0+",
        literals=("Observing JobManager deployment. Previous status",),
        pattern=r"Previous status: (?P<to_state>[A-Z_]+)",
        sample=_operator("o.d.ApplicationObserver", "Observing JobManager deployment. Previous status: ERROR"),
        keep=(20, 20),
        apart=("to_state",),
    ),
    Signature(
        id="operator-rest-unanswered",
        says="The operator asked the JobManager for its jobs and got no answer.",
        versions="operator 1.0+; `getting job status` 1.10+",
        literals=("Exception while listing jobs", "Exception while getting job status"),
        sample=_operator("o.JobStatusObserver", "Exception while getting job status", "WARN")
        + "\njava.util.concurrent.TimeoutException\n\tat java.base/java.util.concurrent.CompletableFuture.timedGet(CompletableFuture.java)",
        keep=(20, 20),
    ),
    Signature(
        id="operator-waits",
        says="The operator waits before it does what was asked of it.",
        versions="operator 1.0+; `checkpoint information` 1.10+",
        literals=("waiting for upgradeable state", " status, not ready for serve", "Session cluster deployment is not found"),
        pattern=r"(?P<what_happened>Job is not running (?:yet )?and (?:HA metadata|checkpoint information) is not available"
        r"|Session cluster deployment is[^\n]*)",
        sample=_operator("r.s.SessionJobReconciler", "Session cluster deployment is in DEPLOYING status, not ready for serve"),
        keep=(20, 20),
    ),
    Signature(
        id="operator-not-recovered",
        says="The operator does not start a lost or unhealthy JobManager again, because high availability is off.",
        versions="operator 1.0+; `jobmanager` 1.4+",
        literals=("Could not recover lost", "Could not recover unhealthy jobmanager"),
        pattern=r"(?P<what_happened>Could not recover (?:lost|unhealthy) (?:jobmanager )?deployment without HA enabled)",
        sample=_operator("r.d.AbstractFlinkResourceReconciler", "Could not recover lost jobmanager deployment without HA enabled", "WARN"),
        keep=(20, 20),
    ),
    Signature(
        id="operator-rollback-impossible",
        says="The operator cannot go back to the last stable specification.",
        versions="operator 1.0+",
        literals=("Rollback is not possible due to missing HA metadata",),
        sample=_operator("r.d.AbstractFlinkResourceReconciler", "Rollback is not possible due to missing HA metadata", "WARN"),
        keep=(5, 5),
    ),
    Signature(
        id="operator-step-failed",
        says="The operator names the step that failed; its event says the same with the reason.",
        versions="operator 1.0+",
        literals=(
            "Missing JobManager deployment",
            "Missing Session Job",
            "Flink recovery failed",
            "Flink Deployment failed",
            "Failed to submit job to session cluster",
            "Error during event processing ExecutionScope",
            "Error while upgrading Flink Deployment",
            "Failure occurred while fetching the savepoint result",
        ),
        pattern=r"(?:^|\] )(?:Missing (?:JobManager deployment|Session Job)"
        r"|Flink (?:recovery|Deployment) failed"
        r"|Failed to submit job to session cluster|Error during event processing ExecutionScope|Error while upgrading Flink Deployment"
        r"|Failure occurred while fetching the savepoint result)",
        sample=_operator("o.d.ApplicationObserver", "Missing JobManager deployment", "ERROR"),
        keep=(5, 5),
    ),
    Signature(
        id="operator-savepoint-failed",
        says="A savepoint or checkpoint that the operator asked for failed.",
        versions="operator 1.0+",
        literals=(" failed within grace period", " attempt failed after grace period"),
        pattern=r"(?:Save|Check)point (?:attempt )?failed (?:within|after) grace period[^:]*: (?P<what_happened>[^\n]+)",
        sample=_operator(
            "o.SnapshotObserver",
            "Savepoint failed within grace period, retrying: java.util.concurrent.CompletionException:"
            " org.apache.flink.runtime.checkpoint.CheckpointException: Checkpoint expired before completing.",
            "WARN",
        ),
        keep=(20, 20),
    ),
    Signature(
        id="operator-savepoint-stored",
        says="A savepoint that the operator asked for is complete.",
        versions="operator 1.0+",
        literals=("Savepoint result: ", "Job successfully suspended with savepoint "),
        pattern=r"(?:Savepoint result: |suspended with savepoint )(?P<path>\S+?)\.?$",
        sample=_operator("s.AbstractFlinkService", "Savepoint result: s3://state/savepoints/savepoint-2f4c6a-0011"),
        keep=(5, 5),
    ),
)
