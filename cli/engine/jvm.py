"""One JVM of Spark as a child process, started directly (not through spark-submit) and gone when this process is.

`org.apache.spark.api.python.PythonGatewayServer` writes port and secret to the file named by `_PYSPARK_DRIVER_CONN_INFO_PATH` and exits
when its stdin ends (pyspark/java_gateway.py, launch_gateway). Saves the start of bash and of the launcher's own JVM, allows a class-data
archive, and works with Java from a wheel, which lacks the module jdk.incubator.vector that spark-submit demands.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import struct
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from analyzers.bundle.held import held_directory, locks, release
from cli.engine.class_archive import ClassArchive, archive_for
from cli.engine.java import Java
from cli.shell.exits import CannotLook
from cli.shell.host import limit_met

MEMORY = "1g"  # heap; evidence tables are small
START_SECONDS = 120  # a loaded host with a cold disk needs 20
_LEAST_ROOM = 1 << 20  # bytes for Spark's port, its log, its directories: it waits for ever where it cannot write them
_CONNECTION_ROOM = 4 << 10
_LOOKS_SECONDS = 1.0
LOG4J_CONFIGURATION = Path(__file__).with_name("log4j2.properties")

# What Spark opens for itself on Java 17 and newer: org.apache.spark.launcher.JavaModuleOptions
_OPENED = (
    "java.base/java.lang", "java.base/java.lang.invoke", "java.base/java.lang.reflect", "java.base/java.io", "java.base/java.net",
    "java.base/java.nio", "java.base/java.util", "java.base/java.util.concurrent", "java.base/java.util.concurrent.atomic",
    "java.base/jdk.internal.ref", "java.base/sun.nio.ch", "java.base/sun.nio.cs", "java.base/sun.security.action",
    "java.base/sun.util.calendar", "java.security.jgss/sun.security.krb5",
)  # fmt: skip
_OPTIONS = (
    "-XX:+IgnoreUnrecognizedVMOptions",  # the last two of the next group are unknown to Java 17
    *(f"--add-opens={package}=ALL-UNNAMED" for package in _OPENED),
    "--sun-misc-unsafe-memory-access=allow",
    "--enable-native-access=ALL-UNNAMED",
    "-Dio.netty.tryReflectionSetAccessible=true",
    "-XX:TieredStopAtLevel=1",  # C1 only: the process ends before C2 would pay (measured: 20 % of wall, a third of CPU)
    "-XX:+UseSerialGC",
    # The archive of classes stands where it was made for: to move it (new JDKs do, by chance, against attackers) takes 0.1 s and 70 MB.
    "-XX:+UnlockDiagnosticVMOptions",
    "-XX:ArchiveRelocationMode=0",
    # What a run needs live is some 100 MB. With 128 MB from the start on a small run ended in full collections, five of 0.1 s; by default
    # it would be a 64th of the host. (Spark takes no maximum below 450 MB.)
    "-Xms192m",
    # the heap grows when live objects fill 75 % of it, not 60, and shrinks at 60 %, not 30: 40 MB less for some more full collections
    "-XX:MinHeapFreeRatio=25",
    "-XX:MaxHeapFreeRatio=40",
    "-XX:MaxNewSize=96m",  # with 40 MB twice as many collections; without a bound it grows with the heap, which grows with the rows
    "-Dio.netty.allocator.maxOrder=3",  # 64 kB at once for what is sent within this host, not 16 MB per thread
    "-Djdk.nio.maxCachedBufferSize=65536",  # else each thread keeps a buffer as large as the largest rows that it ever sent (13 MB)
    "-XX:-UsePerfData",  # no file in /tmp/hsperfdata_*
    "-XX:-CreateCoredumpOnCrash",
    "-XX:+ExitOnOutOfMemoryError",  # else the thread that serves a result may be the one that dies, and Python waits for it for ever
    "-Xss4m",  # deep plans
    "-Dfile.encoding=UTF-8",
    "-Duser.timezone=UTC",
    "-Djava.awt.headless=true",
    f"-Dlog4j2.configurationFile={LOG4J_CONFIGURATION.as_uri()}",
)
# Spark reads classes of its own as files, for each closure it runs (ClosureCleaner): behind 200 other jars each look takes a millisecond
_LOOKED_INTO = ("spark-core", "spark-sql", "spark-catalyst", "scala-library")
# It adds functions of its own to each session, by Scala's reflection: 0.4 s of CPU, while everything waits for the session.
_LEFT_OUT = "spark-mllib_"
_FOREIGN = ("SPARK_HOME", "SPARK_CONF_DIR", "SPARK_LOCAL_DIRS", "SPARK_EXECUTOR_DIRS", "LOCAL_DIRS", "SPARK_REMOTE", "SPARK_ENV_LOADED")
# meant for other programs of this host: agents, heap sizes, collectors that conflict with ours. JDK_JAVA_OPTIONS is left as a door.
_OF_OTHER_PROGRAMS = ("JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS")
OUT_OF_MEMORY = 3  # exit code of a JVM that ends for it
_FROM_OUTSIDE = (signal.SIGHUP, signal.SIGINT, signal.SIGKILL, signal.SIGTERM)  # what ends a JVM that is in order; a crash is an ABRT
_MAIN = "org.apache.spark.api.python.PythonGatewayServer"

# What the JVM prints when it goes without its archive: Java 17 to 23 as cds, 24 and newer as aot.
_REFUSED = re.compile(rb"\[(?:warning|error) *\]\[(?:cds|aot)[\w,]* *\].*(?:[Uu]nable to (?:use|map)|failed|mismatch|[Cc]orrupt)")

# The shell outlives this process by as long as the JVM does: it turns a finished recording into an archive and removes the run directory,
# even after a kill -9 of Python. $0 run directory, $1 recording, $2 archive without size and suffix, $3 where it notes why a recording
# failed, $4 and $5 what the check of a recording needs, $6 where the exit code goes; then the command. Of failures it notes crashes (132
# to 139 are their signals), the rest is noted by Python, which knows the limits of its process.
_SHELL = r"""
run=$0 recording=$1 archive=$2 failed=$3 java=$4 check=$5 status=$6
shift 6
"$@"
code=$?
(echo $code >"$status") 2>/dev/null # in a shell of its own, which ends where no process reads
if [ -n "$recording" ]; then
  if [ $code -eq 0 ] && [ -s "$recording" ] && "$java" @"$check" -version; then
    mv -f "$recording" "$archive-$(($(wc -c <"$recording"))).jsa" && rm -f "$failed"
  else
    rm -f "$recording" "$recording.config"
    case $code in 0 | 132 | 134 | 135 | 136 | 139)
      why=$(grep -m 1 -E "rror|^# +SIG" "$run/jvm.log" || tail -n 1 "$run/jvm.log")
      echo "Java ended with $code: $why" >>"$failed" ;;
    esac
  fi
fi
rm -rf "$run"
exit $code
"""


@dataclass(frozen=True)
class Gateway:
    """Where the JVM listens (loopback) and the secret it wants."""

    port: int
    secret: str


class NoRoom(CannotLook):
    """No way to start Spark helps: its directory for temporary files is full."""


def look_for_room(directory: Path) -> None:
    """Raises `NoRoom` where Spark could not write down what it starts with; tried, since a quota is not seen otherwise."""
    probe = directory / "room"
    try:
        probe.write_bytes(bytes(_LEAST_ROOM))
        probe.unlink()
    except OSError as error:
        raise _no_room(directory) from error


def _no_room(directory: Path) -> NoRoom:
    return NoRoom(
        f"Spark has no room in {directory.parent}: {_LEAST_ROOM >> 10:,} kB are the least.", "Set TMPDIR to a directory with room."
    )


class NotReady(CannotLook):
    """The JVM runs, and said nothing for as long as any start takes: another one would say as little."""


class Jvm:
    """A running JVM; `run_directory` holds everything it writes: its output, spark.local.dir, java.io.tmpdir."""

    def __init__(self, java: Java, *, memory: str = MEMORY, with_archive: bool = True, to_hand_on: bool = False) -> None:
        """Spawn and return at once; raises CannotLook when there is no Spark on disk or no process can be made. `to_hand_on`: its exit code
        goes into a pipe, for a process that is not its parent."""
        jars = spark_jars()
        options = jvm_options(memory)
        self.archive: ClassArchive | None = archive_for(java, jars, _OPTIONS) if with_archive else None  # whatever the size of the heap
        self.archive_in_use: Path | None = self.archive.usable() if self.archive else None
        records = self.archive is not None and self.archive_in_use is None and not to_hand_on
        self.recording: Path | None = self.archive.start_recording() if self.archive and records else None
        self.status: int | None = None
        self._tell_status: int | None = None
        if to_hand_on:
            self.status, self._tell_status = os.pipe()
        try:
            self.run_directory = held_directory("spark")
        except OSError as error:
            raise CannotLook(f"No temporary directory for Spark could be made: {error}.", "Set TMPDIR to a directory with room.") from error
        try:
            look_for_room(self.run_directory)
        except NoRoom:
            release(self.run_directory)
            raise
        self._log_path = self.run_directory / "jvm.log"
        self._connection_path = self.run_directory / "connection"
        self._check_path = self.run_directory / "check"  # an argument file of java
        temporary = self.run_directory / "tmp"
        temporary.mkdir()
        options += [f"-Djava.io.tmpdir={temporary}", f"-XX:ErrorFile={self.run_directory}/hs_err.log"]
        if self.archive and self.archive_in_use:
            options += self.archive.options_to_use(self.archive_in_use)
        elif self.archive and self.recording:
            check = [*options, *self.archive.options_to_check(self.recording)]  # an AOT cache fits the module options of its recording only
            self._check_path.write_text("".join(f'"{option}"\n' for option in check))
            options += self.archive.options_to_record(self.recording)
        self._log = self._log_path.open("w+b")
        self._process = self._spawn([str(java.path), *options, _MAIN], jars)
        if self._tell_status is not None:
            os.close(self._tell_status)

    def _spawn(self, command: list[str], jars: Sequence[Path]) -> subprocess.Popen[bytes]:
        recording = str(self.recording or "")
        archive = str(self.archive.directory / f"spark-{self.archive.key}") if self.archive else ""
        failed = str(self.archive.failure_mark) if self.archive else ""
        arguments = [
            "/bin/sh",
            "-c",
            _SHELL,
            str(self.run_directory),
            recording,
            archive,
            failed,
            command[0],
            str(self._check_path),
            "/dev/null" if self._tell_status is None else f"/dev/fd/{self._tell_status}",
            *command,
        ]
        try:
            # A session of its own: Ctrl-C is for Python, which then decides; and one signal to the group ends shell and JVM together.
            return subprocess.Popen(
                arguments,
                stdin=subprocess.PIPE,
                stdout=self._log,
                stderr=subprocess.STDOUT,
                env=self._environment(jars),
                cwd=None if _has_directory() else self.run_directory,  # Java does not start in one that was removed
                start_new_session=True,
                # one that is recording goes on when this process has ended
                pass_fds=(*locks(self.run_directory), *(() if self._tell_status is None else (self._tell_status,))),
            )
        except OSError as error:
            release(self.run_directory)
            raise CannotLook(f"Java could not be started ({command[0]}): {error}.", "Try `diag doctor`.") from error

    def _environment(self, jars: Sequence[Path]) -> dict[str, str]:
        # Settings of another Spark on this host would change ours: its home, its local directories, its Connect mode.
        environment = {name: value for name, value in os.environ.items() if name not in (*_FOREIGN, *_OF_OTHER_PROGRAMS)}
        environment.update(
            _PYSPARK_DRIVER_CONN_INFO_PATH=str(self._connection_path),
            SPARK_CONNECT_MODE="0",
            SPARK_LOCAL_IP="127.0.0.1",  # a host name that does not resolve stops Spark otherwise
            SPARK_LOCAL_HOSTNAME="localhost",
            CLASSPATH=os.pathsep.join(map(str, jars)),  # every jar by name: an archive needs the same order each time, and no directories
            PYTHONPATH=os.pathsep.join(worker_path()),
            PYTHONSAFEPATH="1",  # workers begin as `python -m`: packages of the current directory would come before ours (Python 3.11)
            TZ="UTC",
            MALLOC_ARENA_MAX="1",  # else glibc keeps free memory per thread, and there are 60 of them (30 MB)
        )
        return environment

    def connect(self) -> Gateway:
        """Wait for the hand-shake and return where to connect; raises CannotLook when the JVM ends first or takes over START_SECONDS."""
        looked = time.monotonic()
        deadline = looked + START_SECONDS
        while not self._connection_path.exists():  # the JVM renames it into place, so it is never half-written
            if self._process.poll() is not None:
                hint = limit_met() or "Try `diag doctor`."
                raise CannotLook(f"Spark's JVM ended before it could be used: {self.last_words()}.", hint)
            if time.monotonic() > looked + _LOOKS_SECONDS:  # what fills the disk meanwhile: the JVM then waits for ever
                looked = time.monotonic()
                if shutil.disk_usage(self.run_directory).free < _CONNECTION_ROOM:
                    raise _no_room(self.run_directory)
            if time.monotonic() > deadline:
                words = self.last_words()
                raise NotReady(f"Spark's JVM was not ready after {START_SECONDS} s: {words}.", "Is this host out of CPU or memory?")
            time.sleep(0.005)
        content = self._connection_path.read_bytes()
        port, length = struct.unpack(">ii", content[:8])
        return Gateway(port, content[8 : 8 + length].decode())

    @property
    def shell(self) -> int:
        """The process around the JVM, and the group that both are in."""
        return self._process.pid

    @property
    def java(self) -> int:
        """The JVM itself; raises OSError and ValueError where the system does not tell."""
        (java,) = Path(f"/proc/{self.shell}/task/{self.shell}/children").read_text().split()
        return int(java)

    @property
    def stdin(self) -> int:
        assert self._process.stdin is not None
        return self._process.stdin.fileno()

    def refused_archive(self) -> bool:
        """Whether the JVM does without its archive (damaged, other jars): it says so or not, and would do so for ever."""
        if self.archive is None or self.archive_in_use is None:
            return False
        with suppress(OSError, ValueError):  # ValueError: no child, or several
            if _REFUSED.search(self._log_path.read_bytes()[:20_000]):
                return True
            if not self.archive.ahead_of_time:  # an AOT cache may be read instead of mapped
                return str(self.archive_in_use) not in Path(f"/proc/{self.java}/maps").read_text()
        return False

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def ended(self, within: float) -> int | None:
        """The exit code of a JVM that ends `within` so many seconds, -9 if it was killed; None if it does not."""
        try:
            code = self._process.wait(within)
        except subprocess.TimeoutExpired:
            return None
        return signed(code)

    def _crashed(self) -> bool:
        """Whether the JVM ended for a reason that may lie in its archive: one that was killed or had no room left says nothing about it."""
        if limit_met() is not None:
            return False
        return signed(self._process.returncode) not in (0, OUT_OF_MEMORY, *(-number for number in _FROM_OUTSIDE))

    def last_words(self) -> str:
        """Return the line of the JVM's output that says most about its end."""
        with suppress(OSError, ValueError):
            self._log.seek(0)
            lines = [line.strip() for line in self._log.read()[-20_000:].decode(errors="replace").splitlines() if line.strip()]
            # "Error occurred during initialization of VM" stands before the line that says which
            telling = [
                line for line in lines if line.startswith(("Error", "Exception", "Caused by", "# ")) and "initialization of VM" not in line
            ]
            return (telling or lines or ["it said nothing"])[-1].removeprefix('Exception in thread "main" ').rstrip(".")
        return "it said nothing"

    def stop(self, *, keep_recording: bool = False) -> None:
        """End the JVM now; with `keep_recording` let it end by itself, in the background, so that it can write its archive."""
        if keep_recording and self.recording is not None and self.alive:
            with suppress(OSError):
                if self._process.stdin is not None:
                    self._process.stdin.close()
            self._process.returncode = 0  # nobody will wait for it: keeps Popen from complaining that it still runs
            self._log.close()
            return
        crashed = not self.alive and self._crashed()
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)  # local mode has no state but the run directory, which goes as well
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=5)
        if self._process.stdin is not None:
            with suppress(OSError):
                self._process.stdin.close()
        if self.recording is not None:
            with suppress(OSError):
                self.recording.unlink(missing_ok=True)
                if crashed and self.archive is not None and signed(self._process.returncode) > 0:
                    self.archive.note_failure(self.last_words())  # so that not every run tries, and falls back, again
        self._log.close()
        if crashed and self.archive is not None and self.archive_in_use is not None:
            self.archive.discard(self.archive_in_use)
        release(self.run_directory)


def _has_directory() -> bool:
    try:
        os.getcwd()
    except OSError:
        return False
    return True


def signed(code: int) -> int:
    """The exit code of a shell's command: that of a signal below zero, as of a child of one's own."""
    return 128 - code if 128 < code < 128 + signal.NSIG else code


def class_archive(java: Java) -> ClassArchive | None:
    """Return the class-data archive that a JVM of this kind would use or record, None where there can be none."""
    return archive_for(java, spark_jars(), _OPTIONS)


def jvm_options(memory: str = MEMORY) -> list[str]:
    return [f"-Xmx{memory}", *_OPTIONS]


def spark_jars() -> list[Path]:
    """Return the jars of the installed PySpark, of SPARK_HOME where it comes without, but for Spark's machine learning; those that are most
    looked into first. Raises CannotLook."""
    homes = [Path(home) for home in (_pyspark_directory(), os.environ.get("SPARK_HOME")) if home]
    for home in homes:
        jars = [jar for jar in (home / "jars").glob("*.jar") if not jar.name.startswith(_LEFT_OUT)]
        if jars:
            return sorted(jars, key=lambda jar: (not jar.name.startswith(_LOOKED_INTO), jar))
    raise CannotLook("The installed PySpark has no jars.", "Install the package pyspark (4.x), not pyspark-client.")


def worker_path() -> list[str]:
    """Return PYTHONPATH for Python workers: they must find `analyzers` also when diag runs from a plain checkout."""
    spec = find_spec("analyzers")
    homes = [str(Path(location).parent) for location in (spec.submodule_search_locations if spec else None) or ()]
    inherited = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    # site-packages would come before the standard library there, and the worker has it anyway
    wanted = [home for home in homes if not home.endswith(("site-packages", "dist-packages"))]
    return [entry for entry in dict.fromkeys([*wanted, *inherited]) if entry]


def _pyspark_directory() -> str | None:
    spec = find_spec("pyspark")  # finds without importing
    return str(Path(spec.origin).parent) if spec is not None and spec.origin else None
