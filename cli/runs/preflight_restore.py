"""Preflight of a restore: the checkpoint, the program and Kafka as they are now, and one answer per question."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from analyzers.derived.planned.restore.case import version_of
from analyzers.derived.planned.restore.questions import restore_answers, restore_row
from analyzers.readers.checkpoint_files import checkpoint_facts, tables_of
from analyzers.tables import PLANNED_OPERATORS, SOURCES, Row
from analyzers.tables.evidence import Evidence
from cli.collectors.collector import Collector
from cli.runs.gathering import asking, merged
from cli.runs.preflight import answered
from cli.runs.run import Subject
from cli.shell.exits import CannotLook, UsageError

if TYPE_CHECKING:
    from cli.collectors.kafka_topic_ends import AskTopics


@dataclass(frozen=True)
class Asked:
    """What the restore is to meet: each is asked, or read, where an option named it."""

    job_graph: Sequence[Row] = ()
    against: str | None = None
    program: Collector | None = None
    kafka: AskTopics | None = None
    kafka_name: str = ""
    rebase: Sequence[tuple[str, str]] = field(default=())


def asked(
    *,
    against: str | None,
    job_graph: Path | None,
    flink_rest: str | None,
    flink_rest_auth: Path | None,
    jobs: Sequence[str],
    rebase: Sequence[tuple[str, str]],
    bootstrap_servers: Sequence[str],
    command_config: Path | None,
    timeout_seconds: float,
) -> Asked:
    """What the options of the command name. Raises `UsageError` for addresses, properties and plans that cannot be understood."""
    program = kafka = None
    graph: Sequence[Row] = ()
    if job_graph is not None:
        from cli.collectors.flink_program import program_of_file

        graph = program_of_file(job_graph)
    if len(jobs) > 1:
        raise UsageError("one job is started from a checkpoint, and --job is given more than once", "Name the one.")
    if flink_rest is not None:
        from cli.collectors.flink_program import program_of_rest
        from cli.collectors.flink_transport import read_login

        ask = program_of_rest(flink_rest, job=jobs, login=read_login(flink_rest_auth), timeout_seconds=timeout_seconds)
        program = Collector(flink_rest, "flink-rest", ask)
    elif jobs:
        raise UsageError("--job names a job of a JobManager", "Give its address, too: --flink-rest http://HOST:8081.")
    if bootstrap_servers or command_config is not None:
        from cli.collectors.kafka_topic_ends import topic_ends

        kafka = topic_ends(bootstrap_servers, command_config=command_config, timeout_seconds=timeout_seconds)
    name = ", ".join(bootstrap_servers) or str(command_config)
    return Asked(graph, against, program, kafka, name, rebase)


def release(text: str | None, option: str) -> str | None:
    """`text` where it is a version as 2.3 or 1.20.5; raises `UsageError`."""
    if text is not None and version_of(text) is None:
        raise UsageError(f"{option} {text} is no version", f"Write major and minor at least: {option} 2.3")
    return text


def planned(path: str | None, **more: Any) -> Mapping[str, Sequence[Row]]:
    """The table ``planned_changes``; `more` are its columns."""
    return {"planned_changes": [restore_row(path, **more)]}


def collect(path: str, asked: Asked) -> Callable[[], Evidence]:
    """A function that reads the checkpoint at `path`, then asks for what it is to meet.

    The function raises `CannotLook` where no checkpoint can be read at `path`, `UsageError` where several are there. What else cannot be
    read or asked is a row of ``sources``.
    """

    def read() -> Evidence:
        found = checkpoint_at(path, asked.rebase)
        parts = [found, *([_against(asked.against)] if asked.against else [])]
        if asked.job_graph:
            parts.append(Evidence({"planned_operators": list(asked.job_graph)}))
        collectors = [asked.program] if asked.program else []
        if asked.kafka:
            ask = asked.kafka
            topics = {row["topic"] for row in found.tables.get("splits", ()) if row["topic"] is not None}
            ids = {row["transactional_id"] for row in found.tables.get("pending_transactions", ()) if row["transactional_id"] is not None}
            collectors.append(Collector(asked.kafka_name, "kafka", lambda: ask(topics, ids)))
        with asking(collectors) as answers:
            return merged([*parts, *answers()])

    return read


def checkpoint_at(path: str, rebase: Sequence[tuple[str, str]] = ()) -> Evidence:
    """The one checkpoint at `path`. Raises `CannotLook` where none can be read there, `UsageError` where several are."""
    found = Evidence(tables_of(checkpoint_facts([path], rebase=rebase, look=True)))
    files = found.tables.get("checkpoint_files", ())
    if "batches" in found.tables:
        raise CannotLook(
            f"{path} is a checkpoint directory of Spark Structured Streaming: its query goes on from it by itself.",
            "diag checkpoint-inspect says whether it can.",
        )
    if len(files) > 1:
        newest = max((row for row in files if row["state"] == "complete"), key=lambda row: row["checkpoint"] or 0, default=None)
        hint = f"Name one of them; the newest complete one is {newest['path']}" if newest else "None of them is complete."
        raise UsageError(f"{len(files)} checkpoints are at {path}, and one is restored", hint)
    if not files and not found.tables.get("operator_states"):
        why = next((row["why"] for row in found.tables.get("sources", ()) if row["why"]), "no checkpoint here")
        raise CannotLook(
            f"{path} holds no checkpoint that can be read: {why}.", "Name a _metadata file, or a chk-N or savepoint directory."
        )
    if files and files[0]["state"] == "never":
        raise CannotLook(f"{path} is the directory of a job that never completed a checkpoint: there is nothing to restore.", "")
    return found


def _against(path: str) -> Evidence:
    """The operators of the newest complete checkpoint at `path`, as those of the program."""
    tables = tables_of(checkpoint_facts([path]))
    whole = [row for row in tables.get("checkpoint_files", ()) if row["state"] == "complete"]
    newest = max(whole, key=lambda row: row["checkpoint"] or 0, default=None)
    operators = [row for row in tables.get("operator_states", ()) if newest is not None and row["path"] == newest["path"]]
    if newest is None or len(operators) != newest["operators"]:
        why = next((row["why"] for row in tables["sources"] if row["why"]), None) or "no complete checkpoint is there"
        return Evidence({"sources": [SOURCES.row({"scope": "", "name": path, "kind": "checkpoint", "state": "failed", "why": why})]})
    head = {"source": "checkpoint", "origin": newest["path"], "chained": 0}
    same = ("scope", "as_of", "job", "operator", "name", "uid", "parallelism", "max_parallelism", "size_bytes")
    rows = [PLANNED_OPERATORS.row({**head, **{column: row[column] for column in same}}) for row in operators]
    source = SOURCES.row(
        {"scope": "", "as_of": newest["as_of"], "name": path, "kind": "checkpoint", "state": "ok"}
    )  # its positions are not asked about
    return Evidence({"planned_operators": rows, "sources": [source]})


def _looked_at(tables: Mapping[str, Sequence[Row]]) -> str:
    path = next((row["path"] for row in tables.get("planned_changes", ()) if row["path"]), None) or "the checkpoint"
    met = sorted({row["origin"] for row in tables.get("planned_operators", ())})
    into = f" into the program of {', '.join(met)}" if met else ""
    return f"restore of {path}{into}; {answered(restore_answers(tables))}"


RESTORE = Subject(
    command="preflight restore",
    collected=("checkpoint_files", "operator_states", "splits", "state_files", "planned_changes", "planned_operators"),
    facts=("preflight",),
    looked_at=_looked_at,
    derived=lambda tables: {"preflight": restore_answers(tables)},
    judged_by=("PRE102", "PRE902"),
)
