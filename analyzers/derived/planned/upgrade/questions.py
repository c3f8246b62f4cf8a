"""The rows of ``preflight`` about planned upgrades."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

from analyzers.derived.planned.answers import BREAKS, GOES, ORDER, UNKNOWN, answer
from analyzers.derived.planned.restore.case import Restore
from analyzers.derived.planned.restore.versions import metadata_version
from analyzers.derived.planned.upgrade.case import CHANGE, Answer, Tables, Upgrade
from analyzers.derived.planned.upgrade.facts import spoken
from analyzers.derived.planned.upgrade.program import classes, connectors, kafka
from analyzers.derived.planned.upgrade.settings import configuration_file, setting_values, settings
from analyzers.tables import PLANNED_CHANGES, PREFLIGHT, Row


def java(case: Upgrade) -> Iterator[Answer]:
    """Whether the Java that runs the job now is one that the release runs on; an image may bring another."""
    fact = case.facts.java
    source = case.facts.sources[fact["source"]]
    if not case.java:
        todo = "java -version where Flink runs; the start of its logs says it, too (JVM: …)."
        yield answer(
            "java", UNKNOWN, f"cannot be known without Java's version; {case.to} needs Java {fact['least']} or later ({source})", todo
        )
        return
    for version, where in sorted(case.java.items()):
        runs = f"Java {version} runs it now ({where})"
        if version < fact["least"]:
            todo = "Move to Java 17 (a Flink image for it, or the JAVA_HOME of each process), and build the job for it."
            yield answer("java", BREAKS, f"{runs}, and {case.to} needs Java {fact['least']} or later ({source})", todo)
        elif version in fact["named"]:
            yield answer("java", GOES, f"{runs}, which {case.to} supports ({source})")
        else:
            named = ", ".join(map(str, fact["named"]))
            yield answer("java", UNKNOWN, f"{runs}; documented for {case.to} are {named} ({source})", "Take one of these.")


def state(case: Upgrade) -> Iterator[Answer]:
    """Whether the release reads the checkpoint or savepoint, as `diag preflight restore` answers it."""
    files = case.rows("checkpoint_files")
    if not files:
        old = case.runs is None or (case.target is not None and case.runs[0] < case.target[0])
        known = f": state of 1.x is not guaranteed to be read ({case.facts.sources['notes 2.0']})" if old else ""
        todo = "Take a savepoint with the Flink that runs now, and give it with --checkpoint."
        yield answer("state", UNKNOWN, f"cannot be known without a savepoint{known}", todo)
        return
    found = list(metadata_version(Restore(case.plan, case.tables, files[0]["scope"] or "")))
    for one in found or [answer("version", UNKNOWN, "its _metadata was not read whole", "Ask diag preflight restore about it.")]:
        yield {**one, "question": "state"}


_QUESTIONS: tuple[Callable[[Upgrade], Iterator[Answer]], ...] = (
    configuration_file, settings, setting_values, connectors, classes, java, state, kafka,
)  # fmt: skip


def _answers(case: Upgrade) -> Iterator[Answer]:
    if case.target is None:
        known = ", ".join(map(spoken, case.facts.releases))
        yield answer("release", UNKNOWN, f"nothing is known of {case.to}", f"Ask for one of {known}.")
        return
    if case.running is None or case.runs is None:
        yield answer("release", UNKNOWN, "which Flink runs the job now is not known", "Add --from VERSION, --logs, or --flink-rest.")
    elif case.runs > case.target:
        says = (
            f"Flink {case.running[0]} runs it now ({case.running[1]}): {case.to} is older, and Flink does not read the state of later ones"
        )
        yield answer("release", BREAKS, says, "Stay with that release, or start without state.")
        return
    elif case.runs < case.facts.oldest:
        before = spoken(case.facts.oldest)
        says = f"Flink {case.running[0]} runs it now ({case.running[1]}); what was removed before {before} is not known here"
        yield answer("release", UNKNOWN, says, "Upgrade to 1.20 first, and read the release notes of each release between.")
    else:
        yield answer("release", GOES, f"from Flink {case.running[0]} ({case.running[1]}) to {spoken(case.target)}")
    for question in _QUESTIONS:
        yield from question(case)


def upgrade_answers(tables: Tables) -> list[Row]:
    """Rows of ``preflight`` for each row of ``planned_changes`` that upgrades Flink; what breaks comes first.

    A plan is about its own scope, or about all of them where that is none of the evidence's.
    """
    plans = [plan for plan in tables.get("planned_changes", ()) if plan["change"] == CHANGE]
    named = ("log_files", "job_config", "process_environments", "checkpoint_files")
    scopes = {row.get("scope") or "" for name in named for row in tables.get(name, ())} if plans else set()
    found: list[Row] = []
    for plan in plans:
        within = sorted(scopes - {""}) or [""]  # files and a JobManager have no scope: they are those of each cluster
        for scope in [plan["scope"]] if plan["scope"] else within:
            case = Upgrade(plan, tables, scope)
            head = {
                "scope": scope,
                "as_of": _newest(case) or plan["as_of"],
                "change": CHANGE,
                "path": plan["path"],
                "release": plan["engine_version"],
            }
            found += [PREFLIGHT.row({**head, **one}) for one in sorted(_answers(case), key=lambda one: ORDER.index(one["answer"]))]
    return found


def _newest(case: Upgrade) -> datetime | None:
    rows = [row["last_at"] for row in case.rows("log_files")]
    rows += [row["as_of"] for name in ("job_config", "process_environments", "checkpoint_files") for row in case.rows(name)]
    return max((at for at in rows if at is not None), default=None)


def upgrade_row(to: str, *, from_version: str | None = None, path: str | None = None, **more: Any) -> Row:
    """A row of ``planned_changes``."""
    stated = {"engine_version": to, "from_version": from_version, "path": path}
    return PLANNED_CHANGES.row({"scope": "", "change": CHANGE, **stated, **more})
