"""Runs the rules: tables in, findings / clean / not checked / defects out. One crashing rule never hides the others."""

from __future__ import annotations

import errno
import gc
import os
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from analyzers.diagnosis.coverage import MISSING_LOG_TEXTS, NOT_SCANNED, because
from analyzers.diagnosis.findings import finding_of
from analyzers.diagnosis.frames import Chosen, Frames, Tables
from analyzers.report.finding import Defect, Finding, NotChecked
from analyzers.tables import TABLES
from analyzers.tables.arrow import arrow
from analyzers.tables.memory import gc_frozen

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from analyzers.vocabulary.rule import Rule

_OF_THE_HOST = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN}


@dataclass
class Outcome:
    """What all rules said, each list in no particular order."""

    findings: list[Finding] = field(default_factory=list)
    clean: list[str] = field(default_factory=list)
    not_checked: list[NotChecked] = field(default_factory=list)
    defects: list[Defect] = field(default_factory=list)
    ended: str | None = None  # why Spark was no more before all of them had judged

    def take_back(self, unjudged: Sequence[NotChecked]) -> None:
        """These rules found nothing, and had too little to look at for that to say that all is well."""
        codes = {each.code for each in unjudged}
        self.clean = [code for code in self.clean if code not in codes]
        self.not_checked += unjudged


def run_rules(
    rules: Iterable[Rule],
    tables: Tables,
    session: Callable[[], SparkSession],
    *,
    absent: Mapping[str, str] | None = None,
    thresholds: Mapping[str, Mapping[str, Any]] | None = None,
    ended: Callable[[], str | None] = lambda: None,
    untold: Mapping[str, str] = MISSING_LOG_TEXTS,
    threads: int = 2,  # Python builds one plan while the JVM works on the other; each more holds its rows and plans meanwhile
) -> Outcome:
    """Each of `rules` over `tables`; `session` is called only when some rule has rows to look at.

    `absent`: why a table is missing, for the words of *not checked*, `untold`: why one that is never empty is. `thresholds`: per code,
    values that replace a rule's own. `ended`: why Spark is no more; None while it is there. What it had not judged by then was not checked.
    """
    chosen = Chosen(tables)
    outcome, waiting = sort_out(rules, chosen, absent=absent, thresholds=thresholds, untold=untold)
    if waiting:
        frames = Frames(chosen, session)
        frames.expect(waiting)
        settle(outcome, waiting, *results_of(waiting, frames, session, thresholds=thresholds, ended=ended, threads=threads))
    return outcome


def sort_out(
    rules: Iterable[Rule],
    tables: Chosen,
    *,
    absent: Mapping[str, str] | None = None,
    thresholds: Mapping[str, Mapping[str, Any]] | None = None,
    untold: Mapping[str, str] = MISSING_LOG_TEXTS,
) -> tuple[Outcome, list[Rule]]:
    """What can be said without Spark, and the rules that have rows to look at."""
    outcome, waiting = Outcome(), []
    for each in rules:
        missing = [name for name in each.tables if name not in tables]
        if missing:
            outcome.not_checked.append(NotChecked(each.code, because(missing[0], absent or {})))
            continue
        empty = next((name for name in each.tables if name in untold and not tables.any(name)), None)
        if empty:
            outcome.not_checked.append(NotChecked(each.code, untold[empty]))
            continue
        if not tables.scanned_for(each.scanned):
            outcome.not_checked.append(NotChecked(each.code, NOT_SCANNED))
            continue
        if not can_find(each, tables, (thresholds or {}).get(each.code, {})):
            outcome.clean.append(each.code)
            continue
        waiting.append(each)
    return outcome, waiting


def results_of(
    waiting: Sequence[Rule],
    frames: Frames,
    session: Callable[[], SparkSession],
    *,
    thresholds: Mapping[str, Mapping[str, Any]] | None = None,
    ended: Callable[[], str | None] = lambda: None,
    threads: int = 2,
) -> tuple[dict[str, list[Finding] | Defect], str | None]:
    """What each of `waiting` says about its frames, by code; and why Spark was no more before all had judged."""
    results: dict[str, list[Finding] | Defect] = {}
    gone: str | None = None
    try:
        context = session().sparkContext  # a Spark that did not start is no defect of every rule

        def named() -> None:
            with suppress(Exception):  # a JVM that has gone is told by the first rule
                for form in ("short", "long"):  # else Spark walks the stack at each step of a plan, to say where it was asked for
                    context.setLocalProperty(f"callSite.{form}", "diag")

        with gc_frozen(), ThreadPoolExecutor(max_workers=threads, thread_name_prefix="rule", initializer=named) as pool:
            for each, judged in zip(waiting, pool.map(lambda each: _judge(each, frames, thresholds or {}), waiting), strict=True):
                results[each.code] = judged
    except Exception as error:
        if not (isinstance(error, ConnectionError) or type(error).__module__.startswith("py4j.")) or (why := ended()) is None:
            raise
        gone = why
    if gone is None and any(isinstance(result, Defect) for result in results.values()):
        gone = ended() or _refused_by_the_host(results.values())
    return results, gone


def _refused_by_the_host(results: Iterable[list[Finding] | Defect]) -> str | None:
    """What the host had no more of when a rule failed: room on a disk, files, memory. That is no defect of a rule."""
    for result in results:
        if isinstance(result, Defect) and result.errno is not None and result.errno in _OF_THE_HOST:
            return f"this host could not give what Spark needs: {os.strerror(result.errno)}"
    return None


def _errno(error: BaseException) -> int | None:
    """What the system answered, of `error` or of what it came of."""
    seen: list[BaseException] = []
    each: BaseException | None = error
    while each is not None and each not in seen:
        if isinstance(each, OSError) and each.errno is not None:
            return each.errno
        if isinstance(each, MemoryError):
            return errno.ENOMEM
        seen.append(each)
        each = each.__cause__ or each.__context__
    return None


def settle(outcome: Outcome, waiting: Iterable[Rule], results: Mapping[str, list[Finding] | Defect], ended: str | None = None) -> None:
    """Adds to `outcome` what the rules said that were `waiting`; `ended`: why Spark was no more."""
    outcome.ended = ended
    for each in waiting:
        result = results.get(each.code)
        if outcome.ended is not None and (result is None or isinstance(result, Defect)):
            outcome.not_checked.append(NotChecked(each.code, outcome.ended))
        elif isinstance(result, Defect):
            outcome.defects.append(result)
        elif result:
            outcome.findings.extend(result)
        else:
            outcome.clean.append(each.code)


def warm_up(session: SparkSession) -> None:
    """Do once what every rule does, on one row: the first query of a JVM loads more classes than all later ones together.

    To be called in a thread of its own while logs are read; rules that come meanwhile need not wait for it.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    from analyzers.vocabulary.findings import exemplars

    table = TABLES["log_events"]
    rows = session.createDataFrame(arrow(table, [table.row({"scope": "", "text": ""})])).coalesce(1)
    known = F.col("signature").isin("a", "b") | F.contains(F.coalesce("text", F.lit("")), F.lit("a"))
    numbered = rows.withColumn("nth", F.row_number().over(Window.partitionBy("scope", "job").orderBy("at", "file", "line"))).where(~known)
    per_job = numbered.groupBy("scope", "job").agg(F.count_if(known).alias("failures"), F.min("at").alias("since"), exemplars())
    said = F.when(F.col("failures") > 0, F.lit("a")).otherwise(F.regexp_extract("host", "a(b)", 1))
    per_scope = rows.groupBy("scope").agg(F.max(F.col("detail")["a"]).cast("long").alias("host"))
    per_job.join(per_scope, "scope", "left").withColumns({"reason": said}).drop("host").toArrow()


def can_find(rule: Rule, tables: Chosen, thresholds: Mapping[str, Any]) -> bool:
    """Whether `rule` could find anything in its rows of its first table; `thresholds` replace its own."""
    mine = tables.rows(rule, rule.tables[0])
    try:
        return bool(mine) and (rule.needs is None or rule.needs(mine, {**rule.thresholds, **thresholds}))
    except Exception:  # rows of a kind that its need has not seen: the rule itself then judges, or is the defect that is reported
        return True


def _judge(rule: Rule, frames: Frames, thresholds: Mapping[str, Mapping[str, Any]]) -> list[Finding] | Defect:
    try:
        arguments = [
            frames.of(rule, name) if frames.has(rule, name) or name in rule.emptied else None for name in (*rule.tables, *rule.optional)
        ]
        frame = rule.judge(*arguments, **dict(thresholds.get(rule.code, {})))
        return [finding_of(rule, row, frames.counts_cut_off(rule)) for row in frame.toArrow().to_pylist()]
    except Exception as error:  # a defect of ours must not silence the other rules; it is reported and decides the exit code
        first = str(error).splitlines()[0] if str(error) else ""
        return Defect(rule.code, f"{type(error).__name__}: {first}\n{traceback.format_exc()}", _errno(error))
    finally:
        frames.done(rule)
        gc.collect()  # frames are parts of cycles, and as long as they are there the JVM keeps their plans and rows (a third of its heap)
