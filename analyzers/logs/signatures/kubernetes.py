"""Events of pods, as `kubectl get events` and `kubectl describe pod` print them: what scheduler and kubelet say of a pod that starts.

They have an age instead of a time, and stand in any order; a pod is named in a column of its own, or (describe) above them.
"""

from __future__ import annotations

from analyzers.logs.signatures.signature import Signature

_POD = r"(?:\bpods?/(?P<resource>[a-z0-9][\w.-]*)\s[^\n]*?)?"


def _event(kind: str, reason: str, message: str, pod: str = "pod/orders-taskmanager-1-5") -> str:
    return f"26m         {kind:<7}   {reason:<18} {pod}      {message}"


SIGNATURES = (
    Signature(
        id="pod-unschedulable",
        says="Kubernetes: no node takes a pod; the numbers say why for how many nodes.",
        literals=("nodes are available: ",),
        pattern=_POD + r"(?P<what_happened>\d{1,6}/\d{1,6} nodes are available: [^\n]*?)(?:\.? preemption: [^\n]*)?\.?$",
        where="line",
        sample=_event(
            "Warning", "FailedScheduling",
            "0/14 nodes are available: 14 Insufficient cpu. preemption: 0/14 nodes are available: 14 No preemption victims found for"
            " incoming pod.",
        ),
        keep=(50, 20),
    ),
    Signature(
        id="pod-scale-up",
        says="Kubernetes: the cluster autoscaler adds nodes for a pod that no node takes.",
        literals=("pod triggered scale-up: ",),
        pattern=_POD + r"pod triggered scale-up: (?P<what_happened>[^\n]*)",
        where="line",
        sample=_event("Normal", "TriggeredScaleUp", "pod triggered scale-up: [{workers 9->10 (max: 20)}]"),
        keep=(50, 20),
    ),
    Signature(
        id="pod-placed",
        says="Kubernetes: a pod got its node.",
        literals=("Successfully assigned ",),
        pattern=r"Successfully assigned (?:(?P<namespace>[\w-]+)/)?(?P<resource>[a-z0-9][\w.-]*) to (?P<node>\S+)",
        where="line",
        sample=_event("Normal", "Scheduled", "Successfully assigned shop/orders-taskmanager-1-5 to node-7"),
        keep=(50, 50),
    ),
    Signature(
        id="pod-started",
        says="Kubernetes: the container of a pod started.",
        literals=("Started container ", "Container started"),
        pattern=_POD + r"(?:Started container|Container started)",
        where="line",
        sample=_event("Normal", "Started", "Started container flink-main-container"),
        keep=(50, 50),
    ),
    Signature(
        id="image-not-pulled",
        says="Kubernetes: the image of a container cannot be pulled; the container does not start.",
        literals=("Failed to pull image ", "Back-off pulling image "),
        pattern=_POD + r"(?:Failed to pull|Back-off pulling) image \"(?P<image>[^\"\n]+)\"(?:: (?P<what_happened>[^\n]*))?",
        where="line",
        sample=_event(
            "Warning", "Failed",
            'Failed to pull image "registry.shop/orders:41": rpc error: code = NotFound desc = failed to pull and unpack image:'
            " not found",
        ),
        keep=(50, 20),
    ),
    Signature(
        id="image-pulled",
        says="Kubernetes: the image of a container is there.",
        literals=("Successfully pulled image ", "already present on machine"),
        pattern=_POD + r"(?:Successfully pulled image|Container image) \"(?P<image>[^\"\n]+)\"",
        where="line",
        sample=_event("Normal", "Pulled", 'Successfully pulled image "registry.shop/orders:41" in 2.1s'),
        keep=(50, 50),
    ),
    Signature(
        id="pod-volume-missing",
        says="Kubernetes: a volume, secret or config map of a pod is not there; the pod waits for it.",
        literals=(
            "MountVolume.", "Unable to attach or mount volumes", "Multi-Attach error for volume",
            "unbound immediate PersistentVolumeClaims",
        ),
        pattern=_POD
        + r"(?P<what_happened>(?:MountVolume\.\w+ failed|Unable to attach or mount volumes|Multi-Attach error for volume"
        r"|(?:pod has )?unbound immediate PersistentVolumeClaims)[^\n]*)",
        where="line",
        sample=_event("Warning", "FailedMount", 'MountVolume.SetUp failed for volume "conf" : configmap "flink-config-orders" not found'),
        keep=(50, 20),
    ),
    Signature(
        id="pod-not-started",
        says="Kubernetes: the list of pods shows one that has not started, and why.",
        literals=(" Pending ", " ImagePullBackOff ", " ErrImagePull ", " InvalidImageName ", ":ImagePullBackOff ", ":ErrImagePull ",
                  " CrashLoopBackOff ", ":CrashLoopBackOff "),
        pattern=r"^(?:[\w-]+ +)?(?P<resource>[a-z0-9][\w.-]*) +\d+/\d+ +(?:Init:)?"
        r"(?P<status>Pending|ImagePullBackOff|ErrImagePull|InvalidImageName|CrashLoopBackOff) +(?P<restarts>\d+)"
        r"(?: \([^)\n]*\))? +(?P<age>\w+)",
        where="line",
        sample="orders-taskmanager-1-5   0/1     Pending   0          26m",
        keep=(50, 20),
    ),
    Signature(
        id="spark-application-failed",
        says="Spark's operator: an application failed, or could not be submitted; the words are those of its status.",
        literals=("SparkApplication ",),
        pattern=r"(?:failed to submit )?SparkApplication (?P<resource>[a-z0-9][\w.-]*)(?: failed)?: (?P<what_happened>[^\n]+)",
        where="line",
        sample=_event(
            "Warning", "SparkApplicationFailed",
            "SparkApplication spark-pi failed: driver container failed with ExitCode: 1, Reason: Error", "sparkapplication/spark-pi",
        ),
        keep=(50, 20),
    ),
)  # fmt: skip
