"""Jobs whose sink takes their checkpoints for committed already, by its own lines, or by the table that it writes to beside the job's log.

Iceberg's sink adds the files of a checkpoint only if its number is above the highest one that a snapshot of the same job id holds. A job
that is started without state under its old id (application mode gives the same one to each start) counts from 1 again; one that is restored
from an old savepoint counts from there.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from analyzers.tables import SINK_SKIPS, Row

Tables = Mapping[str, Sequence[Row]]
SKIPPED = "iceberg-commit-skipped"
_Lines = dict[tuple[str, str | None, str], list[Row]]
_ENOUGH = 2
"""Lines: one is of the checkpoint that the job was restored from, which is committed."""


def sink_skips(tables: Tables) -> list[Row]:
    """Rows of ``sink_skips``, one per job."""
    lines: _Lines = defaultdict(list)
    for event in tables.get("log_events", ()):
        if event["signature"] == SKIPPED:
            lines[event["scope"], event["job"], event["file"]].append(event)
    return [SINK_SKIPS.row(row) for row in (*_by_lines(lines, tables), *_by_table(lines, tables))]


def _by_lines(lines: _Lines, tables: Tables) -> Iterator[dict[str, Any]]:
    for (scope, job, _), own in lines.items():
        first, last = own[0], own[-1]
        life = _newest_life(tables, scope, job)
        held = [int(n) for each in own if (n := (each["detail"] or {}).get("committed"))]
        if len(own) < _ENOUGH or (held and (last["checkpoint"] or 0) > max(held)):
            continue
        added = bool(held and life and life["last_completed"] > max(held))
        commit = next((each for each in tables.get("sink_commits", ()) if each["scope"] == scope and each["committed"] in held), None)
        yield {
            "scope": scope, "job": job, "as_of": last["at"], "reason": "hole" if added else "skipped",
            "job_name": life and life["job_name"],
            "table_name": commit and commit["table_name"], "committed": max(held, default=None), "newest": last["checkpoint"],
            "first": first["checkpoint"], "skips": len(own), "at": first["at"], "until": last["at"],
            "file": first["file"], "line": first["line"], "text": first["text"],
        }  # fmt: skip


def _by_table(lines: _Lines, tables: Tables) -> Iterator[dict[str, Any]]:
    by_lines = {(scope, job) for scope, job, _ in lines}
    newest: dict[tuple[str, str], Row] = {}
    for commit in tables.get("sink_commits", ()):
        if commit["job"] and commit["committed"] >= newest.get((commit["scope"], commit["job"]), {"committed": -1})["committed"]:
            newest[commit["scope"], commit["job"]] = commit
    for (scope, job), commit in newest.items():
        life = _newest_life(tables, scope, job)
        if life is None or (scope, job) in by_lines or life["first_checkpoint"] is None or not commit["committed_at"]:
            continue
        later = life["last_completed_at"] and life["last_completed_at"] > commit["committed_at"]
        if later and life["first_checkpoint"] < life["last_completed"] < commit["committed"]:
            yield {
                "scope": scope, "job": job, "as_of": life["last_completed_at"], "reason": "counts-anew", "job_name": life["job_name"],
                "table_name": commit["table_name"], "committed": commit["committed"], "committed_at": commit["committed_at"],
                "newest": life["last_completed"], "first": life["first_checkpoint"], "at": life["began_at"],
                "until": life["last_completed_at"], "file": commit["file"], "line": commit["line"],
                "text": f"{commit['table_name'] or 'the table'}: flink.max-committed-checkpoint-id {commit['committed']}, job {job}",
            }  # fmt: skip


def _newest_life(tables: Tables, scope: str, job: str | None) -> Row | None:
    own = [
        life
        for life in tables.get("job_lives", ())
        if life["scope"] == scope and life["job"] == job and life["last_completed"] is not None and life["last_completed_at"] is not None
    ]
    return max(own, key=lambda life: life["last_completed_at"], default=None)
