"""Hostile inputs, those that need no JVM: each ends with a code of the contract, says why, and what lies beside it is read.

Sizes are small here and the limits with them; `python -m tests.hostile.attack` has them as they come, with the memory that they take.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import subprocess
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import zstandard

from analyzers.budget import BUDGET
from analyzers.bundle import BundleError, packed, read_bundle, room, small_files
from analyzers.bundle.packed import TooMuch
from analyzers.readers import checkpoint_files
from analyzers.readers.log_scan import LogOptions, plan, scan
from analyzers.readers.opening import parts
from cli.collectors import json_answers
from cli.shell.host import of_the_host
from tests.command_line import diag
from tests.hostile.attack import DEFECT, run
from tests.hostile.inputs.all import CASES
from tests.hostile.inputs.bundles import bundle
from tests.hostile.inputs.case import ILL, ILL_SAYS, LINE, MB, Attack
from tests.hostile.inputs.checkpoints import checkpoint, metadata_of_finished_subtasks

TEXT = LINE * 100 + bytes(20 * MB)


def zipped(kind: int) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", kind) as archive:
        archive.writestr("a.log", TEXT)
    return made.getvalue()


def tarred(content: bytes) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        info = tarfile.TarInfo("a.log")
        info.size = len(content)
        archive.addfile(info, io.BytesIO(content))
    return made.getvalue()


BOMBS: dict[str, Callable[[], bytes]] = {
    "bz2": lambda: bz2.compress(TEXT),
    "xz": lambda: lzma.compress(TEXT, preset=0),
    "zst": lambda: zstandard.compress(TEXT),
    "gz": lambda: gzip.compress(TEXT),
    "zip": lambda: zipped(zipfile.ZIP_DEFLATED),
    "zip of bz2": lambda: zipped(zipfile.ZIP_BZIP2),
    "zip of lzma": lambda: zipped(zipfile.ZIP_LZMA),
    "tar.gz": lambda: gzip.compress(tarred(TEXT)),
    "bz2 in bz2": lambda: bz2.compress(bz2.compress(TEXT)),
    "gz in tar.zst": lambda: zstandard.compress(tarred(gzip.compress(TEXT))),
}


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed, "BUDGET", replace(BUDGET, unpacked_least_bytes=2 * MB, unpacked_times=10))


def sizes(data: bytes) -> Iterator[int]:
    for _, text, _ in parts(io.BytesIO(data)):
        while piece := text.read():
            yield len(piece)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_gives_little_at_a_time_and_ends(name: str) -> None:
    pieces: list[int] = []
    with pytest.raises(TooMuch, match="unpacks to more than"):
        pieces.extend(sizes(BOMBS[name]()))
    assert pieces
    assert max(pieces) <= MB
    assert sum(pieces) <= 3 * MB


@pytest.mark.parametrize("name", BOMBS)
def test_what_is_no_bomb_is_read_to_its_end(name: str) -> None:
    assert sum(sizes(BOMBS[name]())) == len(TEXT)


@pytest.mark.usefixtures("small")
def test_the_log_beside_a_bomb_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.log.bz2").write_bytes(BOMBS["bz2"]())
    found = scan(plan([str(tmp_path), str(ILL)], LogOptions()))
    assert any(ILL_SAYS in row["text"] for row in found["log_events"])
    assert any("unpacks to more than" in row["why"] for row in found["sources"] if row["why"])


@pytest.mark.parametrize(
    "pack", [lambda many: tarred(b"x")[:1024] * many + bytes(1024), lambda many: gzip.compress(tarred(b"x")[:1024] * many)]
)
def test_an_archive_has_so_many_members(pack: Callable[[int], bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed.members_of, "__defaults__", (50,))
    assert len(list(parts(io.BytesIO(pack(50))))) == 50
    with pytest.raises(TooMuch, match="more than 50 files"):
        list(parts(io.BytesIO(pack(51))))


@pytest.mark.parametrize("kind", [tarfile.GNUTYPE_LONGNAME, tarfile.XHDTYPE])
def test_a_name_of_megabytes_is_not_read(kind: bytes) -> None:
    info = tarfile.TarInfo("a")
    info.type, info.size = kind, 2 * MB
    with pytest.raises(TooMuch, match="name"):
        list(parts(io.BytesIO(info.tobuf(tarfile.GNU_FORMAT) + bytes(3 * MB))))


def test_a_bundle_has_room_for_so_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = bundle(tmp_path, {"log_events": ("log_events.jsonl", b"{}\n" * 100, 100)})
    assert len(read_bundle(made).tables["log_events"]) == 100
    monkeypatch.setattr(room, "BUDGET", replace(BUDGET, table_values=500))
    with pytest.raises(BundleError, match="more rows than there is room for"):
        read_bundle(made)


def test_a_checkpoint_makes_so_many_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint_files, "_MOST_ROWS", 1000)
    found = checkpoint_files.read_checkpoints([str(checkpoint(tmp_path, metadata_of_finished_subtasks(1)))])
    assert len(found["subtask_states"]) == 1000
    assert any("more than 1,000 rows" in (row["why"] or "") and row["state"] == "partial" for row in found["sources"])


def test_rows_of_all_checkpoints_are_bounded_and_it_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint_files, "_MOST_ROWS_IN_ALL", 1000)
    found = checkpoint_files.read_checkpoints([str(checkpoint(tmp_path, metadata_of_finished_subtasks(1)))])
    assert len(found["subtask_states"]) == 1000
    assert any("of which 1,000 were kept" in (row["why"] or "") for row in found["sources"])


@pytest.mark.parametrize("content", [b"[" + b"{}," * 1000 + b"0]", b'{"a":' + b"1," * 1001])
def test_an_answer_has_so_many_values(content: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_answers, "BUDGET", replace(BUDGET, answer_values=1000))
    with pytest.raises(json_answers.TooMuchJson, match="more than 1,000 values"):
        json_answers.Appetite().parsed(content)


def test_answers_together_have_so_many_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_answers, "BUDGET", replace(BUDGET, answers_bytes=25, answers_values=1000))
    appetite = json_answers.Appetite()
    assert [appetite.parsed(b'{"a": [1]}') for _ in range(2)] == [{"a": [1]}] * 2
    with pytest.raises(json_answers.TooMuchJson, match="the answers before it"):
        appetite.parsed(b'{"a": [1]}')


def test_a_pipe_that_is_written_to_is_a_file(tmp_path: Path) -> None:
    """``--command-config <(vault read …)``: secrets need not lie on a disk."""
    reading, writing = os.pipe()
    os.write(writing, b"security.protocol=PLAINTEXT\n")
    os.close(writing)
    assert small_files.small_file(Path(f"/dev/fd/{reading}")) == b"security.protocol=PLAINTEXT\n"
    os.close(reading)


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        RuntimeError("can't start new thread"),
        OSError(28, "No space left on device", "/tmp/x"),
        OSError(24, "Too many open files"),
    ],
)
def test_what_the_host_does_is_no_defect(error: Exception) -> None:
    told = of_the_host(error)
    assert told is not None
    assert told.exit_code == 3
    assert told.hint
    outer = ValueError("x")
    outer.__cause__ = error
    assert of_the_host(outer) is not None
    assert of_the_host(ValueError("x")) is None


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    """A directory that is removed by what goes as deep as some of these trees do; pytest does not."""
    yield tmp_path
    subprocess.run(["rm", "-rf", str(tmp_path)], check=True)


_NOT_HERE = "bomb many expands huge endless_line json_line blank gigabyte deep_manifest_ small_files value_bomb empty_rows metadata_of 3000"
"""What takes long to make, to read or to remove; and what needs a process of its own."""


def here(name: str) -> bool:
    return not any(word in name for word in _NOT_HERE.split()) and not name.startswith(("ulimit", "full", "files_of", "deleted", "no_tmp"))


HERE = [name for name in CASES if here(name) and not name.endswith("_judged")]


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.long if "200_mb" in name else ()) for name in HERE])
def test_it_ends_as_the_contract_says(name: str, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(small_files, "PIPE_SECONDS", 0.2)
    attack: Attack = CASES[name](place)
    if not attack.quick or attack.environ or attack.limits or attack.before or attack.stdin:
        pytest.skip("needs a process of its own, or a JVM")
    arguments = [os.fsdecode(word) for word in attack.arguments] + ["--facts-only"] * attack.facts_only
    code, out, err = diag(*arguments)
    assert not DEFECT.search(err), err
    judged = attack.codes == {1} and attack.facts_only
    assert code in ({0, 3} if judged else attack.codes), err
    if judged:
        assert ILL_SAYS in out


@pytest.mark.parametrize(
    "name", ["files_of_no_size_and_stdin", "deleted_working_directory_and_relative_path", "deleted_working_directory_and_dump"]
)
def test_a_host_that_fails_is_told_in_a_sentence(name: str, place: Path) -> None:
    outcome = run(name, place)
    assert outcome is not None
    assert outcome.wrong == [], outcome.stderr
