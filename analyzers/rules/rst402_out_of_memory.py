"""RST402: a worker runs out of memory."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.vocabulary.aggregates import agreed, failures
from analyzers.vocabulary.rule import has, rule
from analyzers.vocabulary.workers import lost_workers


@rule(
    "RST402",
    title="A worker runs out of memory",
    cause="taskmanager-lost",
    stage="access",
    severity=Severity.CRITICAL,
    faults=("out-of-memory",),
    says={
        "network-buffers": "The TaskManager[[ {resource}]] has too few network buffers for the job[[ ({task})]]: {what}; {failures} "
        "failure(s)"
        "[[ since {since} UTC]]",
        "network-memory": "The TaskManager[[ {resource}]] cannot set its network memory aside: {what}; {failures} failure(s)[[ since "
        "{since} UTC]]",
        "client": "The Flink client, which runs main() and submits the job, runs out of memory: {what}; {failures} failure(s)[[ since "
        "{since} UTC]][[; first frame of your code: {user_frame}]]",
        "threads": "The worker[[ {resource}]][[ on {host}]] may start no more threads[[ ({task} {subtask_shown})]]: {what}; {failures} "
        "failure(s)"
        "[[ since {since} UTC]]",
        "spark-driver": "Spark's driver runs out of memory: {what}; {failures} failure(s)[[ since {since} UTC]][[; first frame of your "
        "code: {user_frame}]]",
        "": "The worker[[ {resource}]][[ on {host}]] runs out of memory[[ in {task}]][[ {subtask_shown}]]: {what}; {failures} failure(s)"
        "[[ in {attempts} attempt(s)]][[ since {since} UTC]][[; first frame of your code: {user_frame}]]",
    },
    missing={
        "network-buffers": "",
        "network-memory": "",
        "threads": "who starts the threads: a thread dump of that process has it",
        "client": "what fills the memory: a heap dump of the client has it (-XX:+HeapDumpOnOutOfMemoryError)",
        "": "what fills the memory: a heap dump or the metrics of that process have it",
    },
    next_command={
        "metaspace": "jcmd PID VM.classloader_stats   # on the worker[[ {resource}]]: which class loaders stay",
        "direct": "jcmd PID VM.flags   # on the worker[[ {resource}]]: MaxDirectMemorySize",
        "network-buffers": "[[zless {shown_at}   # how many buffers were wanted and how many there are]]",
        "network-memory": "[[zless {shown_at}   # how much was wanted and how much there is]]",
        "client": "[[zless {shown_at}   # what main() was doing]]",
        "threads": "jstack PID   # on the worker[[ {resource}]]: who starts so many threads",
        "": "jmap -histo:live PID | head -30   # on the worker[[ {resource}]] while it runs: what fills its heap",
    },
    needs=has(fatal=(True,)),
)
def out_of_memory(faults: DataFrame) -> DataFrame:
    """Fatal OutOfMemoryErrors per job, with the kind of memory."""
    workers = faults.where(F.coalesce("role", F.lit("")) != "kafka-broker")
    rows = lost_workers(workers, None)
    found = failures(
        rows, agreed("worker_host", "host"), agreed("resource"), agreed("user_frame"), F.max("role").alias("by"), _classes(), _of_driver(),
        F.bool_and(F.rlike("text", F.lit(r"(?m)^\s*at org\.apache\.flink\.client\.cli\."))).alias("of_client"),
    )  # fmt: skip
    own = F.when(F.col("reason") == "client", F.lit("other")).otherwise(F.lit("taskmanager-lost"))
    return found.withColumn("reason", _kind()).withColumn("cause", own).drop("by", "classes", "of_driver", "of_client")


def _of_driver() -> Column:
    """Aggregate: whether Spark's driver itself told each of them, and as a failure of no task."""
    of_task = F.rlike("text", F.lit(r"Lost task|Exception in task|Lost executor|ExecutorLostFailure|Job aborted"))
    return F.coalesce(F.min((F.col("role") == "spark-driver") & ~of_task), F.lit(False)).alias("of_driver")


def _classes() -> Column:
    return F.max(F.concat_ws("\n", F.col("root_exception"), F.col("text"))).alias("classes")


def _kind() -> Column:
    words = F.concat_ws("\n", "what", "classes")
    return (
        F.when(words.rlike("(?i)OutOfMemoryError:? *metaspace|compressed class space"), F.lit("metaspace"))
        .when(words.rlike("memory segments for NetworkBufferPool"), F.lit("network-memory"))
        .when(words.rlike("(?i)direct buffer memory"), F.lit("direct"))
        .when(words.rlike("(?i)number of network buffers"), F.lit("network-buffers"))
        .when(words.rlike("(?i)native thread"), F.lit("threads"))
        .when(F.col("of_client"), F.lit("client"))
        .when(F.col("of_driver"), F.lit("spark-driver"))
        .when(F.startswith(F.coalesce("by", F.lit("")), F.lit("spark")), F.lit("spark"))
        .otherwise(F.lit("heap"))
    )
