"""A real worker of Kafka Connect, asked over REST: what runs, has failed, stands although it says RUNNING, is idle or paused."""

from __future__ import annotations

import fcntl
import json
import os
import termios
from array import array
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from cli.shell.exits import ExitCode
from fixtures.lab.artifacts import LabUnavailable
from fixtures.lab.connect import FILE_SINK, ConnectCluster
from fixtures.lab.incidents.connect import ORDER
from fixtures.lab.kafka import KafkaCluster
from fixtures.lab.processes import wait_until
from fixtures.lab.scene import Orders
from tests.command_line import diag
from tests.live.conftest import unavailable


@dataclass
class Lab:
    """One broker, one worker, and the address of each."""

    bootstrap: str
    address: str
    connect: ConnectCluster


def make_topics(bootstrap: str, **topics: int) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for made in admin.create_topics([NewTopic(name, partitions, 1) for name, partitions in topics.items()]).values():
        made.result()


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    """Sinks: orders-to-file runs, orders-to-pipe waits in its put() as nobody reads the pipe, bad-to-file has failed, quiet-to-file has
    nothing to read, orders-paused is paused with records waiting."""
    try:
        with ExitStack() as stack:
            kafka = stack.enter_context(KafkaCluster(1))
            make_topics(kafka.bootstrap, orders=3, bad=1, quiet=1)
            connect = stack.enter_context(ConnectCluster(kafka.bootstrap))
            worker = connect.start("worker-1")
            pipe = connect.directory / "pipe"
            os.mkfifo(pipe)
            reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)  # never read
            stack.callback(os.close, reader)
            sinks = {"orders-to-file": "orders", "orders-to-pipe": "orders", "bad-to-file": "bad", "quiet-to-file": "quiet"}
            for name, topic in {**sinks, "orders-paused": "orders"}.items():
                file = pipe if name == "orders-to-pipe" else connect.directory / f"{name}.txt"
                more = {"db.password": "S3cretOfTheSink", "consumer.override.max.poll.records": "50"}
                connect.configure(name, {"connector.class": FILE_SINK, "tasks.max": "1", "topics": topic, "file": str(file), **more})
                connect.wait_for(name, "RUNNING")
            bad = Orders(kafka.bootstrap, "bad", 1)
            bad.send('{"amount": twelve')
            connect.wait_for("bad-to-file", "FAILED")
            orders = Orders(kafka.bootstrap, "orders", 200, form=ORDER)
            orders.start()
            stack.callback(orders.stop)
            for name in ("orders-to-file", "orders-to-pipe", "orders-paused"):
                wait_until(lambda name=name: bool(connect.ask(f"/connectors/{name}/offsets")["offsets"]), f"{name} to commit")  # type: ignore[misc]
            connect.ask("/connectors/orders-paused/pause", {}, method="PUT")
            connect.wait_for("orders-paused", "PAUSED")
            wait_until(lambda: is_full(reader), "the pipe to be full", patience_seconds=120)
            yield Lab(kafka.bootstrap, f"http://127.0.0.1:{worker.port}", connect)
    except LabUnavailable as reason:
        unavailable(reason)
        raise


def is_full(pipe: int) -> bool:
    """Whether nothing more goes into a pipe that is not read: it holds 16 pages, the last of which may be begun."""
    held = array("i", [0])
    fcntl.ioctl(pipe, termios.FIONREAD, held)
    return held[0] > 15 * os.sysconf("SC_PAGE_SIZE")


def test_what_stands_is_found_and_what_runs_is_idle_or_paused_is_not(lab: Lab, tmp_path: Path) -> None:
    bundle = tmp_path / "bundle"
    asked = ["-b", lab.bootstrap, "--connect-rest", lab.address, "--connect-wait", "150s", "--save", str(bundle), "--no-redact"]
    code, out, err = diag("lag-report", *asked, "-o", "json")
    assert code == ExitCode.FINDINGS, err
    findings = json.loads(out)["findings"]
    assert [each["subject"]["connector"] for each in findings if each["code"] == "LAG511"] == ["orders-to-pipe"]
    assert [each["subject"]["connector"] for each in findings if each["code"] == "RST202"] == ["bad-to-file"]
    assert "S3cret" not in out + err + "".join(path.read_text(encoding="utf-8") for path in bundle.iterdir())
    code, out, err = diag("lag-report", "--bundle", str(bundle), "-o", "json")
    assert [(each["code"], each["says"]) for each in json.loads(out)["findings"]] == [(each["code"], each["says"]) for each in findings], (
        err
    )


def test_a_look_of_a_second_shows_the_failed_task_alone(lab: Lab) -> None:
    code, out, err = diag("triage", "--connect-rest", lab.address, "--connect-wait", "1s", "-o", "json")
    assert code == ExitCode.FINDINGS, err
    assert {(each["code"], each["subject"].get("connector")) for each in json.loads(out)["verdicts"]} == {("RST202", "bad-to-file")}


def test_only_gets_reach_the_worker(lab: Lab) -> None:
    before = lab.connect.ask("/connectors?expand=info")
    assert diag("triage", "--connect-rest", lab.address, "--connect-wait", "1s", "--facts-only")[0] == ExitCode.CLEAN
    assert lab.connect.ask("/connectors?expand=info") == before
