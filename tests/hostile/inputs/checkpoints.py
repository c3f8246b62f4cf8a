"""Checkpoints that expand, or hold many files."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

from tests.hostile.inputs.bombs import _member
from tests.hostile.inputs.bundles import _header
from tests.hostile.inputs.case import LINE, MB, NOT_READ, Attack, beside_an_ill_job, case


def metadata_of_finished_subtasks(operators: int) -> bytes:
    """Four bytes for each subtask: the least that is one."""
    out: list[bytes] = [struct.pack(">iiqii", 0x4960672D, 4, 7, 0, operators)]
    parallelism = 1 << 15
    subtasks = b"".join(struct.pack(">i", -(n + 1)) for n in range(parallelism))
    tail = b"\0" + struct.pack(">i", parallelism) + subtasks
    out += [struct.pack(">QQii", 0, number, parallelism, parallelism) + tail for number in range(operators)]
    return b"".join(out)


def checkpoint(here: Path, content: bytes) -> Path:
    folder = here / "checkpoints" / ("0" * 32) / "chk-7"
    folder.mkdir(parents=True)
    (folder / "_metadata").write_bytes(content)
    return folder


@case
def metadata_that_expands(here: Path) -> Attack:
    return Attack(
        ["checkpoint-inspect", str(checkpoint(here, metadata_of_finished_subtasks(150)))], {0, 1, 3}, "rows|subtasks", seconds=300
    )


@case
def metadata_that_expands_dumped(here: Path) -> Attack:
    return Attack(
        ["checkpoint-inspect", "--dump", str(checkpoint(here, metadata_of_finished_subtasks(150)))],
        {0, 3},
        "",
        facts_only=False,
        seconds=300,
    )


@case
def metadata_that_expands_beside_an_ill_job(here: Path) -> Attack:
    attack = beside_an_ill_job(here, "c.log", LINE, "rows|subtasks", seconds=300)
    checkpoint(here / "logs", metadata_of_finished_subtasks(150))
    return attack


@case
def metadata_of_a_gigabyte(here: Path) -> Attack:
    folder = checkpoint(here, b"")
    with open(folder / "_metadata", "r+b") as file:
        file.write(struct.pack(">iiqii", 0x4960672D, 4, 7, 0, 0))
        file.truncate(1000 * MB)
    return Attack(["checkpoint-inspect", str(folder)], NOT_READ, "bytes")


@case
def checkpoint_archive_bomb(here: Path) -> Attack:
    made = here / "checkpoints.tar.gz"
    zeros = gzip.compress(bytes(100 * MB), 9)
    made.write_bytes(gzip.compress(_header("job/shared/a", 20_000 * MB)) + zeros * 40 + gzip.compress(bytes(1024)))
    return Attack(["checkpoint-inspect", str(made)], NOT_READ, "", seconds=300)


@case
def checkpoint_archive_of_small_files(here: Path) -> Attack:
    made = here / "checkpoints.tar.zst"
    import zstandard

    one = _member("job/chk-1/a", bytes(3 * MB))
    made.write_bytes(b"".join(zstandard.compress(one.replace(b"chk-1/a", b"chk-1/%c" % (97 + n % 26), 1)) for n in range(26)) * 12)
    return Attack(["checkpoint-inspect", str(made)], {0, 3}, "", seconds=300)


@case
def checkpoint_archive_of_many_members(here: Path) -> Attack:
    made = here / "checkpoints.tgz"
    with gzip.open(made, "wb", 1) as out:
        for number in range(600_000):
            out.write(_member(f"job/x/{number}", b""))
    return Attack(["checkpoint-inspect", str(made)], NOT_READ, "", seconds=300)


@case
def deep_json_in_a_streaming_checkpoint(here: Path) -> Attack:
    folder = here / "query"
    for name in ("offsets", "commits", "sources"):
        (folder / name).mkdir(parents=True)
    (folder / "metadata").write_text('{"id":' + "[" * 100_000)
    (folder / "offsets" / "1").write_text("v1\n" + "[" * 100_000 + "\n" + '{"a":' * 100_000 + "\n")
    (folder / "commits" / "1").write_text("v1\n" + '{"a":' * 100_000)
    return Attack(["checkpoint-inspect", str(folder)], {0, 3})


@case
def endless_files_in_a_streaming_checkpoint(here: Path) -> Attack:
    folder = here / "query"
    for name in ("offsets", "commits", "sources"):
        (folder / name).mkdir(parents=True)
    (folder / "metadata").write_text('{"id":"a"}')
    for name in ("offsets", "commits"):
        with open(folder / name / "1", "wb") as file:
            file.write(b"v1\n")
            file.truncate(2000 * MB)
    return Attack(["checkpoint-inspect", str(folder)], {0, 3})
