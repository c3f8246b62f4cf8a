"""One planned upgrade: what the job has and runs with now, and the release that it is to run with."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from analyzers.derived.planned.restore.case import version_of
from analyzers.derived.planned.upgrade.facts import Facts, Release, facts
from analyzers.tables import Row

Tables = Mapping[str, Sequence[Row]]
CHANGE = "upgrade"
Answer = dict[str, Any]
"""Columns of a row of ``preflight`` (`answers.answer`)."""

_CONNECTOR = re.compile(
    r"\bflink-(?:sql-)?connector-(?P<name>[a-z]+[a-z0-9]*(?:-[a-z][a-z0-9]*)*)(?:_2\.\d+)?-(?P<version>\d+(?:\.\d+)+)(?:-(?P<for>\d+\.\d+))?"
    r"(?:-SNAPSHOT)?\.jar\b"
)
_OLD_JAVA = "1."


@dataclass(frozen=True)
class Jar:
    """A connector's jar: `version` without what follows it, the release of Flink that it is made `made_for`, and where it was seen."""

    file: str
    name: str
    version: str
    made_for: Release | None
    where: str


@dataclass(frozen=True)
class Upgrade:
    """The rows of one scope of `tables`, for one row of ``planned_changes``. Rows without a scope (files, a JobManager) are all scopes'."""

    plan: Row
    tables: Tables
    scope: str

    def rows(self, name: str) -> list[Row]:
        return [row for row in self.tables.get(name, ()) if (row.get("scope") or "") in (self.scope, "")]

    @cached_property
    def facts(self) -> Facts:
        return facts()

    @cached_property
    def target(self) -> Release | None:
        """The release, where its options are known."""
        stated = version_of(self.plan["engine_version"])
        return stated if stated in self.facts.releases else None

    @cached_property
    def to(self) -> str:
        return f"Flink {self.plan['engine_version']}"

    def events(self, signature: str) -> list[Row]:
        """The events of logs of Flink, the oldest first."""
        found = (row for row in self.rows("log_events") if row["signature"] == signature and row["role"] != "kafka-broker")
        return sorted(found, key=lambda row: row["seq"] or 0)

    def latest(self, signature: str) -> list[Row]:
        """The same without those that a process of the same role printed before it was last started: logs may reach far back."""
        began = {row["role"]: row["seq"] or 0 for row in self.events("flink-banner")}
        return [row for row in self.events(signature) if (row["seq"] or 0) >= began.get(row["role"], 0)]

    @cached_property
    def running(self) -> tuple[str, str] | None:
        """Flink's version now and who says so: the command line, the process itself, the newest banner of a log, a deployment."""
        if self.plan["from_version"]:
            return self.plan["from_version"], "as stated"
        said = [(row["engine_version"], row["origin"], row["source"]) for row in self.rows("process_environments") if row["engine_version"]]
        if rest := next((each for each in said if each[2] == "rest"), None):
            return rest[0], rest[1]
        banners = [row for row in self.events("flink-banner") if version_of((row["detail"] or {}).get("version"))]
        if banners:
            return banners[-1]["detail"]["version"], banners[-1]["file"]
        jobs = next((row["engine_version"] for row in self.rows("jobs") if row["engine_version"]), None)
        return (jobs, "the JobManager") if jobs else (said[0][0], said[0][1]) if said else None

    @cached_property
    def runs(self) -> Release | None:
        return version_of(self.running[0]) if self.running else None

    @cached_property
    def settings(self) -> dict[str, list[tuple[str | None, str]]]:
        """By key the values that are in force, each with the file, address or log that says it; in a log the last one."""
        found: dict[str, dict[str, str | None]] = defaultdict(dict)
        for row in self.rows("job_config"):
            if row["source"] in ("file", "deployment", "cluster"):
                found[row["key"]][row["origin"] or "the JobManager"] = row["value"]
        for event in self.latest("configuration-property"):
            detail = event["detail"] or {}
            if detail.get("key"):
                found[detail["key"].strip()][event["file"]] = (detail.get("value") or "").strip()
        return {key: [(value, origin) for origin, value in values.items()] for key, values in found.items()}

    @cached_property
    def shows_all_settings(self) -> bool:
        """Whether the settings are more than the selection that a bundle of another command has."""
        listed = any(row["origin"] for row in self.rows("job_config") if row["source"] in ("file", "deployment", "cluster"))
        return listed or bool(self.events("configuration-property"))

    @cached_property
    def java(self) -> dict[int, str]:
        """Major versions of Java that run it, and who says so."""
        said = [((row["detail"] or {}).get("java"), row["file"]) for row in self.latest("flink-jvm")]
        said += [(row["java"], row["origin"]) for row in self.rows("process_environments")]
        found: dict[int, str] = {}
        for version, where in said:
            number = re.match(r"\d+", (version or "").removeprefix(_OLD_JAVA))
            if number:
                found.setdefault(int(number[0]), where)
        return found

    @cached_property
    def connectors(self) -> list[Jar]:
        """Those whose jars are named: on a class path, or in a stack trace."""
        found: dict[str, Jar] = {}
        for text, where in self._jar_names():
            for match in _CONNECTOR.finditer(text):
                if match["name"] not in self.facts.of_flink:
                    made_for = version_of(match["for"] or match["version"])
                    found.setdefault(match[0], Jar(match[0], match["name"], match["version"], made_for, where))
        return sorted(found.values(), key=lambda jar: jar.file)

    def _jar_names(self) -> Iterator[tuple[str, str]]:
        for row in self.rows("process_environments"):
            yield "\n".join(row["jars"] or ()), row["origin"]
        for row in self.latest("flink-class-path"):
            yield (row["detail"] or {}).get("class_path") or "", row["file"]
        yield from self.texts()

    def texts(self) -> Iterator[tuple[str, str]]:
        """What lines and exceptions print, with the file or address: the names of classes and jars are in it."""
        for row in self.rows("log_events"):
            if row["role"] != "kafka-broker":
                yield "\n".join([row["logger"] or "", row["text"] or "", *(row["frames"] or ())]), row["file"]
        for row in self.rows("exceptions"):
            yield row["text"] or "", "the JobManager's exceptions"
