# ruff: noqa: E501 -- an expression is easier to read on one line
"""Who wrote a log: role and host, from its name, its first lines and its wrapping."""

from __future__ import annotations

import re
from functools import lru_cache

from analyzers.logs.matching.expressions import expression
from analyzers.logs.matching.matcher import Matcher

_NAMES = (
    ("jobmanager", expression(r"job-?manager|standalonesession|standalonejob|applicationcluster|jobcluster|\bjm[-_.\d]", re.IGNORECASE)),
    ("taskmanager", expression(r"task-?manager|task-?executor|\btm[-_.\d]", re.IGNORECASE)),
    ("kafka-broker", expression(r"(?:kafka|broker)[^/]*server|broker-?\d|kafka-\d+\b|(?:^|/)server\.log|kafkaServer", re.IGNORECASE)),
    ("spark-driver", expression(r"spark[^/]*driver|(?:^|[/_-])driver[^/]*\.(?:log|out|err|txt)|-driver(?:$|[/.!])", re.IGNORECASE)),
    ("spark-executor", expression(r"spark[^/]*(?:executor|exec-\d)|(?:^|[/_-])executor|-exec-\d+", re.IGNORECASE)),
    ("zookeeper", expression(r"zookeeper|(?:^|[/_-])(?:zk|zoo)[-_]?\d", re.IGNORECASE)),
    ("client", expression(r"(?:^|[/_-])client|flink-[^/]*-(?:cli|sql-client|python|yarn-session|kubernetes-session)", re.IGNORECASE)),
)  # fmt: skip

# Texts that only one kind of process prints, most telling first; counted over the head of a file.
_TEXTS = (
    ("jobmanager", expression(
        rb"(?:Starting|Initializing) \w*ClusterEntrypoint|runtime\.entrypoint\.ClusterEntrypoint|CheckpointCoordinator|runtime\.jobmaster\.|runtime\.dispatcher\."
        rb"|executiongraph\.ExecutionGraph|resourcemanager\.|source\.coordinator\.|JobMaster |ExecutionGraph +(?:\[\] )?-")),
    ("taskmanager", expression(
        rb"Starting [\w ]*Task(?:Manager|Executor)|runtime\.taskexecutor\.|runtime\.taskmanager\.Task |TaskManagerRunner|streaming\.runtime\.tasks\.|StreamTask |TaskExecutor +(?:\[\] )?-")),
    ("kafka-broker", expression(
        rb"\((?:kafka\.(?:server|log|cluster|controller|coordinator|network|zk|utils|raft)\.|org\.apache\.kafka\.(?:storage|controller|server|raft|image|coordinator|metadata))"
        rb"|kafka\.Kafka\$\.main\(|\[KafkaServer id=|\[BrokerServer id=|\[ReplicaManager broker=|\[ControllerServer id=|\[BrokerLifecycleManager id=")),
    ("spark-driver", expression(
        rb"MicroBatchExecution|SparkContext: |StreamingQueryManager|DAGScheduler|TaskSetManager|TaskSchedulerImpl|BlockManagerMasterEndpoint|ResolveWriteToStream|ProgressReporter")),
    ("spark-executor", expression(rb"CoarseGrainedExecutorBackend|execution\.streaming\.state\.(?!StateStoreCoordinator)|Executor: Running task|Executor: Finished task|Executor: Exception in task|YarnCoarseGrained")),
    ("client", expression(rb"client\.cli\.CliFrontend|FlinkRunner|FlinkYarnSessionCli|client\.program\.|Submitting job")),
    ("zookeeper", expression(rb"org\.apache\.zookeeper\.server\.|\[QuorumPeer|\[NIOServerCx?n|\[SyncThread:|\[SessionTracker:")),
    ("beam", expression(rb"org\.apache\.beam\.")),
    ("kafka-client", expression(rb"\[(?:Consumer|Producer|AdminClient) [^\]]*clientId=|org\.apache\.kafka\.clients\.|%\d\|\d{10}\.\d{3}\|")),
)  # fmt: skip

# What each text of a role begins with: found all at once, and only there a role's expression is tried.
_BEGINNINGS = {
    "jobmanager": (b"Starting ", b"Initializing ", b"runtime.entrypoint.ClusterEntrypoint", b"CheckpointCoordinator", b"runtime.jobmaster.", b"runtime.dispatcher.", b"executiongraph.ExecutionGraph", b"resourcemanager.", b"source.coordinator.", b"JobMaster ", b"ExecutionGraph "),
    "taskmanager": (b"Starting ", b"runtime.taskexecutor.", b"runtime.taskmanager.Task ", b"TaskManagerRunner", b"streaming.runtime.tasks.", b"StreamTask ", b"TaskExecutor "),
    "kafka-broker": (b"(kafka.", b"kafka.Kafka$.main(", b"(org.apache.kafka.", b"[KafkaServer id=", b"[BrokerServer id=", b"[ReplicaManager broker=", b"[ControllerServer id=", b"[BrokerLifecycleManager id="),
    "spark-driver": (b"MicroBatchExecution", b"SparkContext: ", b"StreamingQueryManager", b"DAGScheduler", b"TaskSetManager", b"TaskSchedulerImpl", b"BlockManagerMasterEndpoint", b"ResolveWriteToStream", b"ProgressReporter"),
    "spark-executor": (b"CoarseGrainedExecutorBackend", b"execution.streaming.state.", b"Executor: ", b"YarnCoarseGrained"),
    "client": (b"client.cli.CliFrontend", b"FlinkRunner", b"FlinkYarnSessionCli", b"client.program.", b"Submitting job"),
    "zookeeper": (b"org.apache.zookeeper.server.", b"[QuorumPeer", b"[NIOServerC", b"[SyncThread:", b"[SessionTracker:"),
    "beam": (b"org.apache.beam.",),
    "kafka-client": (b"[Consumer ", b"[Producer ", b"[AdminClient ", b"org.apache.kafka.clients.", *(b"%%%d|" % digit for digit in range(10))),
}  # fmt: skip


@lru_cache(maxsize=1)
def _beginnings() -> tuple[Matcher, list[tuple[int, tuple[str, ...]]]]:
    """All beginnings at once; of each its length less one, and its roles."""
    roles: dict[bytes, list[str]] = {}
    for role, words in _BEGINNINGS.items():
        for word in words:
            roles.setdefault(word, []).append(role)
    return Matcher(list(roles)), [(len(word) - 1, tuple(of)) for word, of in roles.items()]


def _counts(head: bytes) -> dict[str, int]:
    """How often each role's texts stand in `head`, none counted twice where they overlap: `len(looks.findall(head))`, quicker."""
    matcher, known = _beginnings()
    which, where = matcher.scan(head)
    starts: dict[str, list[int]] = {}
    for literal, last in zip(which.tolist(), where.tolist(), strict=True):
        back, roles = known[literal]
        for role in roles:
            starts.setdefault(role, []).append(last - back)
    counts = {}
    for role, looks in _TEXTS:
        count, end = 0, 0
        for start in sorted(starts.get(role, ())):
            if start >= end and (m := looks.match(head, start)):
                count, end = count + 1, m.end()
        counts[role] = count
    return counts


_HOST_IN_NAME = (
    expression(
        r"flink-[^/!]+?-(?:standalonesession|standalonejob|taskexecutor|taskmanager|jobmanager|historyserver|sql-gateway)-\d+-([^/!]+?)\.(?:log|out|err)"
    ),
    expression(r"\b(container_e?\d+_\d+_\d+_\d+(?:_\d+)?)\b"),
    expression(r"(?:^|/)pods/[^/_]+_([^/_]+)_[^/]+/"),  # /var/log/pods/<namespace>_<pod>_<uid>/<container>/0.log
    expression(r"(?:^|/)containers/([^/_]+)_[^/]+"),  # /var/log/containers/<pod>_<namespace>_<container>-<id>.log
)
_OWN_ID = b"Starting TaskManager with ResourceID: "  # the line that only the TaskManager itself prints
_ID = expression(rb"\S+")


SERVERS = ("kafka-broker", "zookeeper")
"""What jobs use and are no part of: their lines belong to no job, their traces are no job's failure."""
_BESIDE = ("kafka-client", "beam", "zookeeper")  # what stands beside an engine, and names the log only where there is none
_ENGINES = ("jobmanager", "taskmanager", "kafka-broker", "spark-driver", "spark-executor", "client")  # beside them libraries that all use
_BEGINNING = (4 << 10, 16 << 10)  # of a head; where it says what the name says, the rest is not asked
_ENOUGH = 10


def _confirmed(named: str, counts: dict[str, int]) -> bool:
    """Whether texts tell the role that a name tells: some of them, and more than all that tell another one."""
    return counts[named] >= _ENOUGH and counts[named] * 2 > sum(counts[role] for role in _ENGINES)


def role_of(name: str, head: bytes) -> str | None:
    """The role of the process that wrote a file or stream called `name` beginning with `head`; None if nothing tells."""
    base = name.replace("\\", "/")
    named = next((role for role, pattern in _NAMES if pattern.search(base.rsplit("/", 1)[-1])), None)
    if named is not None and any(_confirmed(named, _counts(head[:size])) for size in _BEGINNING if len(head) > size):
        return named
    counts = _counts(head)
    if named is None:
        named = next((role for role, pattern in _NAMES if pattern.search(base)), None) if not any(counts.values()) else None
    best = max(counts, key=lambda role: counts[role])  # ties: the earlier, more telling one
    if best == "spark-executor" and counts["spark-driver"]:
        best = "spark-driver"  # in local mode it runs the tasks, too; what schedules them never stands in an executor's log
    if not counts[best]:
        return named
    if named is not None and (counts.get(named, 0) * 4 >= counts[best] or best in _BESIDE):
        return named
    if best in _BESIDE:
        engine = max(_ENGINES, key=lambda role: counts[role])
        return engine if counts[engine] else best
    return best


def host_of(name: str, head: bytes = b"") -> str | None:
    """Host, container, pod or TaskManager id that the name of a file, else its head, tells; None if neither does."""
    for pattern in _HOST_IN_NAME:
        if m := pattern.search(name):
            return m[1]
    at = head.find(_OWN_ID)
    while at >= 0:
        if found := _ID.match(head, at + len(_OWN_ID)):
            return found[0].decode("utf-8", "replace")
        at = head.find(_OWN_ID, at + 1)
    return None
