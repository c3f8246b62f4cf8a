"""The next command of a verdict or finding with the addresses and paths that the evidence names in the place of its placeholders."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from analyzers.finding import Finding
from analyzers.report import Verdict
from analyzers.tables import Row

Tables = Mapping[str, Sequence[Row]]

_BOOTSTRAP = re.compile(r"(?<=--bootstrap-server )(?:HOST:PORT(?:,…)?|ADDRESS)")
_JOBMANAGER = re.compile(r"http://JOBMANAGER:8081")
_CHECKPOINTS = re.compile(r"(?:CHECKPOINT_DIRECTORY|<checkpoint directory of the job>)(?P<job>/\w+)?")
_LOCAL = re.compile(r"(?<=checkpoint-inspect )file:/+")
_CHECKPOINT = re.compile(r"/chk-\d+(?:/_metadata)?/?$")


def completed(command: str | None, of: Verdict | Finding, tables: Tables) -> str | None:
    """`command` of a verdict or finding; a placeholder stays where the evidence names nothing for it, or more than one thing."""
    if command is None:
        return None
    known = _Known(tables, of.scope, of.job)
    text = _BOOTSTRAP.sub(lambda match: known.bootstrap or match[0], command)
    text = _JOBMANAGER.sub(lambda match: known.jobmanager or match[0], text)
    text = _CHECKPOINTS.sub(lambda match: known.checkpoints(match["job"]) or match[0], text)
    return _LOCAL.sub("/", text)


class _Known:
    """What the evidence of one scope says about where things are."""

    def __init__(self, tables: Tables, scope: str, job: str | None) -> None:
        self._tables, self._scope, self._job = tables, scope, job

    def _rows(self, table: str) -> Iterable[Row]:
        return (row for row in self._tables.get(table, ()) if row["scope"] == self._scope)

    @cached_property
    def bootstrap(self) -> str | None:
        """The entries that answered; else the list that the job's clients printed."""
        probed = list(self._rows("bootstrap_servers"))
        if probed:
            newest = max((row["as_of"] for row in probed if row["as_of"]), default=None)
            alive = [(row["position"] or 0, row["entry"]) for row in probed if row["as_of"] == newest and row["state"] == "alive"]
            return ",".join(dict.fromkeys(entry for _, entry in sorted(alive))) or None
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

    def checkpoints(self, of_job: str | None) -> str | None:
        """The directory of the job's checkpoints, or with `of_job` (``/id``) that of another job of the same storage."""
        if of_job is None:
            restored = (row["restored_from"] for row in self._rows("attempts") if row["job"] == self._job)
            read = (row["path"] for row in self._rows("checkpoint_files") if row["job"] == self._job)
            for paths in (read, restored):
                found = {_CHECKPOINT.sub("", path) for path in paths if path and _CHECKPOINT.search(path)}
                if found:
                    return _only(found)
        job = of_job or (f"/{self._job}" if self._job else None)
        stores = [event["detail"] or {} for event in self._rows("log_events") if event["signature"] == "checkpoint-storage"]
        base = _only({(store.get("path") or "").rstrip("/") for store in stores})
        return base + job if base and job else None


def _only(found: set[str]) -> str | None:
    return next(iter(found)) if len(found) == 1 else None
