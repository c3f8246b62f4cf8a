"""From evidence tables to a report: derive, run the rules, weigh the findings. The one path of live runs, bundles, tests and the fleet."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from types import ModuleType
from typing import TYPE_CHECKING, Any

from analyzers.derived import derive
from analyzers.derived.failures.rest_faults import forgotten
from analyzers.diagnosis.blind_spots import starts_before, unseen, untold_errors
from analyzers.diagnosis.coverage import recognised, unshown
from analyzers.diagnosis.network_views import weigh_disagreement
from analyzers.diagnosis.next_commands import addressed, completed
from analyzers.diagnosis.recovered import weigh_passed
from analyzers.diagnosis.run_rules import UNTOLD, run_rules
from analyzers.diagnosis.too_short import too_short
from analyzers.diagnosis.verdicts import verdicts_of
from analyzers.logs.layouts.timestamps import to_ms
from analyzers.report.finding import STAGES, Finding, NotChecked
from analyzers.report.report import Report, Source
from analyzers.tables import Row, Table, checkpoints, flink, kafka, logs
from analyzers.tables.by_column import ByColumn
from analyzers.tables.memory import uncollected
from analyzers.vocabulary.rule import Rule, load_rules

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def _of(module: ModuleType) -> list[str]:
    return [table.name for table in vars(module).values() if isinstance(table, Table)]


_FOREIGN = "no line was recognised as one of Flink, Kafka, Beam or Spark"
_LOGGED = frozenset(_of(logs))
_STREAMING = ("batches", "batch_offsets", "state_store_files", "query_leftovers")

ABSENT: Mapping[str, str] = {
    **dict.fromkeys(_of(logs), "no logs were given"),
    **dict.fromkeys(_of(kafka), "no broker was asked (--bootstrap-server)"),
    **dict.fromkeys(("records", "suspect_windows"), "no records were looked at (diag lag-report --peek)"),
    **dict.fromkeys(_of(flink), "no JobManager was asked (--flink-rest)"),
    **dict.fromkeys(_of(checkpoints), "no checkpoint directory was read"),
    **dict.fromkeys(_STREAMING, "no Structured Streaming checkpoint was read"),
}
"""Why a table is missing, in the words of *not checked*."""


_OF_KIND: Mapping[str, Sequence[str]] = {"kafka": _of(kafka), "flink-rest": _of(flink), "checkpoint": _of(checkpoints)}
"""The tables that a source of each kind would have filled."""

_UNLISTED = {"state_files": "nobody looked for the state files of a checkpoint (diag checkpoint-inspect)"}

_UNMEASURED = {
    "watermark_holders": "the JobManager's answers hold no watermark of a source",
    "bottlenecks": "the JobManager's answers hold no busy or back-pressured share",
}
"""Why these are missing where a JobManager did answer."""

_GOES_ON = timedelta(minutes=14)
"""Logs may go on after the last answer of a JobManager was saved. By more than this their clock may be another: zones differ by 15 min."""

_LIVE = ("bootstrap_servers", "groups", "jobs")
"""Tables that only a system that was asked can give: their moment is the report's."""


def judge(
    tables: Mapping[str, Sequence[Row]],
    session: Callable[[], SparkSession],
    *,
    command: str,
    version: str,
    runs: Callable[[str], bool] = lambda code: True,
    keeps: Callable[[Finding], bool] = lambda finding: True,
    since: datetime | timedelta | None = None,
    until: datetime | timedelta | None = None,
    thresholds: Mapping[str, Mapping[str, Any]] | None = None,
    absent: Mapping[str, str] | None = None,
    notes: Iterable[str] = (),
    rules: Iterable[Rule] | None = None,
    ended: Callable[[], str | None] = lambda: None,
    own: bool = False,
) -> Report:
    """Judge `tables` (evidence tables by name). `session` is asked for a Spark session only if a rule has rows to look at.

    `runs` and `keeps` choose rules by code and findings; `since` / `until` are times, or ages counted back from the newest evidence.
    `ended` tells why Spark is no more, None while it is there. `own`: rows of log events may be changed, not copied.

    Raises nothing of a rule's own: a crashing rule becomes a defect of the report.
    """
    logged, stated = _newest(tables)
    newest = max((logged or stated).values(), default=None)
    from_, to = _moment(since, newest), _moment(until, newest)
    with uncollected():
        evidence = _within(tables, from_, to)
        logged = _newest(evidence)[0]  # what is later than --until is not known to anybody here
        for name, rows in evidence.items():
            # logs end when their last line was written, however much later a broker was asked or a checkpoint was copied
            clock = {**stated, **logged} if name.startswith("log_") else {**logged, **stated}
            for row in rows if not isinstance(rows, ByColumn) else ():  # dated, or it would have been copied
                if not row["as_of"]:
                    row["as_of"] = clock.get(row["scope"])
        whole = derive(evidence, own=own)
        if from_ is not None and evidence.get("log_events"):
            _number_from_the_start(whole, tables["log_events"])
    judged = load_rules() if rules is None else list(rules)
    outcome = run_rules(
        [r for r in judged if runs(r.code)],
        whole,
        session,
        absent={
            **ABSENT,
            **(_UNLISTED if "checkpoint_files" in evidence else {}),
            **(_UNMEASURED if evidence.get("vertices") else {}),
            **_unread(evidence),
            **(absent or {}),
        },
        thresholds=thresholds,
        ended=ended,
        untold={**UNTOLD, **_no_topic(evidence)},
    )
    if _unrecognised(whole):  # whatever these lines are, they are no evidence that a job is well
        foreign = {r.code for r in judged if {*r.tables} <= _LOGGED and r.code in outcome.clean}
        outcome.take_back([NotChecked(code, _FOREIGN) for code in sorted(foreign)])
    outcome.take_back(unshown([r for r in judged if {*r.tables} <= _LOGGED and r.code in outcome.clean], whole))
    outcome.take_back(too_short(outcome.clean, whole))
    findings = sorted((f for f in weigh_passed(weigh_disagreement(outcome.findings), whole, logged) if keeps(f)), key=_finding_order)
    verdicts = verdicts_of(findings, whole)
    known = max((logged or stated).values(), default=None)
    as_of = max((row["as_of"] for name in _LIVE for row in tables.get(name, ()) if row["as_of"]), default=known)
    if known is not None and as_of is not None and as_of < known <= as_of + _GOES_ON:
        as_of = known
    first = min((e["at"] for e in evidence.get("log_events", ()) if e["at"]), default=None)
    return Report(
        tool="diag",
        version=version,
        command=command,
        as_of=as_of,
        window=(from_ or first, to or as_of),
        sources=_sources(evidence) + ([Source("Spark", "spark", "failed", outcome.ended)] if outcome.ended is not None else []),
        verdicts=verdicts,
        findings=[
            replace(
                f,
                fix=addressed(f.fix, f, whole),
                detail={**f.detail, "next_command": completed(f.detail.get("next_command"), f, whole)},
            )
            for f in findings
        ],
        clean=sorted(outcome.clean),
        not_checked=sorted(outcome.not_checked, key=lambda n: n.code),
        defects=sorted(outcome.defects, key=lambda d: d.code),
        notes=[
            *notes,
            *forgotten(whole),
            *_planned(whole.get("attempts", ())),
            *([] if findings else [*_strange(whole), *untold_errors(whole)]),
        ],
        looked_at=looked_at(whole),
        job_names={row["job"]: row["name"] for name in ("jobs_seen", "jobs") for row in whole.get(name, ()) if row["job"] and row["name"]},
        unseen=[] if verdicts else [*unseen(whole), *starts_before(from_, tables)],
    )


def _unread(tables: Mapping[str, Sequence[Row]]) -> dict[str, str]:
    """Why tables are missing whose source was asked for and could not be read."""
    told: dict[str, str] = {}
    if any(row["kind"] == "kafka" and row["state"] != "failed" for row in tables.get("sources", ())):
        told |= dict.fromkeys((*_of(kafka), "lag_status", "lag_truth"), "the brokers were not asked for this")
        told |= {name: ABSENT[name] for name in ("records", "suspect_windows")}
    for row in tables.get("sources", ()):
        if row["state"] == "failed" and row["kind"] in _OF_KIND:
            why = str(row["why"] or f"{row['name']} could not be read")
            told |= dict.fromkeys(_OF_KIND[row["kind"]], why.split(". ")[0].rstrip("."))  # what to try stands among the sources
    return told


def _no_topic(tables: Mapping[str, Sequence[Row]]) -> dict[str, str]:
    """Why no partition is there although a broker was asked for some."""
    rows = [row for row in tables.get("sources", ()) if row["kind"] == "kafka" and row["name"].startswith("topics")]
    if not rows:
        return {}
    told = sorted({str(row["why"]) for row in rows if row["why"]})
    return {"partitions": "; ".join(told) or "the brokers have none of the topics that they were asked for"}


def _moment(when: datetime | timedelta | None, as_of: datetime | None) -> datetime | None:
    if isinstance(when, timedelta):
        return as_of - when if as_of else None
    return when


def _within(tables: Mapping[str, Sequence[Row]], since: datetime | None, until: datetime | None) -> dict[str, Sequence[Row]]:
    """Copies of the rows that may be changed; log events without a time stay, as nobody can say that they are outside. What is held by
    column, and stays as it is, is not copied."""
    bounded = since is not None or until is not None
    out: dict[str, Sequence[Row]] = {}
    for name, rows in tables.items():
        if isinstance(rows, ByColumn) and rows.is_dated:  # counts
            out[name] = _counted_within(rows, since, until) if bounded else rows
        elif name == "log_events":
            # many, and nobody changes them but for the moment of collection (and `derived.failures.jobs`, where they are not copied)
            out[name] = [
                row if row["as_of"] and until is None else dict(row) for row in rows if _overlaps(row["at"], row["at"], since, until)
            ]
        elif name == "log_counts":
            out[name] = [dict(row) for row in rows if _overlaps(row["first_at"], row["last_at"], since, until)]
        else:
            out[name] = [dict(row) for row in rows]
    for name in ("log_files", "log_counts") if bounded else ():
        rows = out.get(name, ())
        for row in rows if not isinstance(rows, ByColumn) else ():
            _clip(row, since, until)
    for name, rows in out.items() if until is not None else ():
        # what was read later is not known to anybody here
        for row in rows if name.startswith("log_") and not isinstance(rows, ByColumn) else ():
            row["as_of"] = row["as_of"] and min(row["as_of"], until)
    return out


def _counted_within(rows: ByColumn, since: datetime | None, until: datetime | None) -> ByColumn:
    """Those of `rows` that lie in the window, with the spans that they have in it: too many, of long logs, to make dicts of them."""
    spans = zip(rows.column("first_at"), rows.column("last_at"), strict=True)
    picked = rows.pick([at for at, (first, last) in enumerate(spans) if _overlaps(first, last, since, until)])
    picked.bounded("first_at", least=to_ms(since))
    picked.bounded("last_at", most=to_ms(until))
    if until is not None and picked:
        picked.same("as_of", min(picked[0]["as_of"], until))
    return picked


def _overlaps(first: datetime | None, last: datetime | None, since: datetime | None, until: datetime | None) -> bool:
    """Whether a span has a part of the window; of one without times nobody can say that it has not."""
    return (since is None or last is None or last >= since) and (until is None or first is None or first <= until)


def _clip(row: Row, since: datetime | None, until: datetime | None) -> None:
    """Let the span of `row`, in place, begin and end with the window."""
    if row["first_at"] is not None and since is not None:
        row["first_at"] = max(row["first_at"], since)
    if row["last_at"] is not None and until is not None:
        row["last_at"] = min(row["last_at"], until)


def _number_from_the_start(window: Mapping[str, Sequence[Row]], events: Sequence[Row]) -> None:
    """Count attempts, in place, as the whole evidence does: ``--since`` must not make the fortieth attempt the first."""
    from analyzers.derived.failures.attempts import attempts_of
    from analyzers.derived.failures.engines import spoken_by_engines
    from analyzers.derived.failures.jobs import with_jobs

    def key(row: Row) -> tuple[object, ...]:
        return (row["scope"], row["job"], row["ended_at"] or row["started_at"])

    numbers = {key(row): row["attempt"] for row in attempts_of(with_jobs(spoken_by_engines(events)))}
    shifts: dict[tuple[str, str | None], int] = {}
    for row in window.get("attempts", ()):
        if row["ended_at"] or row["started_at"]:
            shifts.setdefault((row["scope"], row["job"]), numbers.get(key(row), row["attempt"]) - row["attempt"])
    for name in ("attempts", "faults", "split_claims"):
        for row in window.get(name, ()):
            if row["attempt"] is not None:
                row["attempt"] += shifts.get((row["scope"], row["job"]), 0)


def _newest(tables: Mapping[str, Sequence[Row]]) -> tuple[dict[str, datetime], dict[str, datetime]]:
    """Per scope: the newest event of the logs, and the stated moment of collection of everything else (never the wall clock)."""
    stated: dict[str, datetime] = {}
    seen: dict[str, datetime] = {}
    for name, rows in tables.items():
        times, column = (
            (seen, {"log_files": "last_at", "log_events": "at"}.get(name, "as_of")) if name.startswith("log_") else (stated, "as_of")
        )
        for row in rows:
            at = row.get(column)
            if at is not None and (row["scope"] not in times or at > times[row["scope"]]):
                times[row["scope"]] = at
    return seen, stated


def _finding_order(f: Finding) -> tuple[object, ...]:
    return (-f.severity.rank, f.code, f.job or "", sorted((k, str(v)) for k, v in f.subject.items()), STAGES.index(f.stage), f.scope)


def _sources(tables: Mapping[str, Sequence[Row]]) -> list[Source]:
    rows = sorted(tables.get("sources", ()), key=lambda r: (r["kind"] or "", r["name"] or ""))
    return [Source(r["name"], r["kind"], r["state"], r["why"]) for r in rows]


def _planned(attempts: Sequence[Row]) -> list[str]:
    """A sentence per job whose stops or restarts somebody ordered."""
    out: dict[tuple[str, str], int] = {}
    for a in attempts:
        if a["ended"] == "planned":
            key = (a["job"], a["planned_because"] or "ordered")
            out[key] = out.get(key, 0) + 1
    return [f"planned: job {job} was stopped or restarted {n}× on purpose ({why})" for (job, why), n in sorted(out.items())]


def _strange(tables: Mapping[str, Sequence[Row]]) -> list[str]:
    """An all-clear over lines that nobody recognised says little, and has to say so."""
    return [f"{_FOREIGN}: that nothing was found says little"] if _unrecognised(tables) else []


def _unrecognised(tables: Mapping[str, Sequence[Row]]) -> bool:
    """Whether the logs are no job's at all: no line and no file was recognised (a quiet stretch of a TaskManager's log is still one)."""
    files = tables.get("log_files", ())
    return bool(files) and not any(file["role"] for file in files) and not recognised(tables)


def looked_at(tables: Mapping[str, Sequence[Row]]) -> str:
    """What there was to look at, counted."""
    parts = []
    files = tables.get("log_files")
    if files is not None:
        parts.append(f"{len(files):,} log file{'s' * (len(files) != 1)}, {sum(f['lines'] or 0 for f in files):,} lines")
    jobs = tables.get("jobs_seen")
    if jobs:
        parts.append(f"{len(jobs)} job{'s' * (len(jobs) != 1)}")
    asked = {(row["scope"], row["job"]) for row in tables.get("vertices", ())}
    if asked:
        parts.append(f"the JobManager's view of {len(asked)} job{'s' * (len(asked) != 1)}")
    for name, one, many in (
        ("bootstrap_servers", "bootstrap entry", "bootstrap entries"),
        ("partitions", "partition", "partitions"),
        ("groups", "group", "groups"),
        ("checkpoint_files", "checkpoint", "checkpoints"),
        ("batches", "batch", "batches"),
    ):
        if rows := tables.get(name):
            parts.append(f"{len(rows)} {one if len(rows) == 1 else many}")
    return ", ".join(parts)
