"""A real Flink reads a real Kafka: what diag reads out of its checkpoints and logs must equal what was produced and what was done."""

from __future__ import annotations

import io
import json
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from analyzers.derived.flow.watermark_holders import watermark_holders
from analyzers.readers.checkpoint_files import read_checkpoints
from cli.collectors.flink_rest import flink_collector
from cli.main import run
from cli.shell.environment import Environment
from fixtures.lab.artifacts import LabUnavailable
from fixtures.lab.flink import FlinkSession
from fixtures.lab.job_jar import job_jar
from fixtures.lab.kafka import KafkaCluster
from fixtures.lab.processes import wait_until
from tests.live.conftest import KafkaStarter, unavailable

GROUP = "orders-enrichment"
FIRST = {0: 25, 1: 40, 2: 0, 3: 7}  # records per partition: an empty one is a split without an offset to show
SECOND = {0: 1, 1: 0, 2: 3, 3: 10}
# several are retained, so that none is deleted while it is read
CONFIG = {"execution.checkpointing.interval": "1s", "execution.checkpointing.num-retained": "20"}
BOTH = {partition: FIRST[partition] + SECOND[partition] for partition in FIRST}

# the first question about a group makes the broker create its offsets topic
COORDINATOR_COMES = {KafkaError.NOT_COORDINATOR, KafkaError.COORDINATOR_NOT_AVAILABLE, KafkaError.COORDINATOR_LOAD_IN_PROGRESS}


@dataclass
class Scene:
    kafka: KafkaCluster
    flink: FlinkSession
    jar: Path

    def produce(self, counts: dict[int, int], customer: str = "c00001", topic: str = "orders") -> None:
        producer = Producer({"bootstrap.servers": self.kafka.bootstrap, "log_level": 0})
        for partition, count in counts.items():
            for number in range(count):
                producer.produce(topic, f"{customer},5,{number}".encode(), partition=partition)
        assert producer.flush(60) == 0

    def wait_for_commits(self, ends: dict[int, int]) -> None:
        """Flink commits what a completed checkpoint holds: committed up to the end = a checkpoint has read all."""
        consumer = Consumer({"bootstrap.servers": self.kafka.bootstrap, "group.id": GROUP, "log_level": 0})
        wanted = {partition: end for partition, end in ends.items() if end}

        def committed() -> bool:
            try:
                found = consumer.committed([TopicPartition("orders", partition) for partition in wanted], timeout=20)
            except KafkaException as error:
                if error.args[0].code() in COORDINATOR_COMES:
                    return False
                raise
            return {tp.partition: tp.offset for tp in found} == wanted

        try:
            wait_until(committed, f"offsets {wanted} to be committed")
        finally:
            consumer.close()

    def start(self, *arguments: str, savepoint: str | None = None, **configuration: str) -> str:
        return self.flink.run(self.jar, f"bootstrap={self.kafka.bootstrap}", *arguments, savepoint=savepoint, configuration=configuration)

    def logs(self, directory: Path) -> Path:
        """A copy of the logs so far: triage must not read what a running job appends."""
        directory.mkdir()
        for log in self.flink.logs():
            shutil.copyfile(log, directory / log.name)
        return directory


@pytest.fixture(scope="module")
def scene(kafka_cluster: KafkaStarter) -> Iterator[Scene]:
    kafka = kafka_cluster(brokers=1)
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap, "log_level": 0})
    for created in admin.create_topics([NewTopic("orders", len(FIRST), 1)]).values():
        created.result(timeout=60)
    try:
        jar = job_jar()
        flink = FlinkSession(taskmanagers=1, config=CONFIG).__enter__()
    except LabUnavailable as reason:
        unavailable(reason)
        raise
    try:
        yield Scene(kafka, flink, jar)
    finally:
        flink.close()


def newest_checkpoint(directory: Path) -> dict[str, list[dict[str, Any]]]:
    """Tables of the newest checkpoint below `directory`, which must be whole and understood to the last byte."""
    newest = max(directory.rglob("_metadata"), key=lambda path: path.stat().st_mtime_ns)
    tables = read_checkpoints([str(newest)])
    (file,) = tables["checkpoint_files"]
    assert (file["state"], file["unread_bytes"]) == ("complete", 0)
    return tables


def positions(tables: dict[str, list[dict[str, Any]]]) -> dict[str, int]:
    """Offset by split of the readers."""
    readers = [row for row in tables["splits"] if row["role"] == "reader"]
    assert len({row["identity"] for row in readers}) == len(readers), "every split is owned once"
    return {row["identity"]: row["offset"] or 0 for row in readers}


def triage(logs: Path) -> tuple[int, dict[str, Any]]:
    return diag("triage", str(logs))


def diag(*arguments: str) -> tuple[int, dict[str, Any]]:
    environment = Environment(stdout=io.StringIO(), stderr=io.StringIO())
    code = run([*arguments, "-o", "json"], environment)
    assert isinstance(environment.stdout, io.StringIO)
    return code, json.loads(environment.stdout.getvalue())


def split_names(counts: dict[int, int]) -> dict[str, int]:
    return {f"orders-{partition}": count for partition, count in counts.items()}


def test_offsets_in_checkpoint_and_savepoint_and_after_the_restore(scene: Scene, tmp_path: Path) -> None:
    scene.produce(FIRST)
    first = scene.start()
    scene.wait_for_commits(FIRST)
    checkpoints = scene.flink.directory / "checkpoints"
    assert positions(newest_checkpoint(checkpoints / first)) == split_names(FIRST)

    savepoint = scene.flink.stop_with_savepoint(first)
    tables = newest_checkpoint(Path(savepoint.removeprefix("file:")))
    assert tables["checkpoint_files"][0]["kind"] == "savepoint"
    assert positions(tables) == split_names(FIRST)

    scene.produce(SECOND)
    second = scene.start(savepoint=savepoint)
    scene.wait_for_commits(BOTH)
    assert positions(newest_checkpoint(checkpoints / second)) == split_names(BOTH)

    code, report = triage(scene.logs(tmp_path / "logs"))
    assert (code, report["verdicts"], report["defects"]) == (0, [], [])
    scene.flink.cancel(second)


def test_a_stuck_barrier(scene: Scene, tmp_path: Path) -> None:
    """An async call never completes; the queue behind it fills, and the subtask reads no barrier any more."""
    impatient = {"execution.checkpointing.timeout": "3s", "execution.checkpointing.tolerable-failed-checkpoints": "1000"}
    job = scene.start("enrich=stuck", "capacity=5", **impatient)
    scene.flink.wait_for_checkpoints(job, 1)
    scene.produce({0: 30}, customer="c99042")
    # five: busy shares of a task are believed when it has run for a quarter of a minute
    wait_until(lambda: scene.flink.count(rf"Checkpoint \d+ of job {job} expired before completing") >= 5, "five checkpoints to expire")
    _, report = diag("checkpoint-inspect", "--flink-rest", scene.flink.rest, "--job", job, "--facts-only")
    culprits = [row for row in report["facts"]["barrier_frontier"] if row["role"] == "culprit"]
    assert [(row["reason"], row["async_queue_full"]) for row in culprits] == [("stuck-call", True)]
    assert "enrich-profile" in culprits[0]["task"]

    logs = scene.logs(tmp_path / "logs")
    scene.flink.cancel(job)  # its slots are the next test's
    code, report = triage(logs)
    assert code == 1
    assert [(verdict["cause"], verdict["job"]) for verdict in report["verdicts"]] == [("barrier-unacknowledged", job)]
    assert "subtask" not in report["verdicts"][0]["subject"], "these logs do not tell which subtask it is"


def test_a_reader_without_records_holds_the_watermark(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """One partition is empty: without idleness nothing behind the source gets a watermark, with it everything does."""
    monkeypatch.setattr(sys.modules[watermark_holders.__module__], "_SETTLED_SECONDS", 0)
    admin = AdminClient({"bootstrap.servers": scene.kafka.bootstrap, "log_level": 0})
    for created in admin.create_topics([NewTopic("half", 2, 1)]).values():
        created.result(timeout=60)
    scene.produce({0: 50}, topic="half")
    for idle in ((), ("idle=1",)):
        job = scene.start("topic=half", "watermarks=orders", "group=half", *idle)
        scene.flink.wait_for_checkpoints(job, 2)
        tables: dict[str, list[dict[str, Any]]] = {}

        def reading() -> bool:
            tables.update(flink_collector(scene.flink.rest, job=[job])().tables)  # noqa: B023  # called within this turn only
            passed = [row["watermark"] is not None for row in tables["watermarks"]]  # noqa: B023
            read = any(row["name"] == "currentOffset" and row["exact"] == 49 for row in tables["metrics"])  # noqa: B023
            return read and bool(passed) and (all(passed) if idle else bool(watermark_holders(tables)))  # noqa: B023

        wait_until(reading, "the picture to show the readers at work")
        holders = [(row["reason"], row["topic"], row["partition"]) for row in watermark_holders(tables)]
        assert holders == ([] if idle else [("idle-split", "half", 1)])
        scene.flink.cancel(job)
