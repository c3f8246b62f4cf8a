"""The next command of a verdict or finding with the addresses and paths that the evidence names in the place of its placeholders."""

from __future__ import annotations

import posixpath
import re
import shlex
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import takewhile
from typing import TypeVar

from analyzers.report.commands import NOTE, in_code, in_words, outside_quotes, within_back_ticks
from analyzers.report.finding import Finding
from analyzers.report.noticed import Noticed
from analyzers.report.report import Verdict
from analyzers.tables import Row

Tables = Mapping[str, Sequence[Row]]
Advised = TypeVar("Advised", Verdict, Finding)

_BOOTSTRAP = re.compile(r"(?<=--bootstrap-server )(?:HOST:PORT(?:,…)?|ADDRESS)")
_JOBMANAGER = re.compile(r"http://JOBMANAGER:8081")
_CHECKPOINTS = re.compile(r"CHECKPOINT_DIRECTORY(?P<job>/\w+)?")
_CHECKPOINT_OF_JOB = re.compile(r"CHECKPOINT_DIRECTORY(?=/chk-|[\s`]|$)")
_LOGS = re.compile(r"(?<=diag triage )LOG_DIRECTORY\b")
_LOCAL = re.compile(r"(?<=checkpoint-inspect )file:/+")
_PATH = re.compile(r"(?:(?!https?:)[a-z][a-z0-9]*:/+|/).+", re.S)
_TABLES = ("bootstrap_servers", "sources", "log_files", "checkpoint_files", "batches", "attempts")
_EVENTS = frozenset({"kafka-client-config", "query-started", "checkpoint-storage"})
_CHECKPOINT = re.compile(r"/chk-\d+(?:/_metadata)?/?$")


class Places:
    """Where things are, as the evidence of each scope names it. Events are read once, however many findings ask."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._known: dict[tuple[str, str | None], _Known] = {}

    def completed(self, command: str | None, of: Verdict | Finding | Noticed) -> str | None:
        """`command` of what was found or noticed; a placeholder stays where the evidence names nothing for it, or more than one thing."""
        if command is None:
            return None
        known = self._of(of)
        typed, note, purpose = command.partition(NOTE)
        for placeholder, value in (
            (_BOOTSTRAP, lambda match: _typed(known.bootstrap)),
            (_JOBMANAGER, lambda match: _typed(known.jobmanager)),
            (_CHECKPOINTS, lambda match: _typed(known.checkpoints(match["job"]))),
            (_LOGS, lambda match: known.logs),
        ):
            typed = _filled(typed, placeholder, value)
        typed = outside_quotes(typed, lambda text: _LOCAL.sub("/", text))
        if typed.startswith("diag checkpoint-inspect "):
            typed = in_words(typed, lambda word: known.outside(known.copy_of(word) if _PATH.fullmatch(word) else word))
        return typed + note + purpose

    def advised(self, of: Advised) -> Advised:
        """`of` with its fix and steps `addressed`."""
        return replace(of, fix=self.addressed(of.fix, of), steps=tuple(self.addressed(step, of) for step in of.steps))

    def addressed(self, advice: str, of: Verdict | Finding) -> str:
        """`advice` with the brokers and the checkpoints in the commands that it quotes; a placeholder stays as in `completed`."""
        known = self._of(of)

        def addressed(code: str) -> str:
            code = _filled(code, _BOOTSTRAP, lambda match: _typed(known.bootstrap))
            return within_back_ticks(_filled(code, _CHECKPOINT_OF_JOB, lambda match: _typed(known.checkpoints(None))))

        return in_code(advice, addressed)

    def _of(self, of: Verdict | Finding | Noticed) -> _Known:
        key = of.scope, of.job
        if key not in self._known:
            self._known[key] = _Known(self._rows, *key)
        return self._known[key]

    @cached_property
    def _by_scope(self) -> dict[tuple[str, str], list[Row]]:
        rows: defaultdict[tuple[str, str], list[Row]] = defaultdict(list)
        for table in _TABLES:
            for row in self._tables.get(table, ()):
                rows[row["scope"], table].append(row)
        for event in self._tables.get("log_events", ()):
            if event["signature"] in _EVENTS:
                rows[event["scope"], event["signature"]].append(event)
        return dict(rows)

    def _rows(self, scope: str, kind: str) -> Sequence[Row]:
        return self._by_scope.get((scope, kind), ())


def _filled(command: str, placeholder: re.Pattern[str], value: Callable[[re.Match[str]], str | None]) -> str:
    return outside_quotes(command, lambda text: placeholder.sub(lambda match: value(match) or match[0], text))


def _typed(value: str | None) -> str | None:
    return shlex.quote(value) if value else None


class _Known:
    """What the evidence of one scope says about where the things of one job are. `rows`: of a scope, by table or signature of an event."""

    def __init__(self, rows: Callable[[str, str], Sequence[Row]], scope: str, job: str | None) -> None:
        self._all, self._scope, self._job = rows, scope, job

    def _rows(self, kind: str) -> Sequence[Row]:
        return self._all(self._scope, kind)

    @cached_property
    def bootstrap(self) -> str | None:
        """The entries that answered; else the list that brokers were asked with; else the one that the job's clients printed."""
        probed = list(self._rows("bootstrap_servers"))
        if probed:
            newest = max((row["as_of"] for row in probed if row["as_of"]), default=None)
            alive = [(row["position"] or 0, row["entry"]) for row in probed if row["as_of"] == newest and row["state"] == "alive"]
            return ",".join(dict.fromkeys(entry for _, entry in sorted(alive))) or None
        asked = {row["asked"] for row in self._rows("sources") if row["kind"] == "kafka" and row.get("asked")}
        if asked:
            return _only(asked)
        lists = {
            re.sub(r"\s", "", event["detail"]["bootstrap"])
            for event in self._rows("kafka-client-config")
            if event["role"] != "kafka-broker" and (event["detail"] or {}).get("bootstrap")
        }
        return _only(lists)

    @cached_property
    def jobmanager(self) -> str | None:
        """The address that was asked."""
        asked = {row["name"] for row in self._rows("sources") if row["kind"] == "flink-rest" and row["state"] != "failed"}
        return _only({name.rstrip("/") for name in asked if name.startswith(("http://", "https://"))})

    @cached_property
    def logs(self) -> str | None:
        """The directory that all logs lie in."""
        files = {posixpath.dirname(row["file"].partition("!")[0]) for row in self._rows("log_files") if row["file"]}
        folder = _only(files)
        return shlex.quote(folder) if folder else None

    @cached_property
    def _read(self) -> set[str]:
        """Checkpoints and directories of queries that were read."""
        files = {re.sub(r"/_metadata/?$", "", row["path"]) for row in self._rows("checkpoint_files") if row["path"]}
        return files | {row["path"].rstrip("/") for row in self._rows("batches") if row["path"]}

    def copy_of(self, path: str) -> str:
        """Where that which the logs call `path` was read: a copy's last names are the same, whatever stands above them; else `path`."""
        wanted = _names(path)
        copies: dict[int, set[str]] = {}
        for read in self._read:
            names = _names(read)
            if names[: len(wanted)] == wanted:
                return path
            for end in range(len(names), 0, -1):
                alike = _alike(names[:end], wanted)
                if alike and (alike > 1 or not _CHECKPOINT.search(path)):  # every job has a chk-7
                    copies.setdefault(alike, set()).add(read.rsplit("/", len(names) - end)[0])
        return (_only(copies[max(copies)]) if copies else None) or path

    def outside(self, path: str) -> str:
        """The archive itself in the place of what was read inside of it, which is no file that a command can open."""
        archive, inside, _ = path.partition("!")
        return archive if inside and any(read.startswith(f"{archive}!") for read in self._read) else path

    def checkpoints(self, of_job: str | None) -> str | None:
        """The directory of the job's checkpoints, or with `of_job` (``/id``) that of another job of the same storage."""
        if of_job is None:
            restored = (row["restored_from"] for row in self._rows("attempts") if row["job"] == self._job)
            read = (row["path"] for row in self._rows("checkpoint_files") if row["job"] == self._job)
            for paths in (read, restored):
                found = {_CHECKPOINT.sub("", path) for path in paths if path and _CHECKPOINT.search(path)}
                if found:
                    return _only(found)
            queries = [row for row in self._rows("batches") if row["path"] and self._job in (None, row["query"])]
            started = [e["detail"] or {} for e in self._rows("query-started") if e["job"] == self._job]
            for directories in ({row["path"] for row in queries}, {detail["path"] for detail in started if detail.get("path")}):
                if directories:
                    return _only(directories)
        job = of_job or (f"/{self._job}" if self._job else None)
        stores = [event["detail"] or {} for event in self._rows("checkpoint-storage")]
        base = _only({(store.get("path") or "").rstrip("/") for store in stores})
        return base + job if base and job else None


def _only(found: set[str]) -> str | None:
    return next(iter(found)) if len(found) == 1 else None


def _names(path: str) -> list[str]:
    """The names that lead to `path`, without its scheme."""
    return [name for name in re.sub(r"^[a-z][a-z0-9]*:/+", "", path).split("/") if name]


def _alike(one: Sequence[str], other: Sequence[str]) -> int:
    """How many of the last names are the same."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(reversed(one), reversed(other), strict=False)))
