"""Restarts and stops that somebody ordered: savepoints, cancels, rescales, operator upgrades, drained nodes (catalogue A26, G08).

Each is a neutral fact: a rule decides whether it explains the restart that follows it.
"""

from __future__ import annotations

from analyzers.logs.signatures.identifiers import A_JOB, JOB
from analyzers.logs.signatures.origin import flink, in_flink, spark
from analyzers.logs.signatures.signature import Signature

_ADAPTIVE = "runtime.scheduler.adaptive.AdaptiveScheduler"
_OPERATOR = "org.apache.flink.kubernetes.operator."
_AUDIT = _OPERATOR + "listener.AuditUtils"

SIGNATURES = (
    Signature(
        id="stop-with-savepoint",
        says="Somebody stops the job through a savepoint (upgrade, migration).",
        literals=("Triggering stop-with-savepoint for job",),
        pattern=rf"for job {JOB}",
        sample=flink("runtime.jobmaster.JobMaster", f"Triggering stop-with-savepoint for job {A_JOB}."),
        keep=(200, 50),
    ),
    Signature(
        id="savepoint-triggered",
        says="Somebody takes a savepoint, or cancels the job with one.",
        literals=("Triggering savepoint for job", "Triggering cancel-with-savepoint for job"),
        pattern=rf"Triggering (?P<cancel>cancel-with-)?savepoint for job {JOB}",
        sample=flink("runtime.jobmaster.JobMaster", f"Triggering cancel-with-savepoint for job {A_JOB}."),
        keep=(200, 50),
    ),
    Signature(
        id="savepoint-stored",
        says="A savepoint was written to this path.",
        literals=("Savepoint stored in", "Savepoint completed. Path:"),
        pattern=rf"(?:stored in|Path:) (?P<path>[^\s.]\S*?)(?:\. Now cancelling {JOB}|\.?(?:\s|$))",
        sample=flink("runtime.jobmaster.JobMaster", f"Savepoint stored in s3://state/savepoint-2f4c6a-0011. Now cancelling {A_JOB}."),
        keep=(200, 50),
    ),
    Signature(
        id="tests-passed",
        says="A test run that passed: the exceptions in its output were provoked.",
        # Maven, Gradle, pytest; cargo; dotnet; Jest; sbt
        literals=(
            "Tests run: ",
            "BUILD SUCCESS",
            " passed in ",
            "BUILD SUCCESSFUL",
            "test result: ok. ",
            "Passed!  - Failed:",
            " passed, ",
            "Passed: Total ",
        ),
        pattern=r"\bTests run: (?P<tests>[1-9]\d*), Failures: 0, Errors: 0\b|\bBUILD SUCCESS(?:FUL)?\b"
        r"|\btest result: ok\. [1-9]\d* passed; 0 failed;|\bPassed!  - Failed: +0, Passed: +[1-9]"
        r"|^Tests: +(?:\d{1,9} (?:skipped|todo), ){0,2}[1-9]\d{0,8} passed, \d{1,9} total|\bPassed: Total [1-9]\d*, Failed 0, Errors 0\b"
        r"|={3,80} (?:(?!failed|error)[^\n]){0,80}?\b(?P<passed>\d+) passed(?:(?!failed|error)[^\n]){0,80}? in [\d.]+s",
        where="line",
        sample="[INFO] Tests run: 13, Failures: 0, Errors: 0, Skipped: 0",
        keep=(2, 5),
    ),
    Signature(
        id="tests-failed",
        says="A test run that failed.",
        literals=(
            "BUILD FAILURE",
            "BUILD FAILED",
            "There are test failures",
            " failed, ",
            "test result: FAILED",
            "Failed!  - Failed:",
        ),
        pattern=r"\bBUILD FAIL(?:URE|ED)\b|\bThere are test failures|={3,80} [^\n]{0,80}?\b\d+ failed\b|\btest result: FAILED\."
        r"|\bFailed!  - Failed:|^Tests: +[1-9]\d* failed, |\bFailed: Total \d+, ",
        where="line",
        sample="[INFO] BUILD FAILURE",
        keep=(2, 5),
    ),
    Signature(
        id="rescale",
        ref="A26",
        says="The adaptive scheduler restarts the job to use more or fewer slots: planned, not a failure.",
        versions="1.13–1.20; from 2.0 only `Desired resources are met`",
        literals=(
            "New resources are available. Restarting job to scale up",
            "Can change the parallelism of job. Restarting job",
            "Can change the parallelism of the job. Restarting the job",
        ),
        sample=flink(_ADAPTIVE, "Can change the parallelism of the job. Restarting the job."),
        keep=(2000, 500),
    ),
    Signature(
        id="rescale-resources",
        ref="A26",
        says="The adaptive scheduler got the resources it waited for.",
        versions="1.20+",
        literals=("Desired resources are met", "Sufficient resources are met"),
        pattern=rf"(?P<what>Desired|Sufficient) resources are met[^\n]*?(?:, job {JOB})?\.?$",
        sample=flink(
            "runtime.scheduler.adaptive.DefaultStateTransitionManager",
            f"Desired resources are met, transitioning to the subsequent state, job {A_JOB}.",
        ),
        keep=(200, 50),
    ),
    Signature(
        id="operator-spec-changed",
        says="Kubernetes operator: the deployment's specification changed; an upgrade restarts the job.",
        literals=(" change(s) detected",),
        pattern=r"(?P<what>UPGRADE|SCALE|SAVEPOINT_REDEPLOY|IGNORE) change\(s\) detected \((?P<diff>[^\n]*)\)",
        sample=in_flink(
            _AUDIT,
            ">>> Event  | Info    | SPECCHANGED     | UPGRADE change(s) detected (Diff: FlinkDeploymentSpec[job.parallelism : 2 -> 4]),"
            " starting reconciliation.",
        ),
        keep=(200, 50),
    ),
    Signature(
        id="operator-event",
        says="Kubernetes operator: an event of the deployment.",
        versions="the component in brackets from 1.4 on",
        literals=(">>> Event ", ">>> Event["),
        pattern=r">>> Event(?:\[(?P<component>\w+)\])? *\| *(?P<kind>\w+) *\| *(?P<event>\w+) *\| *(?P<what_happened>[^\n]*)",
        sample=in_flink(_AUDIT, ">>> Event  | Info    | SUSPENDED       | Suspending existing deployment."),
        keep=(200, 50),
    ),
    Signature(
        id="operator-status",
        says="Kubernetes operator: the deployment's life-cycle state.",
        versions="the component in brackets from 1.4 on",
        literals=(">>> Status ", ">>> Status["),
        pattern=r">>> Status(?:\[(?P<component>\w+)\])? *\| *(?P<kind>\w+) *\| *(?P<to_state>\w+) *\| *(?P<what_happened>[^\n]*)",
        sample=in_flink(_AUDIT, ">>> Status | Info    | UPGRADING       | The resource is being upgraded "),
        keep=(200, 50),
    ),
    Signature(
        id="autoscaler-scaling",
        says="The autoscaler changes the parallelism of vertices: the restart that follows is planned.",
        literals=("Scaling execution enabled, begin scaling vertices",),
        pattern=r"begin scaling vertices:?(?P<what_happened>[^\n]*)",
        sample=in_flink(
            _AUDIT,
            ">>> Event  | Info    | SCALINGREPORT   | Scaling execution enabled, begin scaling vertices:{ Vertex ID bc764cd8 |"
            " Parallelism 2"
            " -> 4 | Processing capacity 200.00 -> 400.00 | Target data rate 380.00}",
        ),
        keep=(200, 50),
    ),
    Signature(
        id="process-stop-requested",
        says="A process was asked to stop (SIGTERM or SIGINT): a restart, a drain, an eviction; who asked is not in the log.",
        literals=("Terminating process due to signal", "RECEIVED SIGNAL TERM", "RECEIVED SIGNAL INT", "RECEIVED SIGNAL HUP"),
        pattern=r"(?:due to signal |RECEIVED SIGNAL )(?:SIG)?(?P<signal>[A-Z]+)",
        sample=spark("CoarseGrainedExecutorBackend", "RECEIVED SIGNAL TERM", "ERROR"),
        keep=(200, 50),
    ),
    Signature(
        id="executor-decommissioned",
        says="Spark: an executor is taken out of service on purpose (scale-down, spot instance, drained node).",
        literals=("Decommission executors:", "is decommissioned", "Executor decommission"),
        pattern=r"(?:Decommission executors: (?P<resource>[\w, ]+)|[Ee]xecutor (?P<executor>\d+)? ?is decommissioned|Executor"
        r" decommission)",
        where="line",
        sample=spark("KubernetesClusterSchedulerBackend", "Decommission executors: 3"),
        keep=(200, 50),
    ),
    Signature(
        id="dynamic-allocation",
        says="Spark: dynamic allocation changes the number of executors.",
        literals=("Removing executor ", "Requesting 1 new executor", "new desired total will be"),
        pattern=r"(?:Removing executor (?P<resource>\S+) because it has been idle|new desired total will be (?P<total>\d+)|"
        r"[Rr]emove executors? (?P<executors>[^\n]*) (?:due to|because) [^\n]*idle)",
        sample=spark(
            "ExecutorAllocationManager", "Removing executor 3 because it has been idle for 60 seconds (new desired total will be 2)"
        ),
        keep=(20, 5),
    ),
)
