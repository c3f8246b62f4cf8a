"""Spark starts quietly, whatever is wrong with the host's Java, it serves nobody else, and nothing of it outlives diag."""

from __future__ import annotations

import gc
import os
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import functions

from analyzers.tables.pandas_use import without_pandas
from cli.engine.class_archive import SWITCH
from cli.engine.executors import zip_packages
from cli.engine.failures import translated
from cli.engine.java import Java
from cli.engine.spark import Engine
from cli.shell.exits import CannotLook
from tests.spark_hosts import RUN, eventually, java_that, run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).resolve().parent.parent

# Tells its JVM and run directory, then waits for the test to end it.
WAIT = """
import signal, sys, threading
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background shell hands it down ignored
from cli.engine.spark import Engine
engine = Engine.start()
READY
try:
    print(engine._jvm._process.pid, engine._jvm.run_directory, flush=True)
    threading.Event().wait()
except KeyboardInterrupt:
    engine.stop()
    sys.exit(130)
"""


def processes_of(group: int) -> list[int]:
    """Live processes of a process group or session (zombies do not count)."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, _parent, process_group, session = entry.read_text().rpartition(")")[2].split()[:4]
            if state != "Z" and group in (int(process_group), int(session)):
                found.append(int(entry.parent.name))
    return found


@pytest.fixture
def waiting(host: dict[str, str], tmp_path: Path) -> Iterator[Callable[[str], tuple[subprocess.Popen[str], int, Path]]]:
    """Start WAIT, with what to do before it reports; gives process, process group of its JVM, run directory."""
    started = []

    def start(ready: str) -> tuple[subprocess.Popen[str], int, Path]:
        process = subprocess.Popen(
            [sys.executable, "-c", WAIT.replace("READY", ready)],
            env=host,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=tmp_path,
        )
        started.append(process)
        assert process.stdout is not None
        group, directory = process.stdout.readline().split()
        return process, int(group), Path(directory)

    yield start
    for process in started:
        process.kill()
        process.communicate()


# --- an engine that runs


def test_the_session_is_set_for_small_tables_and_utc(spark: SparkSession) -> None:
    for name, value in {
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.adaptive.enabled": "false",
        "spark.ui.enabled": "false",
        "spark.driver.bindAddress": "127.0.0.1",
    }.items():
        assert spark.conf.get(name) == value


def test_workers_run_this_python_and_find_the_analyzers(engine: Engine) -> None:
    def look(_: Iterator[int]) -> Iterator[tuple[str, str]]:
        import sys

        import analyzers

        yield sys.executable, str(analyzers.__file__)

    seen = set(engine.context().parallelize([1, 2], 2).mapPartitions(look).collect())
    assert seen == {(sys.executable, str(ROOT / "analyzers" / "__init__.py"))}


def test_workers_of_rdds_and_of_tables_begin_with_all_loaded_as_forks_of_one_daemon(engine: Engine) -> None:
    def look() -> tuple[int, bool, bool]:
        from analyzers.logs.scan.captures import _of_package

        return os.getppid(), _of_package.cache_info().currsize > 0, "pandas" in sys.modules

    def look_at(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield pa.RecordBatch.from_pylist([dict(zip(("daemon", "loaded", "pandas"), look(), strict=True))] * batch.num_rows)

    engine.allow_pandas()
    try:
        of_tables = engine.session().range(2).mapInArrow(look_at, "daemon long, loaded boolean, pandas boolean").collect()
    finally:
        without_pandas()
    of_rdds = engine.context().parallelize([1, 2], 2).map(lambda _: look()).collect()
    ((daemon, loaded, pandas),) = {*map(tuple, of_tables), *of_rdds}
    assert (loaded, pandas) == (True, False)
    assert "analyzers.fleet.worker_daemon" in Path(f"/proc/{daemon}/cmdline").read_text()


@pytest.mark.skipif(sys.version_info < (3, 11), reason="PYTHONSAFEPATH came with Python 3.11")
def test_a_package_of_the_current_directory_is_not_taken_for_ours(tmp_path: Path) -> None:
    (tmp_path / "analyzers").mkdir()
    (tmp_path / "analyzers" / "__init__.py").write_text("raise ImportError('of somebody else')\n")
    code = """
    with Engine.start() as engine:
        print(engine.context().parallelize([1], 1).map(lambda each: each + 1).collect())
    """
    begin = f"import sys; sys.path[0] = {str(ROOT)!r}\nfrom cli.engine.spark import Engine"
    done = run(begin + textwrap.dedent(code), dict(os.environ), tmp_path)
    assert "[2]" in done.stdout, done.stderr


def test_workers_that_were_started_are_there_and_go_when_they_are_ended(engine: Engine) -> None:
    def numbers() -> set[int]:
        return set(engine.context().parallelize([1, 2], 2).map(lambda _: os.getpid()).collect())

    engine.workers.start()
    assert eventually(lambda: engine.workers.are_there, seconds=30)
    before = numbers()
    engine.workers.end()
    assert not engine.workers.are_there
    assert eventually(lambda: not any(Path(f"/proc/{each}").exists() for each in before), seconds=10)
    assert not numbers() & before


def test_there_are_no_workers_where_spark_did_not_start() -> None:
    """Files are then looked at, and read, without it."""
    engine = Engine("local[2]", memory="1g", settings={})
    engine._error = CannotLook("Spark did not start.")
    engine._ready.set()
    engine.workers.start()
    for thread in threading.enumerate():
        if thread.name == "spark-workers":
            thread.join(10)
    assert not engine.workers.are_there
    engine.workers.end()


def test_null_strings_survive_the_way_from_arrow(spark: SparkSession) -> None:
    rows = spark.createDataFrame(pa.table({"job": pa.array(["a", None], pa.string())})).collect()
    assert [row["job"] for row in rows] == ["a", None]


def test_the_jvm_lets_go_what_nobody_holds_and_keeps_what_is_held(spark: SparkSession) -> None:
    gateway = spark.sparkContext._gateway
    held = gateway.java_gateway_server.getGateway().getBindings()
    kept = functions.col("kept") + 1
    gc.collect()
    sizes = [held.size()]
    while sizes[-1] not in sizes[-4:-1]:  # what earlier tests left is let go by a thread
        time.sleep(0.5)
        sizes.append(held.size())
    before = held.size()
    many = [functions.col("many") + number for number in range(300)]
    grown = held.size() - before  # a number: of the map itself pytest would print all that the JVM holds
    assert grown > 100, "what Python holds, the JVM holds"
    del many
    gc.collect()
    is_small = eventually(lambda: held.size() < before + 100, seconds=10)
    assert is_small
    assert "kept" in str(kept)
    equal = [functions.lit(1), functions.lit(True), functions.lit(1.0), functions.lit("1")]
    assert len({str(column) for column in equal}) == 4


def test_threads_share_one_session(engine: Engine) -> None:
    seen: list[SparkSession] = []
    threads = [threading.Thread(target=lambda: seen.append(engine.session())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 4
    assert len({id(session) for session in seen}) == 1


def test_a_failed_job_is_told_after_the_jvm_has_gone(host: dict[str, str], tmp_path: Path) -> None:
    """Py4J's own error cannot even be printed then: a traceback would end the process with 1, which means findings."""
    code = """
from cli.shell.exits import ExitCode
from cli.engine.spark import Engine
from cli.engine.failures import SparkFailed
def fail(n):
    raise ValueError("offset 17 is not there")
try:
    with Engine.start("local[1]") as engine:
        engine.context().parallelize([1], 1).map(fail).collect()
except SparkFailed as error:
    print(error.message, int(error.exit_code), "ValueError" in str(error.__cause__))
"""
    done = run(code, host | {SWITCH: "1"}, tmp_path)
    assert (done.stdout, done.stderr) == ("A Spark job failed: ValueError: offset 17 is not there. 4 True\n", "")


def test_a_worker_that_is_killed_is_no_defect(engine: Engine) -> None:
    """As the kernel does where memory runs out; what Spark says first is "Exception thrown in awaitResult"."""

    def killed(_: object) -> int:
        os.kill(os.getpid(), signal.SIGKILL)
        return 0

    with pytest.raises(Py4JJavaError) as failure:
        engine.context().parallelize([0], 1).map(killed).collect()
    failed = translated(failure.value)
    assert isinstance(failed, CannotLook)
    assert "A Python worker of Spark ended unexpectedly" in str(failed)


# --- who may talk to it


def listening(pids: list[int]) -> list[str]:
    """Addresses, in hexadecimal as /proc has them, at which these processes listen."""
    inodes = set()
    for pid in pids:
        for descriptor in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError):
                inodes.add(os.readlink(descriptor).removeprefix("socket:[").removesuffix("]"))
    rows = [line.split() for table in ("tcp", "tcp6") for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]]
    return [row[1] for row in rows if row[3] == "0A" and row[9] in inodes]


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="needs Linux")
def test_it_listens_on_this_host_alone_and_wants_a_secret(waiting: Callable[[str], tuple[subprocess.Popen[str], int, Path]]) -> None:
    process, group, _ = waiting("engine.context().parallelize([1], 1).map(str).collect(); engine.session().range(1).collect()")
    found = listening([process.pid, *processes_of(group)])
    assert found
    here = ("0100007F:", "0000000000000000FFFF00000100007F:", "00000000000000000000000001000000:")
    assert [address for address in found if not address.startswith(here)] == []
    asked = 0
    for address in found:
        with suppress(OSError), socket.create_connection(("127.0.0.1", int(address.rpartition(":")[2], 16)), timeout=10) as stranger:
            asked += 1  # not counted: PySpark's port for the rows of one `collect`, which closes by itself
            stranger.settimeout(10)
            stranger.sendall(b"r\nu\njava\nrj\ne\n")  # py4j: what is java?
            assert not stranger.recv(100).startswith(b"!y"), address
    assert asked


# --- the end


@pytest.mark.parametrize(
    "ready", ["pass", "engine.context().parallelize([1], 1).map(str).collect()"], ids=["while it boots", "when it runs"]
)
def test_ctrl_c_ends_it_at_once_and_nothing_stays(waiting: Callable[[str], tuple[subprocess.Popen[str], int, Path]], ready: str) -> None:
    process, group, directory = waiting(ready)
    assert processes_of(group)
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    _out, error = process.communicate(timeout=30)
    assert (process.returncode, error) == (130, "")
    assert time.monotonic() - began < 5
    assert not directory.exists()
    assert eventually(lambda: not processes_of(group), seconds=5)


def test_after_kill_9_the_jvm_ends_by_itself_and_clears_up(waiting: Callable[[str], tuple[subprocess.Popen[str], int, Path]]) -> None:
    process, group, directory = waiting("engine.context().parallelize([1], 1).map(str).collect()")
    process.kill()
    process.wait()
    assert eventually(lambda: not processes_of(group))
    assert eventually(lambda: not directory.exists())


def test_a_java_that_dies_is_reported_in_one_sentence(host: dict[str, str], tmp_path: Path, real_java: Java) -> None:
    code = """
from cli.shell.exits import CannotLook
from cli.engine.spark import Engine
engine = Engine.start()
try:
    engine.context()
except CannotLook as error:
    print(error.message)
engine.stop()
"""
    done = run(code, host | java_that(tmp_path / "java", real_java, "*"), tmp_path)
    assert done.stdout == "Spark's JVM ended before it could be used: Error: Could not create the Java Virtual Machine.\n"
    assert done.stderr == ""
    assert list((tmp_path / "tmp").iterdir()) == []


def test_java_without_the_module_that_spark_submit_demands_is_enough(host: dict[str, str], tmp_path: Path, real_java: Java) -> None:
    packaged = java_that(tmp_path / "java", real_java, "*jdk.incubator.vector*")  # as Java from a wheel
    done = run(RUN, host | packaged | {SWITCH: "1"}, tmp_path)
    assert (done.stdout, done.stderr) == ("14 directly, without a class-data archive\n", "")


def test_the_launcher_of_pyspark_is_the_last_resort(host: dict[str, str], tmp_path: Path, real_java: Java) -> None:
    from cli.engine.java import has_module

    if not has_module(real_java, "jdk.incubator.vector"):
        pytest.skip("this Java lacks what spark-submit demands, so there is no such resort")
    done = run(RUN, host | java_that(tmp_path / "java", real_java, "*' org.apache.spark.api.python.PythonGatewayServer '*"), tmp_path)
    assert (done.stdout, done.stderr) == ("14 through PySpark's launcher\n", "")
    assert eventually(lambda: not list((tmp_path / "tmp").iterdir()))


def test_one_process_can_start_spark_twice(host: dict[str, str], tmp_path: Path) -> None:
    done = run(RUN + RUN.replace("import sys, pyarrow", ""), host | {SWITCH: "1"}, tmp_path)
    assert (done.stdout, done.stderr) == ("14 directly, without a class-data archive\n" * 2, "")
    assert list((tmp_path / "tmp").iterdir()) == []


def test_executors_elsewhere_get_our_packages_and_nothing_else(tmp_path: Path) -> None:
    names = zipfile.ZipFile(zip_packages(tmp_path)).namelist()
    assert "analyzers/__init__.py" in names
    assert {name.split("/")[0] for name in names} == {"analyzers", "cli"}
    assert not [name for name in names if "__pycache__" in name]
    code = "import sys; sys.path.insert(0, sys.argv[1]); import analyzers; print(analyzers.__file__)"
    where = subprocess.run([sys.executable, "-I", "-c", code, str(tmp_path / "diag.zip")], capture_output=True, text=True, check=True)
    assert "diag.zip" in where.stdout
