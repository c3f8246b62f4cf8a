"""RST403: the container of a worker was killed."""

from analyzers.vocabulary import CRITICAL, FAILING, JOBMANAGER, SPARK_DRIVER, DataFrame, F, IfGiven, beside, event, first_of, rule
from analyzers.vocabulary.aggregates import WORDS, agreed, earliest, failures
from analyzers.vocabulary.workers import VICTIMS, WENT_ON, kubelets_words, passed_limit, with_recovery

_DIAGNOSTICS = (
    r"((?:Pod terminated|Container (?:\[|\S+ (?:is running|marked|was|killed)|killed|released|from a bad)|The node was low|Current usage|"
    r"is running beyond|Exit code|exitCode=|Evicted|Preempted)[^\n]*)"
)
"""Where in a line the diagnostics of the container begin."""
_EXIT_CODE = r"(?i)exit[ _]?(?:code|status)\b(?: is)?[^\d\n-]{0,14}(-?\d+)"
_EXECUTOR = r"(?:Lost executor|[( ]executor) (\d+)(?= exited| on |\))"  # a task of Spark names the one it died with
_NATIVE_POD = r"Pod terminated|-taskmanager-\d+-\d+\b"
_YARN = r"\bcontainer_(?:e\d+_)?\d+_\d+_"
_OF_ONE_LIFE = r"container_\w+|-taskmanager-\d+-\d+$"  # names of YARN and of native Kubernetes: the next worker gets another one
_ADDRESS_SPACE = r"(?i)beyond (?:the )?'?virtual|Exit code: ?-103"  # YARN: ContainerExitStatus.KILLED_EXCEEDED_VMEM
_MEMORY = (
    r"(?i)OOMKilled|beyond (?:the )?'?(?:physical|virtual)|memory limits|exceeding (?:physical )?memory|cgroup out of memory"
    r"|Exit code: ?-10[34]"
)
OOM_KILLED = "container-memory-exceeded"
_MAYBE_MEMORY = r"137\(SIGKILL, possible container OOM\)"  # Spark's words for any SIGKILL: the container's status beside it says why
_EVICTED = r"(?i)evict|preempt|low on resource|lost\*? node|node failure|node (?:was )?lost|TaintManager"
_COUNTED = f"{{what}}; {{failures}} time(s)[[ since {{since}} UTC]]{WENT_ON}"


@rule(
    "RST403", title="A worker's container was killed", cause="taskmanager-lost", stage="access", severity=CRITICAL,
    logs_of=(*JOBMANAGER, *SPARK_DRIVER), faults=("container-killed",), signatures=(OOM_KILLED,),
    says={
        "memory": f"A worker's container[[ ({{resource}})]] was killed for its memory[[ (exit code {{exit_code}})]]: {_COUNTED}",
        "virtual-memory": "YARN killed a worker's container[[ ({resource})]] for the virtual memory that it had reserved"
        f"[[ (exit code {{exit_code}})]]: {_COUNTED}",
        "storage": "Kubernetes evicted {failures} worker(s)[[ ({resource})]] for what they had written to local disks[[, first at {since} "
        f"UTC]]: {{why}}{WENT_ON}",
        "evicted": f"The cluster evicted a worker's container[[ ({{resource}})]][[ (exit code {{exit_code}})]]: {_COUNTED}",
        "fatal-error": f"A worker[[ ({{resource}})]] ended itself after a fatal error (exit code {{exit_code}}): {_COUNTED}",
        "": f"A worker's container[[ ({{resource}})]] was killed[[ (exit code {{exit_code}})]]: {_COUNTED}",
    },
    missing={"killed": "who killed it: the container's diagnostics and the node's events show it"},
    next_command={
        "fatal-error": "grep -n -A20 ' ERROR ' taskmanager.log | tail -40   # in the log of the worker[[ {resource}]]",
        "": "kubectl describe pod POD   # or yarn logs -containerId ID, or dmesg -T on its node: who killed it",
    },
    needs=FAILING,
)  # fmt: skip
def container_killed(
    faults: DataFrame,
    attempts: IfGiven,
    log_events: IfGiven,
    *,
    checkpoints: int = 3,  # as many after the loss prove that all tasks run again, the new worker's included
) -> DataFrame:
    """Killed containers per job, with exit code and reason where the text states them.

    The container's limit is made from the total process memory on YARN and native Kubernetes (Flink's YarnResourceManagerDriver,
    InitTaskManagerDecorator, kubernetes.taskmanager.memory.limit-factor 1.0) and with the operator (its FlinkConfigBuilder).
    """
    text = F.concat_ws("\n", "text", F.concat_ws("\n", "chain"))
    code = F.nullif(F.regexp_extract(text, _EXIT_CODE, 1), F.lit("")).cast("long")
    diagnosed = F.substring(F.nullif(F.regexp_extract(text, _DIAGNOSTICS, 1), F.lit("")), 1, WORDS)
    why = kubelets_words(text)
    rows = _dated(faults.withColumns({"_code": code, "_diagnosed": diagnosed, "why": why}))
    found = failures(
        rows,
        agreed("resource"),
        agreed("_code", "exit_code"),
        earliest("_diagnosed"),
        earliest("why"),
        F.max(text).alias("_words"),
        F.max("attempt").alias("_last_attempt"),
        F.startswith(F.coalesce(F.max("role"), F.lit("")), F.lit("spark")).alias("_spark"),
        F.bool_or(F.rlike(text, F.lit(_YARN))).alias("_yarn"),
        F.bool_or(F.rlike(text, F.lit(_NATIVE_POD))).alias("_native_pod"),
    )
    words, flink = F.col("_words"), ~F.col("_spark")
    killed_by_kernel = log_events.where(event(OOM_KILLED)).select("scope", F.lit(True).alias("_oom")).distinct()
    killed = beside(beside(found.drop("failures", *VICTIMS), _kills(rows), "job"), killed_by_kernel)
    of_memory = words.rlike(_MEMORY) | (words.rlike(_MAYBE_MEMORY) & F.coalesce("_oom", F.lit(False)))
    known = killed.withColumns(
        {
            "what": F.coalesce("_diagnosed", "what"),
            "reason": first_of(
                ("virtual-memory", words.rlike(_ADDRESS_SPACE)), ("memory", of_memory),
                ("storage", passed_limit("why").isNotNull()), ("evicted", words.rlike(_EVICTED)),
                ("fatal-error", F.col("exit_code") == 239), otherwise="killed",
            ),
            "passed": passed_limit("why"),
            "setting": first_of(("spark.executor.memoryOverhead", ~flink), otherwise="taskmanager.memory.process.size"),
            "on_spark": first_of(("Spark", ~flink)),
            "on_yarn": first_of(("YARN", flink & F.col("_yarn"))),
            "on_kubernetes": first_of(("Kubernetes", flink & ~F.col("_yarn") & F.col("_native_pod"))),
            "on_any": first_of(("YARN, native Kubernetes, the Kubernetes operator", flink & ~F.col("_yarn") & ~F.col("_native_pod"))),
            "overhead": first_of(("taskmanager.memory.jvm-overhead.fraction", flink)),
        }
    )  # fmt: skip
    return with_recovery(known, attempts, checkpoints=checkpoints)


def _dated(rows: DataFrame) -> DataFrame:
    """`rows` without those of no time (what kubectl shows of the same pods later) where a job has others; all have its first `why`."""
    of_job = rows.groupBy("scope", "job").agg(F.bool_or(F.col("at").isNotNull()).alias("_dated"), F.min("why").alias("why"))
    return beside(rows.drop("why"), of_job, "job").where(F.col("at").isNotNull() | ~F.col("_dated")).drop("_dated")


def _kills(rows: DataFrame) -> DataFrame:
    """Per job how many containers were killed, as ``failures``: the ResourceManager prints each one twice, and so does every task in it."""
    executor = F.nullif(F.regexp_extract("text", _EXECUTOR, 1), F.lit(""))
    fatal = rows.where(F.col("fatal") & ~F.coalesce("consequence", F.lit(False))).withColumn("worker", F.coalesce("resource", executor))
    of_spark = F.max(executor.isNotNull()).alias("of_spark")  # its scheduler reuses no number, and logs a lost executor for each task
    per_worker = fatal.groupBy("scope", "job", "attempt", "worker").agg(F.max("occurrences").alias("prints"), of_spark)
    once = F.col("attempt").isNotNull() | F.col("of_spark") | F.coalesce(F.rlike("worker", F.lit(_OF_ONE_LIFE)), F.lit(False))
    prints = F.col("prints")
    per_attempt = per_worker.groupBy("scope", "job", "attempt").agg(
        F.sum(F.when(F.col("worker").isNotNull(), first_of((1, once), otherwise=prints))).alias("named"),
        F.max(first_of((1, F.col("attempt").isNotNull()), otherwise=prints)).alias("unnamed"),
    )
    return per_attempt.groupBy("scope", "job").agg(F.sum(F.coalesce("named", "unnamed")).alias("failures"))
