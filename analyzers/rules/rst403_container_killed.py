"""RST403: the container of a worker was killed."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.tables.processes import JOBMANAGER, SPARK_DRIVER
from analyzers.vocabulary.aggregates import WORDS, agreed, earliest, failures
from analyzers.vocabulary.findings import beside
from analyzers.vocabulary.rule import FAILING, rule
from analyzers.vocabulary.workers import with_recovery

_DIAGNOSTICS = (
    r"((?:Pod terminated|Container (?:\[|\S+ (?:is running|marked|was|killed)|killed|released|from a bad)|The node was low|Current usage|"
    r"is running beyond|Exit code|exitCode=|Evicted|Preempted)[^\n]*)"
)
"""Where in a line the diagnostics of the container begin."""
_EXECUTOR = r"(?:Lost executor|[( ]executor) (\d+)(?= exited| on |\))"  # a task of Spark names the one it died with
_IN_FLINK = (
    " Or give native memory more room inside it: taskmanager.memory.jvm-overhead.fraction / .max, and keep RocksDB in managed memory "
    "(state.backend.rocksdb.memory.managed: true)."
)
_MORE_ROOM = {
    "spark": "Raise spark.executor.memoryOverhead: the container is as large as spark.executor.memory and it together.",
    "yarn": "Raise taskmanager.memory.process.size: Flink asks YARN for containers of that size." + _IN_FLINK,
    "kubernetes": "Raise taskmanager.memory.process.size (with the Kubernetes operator spec.taskManager.resource.memory): Flink makes the "
    "pod's limit from it, and overwrites a limit in the pod template." + _IN_FLINK,
    "": "Where Flink starts its own workers (YARN, native Kubernetes, the Kubernetes operator), raise taskmanager.memory.process.size: "
    "the container's limit is made from it. In pods of your own making raise the container's limit, and leave process.size below it."
    + _IN_FLINK,
}
"""By who made the container. Source: Flink's InitTaskManagerDecorator and YarnResourceManagerDriver (limit = total process memory, on
Kubernetes times kubernetes.taskmanager.memory.limit-factor, 1.0), its page on pod templates, the operator's FlinkConfigBuilder."""
_NATIVE_POD = r"Pod terminated|-taskmanager-\d+-\d+\b"
_OF_ONE_LIFE = r"container_\w+|-taskmanager-\d+-\d+$"  # names of YARN and of native Kubernetes: the next worker gets another one

_AFTER = (
    "{failures} time(s)[[ since {since} UTC]][[. The job came back and completed {checkpoints_since} {done} since]]"
    "[[. {other_since} later attempts failed of something else]]"
)


@rule(
    "RST403",
    title="A worker's container was killed",
    cause="taskmanager-lost",
    stage="access",
    severity=Severity.CRITICAL,
    logs_of=(*JOBMANAGER, *SPARK_DRIVER),
    faults=("container-killed",),
    says={
        "memory": f"The container of a worker[[ ({{resource}})]] was killed for its memory[[ (exit code {{exit_code}})]]: {{what}}; "
        f"{_AFTER}",
        "virtual-memory": "The container of a worker[[ ({resource})]] was killed by YARN for the address space that it reserved[[ (exit "
        f"code {{exit_code}})]]: {{what}}; {_AFTER}",
        "evicted": f"The cluster took the container of a worker[[ ({{resource}})]] away[[ (exit code {{exit_code}})]]: {{what}}; {_AFTER}",
        "fatal-error": f"A worker[[ ({{resource}})]] ended itself after a fatal error (exit code {{exit_code}}): {{what}}; {_AFTER}",
        "": f"The container of a worker[[ ({{resource}})]] was killed[[ (exit code {{exit_code}})]]: {{what}}; {_AFTER}",
    },
    missing="[[{unnamed}]]",
    next_command={
        "fatal-error": "grep -n -A20 ' ERROR ' taskmanager.log | tail -40   # in the log of the worker[[ {resource}]]",
        "": "kubectl describe pod POD   # or yarn logs -containerId ID, or dmesg -T on its node: who killed it",
    },
    needs=FAILING,
)
def container_killed(
    faults: DataFrame,
    attempts: DataFrame | None,
    *,
    checkpoints: int = 3,  # as many after the loss prove that all tasks run again, the new worker's included
) -> DataFrame:
    """Killed containers per job, with exit code and reason where the text states them."""
    text = F.concat_ws("\n", "text", F.concat_ws("\n", "chain"))
    code = F.nullif(F.regexp_extract(text, r"(?i)exit[ _]?(?:code|status)\b(?: is)?[^\d\n-]{0,14}(-?\d+)", 1), F.lit("")).cast("long")
    told = F.nullif(F.regexp_extract(text, _DIAGNOSTICS, 1), F.lit(""))
    rows = faults.withColumns({"code": code, "told": F.substring(told, 1, WORDS)})
    found = failures(
        rows,
        agreed("resource"),
        agreed("code", "exit_code"),
        earliest("told"),
        F.max(text).alias("words"),
        F.max("role").alias("by"),
        F.bool_or(F.rlike(text, F.lit(_NATIVE_POD))).alias("native_pod"),
        F.bool_or(F.rlike(text, F.lit(r"\bcontainer_(?:e\d+_)?\d+_\d+_"))).alias("of_yarn"),
        F.max("attempt").alias("last_attempt"),
    )
    found = beside(found.drop("failures"), _kills(rows), "job")
    found = found.withColumn("reason", _reason(F.col("words"), F.col("exit_code"))).drop("words")
    found = found.withColumn("more_room", _more_room()).drop("by", "native_pod", "of_yarn")
    found = found.withColumn("what", F.coalesce("told", "what")).drop("told", "task", "subtask", "parallelism")  # its tasks are victims
    known = with_recovery(found, attempts, checkpoints=checkpoints)
    unnamed = F.lit("who killed it: the container's diagnostics and the node's events have it")
    return known.withColumn("unnamed", F.when(F.col("reason") == "killed", unnamed))


def _kills(rows: DataFrame) -> DataFrame:
    """Per job how many containers were killed, as ``failures``: the ResourceManager prints each one twice, and so does every task in it."""
    executor = F.nullif(F.regexp_extract("text", _EXECUTOR, 1), F.lit(""))
    fatal = rows.where(F.col("fatal") & ~F.coalesce("consequence", F.lit(False))).withColumn("worker", F.coalesce("resource", executor))
    of_spark = F.max(executor.isNotNull()).alias("of_spark")  # its scheduler gives no number twice, and tells a lost executor for each task
    per_worker = fatal.groupBy("scope", "job", "attempt", "worker").agg(F.max("occurrences").alias("prints"), of_spark)
    once = F.col("attempt").isNotNull() | F.col("of_spark") | F.coalesce(F.rlike("worker", F.lit(_OF_ONE_LIFE)), F.lit(False))
    per_attempt = per_worker.groupBy("scope", "job", "attempt").agg(
        F.sum(F.when(F.col("worker").isNotNull(), F.when(once, F.lit(1)).otherwise(F.col("prints")))).alias("named"),
        F.max(F.when(F.col("attempt").isNotNull(), F.lit(1)).otherwise(F.col("prints"))).alias("unnamed"),
    )
    return per_attempt.groupBy("scope", "job").agg(F.sum(F.coalesce("named", "unnamed")).alias("failures"))


def _more_room() -> Column:
    made_by = F.when(F.startswith(F.coalesce("by", F.lit("")), F.lit("spark")), F.lit(_MORE_ROOM["spark"]))
    made_by = made_by.when(F.col("of_yarn"), F.lit(_MORE_ROOM["yarn"])).when(F.col("native_pod"), F.lit(_MORE_ROOM["kubernetes"]))
    return made_by.otherwise(F.lit(_MORE_ROOM[""]))


def _reason(words: Column, code: Column) -> Column:
    memory = r"(?i)OOMKilled|beyond (?:the )?'?(?:physical|virtual)|memory limits|exceeding (?:physical )?memory"
    memory += "|cgroup out of memory|Exit code: ?-10[34]"
    address_space = r"(?i)beyond (?:the )?'?virtual|Exit code: ?-103"  # YARN: ContainerExitStatus.KILLED_EXCEEDED_VMEM
    return (
        F.when(words.rlike(address_space), F.lit("virtual-memory"))
        .when(words.rlike(memory), F.lit("memory"))
        .when(words.rlike(r"(?i)evict|preempt|low on resource|lost\*? node|node failure|node (?:was )?lost|TaintManager"), F.lit("evicted"))
        .when(code == 239, F.lit("fatal-error"))
        .otherwise(F.lit("killed"))
    )
