"""Inspect checkpoints: from paths and live systems to a report of facts. Starts no JVM."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from analyzers.checkpoints.cursor import DamagedBytes
from analyzers.derived import derive
from analyzers.derived.checkpoints.barrier_frontier import barrier_frontier
from analyzers.derived.checkpoints.checkpoint_series import checkpoint_series
from analyzers.derived.checkpoints.split_audit import split_audit
from analyzers.derived.checkpoints.split_audit_legs import audit_legs
from analyzers.readers.checkpoint_files import checkpoint_facts, tables_of
from analyzers.tables import Row
from analyzers.tables.evidence import Evidence
from cli.collectors.collector import Collector
from cli.runs.gathering import asking, merged
from cli.runs.run import Subject
from cli.shell.exits import CannotLook


def collect(paths: Sequence[str], *, strict: bool = False, rebase: Sequence[tuple[str, str]] = ()) -> Callable[[], Evidence]:
    """A function that reads everything at `paths`; with ``strict`` it raises `CannotLook` at the first damage."""

    def read() -> Evidence:
        try:
            return Evidence(tables_of(checkpoint_facts(paths, strict=strict, rebase=rebase, look=True)))
        except DamagedBytes as damage:
            hint = "Leave out --strict to see what lies before the damage."
            raise CannotLook(f"cannot read the checkpoint: {damage}", hint) from damage

    return read


def together(files: Callable[[], Evidence] | None, collectors: Sequence[Collector]) -> Callable[[], Evidence]:
    """What `files` reads and `collectors` answer; a JobManager that is asked alone and does not answer raises `CannotLook`."""
    if files is None and len(collectors) == 1:
        return collectors[0].ask

    def ask() -> Evidence:
        with asking(collectors) as answers:
            return merged([*([files()] if files else []), *answers()])

    return ask


def with_brokers(read: Callable[[], Evidence], ask: Callable[[Collection[str]], Evidence], name: str) -> Callable[[], Evidence]:
    """A function that reads the checkpoints, then asks the brokers for the topics that are named there.

    A cluster that cannot be asked is a row of ``sources``. What was asked live makes now the moment of collection of the files, too: only
    then is the age of an unfinished checkpoint known.
    """

    def both() -> Evidence:
        found = read()
        rows = (*found.tables.get("splits", ()), *found.tables.get("batch_offsets", ()))
        topics = {row["topic"] for row in rows if row["topic"] is not None}
        with asking([Collector(name, "kafka", lambda: ask(topics))]) as answers:
            whole = merged([found, *answers()])
        now = max((row["as_of"] for row in whole.tables.get("log_offsets", ()) if row["as_of"]), default=None)
        for row in (row for table in _OF_FILES for row in whole.tables.get(table, ())):
            row["as_of"] = now or row["as_of"]
        return whole

    return both


def _derived(tables: Mapping[str, Sequence[Row]]) -> dict[str, list[Row]]:
    # logs say what each job was restored from: the lineage
    audited = split_audit(derive(tables) if "log_events" in tables else tables) if "splits" in tables else []
    told = {"barrier_frontier": barrier_frontier, "checkpoint_series": checkpoint_series} if "checkpoint_acks" in tables else {}
    return {**({"split_audit": audited} if audited else {}), **{name: rows for name, make in told.items() if (rows := make(tables))}}


def _audit_says(tables: Mapping[str, Sequence[Row]]) -> list[str]:
    """In sentences what the split audit saw and could not see."""
    if "splits" not in tables:
        return []
    whole = derive(tables) if "log_events" in tables else tables
    return [*_sentences(tables.get("split_audit", ())), *(f"split audit, {leg}" for leg in audit_legs(whole))]


def _looked_at(tables: Mapping[str, Sequence[Row]]) -> str:
    files = tables.get("checkpoint_files", ())
    words = []
    if files:
        jobs = len({row["job"] for row in files})
        words.append(f"{len(files)} checkpoint{'s' * (len(files) != 1)} of {jobs} job{'s' * (jobs != 1)}")
        readers = sum(1 for row in tables.get("splits", ()) if row["role"] == "reader")
        words.append(f"{readers} split position{'s' * (readers != 1)}")
    if tables.get("batches"):
        words.append(f"{len(tables['batches'])} batches")
    asked = {row["job"] for row in tables.get("vertices", ())}
    if asked:
        words.append(f"the JobManager's view of {len(asked)} job{'s' * (len(asked) != 1)}")
    return ", ".join(words)


# What the splits of one problem have in common, and what is said of each.
_PROBLEMS: dict[str, tuple[str, Callable[[Row], str]]] = {
    "held-twice": ("held twice", lambda row: f"by subtasks {' and '.join(row['subtasks'])} at {' and '.join(row['offsets'])}"),
    "held-by-nobody": ("assigned by the enumerator and held by no reader", lambda row: ""),
    "went-back": ("gone back", lambda row: f"from {row['offsets'][0]} to {row['offsets'][1]}"),
    "never-read": ("without a record yet", lambda row: f"start marker {row['offsets'][0]}"),
    "not-discovered": ("unknown to the job", lambda row: ""),
    "topic-gone": ("of a topic that the brokers do not have", lambda row: str(row["offsets"][0])),
    "below-log-start": ("at a position that the broker has deleted", lambda row: str(row["offsets"][0])),
    "beyond-log-end": ("at a position beyond the end of the log", lambda row: str(row["offsets"][0])),
}
_MOST_NAMED = 8


def _sentences(audited: Sequence[Row]) -> Iterator[str]:
    """One sentence per problem, checkpoint and operator."""
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in audited:
        key = (
            row["problem"],
            row["job"],
            row["checkpoint"],
            row["since_checkpoint"],
            row["operator"],
            row["compared_with"],
            row["inferred"],
        )
        groups.setdefault(key, []).append(row)
    for (problem, job, checkpoint, since, operator, compared_with, inferred), rows in groups.items():
        common, each = _PROBLEMS[problem]
        named = ", ".join(f"{row['identity']} {each(row)}".strip() for row in rows[:_MOST_NAMED])
        more = f" and {len(rows) - _MOST_NAMED} more" if len(rows) > _MOST_NAMED else ""
        where = f"checkpoint {checkpoint} of job {job or 'unknown'}" + (f" (since {since})" if since != checkpoint else "")
        against = f", compared with {compared_with}" if compared_with else ""
        guess = ", from which the job seems to have been restored: its checkpoint ids go on from there" if inferred else ""
        yield f"{len(rows)} split{'s' * (len(rows) != 1)} of operator {operator} {common} in {where}{against}{guess}: {named}{more}"


_OF_JOBMANAGER = ("jobs", "vertices", "subtasks", "checkpoints", "checkpoint_acks", "stack_samples")

_OF_FLINK = ("checkpoint_files", "operator_states", "subtask_states", "splits", "split_audit", "state_files")
_OF_QUERIES = ("batches", "batch_offsets", "state_store_files", "query_leftovers")
_OF_FILES = (*_OF_FLINK, *_OF_QUERIES)
CHECKPOINT_INSPECT = Subject(
    command="checkpoint-inspect",
    collected=("checkpoint_files", "operator_states", "subtask_states", "splits", "state_files", *_OF_QUERIES, *_OF_JOBMANAGER),
    facts=(*_OF_FILES, *_OF_JOBMANAGER, "barrier_frontier", "checkpoint_series"),
    looked_at=_looked_at,
    derived=_derived,
    remarks=_audit_says,
    apart=(
        _OF_QUERIES,
        _OF_FLINK,
        _OF_JOBMANAGER,
        (*_OF_FLINK, *_OF_JOBMANAGER, "barrier_frontier", "checkpoint_series"),  # beside a query's directory nobody misses a JobManager
        ("log_events",),
        ("log_offsets",),
    ),
)
