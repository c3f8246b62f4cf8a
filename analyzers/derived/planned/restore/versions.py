"""Can this Flink read it: the version of ``_metadata`` against the release that is to restore it.

Sources: ``MetadataSerializers`` of each release (an unknown version is refused), Flink's table of checkpoints and savepoints
(ops/state/checkpoints_vs_savepoints: a minor upgrade is supported from any of them but an unaligned checkpoint), and the release notes of
2.0 (state of 1.x: not guaranteed, Kryo and the serializers of collections have changed).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from analyzers.derived.planned.answers import BREAKS, GOES, UNKNOWN, answer
from analyzers.derived.planned.restore.case import Answer, Restore, version_of

Release = tuple[int, int]
_WRITTEN_BY: Mapping[int, tuple[Release, Release | None]] = {
    2: ((1, 3), (1, 10)), 3: ((1, 11), (1, 15)), 4: ((1, 16), (1, 20)), 5: ((2, 0), (2, 0)), 6: ((2, 1), (2, 3)), 7: ((2, 4), None),
}  # fmt: skip
"""First and last release that write a version of ``_metadata``."""


def metadata_version(case: Restore) -> Iterator[Answer]:
    """One answer; the serializers of the program's own types are not in ``_metadata``, and are not promised."""
    file = case.file
    if file is None or file["state"] != "complete" or file["version"] not in _WRITTEN_BY:
        return
    first, last = _WRITTEN_BY[file["version"]]
    writers = f"{_said(first)} or later" if last is None else _said(first) if first == last else f"{_said(first)} to {_said(last)}"
    wrote = f"Flink {writers} wrote it (version {file['version']} of _metadata)"
    stated = case.engine_version
    to = version_of(stated)
    if to is None:
        yield answer("version", UNKNOWN, f"{wrote}; which Flink is to restore it was not said", "Add --to VERSION, or --flink-rest.")
    elif to < first:
        says = f"{wrote}, and Flink {stated} does not know that version: “Unrecognized checkpoint version number: {file['version']}”"
        yield answer("version", BREAKS, says, f"Restore it with Flink {_said(first)} or later.")
    elif to[0] > first[0]:
        says = (
            f"{wrote}, and Flink {stated} promises nothing for state of {first[0]}.x: Kryo and the serializers of collections have changed"
        )
        yield answer("version", UNKNOWN, says, "Try it on a copy with other topics to write to, and keep the savepoint.")
    elif last is not None and to < last:
        says = f"{wrote}; where that was a later one than {stated}, this is a downgrade, which Flink does not support"
        yield answer(
            "version",
            UNKNOWN,
            says,
            "Look into the logs of the job that wrote it: Starting StandaloneSessionClusterEntrypoint (Version: …).",
        )
    elif _unaligned(case) and last is not None and to > last:
        says = f"{wrote} as an unaligned checkpoint, and Flink supports no minor upgrade from one"
        yield answer("version", UNKNOWN, says, "Take a savepoint with the old release, and restore that.")
    else:
        yield answer("version", GOES, f"{wrote}, and Flink {stated} reads it; whether it can read your own types is not written there")


def _said(release: Release) -> str:
    return f"{release[0]}.{release[1]}"


def _unaligned(case: Restore) -> bool:
    return any(row["channel_bytes"] for row in case.rows("subtask_states") if row["path"] == case.path)
