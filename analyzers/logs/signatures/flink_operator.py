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
)
