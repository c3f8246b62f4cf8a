"""What a host does to a process: no room, no memory, no files, no HOME."""

from __future__ import annotations

import gzip
import io
import os
import tarfile
import zipfile
from pathlib import Path
from typing import Any

from tests.hostile.inputs.bombs import _member
from tests.hostile.inputs.case import CASES, ILL, JUDGED, LINE, MB, WHOLE, Attack, beside_an_ill_job, case
from tests.hostile.inputs.checkpoints import checkpoint, metadata_of_finished_subtasks
from tests.hostile.inputs.trees import names_that_are_no_utf8


@case
def full_tmpdir(here: Path) -> Attack:
    (here / "tmp").mkdir()
    full = f"mount -t tmpfs -o size=64k,nr_inodes=64 none {here}/tmp && head -c 1000000 /dev/zero > {here}/tmp/full 2>/dev/null; "
    return Attack(["triage", str(ILL)], {1, 3}, "", "nothing wrong", before=full, environ={"TMPDIR": f"{here}/tmp"}, **WHOLE)


@case
def full_tmpdir_and_stdin(here: Path) -> Attack:
    attack = full_tmpdir(here)
    attack.arguments = ["triage", "-"]
    attack.stdin = lambda: b"".join(path.read_bytes() for path in sorted(ILL.rglob("*")) if path.is_file()) + LINE * 5000
    return attack


@case
def full_tmpdir_and_facts_only(here: Path) -> Attack:
    attack = full_tmpdir_and_stdin(here)
    attack.facts_only = True
    attack.codes = {0, 3}  # another directory is found, or none
    return attack


@case
def full_tmpdir_and_zip(here: Path) -> Attack:
    attack = full_tmpdir(here)
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("inner.log", os.urandom(70 * MB))
    (here / "a.tar").write_bytes(_member("a.zip", made.getvalue()) + bytes(1024))
    attack.arguments = ["triage", str(here / "a.tar"), str(ILL)]
    attack.codes, attack.facts_only = {0, 3}, True
    return attack


@case
def full_tmpdir_and_bundle(here: Path) -> Attack:
    attack = full_tmpdir(here)
    with tarfile.open(here / "b.tar.gz", "w:gz") as archive:
        archive.add(ILL, "raw")
        info = tarfile.TarInfo("raw/more.log")
        info.size = 3 * MB
        archive.addfile(info, io.BytesIO(os.urandom(3 * MB)))
    attack.arguments, attack.codes, attack.facts_only = ["triage", "--bundle", str(here / "b.tar.gz")], {0, 3}, True
    return attack


@case
def files_of_no_size(here: Path) -> Attack:
    return Attack(["triage", str(ILL)], {1, 3}, "", "nothing wrong", limits=["-f 64"], **WHOLE)


@case
def files_of_no_size_and_stdin(here: Path) -> Attack:
    return Attack(["triage", "-"], {1, 3}, "", "nothing wrong", limits=["-f 64"], stdin=lambda: LINE * 5000)


@case
def tmpdir_that_is_none(here: Path) -> Attack:
    return Attack(["triage", str(ILL)], {1, 3}, "", "nothing wrong", environ={"TMPDIR": f"{here}/none"}, **WHOLE)


@case
def no_tmpdir_at_all(here: Path) -> Attack:
    closed = (
        "mount -t tmpfs -o ro none /tmp; mount -t tmpfs -o ro none /var/tmp; mount -t tmpfs -o ro none /usr/tmp 2>/dev/null; cd /proc; "
    )
    return Attack(["triage", "-"], {1, 3}, "", "nothing wrong", before=closed, stdin=lambda: LINE * 50, environ={"TMPDIR": None}, **WHOLE)


@case
def deleted_working_directory(here: Path) -> Attack:
    (here / "gone").mkdir()
    return Attack(["triage", str(ILL)], JUDGED, before=f"cd {here}/gone && rmdir {here}/gone; ", **WHOLE)


@case
def deleted_working_directory_and_relative_path(here: Path) -> Attack:
    (here / "gone").mkdir()
    return Attack(["triage", "."], {2, 3}, before=f"cd {here}/gone && rmdir {here}/gone; ")


@case
def deleted_working_directory_and_checkpoint(here: Path) -> Attack:
    (here / "gone").mkdir()
    path = checkpoint(here, metadata_of_finished_subtasks(1))
    return Attack(["checkpoint-inspect", str(path), "--save", "saved"], {0, 1, 2, 3}, before=f"cd {here}/gone && rmdir {here}/gone; ")


@case
def deleted_working_directory_and_dump(here: Path) -> Attack:
    (here / "gone").mkdir()
    path = checkpoint(here, metadata_of_finished_subtasks(1))
    return Attack(
        ["checkpoint-inspect", "--dump", str(path), "chk-1"], {0, 2, 3}, before=f"cd {here}/gone && rmdir {here}/gone; ", facts_only=False
    )


def _limit(name: str, limit: str, codes: set[int], **more: Any) -> None:
    @case
    def make(here: Path) -> Attack:
        return Attack(["triage", str(ILL)], codes, "", "nothing wrong", limits=[limit], **{**WHOLE, **more})

    CASES[name] = CASES.pop("make")


for _number in (16, 24, 32, 48, 64, 128):
    _limit(f"ulimit_n_{_number}", f"-n {_number}", {1, 3})
for _mb in (100, 200, 300, 400, 500, 700, 1000, 1500, 2000, 3000, 5000):
    _limit(f"ulimit_v_{_mb}_mb", f"-v {_mb * 1024}", {1, 3})
_limit("ulimit_u_1", "-u 1", {1, 3})
_limit("ulimit_s_256", "-s 256", {1, 3})
_limit("ulimit_t_2", "-t 2", {1, 3, 152, -24, 137})


@case
def ulimit_n_64_and_many_logs(here: Path) -> Attack:
    attack = beside_an_ill_job(here, "b.log", LINE, "", limits=["-n 64"], **WHOLE)
    for number in range(200):
        (here / "logs" / f"{number}.log.gz").write_bytes(gzip.compress(LINE))
    return attack


@case
def ulimit_n_24_and_a_broker(here: Path) -> Attack:
    return Attack(["broker-health", "-b", "127.0.0.1:1", "--timeout", "2s"], {1, 2, 3}, limits=["-n 24"], **WHOLE)


@case
def ulimit_v_500_and_a_broker(here: Path) -> Attack:
    return Attack(["broker-health", "-b", "127.0.0.1:1", "--timeout", "2s"], {1, 2, 3}, limits=["-v 512000"])


@case
def ulimit_v_500_and_a_big_log(here: Path) -> Attack:
    (here / "a.log").write_bytes(LINE * (100 * MB // len(LINE)))
    return Attack(["triage", str(here / "a.log")], {0, 3}, limits=["-v 512000"])


@case
def no_home(here: Path) -> Attack:
    return Attack(["triage", str(ILL), "--save", str(here / "saved")], JUDGED, environ={"HOME": None, "XDG_CACHE_HOME": None}, **WHOLE)


@case
def home_that_is_none(here: Path) -> Attack:
    return Attack(
        ["triage", str(ILL), "--save", str(here / "saved")], JUDGED, environ={"HOME": f"{here}/none", "XDG_CACHE_HOME": None}, **WHOLE
    )


@case
def home_that_is_a_file(here: Path) -> Attack:
    (here / "home").write_text("")
    return Attack(
        ["triage", str(ILL), "--save", str(here / "saved")], JUDGED, environ={"HOME": f"{here}/home", "XDG_CACHE_HOME": None}, **WHOLE
    )


@case
def home_that_is_read_only(here: Path) -> Attack:
    (here / "home").mkdir()
    closed = f"mount -t tmpfs -o ro none {here}/home; "
    return Attack(
        ["triage", str(ILL), "--save", str(here / "saved")],
        JUDGED,
        before=closed,
        environ={"HOME": f"{here}/home", "XDG_CACHE_HOME": None},
        **WHOLE,
    )


@case
def home_that_is_not_utf8(here: Path) -> Attack:
    return Attack(
        ["triage", str(ILL), "--save", str(here / "saved")], JUDGED, environ={"HOME": f"{here}/\udcff", "XDG_CACHE_HOME": None}, **WHOLE
    )


@case
def no_environment(here: Path) -> Attack:
    keep = {name: None for name in os.environ if name not in ("PATH", "PYTHONPATH", "JAVA_HOME")}
    return Attack(["triage", str(ILL)], JUDGED, environ=keep, **WHOLE)


@case
def locale_that_is_none(here: Path) -> Attack:
    attack = names_that_are_no_utf8(here)
    attack.environ = {"LC_ALL": "xx_YY.nothing", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    attack.facts_only = attack.quick = False
    return attack


@case
def eight_at_once(here: Path) -> Attack:
    return Attack(["triage", str(ILL)], JUDGED, times=8, seconds=400, **WHOLE)


@case
def java_that_is_none(here: Path) -> Attack:
    (here / "bin").mkdir()
    (here / "bin" / "java").write_text("#!/bin/sh\nexit 1\n")
    (here / "bin" / "java").chmod(0o755)
    return Attack(["triage", str(ILL)], {1, 3}, "", "nothing wrong", environ={"JAVA_HOME": str(here)}, **WHOLE)
