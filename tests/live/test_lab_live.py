"""The lab itself: nothing of it survives its driver, however that ends, and its broken network is broken for nobody else."""

from __future__ import annotations

import io
import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from cli.main import run
from cli.shell.environment import Environment
from fixtures.lab import job_jar
from fixtures.lab.artifacts import LabUnavailable, class_path, java
from fixtures.lab.job_jar import JOBS, compiled
from fixtures.lab.kafka import KAFKA, KafkaCluster
from fixtures.lab.network import black_hole, private_network
from fixtures.lab.processes import free_port, wait_until
from tests.live.conftest import unavailable

DRIVER = """\
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background shell hands it down ignored
from fixtures.lab.flink import FlinkSession
from fixtures.lab.kafka import KafkaCluster
from fixtures.lab.zookeeper import zookeeper
with zookeeper(), KafkaCluster(1) as kafka, FlinkSession("2.3.0", 1) as flink:
    print(kafka.members[1].pid, *(member.process.pid for member in flink.members), flush=True)
    signal.pause()
"""


def is_gone(pid: int) -> bool:
    try:
        # without an init a container keeps it as a zombie, which holds nothing
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux kills children with their parent")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT], ids=["killed", "ctrl-c"])
def test_no_server_survives_its_driver(how: signal.Signals, tmp_path: Path) -> None:
    # its files cannot be removed by a driver that is killed: they go where pytest cleans up
    surroundings = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(
        [sys.executable, "-c", DRIVER], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=surroundings
    ) as driver:
        assert driver.stdout is not None
        line = driver.stdout.readline()
        if not line:
            assert driver.stderr is not None
            unavailable(LabUnavailable(driver.stderr.read()[-500:]))
        servers = [int(pid) for pid in line.split()]
        assert len(servers) == 3
        assert not any(map(is_gone, servers))
        driver.send_signal(how)
        driver.communicate()
    wait_until(lambda: all(map(is_gone, servers)), "the servers to die with their driver", patience_seconds=30)
    if how == signal.SIGINT:
        assert not [path for path in tmp_path.iterdir() if path.name.startswith(("kafka-", "flink-", "zookeeper-"))]


def test_three_brokers_one_killed_one_behind_a_black_hole() -> None:
    try:
        class_path(KAFKA)  # from inside there is no way to where jars come from
        with private_network(), KafkaCluster(3) as kafka:
            kafka.kill(2)
            black_hole(kafka.members[3].host)
            environment = Environment(stdout=io.StringIO(), stderr=io.StringIO())
            code = run(["broker-health", "-b", kafka.bootstrap, "--timeout", "4s", "-o", "json", "--facts-only"], environment)
    except LabUnavailable as reason:
        unavailable(reason)
        raise
    assert isinstance(environment.stdout, io.StringIO)
    assert isinstance(environment.stderr, io.StringIO)
    assert code == 1, environment.stderr.getvalue()
    report = json.loads(environment.stdout.getvalue())
    assert [row["state"] for row in report["facts"]["bootstrap_servers"]] == ["alive", "refused", "black-hole"]


def test_the_broken_network_is_broken_for_nobody_else() -> None:
    with socket.create_server(("127.0.0.9", 0)) as outside:
        try:
            with private_network():
                black_hole("127.0.0.9")
                inside = socket.socket()  # a socket belongs to the network in which it was made
                inside.settimeout(0.2)
                with inside, pytest.raises(TimeoutError):
                    inside.connect(outside.getsockname())
        except LabUnavailable as reason:
            unavailable(reason)
        with socket.create_connection(outside.getsockname(), timeout=5):
            pass


def test_a_port_that_somebody_took_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the look for a free port and the broker's bind: everything is laid out anew, with other ports."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        stale = [taken.getsockname()[1]]

        def port(host: str, other_than: int = 0) -> int:
            return stale.pop() if stale else free_port(host, other_than)

        monkeypatch.setattr("fixtures.lab.kafka.free_port", port)
        try:
            with KafkaCluster(1) as kafka:
                assert stale == []
                assert f":{taken.getsockname()[1]}" not in kafka.members[1].directory.joinpath("server.properties").read_text()
        except LabUnavailable as reason:
            unavailable(reason)


def test_a_machine_without_javac_compiles_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the pinned ecj: on a Java runtime without its compiler."""
    runtime = tmp_path / "bin" / "java"
    runtime.parent.mkdir()
    runtime.symlink_to(Path(java()).resolve())
    monkeypatch.setattr("fixtures.lab.job_jar.cache_directory", lambda: tmp_path)
    monkeypatch.setattr("fixtures.lab.job_jar.java", lambda: str(runtime))
    try:
        class_path("ecj-3.37.0")  # who fetches jars needs a Java that is found
        jars = class_path(KAFKA)
        monkeypatch.setattr("shutil.which", lambda name: None)
        assert "ecj" in " ".join(job_jar._compiler())
        jar = compiled([JOBS / "consumers" / "SlowWorkers.java"], jars, "slow-workers")
    except LabUnavailable as reason:
        unavailable(reason)
        raise
    assert jar.stat().st_size > 1000
