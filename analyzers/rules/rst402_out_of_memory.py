"""RST402: a worker runs out of memory."""

from analyzers.vocabulary import CRITICAL, DataFrame, F, agreed, failures, first_of, has, rule
from analyzers.vocabulary.workers import lost_workers

_COUNTED = "{failures} failure(s)[[ since {since} UTC]]"
_OF_A_TASK = "Lost task|Exception in task|Lost executor|ExecutorLostFailure|Job aborted"
_OF_THE_CLIENT = r"(?m)^\s*at org\.apache\.flink\.client\.cli\."


@rule(
    "RST402", title="A worker runs out of memory", cause="taskmanager-lost", stage="access", severity=CRITICAL,
    shows="memory-exhausted", faults=("out-of-memory",),
    says={
        "network-buffers": f"The TaskManager[[ {{resource}}]] has too few network buffers for the job[[ ({{task}})]]: {{what}}; {_COUNTED}",
        "network-memory": f"The TaskManager[[ {{resource}}]] cannot allocate its network memory: {{what}}; {_COUNTED}",
        "client": f"The Flink client, which runs main() and submits the job, runs out of memory: {{what}}; {_COUNTED}"
        "[[; first frame of your code: {user_frame}]]",
        "threads": f"The worker[[ {{resource}}]][[ on {{host}}]] cannot start more threads[[ ({{task}} {{subtask_shown}})]]: {{what}}; "
        f"{_COUNTED}",
        "spark-driver": f"Spark's driver runs out of memory: {{what}}; {_COUNTED}[[; first frame of your code: {{user_frame}}]]",
        "": "The worker[[ {resource}]][[ on {host}]] runs out of memory[[ in {task}]][[ {subtask_shown}]]: {what}; {failures} failure(s)"
        "[[ in {attempts} attempt(s)]][[ since {since} UTC]][[; first frame of your code: {user_frame}]]",
    },
    missing={
        "network-buffers": "",
        "network-memory": "",
        "threads": "what starts the threads: a thread dump of that process shows it",
        "client": "what fills the memory: a heap dump of the client shows it (-XX:+HeapDumpOnOutOfMemoryError)",
        "": "what fills the memory: a heap dump or the metrics of that process show it",
    },
    next_command={
        "metaspace": "jcmd PID VM.classloader_stats   # on the worker[[ {resource}]]: which class loaders stay",
        "direct": "jcmd PID VM.flags   # on the worker[[ {resource}]]: MaxDirectMemorySize",
        "network-buffers": "[[zless {shown_at}   # how many buffers were wanted and how many there are]]",
        "network-memory": "[[zless {shown_at}   # how much was wanted and how much there is]]",
        "client": "[[zless {shown_at}   # what main() was doing]]",
        "threads": "jstack PID   # on the worker[[ {resource}]]: what starts so many threads",
        "": "jmap -histo:live PID | head -30   # on the worker[[ {resource}]] while it runs: what fills its heap",
    },
    needs=has(fatal=(True,)),
)  # fmt: skip
def out_of_memory(faults: DataFrame) -> DataFrame:
    """Fatal OutOfMemoryErrors per job, with the memory area that is full."""
    by_driver = (F.col("role") == "spark-driver") & ~F.rlike("text", F.lit(_OF_A_TASK))
    found = failures(
        lost_workers(faults.where(F.coalesce("role", F.lit("")) != "kafka-broker")),
        agreed("worker_host", "host"), agreed("resource"), agreed("user_frame"),
        F.max("role").alias("_role"),
        F.max(F.concat_ws("\n", "root_exception", "text")).alias("_classes"),
        F.coalesce(F.min(by_driver), F.lit(False)).alias("_of_driver"),
        F.bool_and(F.rlike("text", F.lit(_OF_THE_CLIENT))).alias("_of_client"),
    )  # fmt: skip
    words = F.concat_ws("\n", "what", "_classes")
    reason = first_of(
        ("metaspace", words.rlike("(?i)OutOfMemoryError:? *metaspace|compressed class space")),
        ("network-memory", words.rlike("memory segments for NetworkBufferPool")),
        ("direct", words.rlike("(?i)direct buffer memory")),
        ("network-buffers", words.rlike("(?i)number of network buffers")),
        ("threads", words.rlike("(?i)native thread")),
        ("client", F.col("_of_client")),
        ("spark-driver", F.col("_of_driver")),
        ("spark", F.startswith(F.coalesce("_role", F.lit("")), F.lit("spark"))),
        otherwise="heap",
    )
    cause = first_of(("other", F.col("reason") == "client"), otherwise="taskmanager-lost")
    return found.withColumn("reason", reason).withColumn("cause", cause)
