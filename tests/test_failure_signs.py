"""What counts as a failure: a batch that Spark saves, a worker that nobody missed, a job that fails of nothing but consequences."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from analyzers.derived import derive
from analyzers.readers.log_scan import LogOptions, plan, scan

JOB = "905ce3c925d644e4f75f4593f7b6b43e"
GRAPH = "org.apache.flink.runtime.executiongraph.ExecutionGraph"
COORDINATOR = "org.apache.flink.runtime.checkpoint.CheckpointCoordinator"


def derived(folder: Path, *lines: str, name: str = "jobmanager.log") -> dict[str, list[Any]]:
    (folder / name).write_text("\n".join(lines) + "\n")
    planned = plan([str(folder)], LogOptions(scope="one"))
    try:
        return derive(scan(planned, None))
    finally:
        planned.close()


def flink(second: int, logger: str, message: str, level: str = "INFO") -> str:
    return f"2026-03-11 09:{second // 60:02d}:{second % 60:02d},000 {level:5} {logger} [] - {message}"


def spark(second: int, logger: str, message: str, level: str = "INFO") -> str:
    return f"26/03/11 09:{second // 60:02d}:{second % 60:02d} {level} {logger}: {message}"


BATCH = (
    spark(0, "SparkContext", "Running Spark version 3.4.1"),
    spark(2, "DAGScheduler", "Got job 0 (save at Etl.scala:33) with 200 output partitions"),
)
REFUSED = [
    spark(
        5 + n,
        "TaskSetManager",
        f"Lost task 1.{n} in stage 0.0 (TID {n}) (w{n} executor {n}): java.net.ConnectException: Connection refused",
        "WARN",
    )
    for n in range(4)
]
ABORTED = spark(9, "TaskSetManager", "Task 1 in stage 0.0 failed 4 times; aborting job", "ERROR")
DONE = spark(60, "DAGScheduler", "Job 0 finished: save at Etl.scala:33, took 57.1 s")


def test_tasks_that_spark_tried_again_are_no_failure(tmp_path: Path) -> None:
    found = derived(tmp_path, *BATCH, *REFUSED[:2], DONE, name="driver.log")["faults"]
    assert found
    assert not any(f["fatal"] for f in found)


def test_a_batch_that_spark_gave_up_fails_of_what_its_tasks_said(tmp_path: Path) -> None:
    found = [f for f in derived(tmp_path, *BATCH, *REFUSED, ABORTED, name="driver.log")["faults"] if f["fatal"]]
    assert [(f["signature"], f["cause"]) for f in found] == [("spark-job-aborted", "external-system")]


def test_a_program_that_tries_the_aborted_batch_again_is_well(tmp_path: Path) -> None:
    found = derived(tmp_path, *BATCH, *REFUSED, ABORTED, DONE, name="driver.log")["faults"]
    assert not any(f["fatal"] for f in found)


def test_executors_that_were_given_back_are_not_lost(tmp_path: Path) -> None:
    given_back = ("Executor 4 killed by driver.", "Executor decommission: spot interruption", "Executor 5 removed due to idle timeout.")
    lines = [spark(20 + n, "YarnScheduler", f"Lost executor {n} on w{n}: {why}", "ERROR") for n, why in enumerate(given_back)]
    assert not derived(tmp_path, *lines, name="driver.log")["faults"]


RUNNING = flink(0, GRAPH, f"Job orders ({JOB}) switched from state CREATED to RUNNING.")


def completed(second: int, number: int) -> str:
    return flink(second, COORDINATOR, f"Completed checkpoint {number} for job {JOB} (48213 bytes in 812 ms).")


def test_a_worker_that_no_job_missed_is_no_failure(tmp_path: Path) -> None:
    killed = flink(
        40,
        "org.apache.flink.runtime.resourcemanager.active.ActiveResourceManager",
        "Worker orders-taskmanager-1-2 is terminated. Diagnostics: Pod terminated, container termination statuses: "
        "[flink-main-container(exitCode=143, reason=Error, message=null)]",
        "WARN",
    )
    (tmp_path / "alive").mkdir()
    (tmp_path / "silent").mkdir()
    alive = derived(tmp_path / "alive", RUNNING, completed(30, 1), killed, completed(60, 2))["faults"]
    assert [f["fatal"] for f in alive] == [False]
    silent = derived(tmp_path / "silent", RUNNING, completed(30, 1), killed)["faults"]
    assert [f["fatal"] for f in silent] == [True], "nothing tells that the job went on"


def failing(second: int, attempt: int, message: str) -> list[str]:
    execution = f"bde045654a34ff1a6940550c8752a5f8_cbc357ccb763df2852fee8c4fc7d55f2_0_{attempt}"
    return [
        flink(
            second,
            GRAPH,
            f"Source: orders (1/2) ({execution}) switched from RUNNING to FAILED on tm-1 @ worker-1 (dataPort=37811).\n{message}",
        ),
        flink(second, GRAPH, f"Job orders ({JOB}) switched from state RUNNING to RESTARTING."),
        flink(second + 2, GRAPH, f"Job orders ({JOB}) switched from state RESTARTING to RUNNING."),
    ]


def test_a_job_that_fails_of_consequences_only_is_ill_all_the_same(tmp_path: Path) -> None:
    gone = "org.apache.flink.runtime.io.network.partition.PartitionNotFoundException: Partition 2f1c@1a2b not found."
    found = derived(tmp_path, RUNNING, *failing(10, 0, gone), *failing(20, 1, gone))
    assert {(f["fault"], f["cause"], f["consequence"]) for f in found["faults"] if f["fatal"]} == {("unknown", "other", False)}
    assert [a["cause"] for a in found["attempts"] if a["ended"] == "failed"] == ["other", "other"]


def test_a_lost_worker_is_told_by_the_exception_that_says_so(tmp_path: Path) -> None:
    lost = (
        "org.apache.flink.runtime.io.network.netty.exception.RemoteTransportException: "
        "Lost connection to task manager 'worker-2/10.0.0.2:41'.\n"
        "Caused by: java.lang.NullPointerException"
    )
    found = [f for f in derived(tmp_path, RUNNING, *failing(10, 0, lost))["faults"] if f["fatal"]]
    assert found[0]["root_exception"].endswith("RemoteTransportException")
    assert found[0]["root_message"].startswith("Lost connection to task manager")


def test_a_wrapper_without_its_cause_is_no_failure_beside_the_one_that_is_told(tmp_path: Path) -> None:
    task = "Source: orders (1/1)#0 (1d2f3a4b5c6d7e8f9a0b1c2d3e4f5a6b_bc764cd8ddf7a0cff126f51c16239658_0_0) switched from RUNNING to FAILED"
    lines = (
        flink(1, "org.apache.flink.runtime.taskmanager.Task", f"{task} with failure cause:", "WARN"),
        "java.lang.OutOfMemoryError: Direct buffer memory",
        flink(2, GRAPH, f"Job orders ({JOB}) switched from state FAILING to FAILED."),
        "org.apache.flink.runtime.JobException: Recovery is suppressed by NoRestartBackoffTimeStrategy",
    )
    assert [f["fault"] for f in derived(tmp_path, *lines)["faults"] if f["fatal"]] == ["out-of-memory"]


def test_dead_stream_threads_tell_nothing_beside_the_exception_that_killed_one(tmp_path: Path) -> None:
    thread = (
        "stream-thread [totals-StreamThread-1] Encountered the following exception during processing and the thread is going to shut down:"
    )
    lines = (
        flink(1, "org.apache.kafka.streams.processor.internals.StreamThread", thread, "ERROR"),
        "org.apache.kafka.streams.errors.StreamsException: Exception caught in process. taskId=0_0, topic=orders, partition=0, offset=7",
        flink(2, "org.apache.kafka.streams.KafkaStreams", "stream-client [totals] All stream threads have died. The instance will be in "
              "error state and should be closed.", "ERROR"),
    )  # fmt: skip
    told = {f["fault"]: f["fatal"] for f in derived(tmp_path, *lines, name="totals.log")["faults"]}
    assert told["streams-ended"] is False
    assert any(fatal for fault, fatal in told.items() if fault != "streams-ended")
