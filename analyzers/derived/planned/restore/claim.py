"""What the claim mode means for these files: who deletes them, and what must stay.

Sources: Flink's documentation of claim modes (ops/state/savepoints; since 1.15, LEGACY is what there was before: deprecated by FLIP-416,
and 2.3.0 still takes it) and ``CheckpointProperties``: the tail of ``_metadata`` says when Flink deletes a checkpoint. A savepoint is its
user's.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzers.derived.planned.answers import BREAKS, GOES, UNKNOWN, answer, counted, some
from analyzers.derived.planned.restore.case import Answer, Restore, version_of

_ENDED = ("FINISHED", "CANCELED", "FAILED")
_WITH_MODES = (1, 15)
_CLAIM = "Restore with CLAIM (a copy, where it is to be kept), or with the changelog off (state.changelog.enabled)."
_TAKE_SAVEPOINT = "Stop that job with a savepoint, and restore from the savepoint."


def claim_mode(case: Restore) -> Iterator[Answer]:
    """One answer: what refuses the mode, who may delete the checkpoint before it is restored, or what must be kept after it."""
    file, mode = case.file, case.plan["claim_mode"]
    if file is None or file["state"] != "complete" or not mode:
        return
    version = version_of(case.engine_version)
    if version is not None and mode == "claim" and version < _WITH_MODES:
        yield answer("claim-mode", BREAKS, f"Flink {case.engine_version} has no claim modes: they came with 1.15", "Leave the mode out.")
        return
    yield _kept_by_its_job(case) or _changelog(case) or answer("claim-mode", GOES, *_afterwards(case))


def _kept_by_its_job(case: Restore) -> Answer | None:
    """A checkpoint that the job which wrote it may still delete."""
    file = case.file or {}
    if file["kind"] == "savepoint":
        return None
    when = file["discarded"]
    writer = next((row for row in case.rows("jobs") if row["job"] and row["job"] == file["job"]), None)
    if writer is not None and writer["state"] not in _ENDED:
        if when is not None and "subsumed" not in when:
            return None
        says = f"it is a checkpoint of job {file['job']}, which is {writer['state']}: that job deletes it when later ones have completed"
        return answer("claim-mode", BREAKS, says, _TAKE_SAVEPOINT)
    if writer is not None or (when is not None and "cancelled" not in when):
        return None
    of, by = (f" of job {file['job']}", f" ({file['job']})") if file["job"] else ("", "")
    if when is None:
        says = f"whether it is a checkpoint that the job which wrote it{by} deletes is not written in it (before Flink 1.16)"
        todo = (
            "Make sure that the job has ended and that its checkpoints are retained (RETAIN_ON_CANCELLATION); --flink-rest shows the first."
        )
        return answer("claim-mode", UNKNOWN, says, todo)
    says = f"it is a checkpoint{of} that Flink deletes when that job is cancelled: its retention is not RETAIN_ON_CANCELLATION"
    todo = "Take a savepoint where that job still runs (--flink-rest shows it); where it died, this checkpoint stays."
    return answer("claim-mode", UNKNOWN, says, todo)


def _changelog(case: Restore) -> Answer | None:
    """The changelog state backend cannot make the full checkpoint that NO_CLAIM asks for (StreamTask.checkForcedFullSnapshotSupport)."""
    written = any(row.get("changelog") for row in case.rows("subtask_states") if row["path"] == case.path)
    runs = next((row["changelog"] for row in case.program if row["changelog"] is not None), None)
    if case.plan["claim_mode"] != "no-claim" or runs is False or not (written or runs):
        return None
    fails = "its first checkpoint fails with NO_CLAIM: that backend makes no full ones (“does not support enforcing a full snapshot”)"
    if runs:
        return answer("claim-mode", BREAKS, f"the program has the changelog state backend on, and {fails}", _CLAIM)
    says = f"it was written with the changelog state backend; where the program has that on, too, {fails}"
    return answer("claim-mode", UNKNOWN, says, _CLAIM)


def _afterwards(case: Restore) -> tuple[str, str | None]:
    file, mode = case.file or {}, case.plan["claim_mode"]
    what = "savepoint" if file["kind"] == "savepoint" else "checkpoint"
    outside, where = file["state_files_outside"] or 0, some(list(file["outside"] or ()))
    shared = f"{counted(outside, 'state file')} of it are outside of its directory ({where})" if outside else ""
    if mode == "claim":
        says = f"with CLAIM the {what} becomes the new job's, which deletes it once later checkpoints have completed"
        keep = f"; {shared} and become the new job's, too: whoever deletes that directory breaks its checkpoints" if shared else ""
        return f"{says}{keep}", "Restore with NO_CLAIM where it is to be kept, or to be restored a second time."
    if mode == "legacy":
        says = f"with LEGACY Flink does not delete the {what}"
        keep = f"; {shared}, and later incremental checkpoints go on using them: that directory must stay for good" if shared else ""
        return f"{says}{keep}", "Take NO_CLAIM: LEGACY is deprecated."
    says = f"with NO_CLAIM the {what} stays yours, and the first checkpoint after the restore is a full one"
    if shared:
        return f"{says}; {shared} and must stay until it has completed", f"Keep {where} until the new job has completed a checkpoint."
    return says, f"Keep the {what} until the new job has completed a checkpoint."
