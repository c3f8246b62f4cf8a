"""The next command of a verdict or finding with the addresses and paths that the evidence names in the place of its placeholders."""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import takewhile

from analyzers.report.finding import Finding
from analyzers.report.report import Verdict
from analyzers.tables import Row

Tables = Mapping[str, Sequence[Row]]

_BOOTSTRAP = re.compile(r"(?<=--bootstrap-server )(?:HOST:PORT(?:,…)?|ADDRESS)")
_JOBMANAGER = re.compile(r"http://JOBMANAGER:8081")
_CHECKPOINTS = re.compile(r"CHECKPOINT_DIRECTORY(?P<job>/\w+)?")
_LOGS = re.compile(r"(?<=diag triage )LOG_DIRECTORY\b")
_LOCAL = re.compile(r"(?<=checkpoint-inspect )file:/+")
_PATH = re.compile(r"(?<= )(?:(?!https?:)[a-z][a-z0-9]*:/+|/)[^\s#'\"=]+(?=\s|$)")
_NOTE = "   #"
"""Between a command and what it is for."""
_CHECKPOINT = re.compile(r"/chk-\d+(?:/_metadata)?/?$")


def completed(command: str | None, of: Verdict | Finding, tables: Tables) -> str | None:
    """`command` of a verdict or finding; a placeholder stays where the evidence names nothing for it, or more than one thing."""
    if command is None:
        return None
    known = _Known(tables, of.scope, of.job)
    text = _BOOTSTRAP.sub(lambda match: _typed(known.bootstrap) or match[0], command)
    text = _JOBMANAGER.sub(lambda match: _typed(known.jobmanager) or match[0], text)
    text = _CHECKPOINTS.sub(lambda match: _typed(known.checkpoints(match["job"])) or match[0], text)
    text = _LOGS.sub(lambda match: known.logs or match[0], text)
    text = _LOCAL.sub("/", text)
    if not text.startswith("diag checkpoint-inspect "):
        return text
    typed, note, purpose = text.partition(_NOTE)
    return known.quoted(_PATH.sub(lambda match: known.copy_of(match[0]), typed)) + note + purpose


def addressed(advice: str, of: Verdict | Finding, tables: Tables) -> str:
    """`advice` with the brokers in the commands that it quotes; a placeholder stays as in `completed`."""
    if not _BOOTSTRAP.search(advice):
        return advice
    known = _Known(tables, of.scope, of.job).bootstrap
    return _BOOTSTRAP.sub(lambda match: _typed(known) or match[0], advice)


def _typed(value: str | None) -> str | None:
    return shlex.quote(value) if value else None


class _Known:
    """What the evidence of one scope says about where things are."""

    def __init__(self, tables: Tables, scope: str, job: str | None) -> None:
        self._tables, self._scope, self._job = tables, scope, job

    def _rows(self, table: str) -> Iterable[Row]:
        return (row for row in self._tables.get(table, ()) if row["scope"] == self._scope)

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
            for event in self._rows("log_events")
            if event["signature"] == "kafka-client-config" and event["role"] != "kafka-broker" and (event["detail"] or {}).get("bootstrap")
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

    def quoted(self, command: str) -> str:
        """`command` with what was read in quotes where a shell needs them."""
        odd = {part for read in self._read for part in (read, posixpath.dirname(read)) if part and shlex.quote(part) != part}
        return re.sub(
            "|".join(re.escape(part) for part in sorted(odd, key=len, reverse=True)) or "(?!)", lambda m: shlex.quote(m[0]), command
        )

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
            started = [e["detail"] or {} for e in self._rows("log_events") if e["signature"] == "query-started" and e["job"] == self._job]
            for directories in ({row["path"] for row in queries}, {detail["path"] for detail in started if detail.get("path")}):
                if directories:
                    return _only(directories)
        job = of_job or (f"/{self._job}" if self._job else None)
        stores = [event["detail"] or {} for event in self._rows("log_events") if event["signature"] == "checkpoint-storage"]
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
