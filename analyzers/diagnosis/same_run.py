"""The culprit by name, from what else the same run knows: other rows of the finding's own events, and lines that share an id with it.

A finding shows a few lines. Their events may have captures that its rule does not ask for, a trace that stands in another event of the
same fault, an owner that only another line of the same thread names, or a host that only the line of a registration has.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from analyzers.diagnosis.culprits import hosts_of
from analyzers.diagnosis.error_tokens import error_tokens
from analyzers.diagnosis.headlines import with_owner, with_place
from analyzers.diagnosis.line_names import names_in
from analyzers.diagnosis.user_lines import user_line
from analyzers.report.codes import is_own
from analyzers.report.finding import SUBJECT_KEYS, Finding, Severity
from analyzers.report.report import Verdict
from analyzers.tables import Row
from analyzers.tables.by_column import column

_Of = TypeVar("_Of", Finding, Verdict)
_Place = tuple[str | None, str | None, int | None]
_OWN_THREAD = re.compile(
    r"-C-\d+$|StreamThread-\d|^kafka-(?:coordinator|producer|admin)|^task-thread-|\|\s*[\w.-]+$|^stream execution thread"
)
"""Threads that do one thing: a consumer, a producer, a task. The lines of `main` and of pools are about many things."""
_OF_EVENTS = ("group", "client", "operator")
"""Columns that an event's captures fill and that mean the same in whichever rule's finding."""
_VICTIMS = frozenset({"taskmanager-lost", "jobmanager-lost"})
"""Causes whose tasks are not at fault: they ran, or waited, where a process was lost."""
_TASK = ("task", "subtask", "parallelism")
_REFUSES = (
    "exceeded quota", "ImagePullBackOff", "ErrImagePull", "Insufficient cpu", "Insufficient memory", "Failed to pull image",
    "failed to pull image", "Unschedulable",
)  # fmt: skip
_NODE = re.compile(r"\bConnection to (?P<address>[\w.-]+:\d+) \(id: (?P<broker>\d+) rack: ")
_COMMITTED = "offset-committed-used"
_ENOUGH = 2  # starts at one committed offset: the records behind it are read again each time


class SameRun:
    """What a run knows, looked up for findings; nothing is read of a run without any."""

    def __init__(self, tables: Mapping[str, Sequence[Row]]) -> None:
        self._tables = tables
        self._lines: dict[_Place, list[int]] = {}  # numbers of rows, by the event that they are of
        self._scopes: dict[str, list[int]] = {}
        self._columns: dict[str, Sequence[Any]] = {}
        self._by_value: dict[str, dict[tuple[str, Any], list[int]]] = {}
        self._read: dict[tuple[Callable[[str], Any], str], Any] = {}
        self._refused: dict[str, dict[str, Any]] = {}
        self._about: dict[tuple[str, str], dict[str, Any]] = {}  # where a worker ran, and what ended it
        self._faults: defaultdict[tuple[str, str], list[Row]] = defaultdict(list)  # by fingerprint
        self._prints: defaultdict[_Place, list[str]] = defaultdict(list)  # fingerprints of what has a trace, by the event that it is of

    def names(self, findings: Sequence[Finding]) -> list[Finding]:
        """`findings` with the names that the run knows of their culprits; a headline also names the place."""
        return [self._named_in(finding) for finding in findings]

    def verdicts(self, verdicts: Sequence[Verdict], findings: Sequence[Finding], named: Sequence[Finding]) -> list[Verdict]:
        """The same of `verdicts`, each made of one of `findings`, which were then `named`."""
        by_key = {self._key(finding): after.subject for finding, after in zip(findings, named, strict=True)}
        subjects = ((verdict, by_key.get(self._key(verdict))) for verdict in verdicts)
        return [verdict if subject is None else _worded(verdict, subject) for verdict, subject in subjects]

    @staticmethod
    def _key(of: Finding | Verdict) -> tuple[object, ...]:
        return of.scope, of.code, of.reason, of.job, tuple(sorted((key, str(value)) for key, value in of.subject.items()))

    def _named_in(self, finding: Finding) -> Finding:
        if finding.severity is Severity.UNDECIDED or finding.severity is Severity.INFO:
            return finding
        known = dict(finding.subject)
        rows = self._own_rows(finding)
        texts = [each.text for each in finding.evidence]
        _take(known, _agreed(rows, _OF_EVENTS))
        victims = finding.cause in _VICTIMS
        if not victims and all(known.get(key) is None for key in _TASK):
            _take(known, _task(rows))
        _take(known, {key: value for key, value in names_in(texts, known).items() if not (victims and key in _TASK)})
        for also in (self._same_fault(finding), self._same_thread(rows)):
            more = [row["text"] or "" for row in also]
            if not victims and all(known.get(key) is None for key in _TASK):
                _take(known, _task(also))
            _take(known, _agreed(also, ("group", "client")))
            if known.get("user_line") is None and (line := self._only(_lines_of, [*texts, *more])) is not None:
                known["user_line"] = line
        if known.get("error") is None and (error := self._only(error_tokens, texts)) is not None:
            known["error"] = error
        _take(known, self._worker(finding, known))
        _take(known, self._broker(finding, known))
        _take(known, self._refused_workers(finding))
        if finding.cause == "offset-commit" and known.get("group") is not None and known.get("topic") is None:
            _take(known, self._stuck(finding.scope, known["group"]))
        subject = {key: known[key] for key in SUBJECT_KEYS if known.get(key) is not None}
        return _worded(finding, subject)

    # ---- rows -----------------------------------------------------------------------------------------------------

    @property
    def _events(self) -> Sequence[Row]:
        return self._tables.get("log_events", ())

    def _own_rows(self, finding: Finding) -> list[Row]:
        """The rows of the events that `finding` shows."""
        if not self._lines:
            for number, place in enumerate(zip(*map(self._column, ("scope", "file", "line")), strict=True)):
                self._lines.setdefault(place, []).append(number)
        places = dict.fromkeys((finding.scope, each.file, each.line) for each in finding.evidence if each.line is not None)
        return [self._events[number] for place in places for number in self._lines.get(place, ())]

    def _column(self, name: str) -> Sequence[Any]:
        if name not in self._columns:
            self._columns[name] = column(self._events, name)
        return self._columns[name]

    def _with(self, scope: str, name: str, value: Any) -> Iterator[Row]:
        """The events of a scope with `value` in column `name`."""
        if name not in self._by_value:
            index = self._by_value[name] = {}
            for number, place in enumerate(zip(self._column("scope"), self._column(name), strict=True)):
                if place[1] is not None:
                    index.setdefault(place, []).append(number)
        return (self._events[number] for number in self._by_value[name].get((scope, value), ()))

    def _texts(self, scope: str, has: Callable[[str], object]) -> list[str]:
        """The texts of the events of a scope that `has` what is looked for."""
        if not self._scopes:
            for number, each in enumerate(self._column("scope")):
                self._scopes.setdefault(each, []).append(number)
        texts = self._column("text")
        return [texts[number] for number in self._scopes.get(scope, ()) if texts[number] and has(texts[number])]

    def _all_of(self, of: Callable[[str], set[str]], texts: Iterable[str]) -> set[str]:
        """What `of` reads in `texts`, each of which is read once: many findings of a crowded run share their lines."""
        found: set[str] = set()
        for text in texts:
            key = of, text
            if key not in self._read:
                self._read[key] = of(text)
            found |= self._read[key]
        return found

    def _only(self, of: Callable[[str], set[str]], texts: Iterable[str]) -> str | None:
        """What all of `texts` that name one agree on."""
        found = self._all_of(of, texts)
        return found.pop() if len(found) == 1 else None

    def _same_fault(self, finding: Finding) -> list[Row]:
        """Other events of the fault that `finding` shows: its line may be the job's own, which has no trace."""
        if not self._faults:
            for row in self._tables.get("faults", ()):
                self._faults[row["scope"], row["fingerprint"]].append(row)
                if row["chain"]:
                    self._prints[row["scope"], row["file"], row["line"]].append(row["fingerprint"])
        shown = {(each.file, each.line) for each in finding.evidence}
        prints = {each for file, line in shown for each in self._prints.get((finding.scope, file, line), ())}
        alike = (row for each in prints for row in self._faults[finding.scope, each])
        return [row for row in alike if (row["file"], row["line"]) not in shown]

    def _same_thread(self, rows: Sequence[Row]) -> list[Row]:
        """Events of the one thread that printed `rows`, where it is a thread that does one thing."""
        threads = {(row["scope"], row["file"], row["thread"]) for row in rows}
        if len(threads) != 1:
            return []
        scope, file, thread = threads.pop()
        if not thread or not _OWN_THREAD.search(thread):
            return []
        return [row for row in self._with(scope, "thread", thread) if row["file"] == file]

    # ---- joins ----------------------------------------------------------------------------------------------------

    def _worker(self, finding: Finding, known: Mapping[str, Any]) -> dict[str, Any]:
        """Of a lost worker: where it ran, and what ended it, as other lines about the same one state."""
        worker = known.get("executor") or known.get("resource") or known.get("container")
        if finding.cause != "taskmanager-lost" or not isinstance(worker, str) or (known.get("host") and known.get("error")):
            return {}
        name = re.escape(worker)
        its = re.compile(rf"\b[Ee]xecutor (?:with id )?{name}\b" if worker.isdigit() else rf"(?<![\w.-]){name}(?![\w-])")
        place = finding.scope, worker
        if place not in self._about:
            texts = self._texts(finding.scope, lambda text: worker in text and its.search(text))
            hosts = hosts_of(texts, {"executor" if worker.isdigit() else "resource": worker})
            self._about[place] = {"host": hosts.pop() if len(hosts) == 1 else None, "error": self._only(error_tokens, texts)}
        return self._about[place]

    def _refused_workers(self, finding: Finding) -> dict[str, Any]:
        """Where a job waits for workers: what refuses them, as the lines about their requests state (a quota, an image)."""
        if finding.cause != "taskmanager-lost" or finding.stage != "access":
            return {}
        if finding.scope not in self._refused:
            texts = self._texts(finding.scope, lambda text: any(map(text.__contains__, _REFUSES)))
            names = names_in(texts, {})
            asked = {key: names[key] for key in ("quota", "requested", "limit", "image") if key in names}
            self._refused[finding.scope] = asked | {"error": self._only(error_tokens, texts)}
        return self._refused[finding.scope]

    def _broker(self, finding: Finding, known: Mapping[str, Any]) -> dict[str, Any]:
        """Where the broker listens that `finding` is about."""
        broker = known.get("broker")
        if finding.reason == "under-min-isr" and broker is None and known.get("address") is None:
            fetches = self._with(finding.scope, "signature", "replica-fetch-failed")
            lost = {(m["address"], int(m["broker"])) for row in fetches if (m := _NODE.search(row["text"] or ""))}
            return dict(zip(("address", "broker"), lost.pop(), strict=True)) if len(lost) == 1 else {}
        if finding.cause != "broker-unreachable" or not isinstance(broker, int) or broker < 0 or known.get("address") is not None:
            return {}
        said = {row["address"] for row in self._with(finding.scope, "broker", broker) if row["address"]}
        return {"address": said.pop()} if len(said) == 1 else {}

    def _stuck(self, scope: str, group: Any) -> dict[str, Any]:
        """The partition whose committed offset stands still over the starts of its consumers, where it is one only."""
        offsets: dict[tuple[str, int], list[int]] = defaultdict(list)
        for row in self._with(scope, "signature", _COMMITTED):
            if row["group"] == group and row["topic"] is not None and row["offset"] is not None:
                offsets[row["topic"], row["partition"]].append(row["offset"])
        still = [(of, seen[-1]) for of, seen in offsets.items() if len(seen) >= _ENOUGH and len(set(seen)) == 1]
        if len(still) != 1:
            return {}
        (topic, partition), offset = still[0]
        return {"topic": topic, "partition": partition, "offset": offset}


def _lines_of(text: str) -> set[str]:
    line = user_line(text)
    return set() if line is None else {line}


def _worded(of: _Of, subject: dict[str, Any]) -> _Of:
    """A finding or verdict with `subject`, whose words name the owner, and whose headline names the place; a user's own words stay."""
    if is_own(of.code):
        return replace(of, subject=subject)
    grave = not isinstance(of, Finding) or of.severity is Severity.CRITICAL
    headline = with_owner(of.headline, subject)
    says = with_owner(of.says, subject) or of.says
    return replace(of, subject=subject, says=says, headline=with_place(headline, subject) if grave else headline)


def _take(known: dict[str, Any], names: Mapping[str, Any]) -> None:
    known.update({key: value for key, value in names.items() if value is not None and known.get(key) is None})


def _agreed(rows: Sequence[Row], names: Iterable[str]) -> dict[str, Any]:
    out = {}
    for name in names:
        values = {row[name] for row in rows if row.get(name) is not None}
        if len(values) == 1:
            out[name] = values.pop()
    return out


def _task(rows: Sequence[Row]) -> dict[str, Any]:
    """The task, and its subtask, where all rows that have one are of the same."""
    tasks = {tuple(row.get(name) for name in _TASK) for row in rows if row.get("task") is not None}
    if len({task[0] for task in tasks}) != 1:
        return {}
    return dict(zip(_TASK, tasks.pop(), strict=True)) if len(tasks) == 1 else {"task": tasks.pop()[0]}
