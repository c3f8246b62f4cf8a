"""The lives of each job on its JobManager: when each began, what it restored, how far it came, and what became of it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import lru_cache
from itertools import groupby
from typing import Any

from analyzers.tables import JOB_LIVES, Row

WITHIN_SECONDS = 3600
"""A JobManager that starts later may well be another cluster whose logs lie beside these."""
OVERLAP_SECONDS = 60
"""A process that writes on for longer while the next one runs was not replaced by it."""

ENDS = ("FAILED", "CANCELLING", "CANCELED", "FINISHED", "SUSPENDED")
"""Switches with which a run of a job ends, or begins to."""
_OVER = ("CANCELED", "FINISHED", "FAILED")
_RESTORES = ("job-restored", "savepoint-restored")
_OF_THE_JOB = ("job-state", "job-initializing", "checkpoint-triggered", "checkpoint-completed", *_RESTORES)
"""Lines that only a running job has; the others may be the cluster's."""
_READ = frozenset(
    ("flink-banner", "job-unknown", "jobs-recovered", "no-checkpoint-restored", "checkpoints-found", "checkpoint-storage", *_OF_THE_JOB)
)  # fmt: skip
_BEFORE = {
    "before_job": "job",
    "before_completed": "last_completed",
    "before_completed_at": "last_completed_at",
    "before_over": "over",
    "before_in_memory": "in_memory",
}

ENTRYPOINT = r"ClusterEntry[Pp]oint|JobManager|MiniCluster"
"""Components in the start banner of a JobManager (EnvironmentInformation.logEnvironmentInfo)."""


def started(row: Row) -> bool:
    """Whether a row of ``log_events`` is the start banner of a JobManager's JVM."""
    component = (row["detail"] or {}).get("component") or ""
    return row["signature"] == "flink-banner" and re.search(ENTRYPOINT, component) is not None


def job_lives_of(events: Sequence[Row], claims: Sequence[Row]) -> list[Row]:
    """One row per life of a job: from the start of a JobMaster (or CREATED to RUNNING) to the next of the same job.

    Lines of a job before the first start that the log has make a life without a beginning. `claims`: rows of ``split_claims``.
    """
    of_scope: dict[str, list[Row]] = defaultdict(list)
    for event in events:
        if event["signature"] in _READ:
            of_scope[event["scope"]].append(event)
    claimed: dict[tuple[str, str | None], list[Row]] = defaultdict(list)
    for claim in claims:
        if claim["offset"] is not None and claim["topic"] is not None:
            claimed[claim["scope"], claim["job"]].append(claim)
    return [JOB_LIVES.row(life) for scope, rows in of_scope.items() for life in _of_scope(scope, rows, claimed)]


def _of_scope(scope: str, rows: list[Row], claimed: dict[tuple[str, str | None], list[Row]]) -> list[dict[str, Any]]:
    rows.sort(key=lambda row: (_order(row), row["file"], row["line"]))
    lives = _lives(rows)
    _name_cut_off(lives)
    known = [life for life in lives if life["begins"] is not None or "_named" in life]
    known.sort(key=lambda life: (life["job_name"] or "", -1 if life["begins"] is None else life["begins"]))
    emptied = _emptied(rows)
    asked = {row["job"]: _log(row) for row in rows if row["signature"] == "job-unknown" and row["job"]}
    for _, same in groupby(known, key=lambda life: life["job_name"]):
        before = None
        for life in same:
            if before is not None:
                life.update({name: before.get(of) for name, of in _BEFORE.items()})
                if before["begins"] is None:  # its storage is named where its log began
                    life["before_in_memory"] = life["in_memory"]
                life["jobmanager_starts"] = life["_starts"] - before["_starts"]
                life["replaces"] = life["log"] == before["log"] and _follows(life["began_at"], life["file"], before)
                life.update(_moved(life, claimed[scope, before["job"]], claimed[scope, life["job"]]))
            before = life
        if before is not None:
            before.update(_forgotten(before, emptied.get(before["log"]) or emptied.get(asked.get(before["job"], ""))))
    return [{name: value for name, value in life.items() if not name.startswith("_")} for life in lives]


def _lives(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """The lives of all jobs of one scope, each by itself; `rows` are in order."""
    lives: dict[tuple[str, int | None], dict[str, Any]] = {}
    began: dict[str, int] = {}
    written_until: dict[str, datetime] = {}
    initialised = newest = None
    starts = 0
    for row in rows:
        starts += started(row)
        if row["signature"] == "job-unknown":
            continue  # of a job that is not there
        created = row["signature"] == "job-state" and row["from_state"] == "CREATED"
        if row["signature"] == "job-initializing":
            initialised = row["job"] or initialised
        begins = row["signature"] == "job-initializing" or (created and (row["job"] is None or initialised != row["job"]))
        newest = (row["job"] if begins else None) or newest
        job = row["job"] or newest  # a line without a job id belongs to the JobMaster that starts there
        if job is None:
            continue
        if begins:
            began[job] = _order(row)
        key = (job, began.get(job))
        life = lives.get(key)
        if life is None:
            fresh = {"scope": row["scope"], "as_of": row["as_of"], "job": job, "begins": key[1], "file": row["file"]}
            flags = dict.fromkeys(("restored", "nothing_found", "in_memory", "over"), False)
            life = lives[key] = fresh | flags | {"began_at": row["at"] if begins else None, "log": _log(row), "_starts": starts}
        _note(life, row)
        if row["at"] is not None:
            written_until[row["file"]] = max(row["at"], written_until.get(row["file"], row["at"]))
    for life in lives.values():
        life["_written_until"] = written_until.get(life["file"])
    return list(lives.values())


def _name_cut_off(lives: Iterable[dict[str, Any]]) -> None:
    """Lives whose beginning was cut off (``kubectl logs --previous --tail``) are known by the job id that the next life has kept."""
    every = list(lives)
    whole = sorted((life for life in every if life["begins"] is not None), key=lambda life: -int(life["begins"]))
    firsts = {(life["job"], life["log"]): life for life in whole}
    for life in every:
        first = firsts.get((life["job"], life["log"])) if life["begins"] is None else None
        if first and first["job_name"] and life["job_name"] in (None, first["job_name"]) and life["ends"] < first["begins"]:
            life.update(job_name=first["job_name"], _named=True)


def _note(life: dict[str, Any], row: Row) -> None:
    signature, at, detail = row["signature"], row["at"], row["detail"] or {}
    life["ends"] = _order(row)
    life["job_name"] = max(filter(None, (life.get("job_name"), detail.get("job_name"))), default=None)
    if signature in _OF_THE_JOB:
        life["_last_order"] = life["ends"]
        life["last_at"] = at or life.get("last_at")
    if signature == "job-state":
        life["over"] = row["to_state"] in _OVER
        if row["to_state"] == "RUNNING":
            life["running_at"], life["running_again_at"] = life.get("running_at") or at, at or life.get("running_again_at")
        elif row["to_state"] in ENDS:
            life["ended_at"] = life.get("ended_at") or at
    elif signature in ("checkpoint-triggered", "checkpoint-completed") and row["checkpoint"] is not None:
        life["first_checkpoint"] = min(row["checkpoint"], life.get("first_checkpoint", row["checkpoint"]))
    if signature == "checkpoint-completed":
        life["last_completed"], life["last_completed_at"] = row["checkpoint"], at or life.get("last_completed_at")
    life["restored"] |= signature in _RESTORES
    life["nothing_found"] |= signature == "no-checkpoint-restored" or detail.get("found") == "0"
    life["in_memory"] |= signature == "checkpoint-storage" and detail.get("storage") == "jobmanager"


def _emptied(rows: Iterable[Row]) -> dict[str, tuple[Row, Row]]:
    """Per JobManager its last start, and the line with which that start recovered no jobs."""
    starts: dict[str, Row] = {}
    empty: dict[str, tuple[Row, Row]] = {}
    for row in rows:
        if started(row):
            starts[_log(row)] = row
            empty.pop(_log(row), None)
        elif row["signature"] == "jobs-recovered" and (row["detail"] or {}).get("recovered") == "0" and _log(row) in starts:
            empty[_log(row)] = (starts[_log(row)], row)
    return empty


def _forgotten(life: dict[str, Any], emptied: tuple[Row, Row] | None) -> dict[str, Any]:
    """What a later start of its JobManager, which recovered no jobs, makes of the newest life of a job."""
    if emptied is None or life["over"] or life.get("last_completed") is None or life["_last_order"] >= _order(emptied[0]):
        return {}
    start, nothing = emptied
    if not _follows(start["at"], start["file"], life):
        return {}
    return {"forgotten_from": start["at"], "forgotten_at": nothing["at"], "forgotten": _order(nothing)}


def _follows(start: datetime | None, file: str, before: dict[str, Any]) -> bool:
    """Whether a process that starts at `start` can be the successor of the one that ran `before`; one file is one process after another."""
    seen, until = before.get("last_at"), before["_written_until"]
    if file == before["file"]:
        return start is None or seen is None or _seconds(seen, start) <= WITHIN_SECONDS
    if start is None or seen is None or until is None:
        return False
    return _seconds(seen, start) <= WITHIN_SECONDS and _seconds(start, until) <= OVERLAP_SECONDS


def _moved(life: dict[str, Any], old: Sequence[Row], new: Sequence[Row]) -> dict[str, int]:
    """How far from the start before this life begins to read, where the claims of both name offsets."""
    before: dict[tuple[str, int], int] = {}
    now: dict[tuple[str, int], tuple[datetime, int]] = {}
    one, since = life["job"] == life["before_job"], life["began_at"]
    for claim in old if one else (*old, *new):
        place, at = (claim["topic"], claim["partition"]), claim["at"]
        if one and (at is None or since is None):
            continue
        if not (at >= since if one else claim["job"] == life["job"]):
            before[place] = max(claim["offset"], before.get(place, claim["offset"]))
        elif at is not None:
            now[place] = min((at, claim["offset"]), now.get(place, (at, claim["offset"])))
    by = [now[place][1] - before[place] for place in before.keys() & now.keys()]
    out: dict[str, int] = {}
    for way, some in (("skipped", [n for n in by if n > 0]), ("repeated", [-n for n in by if n < 0])):
        if some:
            out[f"{way}_offsets"], out[f"{way}_partitions"] = sum(some), len(some)
    return out


def _order(row: Row) -> int:
    """The order of events within a scope: time where known, else file and line."""
    order: int = row["line"] if row["seq"] is None else row["seq"]
    return order


def _seconds(since: datetime, until: datetime) -> int:
    return int(until.timestamp() // 1 - since.timestamp() // 1)


def _log(row: Row) -> str:
    return series(row["host"], row["file"])


@lru_cache(maxsize=4096)
def series(host: str | None, file: str) -> str:
    """In which log a line stands, as one name for all processes that were this JobManager one after the other.

    The host, else the file; without the numbers of rolled logs, pods, containers and attempts. Directories keep theirs, as they name
    clusters, unless they are themselves named after a JobManager or container.
    """
    if host is not None:
        return _unnumbered(host)
    folders, _, name = file.rpartition("/")
    above, _, folder = folders.rpartition("/")
    own = re.search(r"job-?manager|container_|\bjm\b|[-_]jm[-_\d]|attempt", folder.lower())
    return "/".join((above, _unnumbered(folder) if own else folder, _unnumbered(name)))


def _unnumbered(name: str) -> str:
    """`name` without words that hold a digit, without Kubernetes' five random letters and without the endings of packed files."""
    random = r"(?<=-)[bcdfghjklmnpqrstvwxz2456789]{5}(?=[-./]|$)"
    rest = re.sub(rf"[A-Za-z0-9]*\d[A-Za-z0-9]*|{random}|previous|\b(?:gz|zst|lz4|bz2|xz)$", "", name, flags=re.ASCII)
    return re.sub(r"^\.|\.$", "", re.sub(r"[-_.]+", ".", rest))
