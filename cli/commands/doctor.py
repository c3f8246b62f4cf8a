"""`diag doctor`: is everything here that diag needs? Looks at this host only."""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from cli.options.shared import master_with
from cli.shell.exits import CannotLook, DiagError, ExitCode, UsageError

if TYPE_CHECKING:
    from cli.engine.java import Java
    from cli.shell.environment import Environment

State = Literal["ok", "warning", "failed"]
ROOM_BYTES = 2 << 30  # Spark spills, bundles are unpacked
PACKAGES = ("pyspark", "pyarrow", "pandas", "numpy", "confluent-kafka", "kafka-python", "typer", "rich", "zstandard")


@dataclass(frozen=True)
class Check:
    """One thing looked at: `says` what was seen, `fix` what to do when it is not ok."""

    name: str
    state: State
    says: str
    fix: str = ""


def checks(*, spark: bool = True, spark_master: str = "local[*]") -> Iterator[Check]:
    """Look at one thing after the other; `spark` also starts Spark, which takes seconds and needs a Java."""
    yield from (_python(), _packages())
    yield from _shielded("matcher", _matcher)
    yield from _shielded("java", _java)
    yield from _shielded("class-data archive", _archive)
    yield from _shielded("waiting JVM", _waiting)
    yield from _shielded("scan cache", _scan_cache)
    yield from _shielded("temporary space", _temporary_space)
    if spark:
        yield from _shielded("spark", lambda: _spark(spark_master))


def doctor(
    context: typer.Context,
    output: Annotated[str, typer.Option("-o", "--output", metavar="FORMAT", help="plain or json.")] = "plain",
    spark: Annotated[bool, typer.Option("--spark/--no-spark", help="Also start Spark and run a job, timed.")] = True,
    spark_master: Annotated[
        str, typer.Option("--spark-master", metavar="URL", envvar="DIAG_SPARK_MASTER", help="Where Spark runs.")
    ] = "local[*]",
    end_warm: Annotated[bool, typer.Option("--end-warm", help="Only end the JVM that --keep-warm left.")] = False,
    empty_cache: Annotated[bool, typer.Option("--empty-cache", help="Only delete what was kept of large logs.")] = False,
) -> int:
    """Is everything here that diag needs? Looks at this host only.

    Reads: the versions of Python, Java and packages; starts Spark once. Needs no permissions.
    Exit code 0 when diag can work, 3 when something it needs is missing.

    Examples:

        diag doctor

        diag doctor --no-spark -o json
    """
    if output not in ("plain", "json"):
        raise UsageError(f"diag doctor has no output format {output}.", "Use -o plain or -o json.")
    spark_master = master_with(spark_master, None)
    if end_warm:
        from cli.engine.waiting import end, place

        ended = end(place())
        context.obj.write(f"ended the waiting JVM, pid {ended.java}\n" if ended is not None else "no JVM was waiting\n")
        return ExitCode.CLEAN
    if empty_cache:
        context.obj.write(_emptied())
        return ExitCode.CLEAN
    from cli.shell.environment import harmless

    environment: Environment = context.obj
    seen = []
    for check in checks(spark=spark, spark_master=spark_master):
        seen.append(check)
        if output == "plain":
            fix = f"\t\t{harmless(check.fix)}\n" if check.fix else ""
            environment.write(f"{check.state}\t{check.name}\t{harmless(check.says)}\n{fix}")
    if output == "plain":
        environment.write(conclusion(seen) + "\n")
    if output == "json":
        import json

        environment.write(json.dumps([asdict(check) for check in seen], indent=2, ensure_ascii=False) + "\n")
    return ExitCode.CANNOT_LOOK if any(check.state == "failed" for check in seen) else ExitCode.CLEAN


def conclusion(seen: Sequence[Check]) -> str:
    """What all of it means."""
    failed, odd = ([check.name for check in seen if check.state == state] for state in ("failed", "warning"))
    if failed:
        return f"diag cannot work here: see {', '.join(failed)} above."
    return f"diag can work here, but see {', '.join(odd)} above." if odd else "diag can work here."


def register(app: typer.Typer) -> None:
    """Make `diag doctor` a command."""
    app.command("doctor", short_help="Check that everything diag needs is here.")(doctor)


def _shielded(name: str, look: Callable[[], Check]) -> Iterator[Check]:
    """Turn what a look raises into a failed check: the doctor is asked when things are broken."""
    try:
        yield look()
    except DiagError as error:
        yield Check(name, "failed", error.message, error.hint)
    except Exception as error:
        yield Check(name, "failed", f"{type(error).__name__}: {error}")


def _python() -> Check:
    says = f"{platform.python_version()} at {sys.executable}"
    return (
        Check("python", "ok", says) if sys.version_info >= (3, 10) else Check("python", "failed", says, "diag needs Python 3.10 or newer.")
    )


def _packages() -> Check:
    from importlib.metadata import PackageNotFoundError, version

    found, missing = [], []
    for name in PACKAGES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            missing.append(name)
    if missing:
        return Check("packages", "failed", f"missing: {', '.join(missing)}", f"Install them beside diag: pip install {' '.join(missing)}")
    return Check("packages", "ok", ", ".join(found))


def _matcher() -> Check:
    """Which multi-literal matcher log scans will use, by making one: a wheel can be there and not load on this CPU."""
    from analyzers.logs.matching.matcher import Matcher

    backend = Matcher([b"checkpoint"]).backend
    if backend == "re":
        return Check(
            "matcher", "warning", "only Python's own: log scans will be slow", "pip install hyperscan, or ahocorasick_rs, beside diag."
        )
    return Check("matcher", "ok", backend)


def _java() -> Check:
    java = _found_java()
    return Check("java", "ok", f"{java.full_version} at {java.home}, from {java.origin}")


def _found_java() -> Java:
    from cli.engine.java import find_java

    return find_java()


def _archive() -> Check:
    from cli.engine.class_archive import SWITCH, cache_directory
    from cli.engine.jvm import class_archive

    java = _found_java()
    archive = class_archive(java)
    if archive is None:
        why = f"{SWITCH} is set" if os.environ.get(SWITCH) else f"none is possible in {cache_directory()} or with this Java"
        fix = (
            ""
            if os.environ.get(SWITCH)
            else "Make that directory writable for this user only; without an archive Spark starts twice as slowly."
        )
        return Check("class-data archive", "warning", why, fix)
    usable = archive.usable()
    if usable is not None:
        return Check("class-data archive", "ok", f"{usable} ({usable.stat().st_size >> 20} MB)")
    failure = archive.failure(time.time())
    if failure is None:
        return Check("class-data archive", "ok", f"not recorded yet; the next run with Spark does, in {archive.directory}")
    again = f"in {failure.wait / 60:.0f} min at the earliest" if failure.wait else "at the next run with Spark"
    times = f"the last {failure.times} recordings failed, the newest" if failure.times > 1 else "the last recording failed"
    return Check(
        "class-data archive",
        "warning",
        f"{times}: {failure.why}; tried again {again}",
        f"Without an archive Spark starts twice as slowly. Once the reason is gone: rm {shlex.quote(str(archive.failure_mark))}",
    )


def _waiting() -> Check:
    from cli.engine.waiting import place, seen

    found = seen(place())
    if found is None:
        return Check("waiting JVM", "ok", "none; --keep-warm (DIAG_KEEP_WARM=1) leaves one for the next command")
    now = time.time()
    memory = "" if (held := found.resident_mb()) is None else f", {held:,} MB"
    left, age = max(0, found.ends - now) / 60, (now - found.since) / 60
    says = f"pid {found.java} for {age:.0f} min{memory}; ends in {left:.0f} min, or with the next command, or with `diag doctor --end-warm`"
    return Check("waiting JVM", "ok", says)


def _scan_cache() -> Check:
    from analyzers.readers.scan_cache.store import extent, is_own
    from cli.options.cache import SWITCH, scan_cache

    directory = scan_cache(off=os.environ.get(SWITCH, "") not in ("", "0"))
    if directory is None:
        return Check("scan cache", "ok", f"off: {SWITCH} is set, or there is no home directory")
    try:
        if is_own(directory):
            held = extent(directory)
            says = f"{held.entries} entries of {held.size_bytes / 1e6:,.1f} MB in {directory}; `diag doctor --empty-cache` deletes them"
            return Check("scan cache", "ok", says)
    except FileNotFoundError:
        return Check("scan cache", "ok", f"nothing yet; a triage of large logs makes it, in {directory}")
    fix = "Make it a directory of mode 0700 of this user; without it large logs are read again each time."
    return Check("scan cache", "warning", f"others can read or write {directory}, so it is not used", fix)


def _emptied() -> str:
    """Deletes the scan cache, and says what it held."""
    from analyzers.readers.scan_cache.store import empty, is_own
    from cli.options.cache import scan_cache

    directory = scan_cache(off=False)
    try:
        if directory is None or not is_own(directory):
            raise CannotLook(f"{directory} is not this user's alone, so nothing in it was deleted.", "Look at its owner and its mode.")
        gone = empty(directory)
    except FileNotFoundError:
        return "no logs were kept\n"
    except OSError as error:
        why = f"the scan cache in {directory} cannot be deleted: {error.strerror}."
        raise CannotLook(why, "Look at its owner and its mode.") from error
    return f"deleted {gone.entries} entries of {gone.size_bytes / 1e6:,.1f} MB from {directory}\n"


def _temporary_space() -> Check:
    import tempfile

    directory = tempfile.gettempdir()
    with tempfile.TemporaryFile(dir=directory) as file:
        file.write(b"\0" * 4096)
    free = shutil.disk_usage(directory).free
    says = f"{free / (1 << 30):.1f} GB free in {directory}"
    if free < ROOM_BYTES:
        return Check("temporary space", "warning", says, "Set TMPDIR to a directory with 2 GB or more.")
    return Check("temporary space", "ok", says)


def _spark(master: str) -> Check:
    """Do what a run does: a job of plain Python, tables from Arrow, and the kinds of query that rules are made of."""
    began = time.monotonic()
    from cli.engine.spark import Engine

    with Engine.start(master) as engine:
        context = engine.context()
        up = time.monotonic() - began
        if context.parallelize(range(8), 2).map(lambda n: n * n).sum() != 140:
            raise CannotLook("Spark computed a wrong sum.")
        import pyarrow as pa
        from pyspark.sql import Window
        from pyspark.sql import functions as F

        session = engine.session()
        frame = session.createDataFrame(pa.table({"job": ["a", "a", None], "n": [1, 2, 3], "text": ["x", None, "z"]}))
        newest = Window.partitionBy("job").orderBy(F.desc("n"))
        ranked = frame.withColumn("rank", F.row_number().over(newest)).where(F.col("rank") <= 1)
        per_job = frame.groupBy("job").agg(F.count("*").alias("seen"), F.max("n").alias("last"), F.collect_list("text").alias("texts"))
        rows = per_job.join(ranked.select("job", "rank"), "job", "left").orderBy(F.col("job").asc_nulls_last()).collect()
        if [(row["job"], row["seen"], row["rank"]) for row in rows] != [("a", 2, 1), (None, 1, None)]:
            raise CannotLook(f"Spark gave a wrong answer: {rows}.")
        took = time.monotonic() - began
        return Check(
            "spark", "ok", f"{context.version} on {master}, started {engine.how}: ready after {up:.1f} s, first queries after {took:.1f} s"
        )
