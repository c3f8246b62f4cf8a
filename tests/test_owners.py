"""A connector, a deployment and an application of Kafka Streams are jobs of their own, beside a Flink job that stays the only one."""

from __future__ import annotations

from pathlib import Path

from analyzers.derived import derive
from analyzers.derived.failures.owners import owner_of
from analyzers.readers.log_scan import LogOptions, plan, scan
from tests.bundles import FIXTURES


def test_each_line_has_its_owner() -> None:
    killed = "Task threw an uncaught and unrecoverable exception. Task is being killed and will not recover until manually restarted"
    assert owner_of(f"[2026-11-20 08:00:00,000] ERROR [a-sink|task-0] WorkerSinkTask{{id=a-sink-0}} {killed}") == "a-sink"
    assert owner_of(f"ERROR WorkerSourceTask{{id=b-source-11}} {killed}") == "b-source"
    assert owner_of("INFO  stream-client [orders-0f8e7d6c-5b4a-4392-8170-6f5e4d3c2b1a] State transition") == "orders"
    assert owner_of('Exception in thread "orders-StreamThread-1" org.apache.kafka.streams.errors.StreamsException: x') == "orders"
    assert owner_of("INFO [Consumer clientId=orders-StreamThread-1-consumer, groupId=orders] Resetting offset") is None
    assert owner_of("2026-11-20 08:00:00,000 INFO  org.apache.flink.X [] - [source|sink] stream-lined") is None


def test_a_query_that_has_read_all_is_finished() -> None:
    found = derive(scan(plan([str(FIXTURES / "SPK901/quiet-available-now/raw")], LogOptions(scope="a")), None))
    (state,) = found["job_state"]
    assert (state["name"], state["state"]) == ("nightly", "FINISHED")


def test_of_two_queries_the_one_that_has_read_all_is_finished(tmp_path: Path) -> None:
    one, other = (f"[id = {n * 8}-0000-4000-8000-{n * 12}, runId = {n * 8}-1111-4111-8111-{n * 12}]" for n in "ab")
    log = tmp_path / "driver.log"
    log.write_text(
        f"26/11/20 08:00:00 INFO MicroBatchExecution: Starting nightly {one}. Use s3a://ck/a to store the query checkpoint.\n"
        f"26/11/20 08:00:01 INFO MicroBatchExecution: Starting orders {other}. Use s3a://ck/b to store the query checkpoint.\n"
        "26/11/20 08:00:41 INFO MicroBatchExecution: Finished processing all available data for the trigger, terminating this "
        "Trigger.AvailableNow query\n"
        f"26/11/20 08:00:41 INFO MicroBatchExecution: Async log purge executor pool for query nightly {one} has been shutdown\n"
    )
    found = derive(scan(plan([str(log)], LogOptions(scope="a")), None))
    assert {row["name"]: row["state"] for row in found["job_state"]} == {"nightly": "FINISHED", "orders": "RUNNING"}
