"""The one place that starts Spark: `Engine` spawns the JVM at once and hands out the SparkContext and the SparkSession when they are ready.

A local master is started directly (`jvm.py`), with a class-data archive where possible; when that fails, without the archive; when that
fails too and Java has what spark-submit demands, through PySpark's own launcher. Any other master goes through PySpark's own launcher.
Nothing of PySpark is imported before it is needed, so that `diag --help` stays quick.
"""

from __future__ import annotations

import atexit
import importlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from analyzers.bundle.held import held_directory, release
from analyzers.tables.pandas_use import with_pandas, without_pandas
from cli.engine.executors import wait_for_executors, zip_packages
from cli.engine.failures import reason, text_of, translated
from cli.engine.java import Java, find_java, has_module
from cli.engine.jvm import LOG4J_CONFIGURATION, MEMORY, OUT_OF_MEMORY, START_SECONDS, Gateway, Jvm, NoRoom, NotReady, worker_path
from cli.engine.launcher import no_longer_than
from cli.engine.pyspark_state import forget, hang_up, mute, quiet, running_context, spare_traces
from cli.engine.settings import EVERY_MASTER, LOCAL_MASTER, inside
from cli.engine.waiting import ClaimedJvm, Next, key_of, place, take
from cli.engine.workers import Workers
from cli.shell.exits import CannotLook, DiagError
from cli.shell.host import of_the_host
from cli.shell.signals import postponed

if TYPE_CHECKING:
    from types import TracebackType

    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

_LAST_SECONDS = 2.0  # a JVM that does not answer may still be about to end


class Engine:
    """A Spark that is starting or running. Use as a context manager, or call `stop`; a forgotten one ends with the process."""

    def __init__(
        self,
        master: str,
        *,
        memory: str,
        settings: Mapping[str, str],
        pandas: bool = False,
        keep_warm: bool = False,
        to_hand_on: bool = False,
    ) -> None:
        self.master = master
        self.java: Java | None = None
        self.how = "starting"  # how Spark was started in the end, for `diag doctor`
        self._memory = memory
        self._settings = dict(settings)
        self._pandas = pandas
        self._keep_warm, self._to_hand_on = keep_warm, to_hand_on
        self._next: Next | None = None
        self._jvm: Jvm | ClaimedJvm | None = None
        self._run_directory: Path | None = None
        self._log: BinaryIO | None = None
        self._context: SparkContext | None = None
        self._session: SparkSession | None = None
        self._error: BaseException | None = None
        self._stopped = False
        self._prepared = self._warm = False
        self._ready = threading.Event()
        self.workers = Workers(self)
        self._lock = threading.Lock()  # guards what stop() must see
        self._session_lock = threading.Lock()

    @classmethod
    def start(
        cls,
        master: str = "local[*]",
        *,
        memory: str = MEMORY,
        settings: Mapping[str, str] | None = None,
        pandas: bool = False,
        keep_warm: bool = False,
        to_hand_on: bool = False,
    ) -> Engine:
        """Spawn the JVM and return at once (a few milliseconds); `memory` is the heap of the local JVM. `pandas`: whether PySpark may load
        it, as grouped functions in Python want. `keep_warm`: take the JVM that waits, if one does, and at the end leave one for the next.
        `to_hand_on`: this is the one that will wait.

        Raises JavaMissing when there is no Java, CannotLook when there is no Spark on disk; everything later is raised by `context`.
        """
        engine = cls(master, memory=memory, settings=settings or {}, pandas=pandas, keep_warm=keep_warm, to_hand_on=to_hand_on)
        engine.java = find_java()
        if engine.is_local and not engine._take():
            engine._spawn(with_archive=True)
        atexit.register(engine.stop)
        threading.Thread(target=engine._open, name="spark-start", daemon=True).start()
        return engine

    @property
    def is_local(self) -> bool:
        return self.master == "local" or self.master.startswith("local[")

    @property
    def cores(self) -> int | None:
        """How many it works on; None while it starts, and where it did not."""
        context = self._context
        return None if context is None or self._stopped else context.defaultParallelism

    def context(self) -> SparkContext:
        """Wait until there is a SparkContext and return it; raises CannotLook when Spark did not start or was stopped."""
        while not self._ready.wait(0.5):  # with a timeout, so that Ctrl-C is seen on every platform
            pass
        if self._error is not None:
            raise self._error
        if self._context is None or self._stopped:
            raise CannotLook("Spark was stopped.")
        return self._context

    def session(self) -> SparkSession:
        """Return the SparkSession on `context`, made on the first call; safe to call from several threads."""
        context = self.context()
        with self._session_lock:
            if self._session is None:
                from pyspark.sql import SparkSession

                self._session = SparkSession(context)
            return self._session

    def allow_pandas(self) -> None:
        """Functions over Arrow tables are going to run: PySpark wants to see pandas, which nothing else here needs."""
        self._pandas = True
        with_pandas()

    def prepare_session(self) -> None:
        """Begin to make the session in the background, while the JVM boots and jobs run on the context; on the second call do nothing."""
        if self._prepared:
            return
        self._prepared = True
        # whole before two threads import modules of it: each holds one of these while it waits for the package (_DeadlockError)
        importlib.import_module("analyzers.derived")

        def prepare() -> None:
            with suppress(Exception):  # whoever calls session() gets the error
                from analyzers.diagnosis.run_rules import warm_up
                from analyzers.rules.catalogue import load_rules

                load_rules()
                session = self.session()
                if not isinstance(self._jvm, ClaimedJvm):
                    warm_up(session)
                self._warm = True

        threading.Thread(target=prepare, name="spark-session", daemon=True).start()

    def give_up_jobs(self) -> None:
        """End the jobs that run, in the background: the connection of a thread that was interrupted still waits for an answer."""
        context = self._context
        if context is None:
            return

        def cancel() -> None:
            with suppress(Exception):  # the JVM may go while it is asked
                context.cancelAllJobs()

        threading.Thread(target=cancel, name="spark-cancel", daemon=True).start()

    def tasks_done(self) -> tuple[int, int] | None:
        """How many tasks of the longest stage that runs are done, and of how many; None where that is not known."""
        with suppress(Exception):  # the JVM may be gone
            tracker = self.context().statusTracker()
            stages = [stage for each in tracker.getActiveStageIds() if (stage := tracker.getStageInfo(each)) is not None]
            return max(((stage.numCompletedTasks, stage.numTasks) for stage in stages), key=lambda each: each[1], default=None)
        return None

    def stop(self) -> None:
        """End Spark and remove what it wrote; at any time, from any thread, more than once."""
        with postponed():
            self._stop()

    def _stop(self) -> None:
        with self._lock:
            if self._stopped:
                return
            self._stopped = True
        atexit.unregister(self.stop)
        self._ready.set()
        context, jvm = self._context, self._jvm
        if context is not None:
            mute(context)
        if context is not None and jvm is None:
            with suppress(Exception):
                context.stop()
        hang_up()
        if jvm is not None:
            # An archive of a run without a query would lack the classes that take longest to load.
            jvm.stop(keep_recording=self._warm or (self._session is not None and not self._prepared))
        forget(context)
        if self._log is not None:
            self._log.close()
        if self._run_directory is not None:
            release(self._run_directory)

    def ended(self) -> str | None:
        """Why its JVM is no more, in a clause; None while it is there. Of a Spark elsewhere that is not known."""
        code = self._jvm.ended(within=_LAST_SECONDS) if self._jvm is not None and not self._stopped else None
        if code is None:
            return None
        if code == OUT_OF_MEMORY:
            return f"Spark ran out of its {self._memory} of memory; give it more (--memory), or look at less (--since, --until)"
        if code == -signal.SIGKILL:
            return (
                "Spark's JVM was killed, as a host does that runs out of memory; give it less (--memory), or judge elsewhere (diag collect)"
            )
        if code < 0:
            return f"somebody ended Spark's JVM ({signal.Signals(-code).name})"
        assert self._jvm is not None
        return f"Spark's JVM ended: {self._jvm.last_words()}"

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        # Py4J's errors ask the JVM for their text: after stop() there is nobody left to answer, and str(error) itself raises.
        failed: DiagError | None = translated(error) if error is not None else None
        if (failed is not None or isinstance(error, ConnectionError)) and (why := self.ended()) is not None:
            failed = CannotLook(f"{why}.")
            failed.__cause__ = error
        works = error is None and self._context is not None
        self.stop()
        if failed is not None:
            raise failed from failed.__cause__
        if works and self._next is not None:
            self._next.leave()

    def hand_on(self) -> Handed:
        """Let go of a JVM that is ready, for another process; this one is to end without `stop`."""
        jvm, context = self._jvm, self.context()
        assert isinstance(jvm, Jvm)
        assert jvm.status is not None
        mute(context)
        gateway = jvm.connect()
        given = {"group": jvm.shell, "run_directory": str(jvm.run_directory), "port": gateway.port, "secret": gateway.secret}
        return Handed(jvm.stdin, jvm.status, jvm.java, given)

    def _take(self) -> bool:
        """Whether a JVM waited that is as one of one's own would be."""
        directory = place() if self._keep_warm else None
        if directory is None:
            return False
        assert self.java is not None
        key = key_of(self.java, self._memory, {**EVERY_MASTER, **LOCAL_MASTER, **self._settings, "spark.master": self.master})
        self._next = Next(directory, key, self.master, self._memory)
        waited = take(directory, key)
        if waited is not None and not waited.answers():
            waited.stop()
            waited = None
        self._jvm = waited
        return waited is not None

    def _spawn(self, *, with_archive: bool) -> Jvm:
        with self._lock:
            if self._stopped:
                raise CannotLook("Spark was stopped.")
            assert self.java is not None
            self._jvm = jvm = Jvm(self.java, memory=self._memory, with_archive=with_archive, to_hand_on=self._to_hand_on)
            return jvm

    def _open(self) -> None:
        """Run in a thread of its own: the ladder of ways to start."""
        try:
            context = self._climb()
            spare_traces(context)
            with self._lock:
                self._context = context
                if self._stopped:
                    forget(context)
        except BaseException as error:
            if isinstance(error, DiagError):
                self._error = error
            elif (of_host := of_the_host(error)) is not None:
                self._error = of_host
            else:
                hint = (
                    "Try `diag doctor`." if self.is_local else "Is that master reachable from here, and is its Spark of the same version?"
                )
                self._error = CannotLook(f"Spark did not start on {self.master}: {reason(text_of(error))}.", hint)
                self._error.__cause__ = error
        finally:
            self._ready.set()

    def _climb(self) -> SparkContext:
        if not self.is_local:
            return self._through_launcher()
        assert self._jvm is not None
        assert self.java is not None
        steps: list[tuple[str, Callable[[], SparkContext]]] = []
        if isinstance(self._jvm, ClaimedJvm):
            waited = self._jvm
            steps.append(("on a JVM that the last command left", lambda: self._directly(waited)))
            steps.append(("directly", lambda: self._directly(self._spawn(with_archive=True))))
        elif self._jvm.archive_in_use or self._jvm.recording:
            used = "with the class-data archive" if self._jvm.archive_in_use else "while recording a class-data archive"
            first = self._jvm
            steps.append((f"directly, {used}", lambda: self._directly(first)))
            steps.append(("directly, without a class-data archive", lambda: self._directly(self._spawn(with_archive=False))))
        else:
            only = self._jvm
            steps.append(("directly, without a class-data archive", lambda: self._directly(only)))
        failure: Exception | None = None
        for how, step in steps:
            try:
                context = step()
            except (NoRoom, NotReady):
                self._abandon(keep_archive=True)
                raise
            except Exception as error:
                failure = failure if isinstance(failure, DiagError) else error
                self._abandon()
            else:
                refused = self._jvm is not None and self._jvm.refused_archive()
                self.how = "directly, without a class-data archive" if refused else how
                return context
        # spark-submit refuses Java without this module
        if has_module(self.java, "jdk.incubator.vector") and not self._stopped:
            with suppress(Exception):
                return self._through_launcher()
        assert failure is not None
        raise failure

    def _abandon(self, *, keep_archive: bool = False) -> None:
        if self._jvm is not None and not self._stopped:
            self._jvm.stop()
            if not keep_archive and self._jvm.archive_in_use is not None and self._jvm.archive is not None:
                self._jvm.archive.discard(self._jvm.archive_in_use)
            self._jvm = None
        forget(None)

    def _directly(self, jvm: Jvm | ClaimedJvm) -> SparkContext:
        from pyspark import SparkConf, SparkContext
        from pyspark.java_gateway import launch_gateway

        from cli.engine.py4j_calls import cache_py4j_lookups

        quiet()
        if not self._pandas:
            without_pandas()
        gateway = jvm.connect()
        conf = self._conf(SparkConf(loadDefaults=False), {**EVERY_MASTER, **LOCAL_MASTER, **inside(jvm.run_directory)})
        with _environment(_gateway_variables(gateway)):
            connected = launch_gateway()
        cache_py4j_lookups(connected)
        if jvm.refused_archive() and jvm.archive is not None and jvm.archive_in_use is not None:
            jvm.archive.discard(jvm.archive_in_use)  # so that the next run records a good one
        return SparkContext(conf=conf, gateway=connected, jsc=running_context(connected) if isinstance(jvm, ClaimedJvm) else None)

    def _through_launcher(self) -> SparkContext:
        from pyspark import SparkConf, SparkContext
        from pyspark.java_gateway import launch_gateway

        quiet()
        if not self._pandas:
            without_pandas()
        assert self.java is not None
        directory = self._run_directory = held_directory("spark")
        settings = {**EVERY_MASTER, "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={LOG4J_CONFIGURATION.as_uri()}"}
        if self.is_local:
            settings.update(LOCAL_MASTER, **inside(directory))
        conf = self._conf(SparkConf(loadDefaults=False), settings)
        log = self._log = (directory / "jvm.log").open("w+b")
        variables = {"JAVA_HOME": str(self.java.home), "PYTHONPATH": os.pathsep.join(worker_path()), "PYTHONSAFEPATH": "1"}
        with _environment(variables), no_longer_than(START_SECONDS):
            gateway = launch_gateway(conf, {"stdout": log, "stderr": log})
        context = SparkContext(conf=conf, gateway=gateway)
        if context.applicationId.startswith("spark-application-"):
            # Spark's own placeholder (SchedulerBackend.appId): no master gave one, and Spark is about to stop this context by itself
            raise CannotLook(
                f"Spark's master {self.master} did not answer.", "Is it reachable from here, and of the same version of Spark?"
            )
        if not self.is_local:
            wait_for_executors(context, self.master)
            context.addPyFile(str(zip_packages(directory)))
        self.how = "through PySpark's launcher"
        return context

    def _conf(self, conf: SparkConf, settings: Mapping[str, str]) -> SparkConf:
        os.environ["PYSPARK_PYTHON"] = sys.executable if self.is_local else os.environ.get("PYSPARK_PYTHON", sys.executable)
        os.environ.pop("SPARK_CONNECT_MODE_ENABLED", None)
        for name, value in {**settings, **self._settings, "spark.master": self.master}.items():
            conf.set(name, value)
        return conf


@dataclass(frozen=True)
class Handed:
    """A JVM that is handed on: descriptors of its stdin and of the pipe that gets its exit code, its number; `given`: for `ClaimedJvm`."""

    stdin: int
    status: int
    java: int
    given: dict[str, object]


def _gateway_variables(gateway: Gateway) -> dict[str, str]:
    return {"PYSPARK_GATEWAY_PORT": str(gateway.port), "PYSPARK_GATEWAY_SECRET": gateway.secret}


@contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    """Set variables for as long as PySpark reads them; children of this process must not inherit the secret."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
