"""Spark tasks, stages, executors, drivers (catalogue S13)."""

from __future__ import annotations

from analyzers.logs.signatures.identifiers import SPARK_TASK
from analyzers.logs.signatures.origin import spark
from analyzers.logs.signatures.signature import Signature

_LOST = r"(?P<executor>\d+|driver)"

SIGNATURES = (
    Signature(
        id="spark-version",
        says="Spark starts: its version.",
        literals=("Running Spark version ",),
        pattern=r"Running Spark version (?P<version>\S+)",
        sample=spark("SparkContext", "Running Spark version 4.0.1"),
        keep=(2000, 500),
    ),
    Signature(
        id="spark-task-lost",
        ref="S13",
        says="A task of a batch failed on an executor; it is tried again up to spark.task.maxFailures.",
        literals=("Lost task ",),
        pattern=rf"Lost {SPARK_TASK}(?:\) \(|, )(?P<named_host>[^\s,]+)(?:,)? executor (?P<resource>[^):\s]+)\): (?P<error>[^\n]*)",
        sample=spark(
            "TaskSetManager",
            'Lost task 1.0 in stage 7.0 (TID 29) (10.0.2.7 executor 3): java.lang.NumberFormatException: For input string: "12,50"',
            "WARN",
        ),
        keep=(200, 50),
    ),
    Signature(
        id="spark-task-exception",
        ref="S13",
        says="A task threw on this executor (the trace).",
        literals=("Exception in task ",),
        pattern=rf"Exception in {SPARK_TASK}",
        sample=spark(
            "Executor", 'Exception in task 1.0 in stage 7.0 (TID 29)\njava.lang.NumberFormatException: For input string: "12,50"', "ERROR"
        ),
        keep=(200, 50),
    ),
    Signature(
        id="spark-job-aborted",
        ref="S13",
        says="A task failed as often as allowed: the batch, and with it the query, fails.",
        literals=("times; aborting job", "Job aborted due to stage failure"),
        pattern=r"Task (?P<task_index>\d+) in stage (?P<stage>[\d.]+) failed (?P<failures>\d+) times|Job aborted due to stage failure",
        where="line",
        sample=spark("TaskSetManager", "Task 1 in stage 7.0 failed 4 times; aborting job", "ERROR"),
        keep=(200, 50),
    ),
    Signature(
        id="spark-write-aborted",
        ref="S13",
        says="Writing files of a batch was given up: a consequence of its task's failure.",
        literals=("Aborting task", "Aborting job ", " aborted."),
        pattern=r"^(?:Aborting task|Aborting job (?P<write_job>\S+?)\.$|Job:? (?P<job_part>\S+), Task:? (?P<task_part>\S+?),? .*aborted\.)",
        logger="FileFormatWriter",
        sample=spark(
            "FileFormatWriter",
            "Job: job_20241203021806_0010, Task: task_20241203021806_0010_m_000000, Task attempt"
            " attempt_20241203021806_0010_m_000000_10 aborted.",
            "ERROR",
        ),
        keep=(20, 5),
    ),
    Signature(
        id="executor-lost",
        ref="S13",
        says="An executor is gone, and why.",
        literals=("Lost executor ", "ExecutorLostFailure"),
        pattern=rf"Lost executor (?P<resource>\S+) on (?P<named_host>[^\s:]+):(?: (?P<because>[^\n]*)|$)|"
        rf"ExecutorLostFailure \(executor {_LOST} exited (?P<by>[^)]*)\)(?: Reason: (?P<loss_reason>[^\n]*))?",
        where="line",
        sample=spark(
            "TaskSchedulerImpl",
            "Lost executor 3 on 10.0.2.7: Container killed by YARN for exceeding physical memory limits. 5.6 GB of 5.5 GB"
            " physical memory used.",
            "ERROR",
        ),
        keep=(200, 50),
    ),
    Signature(
        id="executor-heartbeat-lost",
        says="The driver missed an executor's heartbeats: frozen by garbage collection, or cut off.",
        literals=("Removing executor ",),
        pattern=r"Removing executor (?P<resource>\S+) with no recent heartbeats: (?P<duration_ms>\d+) ms exceeds timeout"
        r" (?P<timeout_ms>\d+) ms",
        sample=spark("HeartbeatReceiver", "Removing executor 3 with no recent heartbeats: 142310 ms exceeds timeout 120000 ms", "WARN"),
        keep=(200, 50),
    ),
    Signature(
        id="executor-driver-gone",
        ref="S13",
        says="An executor cannot reach the driver and ends itself.",
        literals=("Exit as unable to send heartbeats to driver",),
        pattern=r"more than (?P<times>\d+) times",
        sample=spark("Executor", "Exit as unable to send heartbeats to driver more than 60 times", "ERROR"),
    ),
    Signature(
        id="executor-exited",
        says="An executor's container ended with this exit code.",
        literals=("Container from a bad node", "executor with the following exit code", "The executor with id"),
        pattern=r"(?:[Ee]xit (?:status|code): (?P<exit_code>-?\d+)|executor with id (?P<resource>\d+) exited with exit code"
        r" (?P<code>-?\d+))",
        where="line",
        sample=spark(
            "ExecutorPodsLifecycleManager", "The executor with id 3 exited with exit code 137(SIGKILL, possible container OOM).", "WARN"
        ),
        keep=(200, 50),
    ),
    Signature(
        id="spark-fetch-failed",
        says="Shuffle data of a lost executor cannot be fetched: a consequence.",
        literals=("FetchFailed(", "FetchFailedException"),
        pattern=r"FetchFailed(?:Exception|\((?:BlockManagerId\((?P<resource>[^,]+), (?P<named_host>[^,]+), (?P<port>\d+))?)",
        where="line",
        sample=spark(
            "TaskSetManager",
            "Lost task 1.0 in stage 7.0 (TID 29) (10.0.2.8 executor 4): FetchFailed(BlockManagerId(3, 10.0.2.7, 7337, None),"
            " shuffleId=0, mapIndex=1, mapId=1, reduceId=2, message=)",
            "WARN",
        ),
        keep=(20, 5),
    ),
    Signature(
        id="spark-resources-missing",
        says="The job waits for executors: no resources, or none registered.",
        literals=("Initial job has not accepted any resources",),
        sample=spark(
            "TaskSchedulerImpl",
            "Initial job has not accepted any resources; check your cluster UI to ensure that workers are registered and"
            " have sufficient resources",
            "WARN",
        ),
        keep=(20, 20),
    ),
    Signature(
        id="spark-job-started",
        says="Spark began a job: the application works.",
        literals=("Got job ",),
        pattern=r"^Got job (?P<spark_job>\d+) \(",
        sample=spark("DAGScheduler", "Got job 0 (save at Orders.scala:33) with 200 output partitions"),
        keep=(5, 5),
    ),
    Signature(
        id="spark-job-finished",
        says="Spark finished a job: what was lost on the way was tried again.",
        literals=(" finished: ",),
        pattern=r"^Job (?P<spark_job>\d+) finished: ",
        sample=spark("DAGScheduler", "Job 0 finished: save at Orders.scala:33, took 197.331 s"),
        keep=(5, 5),
    ),
    Signature(
        id="spark-application-ended",
        says="A Spark application ended: stopped, or failed with this status.",
        literals=("Final app status:", "Successfully stopped SparkContext"),
        pattern=r"Final app status: (?P<to_state>\w+), exitCode: (?P<exit_code>\d+)(?:, \(reason: (?P<because>[^\n]*))?|Successfully"
        r" stopped SparkContext",
        sample=spark(
            "ApplicationMaster",
            "Final app status: FAILED, exitCode: 15, (reason: User class threw exception:"
            " org.apache.spark.sql.streaming.StreamingQueryException)",
        ),
        keep=(20, 5),
    ),
    Signature(
        id="spark-stopping",
        says="A Spark driver ends in order: by its program, or because its process was asked to.",
        literals=(
            "Invoking stop() from shutdown hook",
            "Invoking stop(stopGracefully=",  # of a StreamingContext, from its shutdown hook too
            "SparkContext is stopping",
            "Driver commanded a shutdown",
        ),
        sample=spark("SparkContext", "Invoking stop() from shutdown hook"),
        keep=(2000, 500),
    ),
)
