"""The picture that a Flink JobManager gives of its jobs over REST, as evidence tables; and a second look at who is suspect in it.

Flink 1.9 to 2.3. Everything is a GET. The order is that of what judges most: graph and checkpoints first, the busy shares and metrics
last, because the JobManager fetches metrics only when asked and answers the first question with what it had before.
"""

from __future__ import annotations

import difflib
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any
from urllib.parse import quote

from analyzers.budget import BUDGET
from analyzers.derived.checkpoints.barrier_frontier import barrier_frontier
from analyzers.states import flink_rows as rows
from analyzers.states import flink_run_rows as run_rows
from analyzers.states.flink_rows import Look
from analyzers.tables import SOURCES, Row
from analyzers.tables.evidence import Evidence
from cli.collectors.flink_recording import open_recording
from cli.collectors.flink_shapes import misshapen
from cli.collectors.flink_transport import Answer, Rest, RestClient, RestLogin, parse_address
from cli.shell.exits import CannotLook, UsageError

FLINK_TABLES = (
    "jobs", "vertices", "subtasks", "checkpoints", "checkpoint_acks", "exceptions", "job_config", "metrics", "watermarks",
    "task_managers", "stack_samples",
)  # fmt: skip

_KEYS = {
    "jobs": ("job",), "vertices": ("vertex", "task"), "subtasks": ("vertex", "subtask"), "checkpoints": ("checkpoint",),
    "checkpoint_acks": ("checkpoint", "vertex", "subtask"), "metrics": ("subtask",), "watermarks": ("subtask",),
    "task_managers": ("resource",),
}  # fmt: skip
ENDED = ("FINISHED", "CANCELED", "FAILED")
_MOST_JOBS = BUDGET.jobs
_MOST_VERTICES = BUDGET.vertices
_MOST_DETAILED = 4
"""Checkpoints whose subtasks are asked for: those in progress, the newest failed, the newest that completed."""
_MOST_TASK_MANAGERS = BUDGET.task_managers
_MOST_SUSPECTS = 4
"""TaskManagers asked for a thread dump, which stops all threads of the worker for a moment."""
_IDS_AT_ONCE = 40
_LONGEST_QUERY = 3_500
"""Flink's REST server takes lines of 4,096 bytes (Netty's default)."""
_SETTLE_SECONDS = 1.5
"""How long the JobManager is given to fetch metrics from the TaskManagers after the first question for them."""


def flink_collector(
    address: str, *, job: Sequence[str] = (), login: RestLogin | None = None, timeout_seconds: float = 20.0
) -> Callable[[], Evidence]:
    """A function that looks at the JobManager (or the recording) at `address`; raises `UsageError` at once for what cannot be understood.

    The function raises `CannotLook` when it does not answer as Flink does, `UsageError` for a job that it does not know.
    """
    if "://" not in address and Path(address).is_dir():
        return lambda: collect_recorded(Path(address), job=job)
    where = parse_address(address)
    proof = login or RestLogin()

    def look() -> Evidence:
        with ExitStack() as stack:
            client = stack.enter_context(RestClient(where, proof, timeout_seconds, min(10.0, timeout_seconds)))
            return _Picture(client, wanted=tuple(job), settle_seconds=min(_SETTLE_SECONDS, timeout_seconds / 4)).taken()

    return look


def collect_recorded(directory: Path, *, job: Sequence[str] = ()) -> Evidence:
    """The tables of recorded answers; the same files give the same rows. Raises as the function of `flink_collector`."""
    recording = open_recording(directory)
    return _Picture(recording, wanted=tuple(job), now=recording.captured_at, settle_seconds=0.0).taken()


@dataclass
class _Picture:
    """One look: answers in, rows out. `problems` are for the row of ``sources``."""

    rest: Rest
    wanted: tuple[str, ...] = ()
    settle_seconds: float = _SETTLE_SECONDS
    now: datetime = field(default_factory=lambda: datetime.now(timezone.utc))
    tables: dict[str, list[Row]] = field(default_factory=lambda: {name: [] for name in FLINK_TABLES}, init=False)
    problems: dict[str, list[str]] = field(default_factory=dict, init=False)
    notes: list[str] = field(default_factory=list, init=False)
    look: Look = field(init=False)

    def __post_init__(self) -> None:
        self.look = Look(rows._milliseconds(self.now))

    def taken(self) -> Evidence:
        first = self.rest.ask(["/jobs/overview", "/overview", "/taskmanagers", "/jobmanager/config"])
        listed = listed_jobs(first["/jobs/overview"], self.rest.name)
        version = rows.text(rows.member(first["/overview"].body).get("flink-version"))
        self._note(first.values())
        jobs = self._chosen(listed)
        known = self._jobs(listed, jobs, version)
        self._add("job_config", rows.config_rows(self.look, None, "cluster", first["/jobmanager/config"].body))
        warm_at = time.monotonic()
        checkpoints = self._graphs(known)
        self._settle(warm_at)
        self._time_use(known)
        self._task_managers(first["/taskmanagers"])
        self._metrics()
        self._acks(checkpoints)
        self._second_look()
        return Evidence({**self.tables, "sources": [self._source()]}, self.notes)

    # which jobs ------------------------------------------------------------------------------------------------------------

    def _chosen(self, listed: Sequence[Mapping[str, Any]]) -> list[str]:
        """Ids of the jobs to look at: those asked for, else all that live, else the one that ended last."""
        if self.wanted:
            return [named_job(name, listed, self.rest.name) for name in self.wanted]
        newest = sorted(listed, key=lambda j: (-(rows.whole(j.get("last-modification")) or 0), str(j.get("jid"))))
        alive = [str(j["jid"]) for j in newest if j.get("jid") and j.get("state") not in ENDED]
        if len(alive) > _MOST_JOBS:
            self.notes.append(f"{len(alive)} jobs run; the {_MOST_JOBS} that changed last were looked at: name others with --job")
        return alive[:_MOST_JOBS] or [str(j["jid"]) for j in newest[:1] if j.get("jid")]

    # the parts of the picture ----------------------------------------------------------------------------------------------

    def _jobs(self, listed: Sequence[Mapping[str, Any]], chosen: Sequence[str], version: str | None) -> dict[str, dict[str, Answer]]:
        parts = ("", "/checkpoints", "/checkpoints/config", "/exceptions?maxExceptions=50", "/config")
        answers = self.rest.ask([f"/jobs/{job}{part}" for job in chosen for part in parts])
        self._note(answers.values())
        known = {job: {part.partition("?")[0]: answers[f"/jobs/{job}{part}"] for part in parts} for job in chosen}
        for told in known.values():
            clock = rows.moment(rows.member(told[""].body).get("now"))
            if clock is not None:
                self.look = Look(self.look.as_of, clock - told[""].at)
        for item in listed:
            told = known.get(str(item.get("jid")), {})
            job, series = (rows.member(told[part].body) if part in told else {} for part in ("", "/checkpoints"))
            at = told[""].at if told else self.now
            self._add("jobs", [rows.job_row(self.look, item, job, series, version, at)])
        for job_id, told in known.items():
            self._add("exceptions", rows.exception_rows(self.look, job_id, rows.member(told["/exceptions"].body)))
            for source, part in (("checkpoints", "/checkpoints/config"), ("job", "/config")):
                if told[part].ok:
                    self._add("job_config", rows.config_rows(self.look, job_id, source, told[part].body))
            self._history(job_id, told["/checkpoints"])
        return known

    def _history(self, job: str, told: Answer) -> None:
        latest = rows.member(told.body, "latest")
        items = {rows.whole(i.get("id")): i for i in (latest.get("completed"), latest.get("failed")) if isinstance(i, Mapping)}
        items |= {rows.whole(i.get("id")): i for i in rows.objects(told.body, "history")}
        for _, item in sorted((n, i) for n, i in items.items() if n is not None):
            self._add("checkpoints", [rows.checkpoint_row(self.look, job, item, told.at)])

    def _graphs(self, known: Mapping[str, Mapping[str, Answer]]) -> list[tuple[str, int]]:
        """Vertices of each job; the JobManager begins to fetch their metrics. The answer is which checkpoints to look into."""
        for job, told in known.items():
            body = rows.member(told[""].body)
            self._add("vertices", rows.vertex_rows(self.look, {**body, "jid": job}, rows.member(body, "plan"), told[""].at))
        self.rest.ask([f"{self._at(vertex)}/metrics" for vertex in self._vertices()[:_MOST_JOBS]])  # one per job would do
        return [(job, n) for job in known for n in self._telling(job)]

    def _telling(self, job: str) -> list[int]:
        """Checkpoints that tell who does not answer, those that tell most first."""
        own = sorted((r for r in self.tables["checkpoints"] if r["job"] == job), key=lambda r: -r["checkpoint"])
        open_ones = [r["checkpoint"] for r in own if r["status"] == "IN_PROGRESS"]
        failed = [r["checkpoint"] for r in own if r["status"] == "FAILED"]
        done = [r["checkpoint"] for r in own if r["status"] == "COMPLETED"]
        telling = [*open_ones[-1:], *open_ones[:1], *failed[:1], *done[:1], *failed[1:2]]  # the oldest that is open is the one that is held
        return list(dict.fromkeys(telling))[:_MOST_DETAILED]

    def _settle(self, warm_at: float) -> None:
        wait = self.settle_seconds - (time.monotonic() - warm_at)
        if wait > 0 and self.tables["vertices"]:
            time.sleep(wait)

    def _time_use(self, known: Mapping[str, object]) -> None:
        vertices = self._vertices()
        if len(vertices) < len(self.tables["vertices"]):
            self.notes.append(f"only the first {_MOST_VERTICES} of {len(self.tables['vertices'])} vertices were looked into")
        answers = self.rest.ask([f"{self._at(v)}{part}" for v in vertices for part in ("", "/backpressure", "/watermarks")])
        if any(rows.member(answers[f"{self._at(v)}/backpressure"].body).get("status") == "deprecated" for v in vertices):
            time.sleep(self.settle_seconds)  # until 1.12 the first question starts a sampling
            answers |= self.rest.ask([f"{self._at(v)}/backpressure" for v in vertices])
        self._note(answers.values())
        for vertex in vertices:
            told, pressure, marks = (answers[self._at(vertex) + part] for part in ("", "/backpressure", "/watermarks"))
            body = {**rows.member(told.body), "id": vertex["vertex"], "task": vertex["task"], "name": vertex["task"]}
            self._add("subtasks", rows.subtask_rows(self.look, vertex["job"], body, rows.member(pressure.body), told.at))
            self._add("watermarks", run_rows.watermark_rows(self.look, vertex["job"], vertex, marks.body, marks.at))

    def _task_managers(self, told: Answer) -> None:
        listed = [tm for tm in rows.objects(told.body, "taskmanagers") if rows.text(tm.get("id"))]
        paths = {str(tm["id"]): f"/taskmanagers/{quote(str(tm['id']), safe='')}" for tm in listed}
        answers = self.rest.ask(list(paths.values())[:_MOST_TASK_MANAGERS])
        for tm in listed:
            own = answers.get(paths[str(tm["id"])])
            at = own.at if own is not None else told.at
            self._add("task_managers", [run_rows.task_manager_row(self.look, tm, rows.member(own.body) if own is not None else {}, at)])

    def _metrics(self) -> None:
        vertices = self._vertices()
        listed = self.rest.ask([f"{self._at(v)}/metrics" for v in vertices])
        queries: dict[str, Row] = {}
        for vertex in vertices:
            where = f"{self._at(vertex)}/metrics"
            for ids in _portions(run_rows.metric_ids(listed[where].body)):
                queries[f"{where}?get={ids}"] = vertex
        answers = self.rest.ask(list(queries))
        self._note([*listed.values(), *answers.values()])
        for path, vertex in queries.items():
            self._add("metrics", run_rows.metric_rows(self.look, vertex["job"], vertex, answers[path].body, answers[path].at))

    def _acks(self, wanted: Sequence[tuple[str, int]]) -> None:
        """Acknowledgements; a checkpoint that ended or was evicted since the history was read keeps what is known of it."""
        heads = self.rest.ask([_details(job, number) for job, number in wanted])
        paths: dict[str, tuple[str, int, Row]] = {}
        for job, number in wanted:
            head = heads[_details(job, number)]
            if head.ok:
                self._renew(job, number, head)
            vertices = [v for v in self._vertices() if v["job"] == job]
            paths.update({f"{_details(job, number)}/subtasks/{v['vertex']}": (job, number, v) for v in vertices})
        answers = self.rest.ask(list(paths))
        self._note([*heads.values(), *answers.values()])
        for path, (job, number, vertex) in paths.items():
            told = answers[path]
            self._add("checkpoint_acks", rows.ack_rows(self.look, job, number, vertex, rows.member(told.body), told.at))

    def _renew(self, job: str, number: int, head: Answer) -> None:
        """The details are younger than the history."""
        own = self.tables["checkpoints"]
        fresh = rows.checkpoint_row(self.look, job, rows.member(head.body), head.at)
        if fresh["checkpoint"] == number and fresh["status"]:
            own[:] = [fresh if (r["job"], r["checkpoint"]) == (job, number) else r for r in own]

    def _second_look(self) -> None:
        """Thread dumps of the workers of those that the first picture makes suspects."""
        suspects: dict[tuple[str, str], set[tuple[str, int]]] = {}
        for row in barrier_frontier(self.tables):
            if row["role"] == "victim" or not row["resource"]:
                continue
            key = (row["job"], row["resource"])
            if key in suspects or len(suspects) < _MOST_SUSPECTS:
                suspects.setdefault(key, set()).add((row["task"], row["subtask"]))
        paths = {key: f"/taskmanagers/{quote(key[1], safe='')}/thread-dump" for key in suspects}
        answers = self.rest.ask(list(paths.values()))
        for (job, resource), path in paths.items():
            told = answers[path]
            if not told.ok and told.status != 404:
                self.problems.setdefault(str(told.why), []).append("a thread dump")
            self._add(
                "stack_samples", run_rows.stack_rows(self.look, job, resource, suspects[job, resource], rows.member(told.body), told.at)
            )

    # bookkeeping -----------------------------------------------------------------------------------------------------------

    def _add(self, table: str, found: Iterable[Row]) -> None:
        """Keep rows that say what they are about."""
        self.tables[table] += [row for row in found if all(row[key] is not None for key in _KEYS.get(table, ()))]

    def _vertices(self) -> list[Row]:
        return self.tables["vertices"][:_MOST_VERTICES]

    def _at(self, vertex: Row) -> str:
        return f"/jobs/{vertex['job']}/vertices/{vertex['vertex']}"

    def _note(self, answers: Iterable[Answer]) -> None:
        """Remember what could not be had; a 404 is another version, or something that is gone."""
        for answer in answers:
            why = misshapen(answer.path, answer.body) if answer.ok else str(answer.why) if answer.status != 404 else None
            if why:
                self.problems.setdefault(why, []).append(answer.path.partition("?")[0])

    def _source(self) -> Row:
        said = [f"{paths[0]}{f' and {len(paths) - 1} more' if len(paths) > 1 else ''}: {why}" for why, paths in self.problems.items()]
        state = "partial" if said else "ok"
        values = {"name": self.rest.name, "kind": "flink-rest", "state": state, "why": "; ".join(said[:5]) or None}
        return SOURCES.row({"scope": "", "as_of": self.look.as_of, **values})


def listed_jobs(overview: Answer, where: str) -> list[Mapping[str, Any]]:
    """The jobs that ``/jobs/overview`` of `where` lists. Raises `CannotLook` where it cannot be asked, or is not Flink."""
    if not overview.ok or not isinstance(overview.body, Mapping) or "jobs" not in overview.body:
        raise CannotLook(
            f"Flink's REST interface at {where} cannot be asked: {overview.why or 'what answers there is not Flink'}.",
            "Give the address of the JobManager's web UI: --flink-rest http://HOST:8081.",
        )
    return rows.objects(overview.body, "jobs")


def named_job(name: str, listed: Sequence[Mapping[str, Any]], where: str) -> str:
    """The job whose id, name or unique start of an id `name` is; of a name used again the one that lives, else the newest.

    `listed` is what `where` answers as its jobs. Raises `UsageError` where none of them is meant.
    """
    exact = [j for j in listed if name in (j.get("jid"), j.get("name"))]
    found = exact or [j for j in listed if len(name) >= 4 and str(j.get("jid")).startswith(name.lower())]
    if not exact and len(found) > 1:
        raise UsageError(f"--job {name}: {len(found)} jobs have ids that begin so.", "Give more of the id.")
    if not found:
        names = sorted({str(j.get("name")) for j in listed} | {str(j.get("jid")) for j in listed})
        near = difflib.get_close_matches(name, names, n=3, cutoff=0.4)
        raise UsageError(
            f"the JobManager at {where} knows no job {name}.",
            f"Did you mean {' or '.join(near)}?" if near else f"It knows {', '.join(names[:6]) or 'none'}.",
        )
    best = max(found, key=lambda j: (j.get("state") not in ENDED, rows.whole(j.get("start-time")) or 0))
    return str(best["jid"])


def _details(job: str, checkpoint: int) -> str:
    return f"/jobs/{job}/checkpoints/details/{checkpoint}"


def _portions(ids: Sequence[str]) -> Iterable[str]:
    """`ids` as values of ``get=``, none too long for Flink's server."""
    portion: list[str] = []
    size = 0
    for name in ids:
        quoted = quote(name, safe="")
        if portion and (len(portion) == _IDS_AT_ONCE or size + len(quoted) > _LONGEST_QUERY):
            yield ",".join(portion)
            portion, size = [], 0
        portion.append(quoted)
        size += len(quoted) + 1
    if portion:
        yield ",".join(portion)
