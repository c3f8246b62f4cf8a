"""Which job of a session cluster a line of its sources belongs to: these lines name a source, a group or a topic, never a job.

Ties, each only where one job is left: the source's name (the vertex of that name is known by its execution id) and who was alive then;
the start of a job, which stands around that of its sources; the consumer group, whose enumerator starts right behind its source; the
subtask that was being deployed when a reader registered, and the reader that had just registered when splits were dealt to it. A topic
tells last, where every other job is known to read others.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from analyzers.tables import Row

_NAMES_SOURCE = frozenset(
    ("enumerator-started", "enumerator-restored", "source-subtask-recovered", "reader-registered", "reader-removed", "splits-returned")
)
_SPLITS = ("splits-assigned", "splits-added")
_FRAMES = frozenset(("job-starting", "job-state"))
_TASKS = frozenset(("task-transition", "task-failed"))
_LINES = _NAMES_SOURCE | _FRAMES | _TASKS | {"splits-assigned", "kafka-enumerator-started"}
_BORN = frozenset(("job-received", "job-starting", "execution-graph-created"))
_ENDED = frozenset(("FINISHED", "CANCELED", "FAILED"))
_OPENING = frozenset(("DEPLOYING", "INITIALIZING"))  # a reader registers when its operator opens, before the task is RUNNING (1.14+)
_CLOSING = timedelta(seconds=10)  # a coordinator closes behind the job's last switch
_GROUP_BEHIND = timedelta(seconds=60)  # SourceCoordinator logs, loads the admin client (20 s on a busy host), the enumerator logs
_DEALT_BEHIND = timedelta(seconds=1)  # addReader deals on the thread that registered the reader
_DEALT_TO = re.compile(r"[{ ](\d+)=\[\[")
_TOPICS = re.compile(r"\[Partition: (.+?)-\d+, ")

Jobs = frozenset[str]


def by_the_source(rows: Sequence[Row]) -> None:
    """Fill in ``job`` of the lines of sources among `rows`, all of one scope with several jobs."""
    known = _Known(rows)
    for file, lines in known.files.items():
        lines.sort(key=lambda row: row["line"])
        _by_name(lines, known, known.jobs_of[file])
        _by_the_registered_reader(lines, known, known.jobs_of[file])
    groups = _groups(rows)
    for row in rows:
        if row["job"] is None and row["group"] in groups:
            row["job"] = groups[row["group"]]
    for signature in _SPLITS:
        _by_topic(rows, signature, known)


class _Known:
    """What lines with an id tell: the vertices of each job, its life, the files that name it; `may_be` is what other lines leave open."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self.jobs_of: dict[str, Jobs] = defaultdict(frozenset)
        self.files: dict[str, list[Row]] = defaultdict(list)
        self.may_be: dict[int, Jobs] = {}
        self._tasks: dict[str, set[str]] = defaultdict(set)
        self._born: dict[str, datetime] = {}
        self._ended: dict[str, datetime] = {}
        self._named: dict[str, Jobs] = {}
        named: dict[str, set[str]] = defaultdict(set)
        for row in rows:
            if row["job"]:
                named[row["file"]].add(row["job"])
                self._note(row["job"], row)
        self.jobs: Jobs = frozenset[str]().union(*named.values())
        silent = {row["file"] for row in rows if row["job"] is None and row["signature"] in _LINES - _TASKS}
        for row in rows:
            if row["file"] in silent and row["signature"] in _LINES:
                self.files[row["file"]].append(row)
        self.jobs_of.update({file: frozenset(jobs) for file, jobs in named.items()})

    def _note(self, job: str, row: Row) -> None:
        if row["execution"] and row["task"]:
            self._tasks[job].add(row["task"])
        if row["at"] is None or row["role"] != "jobmanager":
            return  # another clock
        if row["signature"] in _BORN:
            self._born[job] = min(row["at"], self._born.get(job, row["at"]))
        elif row["signature"] in ("job-state", "job-terminal") and row["to_state"] in _ENDED:
            self._ended[job] = max(row["at"], self._ended.get(job, row["at"]))

    def with_source(self, source: str) -> Jobs:
        """The jobs that can have `source`: those with a vertex of that name, or whose vertices no line shows."""
        if source not in self._named:
            vertex = vertex_of(source)
            self._named[source] = frozenset(
                job for job in self.jobs if job not in self._tasks or any(vertex.search(task) for task in self._tasks[job])
            )
        return self._named[source]

    def alive(self, jobs: Jobs, at: datetime | None) -> Jobs:
        if at is None:
            return jobs
        return frozenset(job for job in jobs if self._born.get(job, at) <= at <= self._ended.get(job, at) + _CLOSING)


def vertex_of(source: str) -> re.Pattern[str]:
    """What the name of a vertex with `source` in it looks like: alone, the head of a chain, or one of several in brackets."""
    return re.compile(rf"(?:^|[\[(,] ?){re.escape(source)}(?: ->|[\]),]|$)")


def _by_name(lines: Sequence[Row], known: _Known, of_file: Jobs) -> None:
    newest: dict[str, dict[tuple[str, int], Row]] = defaultdict(dict)
    begun = _begun(lines)
    unanswered: list[Row] = []
    for place, row in enumerate(lines):
        signature = row["signature"]
        if signature in _TASKS and row["job"] and row["task"] and row["subtask"] is not None:
            newest[row["job"]][row["task"], row["subtask"]] = row
        elif signature in _NAMES_SOURCE and row["task"]:
            if row["job"] is None:
                jobs = known.alive(known.with_source(row["task"]) & of_file, row["at"])
                if len(jobs) > 1 and signature == "enumerator-started":
                    jobs = _started_around(lines, place, jobs)
                if len(jobs) > 1 and signature == "reader-registered":
                    jobs = frozenset(
                        job for job in jobs if begun.get(job, row["line"]) <= row["line"] and _opens(row, newest[job].values())
                    )
                _settle(row, jobs, known)
            if signature == "enumerator-started":
                unanswered.append(row)
        elif signature == "kafka-enumerator-started" and row["job"] is None:
            started = [e for e in unanswered if row["at"] is None or e["at"] is None or row["at"] - e["at"] <= _GROUP_BEHIND]
            if len(started) == 1:
                row["job"] = started[0]["job"]
                unanswered.remove(started[0])


def _settle(row: Row, jobs: Jobs, known: _Known) -> None:
    known.may_be[id(row)] = jobs
    if len(jobs) == 1:
        (row["job"],) = jobs


def _begun(lines: Sequence[Row]) -> dict[str, int]:
    """The line of each job's first task, where that task was new: no reader of that job registers above it."""
    first: dict[str, Row] = {}
    for row in lines:
        if row["signature"] in _TASKS and row["job"]:
            first.setdefault(row["job"], row)
    return {job: row["line"] for job, row in first.items() if row["from_state"] == "CREATED"}


def _opens(reader: Row, newest: Iterable[Row]) -> bool:
    """Whether the source's subtask is being deployed there, in the reader's attempt; also where no line tells of that vertex or subtask."""
    vertex = vertex_of(reader["task"])
    own = [task for task in newest if vertex.search(task["task"])]
    if any((task["parallelism"] or reader["subtask"] + 1) <= reader["subtask"] for task in own):
        return False
    own = [task for task in own if task["subtask"] == reader["subtask"]]
    return not own or any(task["to_state"] in _OPENING and reader["attempt"] in (None, _attempt(task)) for task in own)


def _attempt(row: Row) -> int | None:
    """The number of the execution, at the end of its id from Flink 1.16."""
    number = row["execution"].rsplit("_", 1)[1] if row["execution"] and row["execution"].count("_") >= 3 else ""
    return int(number) if number.isdigit() else row["attempt"]


def _started_around(lines: Sequence[Row], place: int, jobs: Jobs) -> Jobs:
    """Of `jobs` the one whose start encloses the line: "Starting execution of job" … "switched from state CREATED to RUNNING"."""
    above = next((e for e in reversed(lines[:place]) if e["signature"] in _FRAMES), None)
    below = next((e for e in lines[place + 1 :] if e["signature"] in _FRAMES), None)
    if above is None or below is None or above["signature"] != "job-starting" or above["job"] != below["job"]:
        return jobs
    return jobs & {above["job"]}


def _by_the_registered_reader(lines: Sequence[Row], known: _Known, of_file: Jobs) -> None:
    served: set[int] = set()
    readers: dict[int | None, list[Row]] = defaultdict(list)  # of each subtask the lines above
    for row in lines:
        if row["signature"] == "reader-registered":
            readers[row["subtask"]].append(row)
        if row["job"] is not None or row["signature"] != "splits-assigned":
            continue
        jobs = known.alive(of_file, row["at"])
        for reader in {int(number) for number in _DEALT_TO.findall(row["text"] or "")}:
            own = readers[reader]
            just = [
                e for e in own if id(e) not in served and (row["at"] is None or e["at"] is None or row["at"] - e["at"] <= _DEALT_BEHIND)
            ]
            registered = just or own  # later discovered partitions are dealt to readers that registered long ago
            if len(just) == 1:
                served.add(id(just[0]))
            if registered:
                jobs &= frozenset[str]().union(*({e["job"]} if e["job"] else known.may_be.get(id(e), jobs) for e in registered))
        _settle(row, jobs, known)


def _groups(rows: Sequence[Row]) -> Mapping[str, str]:
    """The job of each consumer group whose enumerators all belong to one."""
    jobs: dict[str, set[str | None]] = defaultdict(set)
    for row in rows:
        if row["signature"] == "kafka-enumerator-started" and row["group"]:
            jobs[row["group"]].add(row["job"])
    return {group: job for group, own in jobs.items() for job in own if job is not None and len(own) == 1}


def _by_topic(rows: Sequence[Row], signature: str, known: _Known) -> None:
    """Lines about splits of topics that every other job that can be meant is known not to read."""
    reads: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        if row["job"] and row["signature"] in _SPLITS:
            reads[row["job"]].update(_topics(row))
    left: dict[tuple[Jobs, Jobs], Jobs] = {}  # a fleet has thousands of such lines, and few topics
    for row in rows:
        if row["job"] is not None or row["signature"] != signature:
            continue
        jobs, topics = known.may_be.get(id(row), known.jobs), _topics(row)
        if (jobs, topics) not in left:
            left[jobs, topics] = frozenset(job for job in jobs if job not in reads or topics & reads[job])
        if topics and len(left[jobs, topics]) == 1:
            (row["job"],) = left[jobs, topics]


def _topics(row: Row) -> frozenset[str]:
    return frozenset(_TOPICS.findall(row["text"] or ""))
