"""Is it a completed checkpoint or savepoint, and is every state file that it names where the restore looks, in its size?"""

from __future__ import annotations

from collections.abc import Iterator

from analyzers.derived.planned.answers import BREAKS, GOES, MOST_KEPT, UNKNOWN, answer, counted, some
from analyzers.derived.planned.restore.case import Answer, Restore

_OTHER = "Restore from another one: diag checkpoint-inspect DIRECTORY lists those that are complete."


def complete(case: Restore) -> Iterator[Answer]:
    """Flink reads all of ``_metadata`` before anything else (Checkpoints.loadCheckpointMetadata) and starts no job where it cannot."""
    file = case.file
    if file is None:
        known = some([str(row["path"]) for row in case.files])
        says = (
            f"{counted(len(case.files), 'checkpoint')} are in the evidence ({known})" if case.files else "its _metadata was not read whole"
        )
        yield answer("complete", UNKNOWN, says, "Name one of them." if case.files else "Look at its source, and ask again.")
        return
    what = file["kind"] if file["kind"] in ("checkpoint", "savepoint") else "checkpoint"
    if file["state"] == "complete" and not case.whole:
        yield answer("complete", UNKNOWN, "not every operator of its _metadata was read", "Name this checkpoint alone.")
    elif file["state"] == "complete":
        form = f" ({file['savepoint_format']})" if file["savepoint_format"] else ""
        holds = f"{counted(len(case.operators), 'operator')}, {file['state_bytes']:,} bytes of state"
        says = f"{what} {file['checkpoint']}{form} is complete: {holds}"
        yield answer("complete", GOES, says)
    elif file["state"] == "damaged" and file["version"] is None:
        says = f"its _metadata is none that Flink reads: at byte {file['damaged_at']} {file['damage']}"
        yield answer("complete", BREAKS, says, _OTHER)
    elif file["state"] == "damaged":
        yield answer("complete", BREAKS, f"its _metadata is damaged: at byte {file['damaged_at']} {file['damage']}", _OTHER)
    elif file["version"] is not None:
        yield answer("complete", UNKNOWN, "its _metadata is being written now", "Wait until it is complete, and ask again.")
    else:
        yield answer("complete", BREAKS, "it has no _metadata: it was never completed, or it is being deleted", _OTHER)


def state_files(case: Restore) -> Iterator[Answer]:
    """A task opens its state files when it restores: one that is missing fails every attempt, and the job restarts for ever."""
    file = case.file
    if file is None or file["state"] != "complete":
        return
    number = file["state_files"]
    if number is None:
        yield answer(
            "state-files", UNKNOWN, "whether its state files are there was not looked at", "Ask of the directory, not of a bundle."
        )
        return
    rows = [row for row in case.rows("state_files") if row["path"] == case.path]
    lost = [row for row in rows if row["state"] in ("missing", "wrong-size")]
    away = [row for row in rows if row["state"] in ("elsewhere", "unchecked")]
    missing, wrong = file["state_files_missing"] or 0, file["state_files_wrong_size"] or 0
    hidden = (file["state_files_elsewhere"] or 0) + (file["state_files_unchecked"] or 0)
    if missing or wrong:
        parts = [f"{missing} not there"] * bool(missing) + [f"{wrong} of another size"] * bool(wrong)
        whose = sorted({str(row["name"] or row["operator"]) for row in lost if row["operator"]})
        says = f"of {counted(number, 'state file')} that it names {' and '.join(parts)}: {some(_names(lost))}" + (
            f" (state of {some(whose)})" if whose else ""
        )
        says += ". Each attempt to restore that operator fails, and the job restarts again and again"
        todo = "Copy these files back to where it names them, or restore from another checkpoint or savepoint."
        yield answer(
            "state-files", BREAKS, says, todo, files=_names(lost)[:MOST_KEPT], operators=whose[:MOST_KEPT] or None, number=missing + wrong
        )
    elif hidden:
        where = sorted({name.rpartition("/")[0] or name for name in _names(away)})
        says = f"{hidden} of {counted(number, 'state file')} are named at places that cannot be seen from here: {some(where)}"
        todo = (
            "Ask on a host that sees these paths (of an object store: with access to it). A copied checkpoint is restored from the stated "
            "paths, not from the copy."
        )
        yield answer("state-files", UNKNOWN, says, todo, files=_names(away)[:MOST_KEPT], number=hidden)
    elif number:
        yield answer(
            "state-files", GOES, f"all of {counted(number, 'state file')} that it names are there, in the recorded size", number=number
        )
    else:
        yield answer("state-files", GOES, "it names no state file: all of its state lies in _metadata itself")


def _names(rows: list[dict[str, object]]) -> list[str]:
    return [str(row["file"] or f"{row['files']} more") for row in rows]
