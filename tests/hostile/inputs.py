# ruff: noqa: E501 -- bytes that are hostile as a whole
"""Hostile inputs: each case makes its files in a directory of its own and says what is run on them and what may come of it.

`python -m tests.hostile.attack` runs them all and prints what came; `test_inputs.py` runs those that need no JVM.
"""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import json
import lzma
import os
import shutil
import struct
import tarfile
import zipfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
ILL = ROOT / "fixtures" / "RST501" / "fires-connect" / "raw"
"""A small log that has a verdict: it must come out whatever lies beside it."""
ILL_SAYS = "orders-db"
LINE = b"2026-11-21 09:35:19,130 INFO  org.apache.flink.runtime.taskmanager.Task [] - one and the same line, time and again\n"
MB = 1 << 20
JUDGED, REFUSED, NOT_READ, WELL = {1}, {2}, {3}, {0}


@dataclass
class Attack:
    """A command line on what `case` made. `limits`: of the shell (``-n 64``); `quick`: no JVM is needed to see what happens."""

    arguments: Sequence[str | bytes]
    codes: set[int]
    says: str = ""  # an expression that must match what is printed, stdout and stderr
    never: str = r"\A(?!x)x"
    stdin: Callable[[], bytes] | None = None
    environ: dict[str, str | None] = field(default_factory=dict)
    limits: Sequence[str] = ()
    where: str | None = None
    before: str = ""  # a line of shell that is run first
    times: int = 1  # of the same command at once
    quick: bool = True
    facts_only: bool = True
    seconds: int = 120


CASES: dict[str, Callable[[Path], Attack]] = {}


def case(make: Callable[[Path], Attack]) -> Callable[[Path], Attack]:
    CASES[make.__name__.strip("_")] = make
    return make


def beside_an_ill_job(here: Path, name: str, content: bytes, says: str, **more: object) -> Attack:
    """A directory with the log of a job that is ill and with `name`: it is judged, and what was left of the other is said."""
    folder = here / "logs"
    folder.mkdir(exist_ok=True)
    for path in ILL.iterdir():
        shutil.copy(path, folder)
    (folder / name).write_bytes(content)
    return Attack(["triage", str(folder)], JUDGED, says, **more)  # type: ignore[arg-type]


def repeated(pack: Callable[[bytes], bytes], mb: int) -> bytes:
    return pack(LINE * 10_000 + bytes(mb * MB))


# ---- bombs ------------------------------------------------------------------------------------------------------------

NO_LOG_PACKS_SO_WELL = r"unpack"


@case
def bz2_bomb(here: Path) -> Attack:
    return beside_an_ill_job(here, "a.log.bz2", repeated(bz2.compress, 500), NO_LOG_PACKS_SO_WELL)


@case
def bz2_in_bz2_bomb(here: Path) -> Attack:
    inner = repeated(bz2.compress, 100) * 30  # members follow each other: 3 GB
    return beside_an_ill_job(here, "a.log.bz2", bz2.compress(inner), NO_LOG_PACKS_SO_WELL)


@case
def xz_bomb(here: Path) -> Attack:
    return beside_an_ill_job(here, "a.log.xz", repeated(lambda data: lzma.compress(data, preset=0), 800), NO_LOG_PACKS_SO_WELL)


@case
def xz_with_a_huge_dictionary(here: Path) -> Attack:
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 1 << 30}]
    return beside_an_ill_job(here, "a.log.xz", lzma.compress(LINE * 9, filters=filters), "")


@case
def zstd_bomb(here: Path) -> Attack:
    import zstandard

    return beside_an_ill_job(here, "a.log.zst", repeated(zstandard.compress, 1000), NO_LOG_PACKS_SO_WELL)


@case
def zstd_frames_bomb(here: Path) -> Attack:
    import zstandard

    return beside_an_ill_job(here, "a.log.zst", repeated(zstandard.compress, 100) * 30, NO_LOG_PACKS_SO_WELL)


@case
def gz_bomb(here: Path) -> Attack:
    return beside_an_ill_job(
        here, "a.log.gz", gzip.compress(repeated(lambda data: gzip.compress(data, 9), 100) * 30, 9), NO_LOG_PACKS_SO_WELL
    )


@case
def lz4_bomb(here: Path) -> Attack:
    import pyarrow

    whole = pyarrow.BufferOutputStream()
    with pyarrow.CompressedOutputStream(whole, "lz4") as stream:
        for _ in range(30):
            stream.write(LINE + bytes(100 * MB))
    return beside_an_ill_job(here, "a.log.lz4", gzip.compress(whole.getvalue().to_pybytes(), 9), NO_LOG_PACKS_SO_WELL)


@case
def zip_of_bz2_bomb(here: Path) -> Attack:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("a.log", LINE * 1000 + bytes(600 * MB))
    return beside_an_ill_job(here, "a.zip", made.getvalue(), NO_LOG_PACKS_SO_WELL)


@case
def zip_of_many_members(here: Path) -> Attack:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for number in range(60_000):
            archive.writestr(f"{number}.log", LINE)
    return beside_an_ill_job(here, "a.zip", made.getvalue(), "more than 50,000 files", seconds=300)


@case
def tar_of_many_members(here: Path) -> Attack:
    one = _member("a.log", LINE)
    return beside_an_ill_job(here, "a.tgz", gzip.compress(one * 200_000, 6), "more than 50,000 files", seconds=300)


@case
def tar_of_a_sparse_file(here: Path) -> Attack:
    info = tarfile.TarInfo("a.log")
    header = bytearray(info.tobuf(tarfile.GNU_FORMAT))
    header[156:157] = b"S"
    header[386 : 386 + 24] = b"00000000000\0" + b"00000000000\0"
    header[483:495] = b"\x80" + (1 << 42).to_bytes(11, "big")
    header[148:156] = b"%06o\0 " % (256 + sum(header[:148]) + sum(header[156:512]))
    return beside_an_ill_job(here, "a.tar", bytes(header) + bytes(1024), "")


def _member(name: str, content: bytes, kind: bytes = tarfile.REGTYPE) -> bytes:
    info = tarfile.TarInfo(name)
    info.size, info.type = len(content), kind
    return info.tobuf() + content + bytes(-len(content) % 512)


@case
def csv_export_of_200_mb(here: Path) -> Attack:
    attack = beside_an_ill_job(here, "b.csv.log", b"", "")
    with open(here / "logs" / "b.csv.log", "wb") as file:
        file.write(b"@timestamp,level,message\n")
        for _ in range(200):
            file.write(b"2026-11-21T09:35:19.130Z,INFO,a\n" * (MB // 33))
    return attack


@case
def newest_first_of_200_mb(here: Path) -> Attack:
    attack = beside_an_ill_job(here, "b.log", b"", "")
    with open(here / "logs" / "b.log", "wb") as file:
        for at in range(200 * MB // 60, 0, -1):
            file.write(
                b'{"@timestamp":"2026-11-21T%02d:%02d:%02d.130Z","log.level":"INFO","message":"a"}\n'
                % (at // 3600 % 24, at // 60 % 60, at % 60)
            )
    return attack


@case
def blank_lines(here: Path) -> Attack:
    return beside_an_ill_job(here, "b.log", LINE * 5000 + b"\n" * (100 * MB), "")


@case
def one_endless_line(here: Path) -> Attack:
    attack = beside_an_ill_job(here, "b.log", b"", "")
    with open(here / "logs" / "b.log", "wb") as file:
        file.write(LINE)
        for _ in range(600):
            file.write(b"x" * MB)
    return attack


@case
def one_endless_line_through_stdin(here: Path) -> Attack:
    return Attack(["triage", "-"], {0, 1, 3}, stdin=lambda: LINE + b"x" * (400 * MB))


@case
def one_endless_json_line(here: Path) -> Attack:
    attack = beside_an_ill_job(here, "b.log", b"", "")
    with open(here / "logs" / "b.log", "wb") as file:
        file.write(b'{"@timestamp":"2026-11-21T09:35:19.130Z","log.level":"INFO","message":"a"}\n' * 100)
        file.write(b'{"@timestamp":"2026-11-21T09:35:19.130Z","log.level":"INFO","message":"')
        for _ in range(300):
            file.write(b"x" * MB)
        file.write(b'"}\n')
    return attack


@case
def json_document_that_expands(here: Path) -> Attack:
    record = b'{"@timestamp":"2026-11-21T09:35:19.130Z","log.level":"INFO","message":"a","x":['
    return beside_an_ill_job(here, "b.log", b"[" + record + b"{}," * (60 * MB // 3) + b"0]},\n" + record + b"0]}]", "")


@case
def json_line_that_expands(here: Path) -> Attack:
    good = b'{"@timestamp":"2026-11-21T09:35:19.130Z","log.level":"INFO","message":"a"}\n' * 100
    bad = b'{"@timestamp":"2026-11-21T09:35:19.130Z","log.level":"INFO","message":"a","x":[' + b"{}," * (15 * MB // 3) + b"0]}\n"
    return beside_an_ill_job(here, "b.log", good + bad * 4 + good, "")


@case
def deep_json_in_log_lines(here: Path) -> Attack:
    good = b'{"@timestamp":"2026-11-21T09:35:19.130Z","log.level":"INFO","message":"a"}\n' * 100
    bad = b'{"@timestamp":"2026-11-21T09:35:19.130Z","log.level":"INFO","message":"a","x":' + b"[" * 100_000 + b"]" * 100_000 + b"}\n"
    ill = b"".join(
        json.dumps({"@timestamp": "2026-11-21T09:35:19.130Z", "log.level": "INFO", "message": line.decode()}).encode() + b"\n"
        for path in sorted(ILL.rglob("*"))
        if path.is_file()
        for line in path.read_bytes().splitlines()
    )
    folder = here / "logs"
    folder.mkdir()
    (folder / "a.log").write_bytes(good + bad + bad.replace(b"[", b'{"a":').replace(b"]", b"}").replace(b":}", b":0}", 1) + ill)
    return Attack(["triage", str(folder)], JUDGED)


@case
def deep_json_document(here: Path) -> Attack:
    return beside_an_ill_job(
        here,
        "b.log",
        b'[{"@timestamp":"2026-11-21T09:35:19.130Z","log.level":"INFO","message":"a","x":' + b"[" * 100_000 + b"]" * 100_000 + b"}]",
        "",
    )


# ---- bundles ----------------------------------------------------------------------------------------------------------


def bundle(here: Path, tables: dict[str, tuple[str, bytes, int]] | None = None, text: str | None = None) -> Path:
    """A bundle of what the tables (file name, content, rows) hold, checksums right: whoever sends one can compute them."""
    from analyzers.tables import TABLES

    folder = here / "bundle"
    folder.mkdir()
    said = {
        "bundle_format": 1,
        "tool": "diag",
        "version": "0.1.0",
        "created": None,
        "as_of": None,
        "scope": "",
        "redaction": {},
        "tables": {},
    }
    for name, (file, content, rows) in (tables or {}).items():
        (folder / file).write_bytes(content)
        columns = {c.name: c.type for c in TABLES[name].columns}
        said["tables"][name] = {"file": file, "rows": rows, "sha256": hashlib.sha256(content).hexdigest(), "columns": columns}  # type: ignore[index]
    (folder / "manifest.json").write_text(json.dumps(said) if text is None else text)
    return folder


@case
def bundle_with_a_deep_manifest(here: Path) -> Attack:
    return Attack(
        ["triage", "--bundle", str(bundle(here, text='{"bundle_format":' + "[" * 100_000 + "]" * 100_000 + "}"))], NOT_READ, "damaged"
    )


@case
def bundle_with_a_deep_row(here: Path) -> Attack:
    deep = b'{"scope":' + b"[" * 100_000 + b"]" * 100_000 + b"}\n"
    return Attack(["triage", "--bundle", str(bundle(here, {"log_events": ("log_events.jsonl", deep, 1)}))], NOT_READ, "damaged")


@case
def bundle_of_empty_rows(here: Path) -> Attack:
    many = 5_000_000
    return Attack(["triage", "--bundle", str(bundle(here, {"log_events": ("log_events.jsonl", b"{}\n" * many, many)}))], NOT_READ, "rows")


@case
def bundle_of_one_huge_row(here: Path) -> Attack:
    row = b'{"scope":"' + b"x" * (500 * MB) + b'"}\n'
    return Attack(["triage", "--bundle", str(bundle(here, {"log_events": ("log_events.jsonl", row, 1)}))], NOT_READ, "larger")


@case
def bundle_of_a_parquet_bomb(here: Path) -> Attack:
    import pyarrow as pa
    import pyarrow.parquet as pq

    many, column = 30_000_000, pa.array([""], pa.string())
    made = io.BytesIO()
    with pq.ParquetWriter(made, pa.schema([("scope", pa.string()), ("text", pa.string())]), compression="zstd") as writer:
        for _ in range(30):
            piece = pa.chunked_array([column.take(pa.array([0] * 1, pa.int64()))]).combine_chunks()
            block = pa.DictionaryArray.from_arrays(pa.array(bytearray(many // 30), pa.int8()), piece).cast(pa.string())
            writer.write_table(pa.table({"scope": block, "text": block}))
    return Attack(
        ["triage", "--bundle", str(bundle(here, {"log_events": ("log_events.parquet", made.getvalue(), many)}))], NOT_READ, "rows"
    )


@case
def bundle_of_a_parquet_value_bomb(here: Path) -> Attack:
    import pyarrow as pa
    import pyarrow.parquet as pq

    many = 50_000
    made = io.BytesIO()
    long = pa.DictionaryArray.from_arrays(pa.array(bytearray(many), pa.int8()), pa.array(["x" * 100_000]))
    table = pa.table({"text": long, "scope": pa.array([""] * many)})
    pq.write_table(table, made, compression="zstd", use_dictionary=True)
    return Attack(
        ["triage", "--bundle", str(bundle(here, {"log_events": ("log_events.parquet", made.getvalue(), many)}))], NOT_READ, "larger"
    )


@case
def bundle_archive_bomb(here: Path) -> Attack:
    made = here / "bundle.tar.gz"
    zeros = gzip.compress(bytes(100 * MB), 9)
    made.write_bytes(gzip.compress(_header("raw/a.log", 40_000 * MB), 9) + zeros * 40)
    return Attack(["triage", "--bundle", str(made)], NOT_READ, "unpack", seconds=300)


@case
def bundle_archive_of_zst_bomb(here: Path) -> Attack:
    import zstandard

    made = here / "bundle.tar.zst"
    made.write_bytes(zstandard.compress(_header("raw/a.log", 40_000 * MB)) + zstandard.compress(bytes(100 * MB)) * 100)
    return Attack(["triage", "--bundle", str(made)], NOT_READ, "unpack", seconds=300)


@case
def bundle_archive_of_many_members(here: Path) -> Attack:
    made = here / "bundle.tar.gz"
    made.write_bytes(gzip.compress(b"".join(_member(f"raw/{n}", b"") for n in range(300_000)), 6))
    return Attack(["triage", "--bundle", str(made)], NOT_READ, "files", seconds=300)


def _header(name: str, size: int) -> bytes:
    info = tarfile.TarInfo(name)
    info.size = size
    return info.tobuf(tarfile.GNU_FORMAT)


@case
def bundle_that_is_a_pipe(here: Path) -> Attack:
    os.mkfifo(here / "pipe.tar.gz")
    return Attack(["triage", "--bundle", str(here / "pipe.tar.gz")], {2, 3}, "bundle")


@case
def bundle_that_is_endless(here: Path) -> Attack:
    return Attack(["triage", "--bundle", "/dev/zero"], {2, 3}, "bundle")


@case
def bundle_whose_manifest_is_endless(here: Path) -> Attack:
    (here / "bundle").mkdir()
    os.symlink("/dev/zero", here / "bundle" / "manifest.json")
    return Attack(["triage", "--bundle", str(here / "bundle")], {2, 3}, "bundle")


@case
def bundle_whose_table_is_a_pipe(here: Path) -> Attack:
    folder = bundle(here, {"log_events": ("log_events.jsonl", b"", 0)})
    (folder / "log_events.jsonl").unlink()
    os.mkfifo(folder / "log_events.jsonl")
    return Attack(["triage", "--bundle", str(folder)], NOT_READ, "log_events")


@case
def bundle_whose_table_is_endless(here: Path) -> Attack:
    folder = bundle(here, {"log_events": ("log_events.jsonl", b"", 0)})
    (folder / "log_events.jsonl").unlink()
    os.symlink("/dev/zero", folder / "log_events.jsonl")
    return Attack(["triage", "--bundle", str(folder)], NOT_READ, "log_events")


@case
def bundle_with_a_huge_manifest(here: Path) -> Attack:
    folder = bundle(here, text="{}")
    with open(folder / "manifest.json", "wb") as file:
        file.truncate(3000 * MB)
    return Attack(["triage", "--bundle", str(folder)], NOT_READ, "manifest")


# ---- checkpoints ------------------------------------------------------------------------------------------------------


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


# ---- saved answers of a JobManager ------------------------------------------------------------------------------------

JOB = "0" * 31 + "1"


def answers(here: Path, **files: bytes) -> Path:
    folder = here / "rest"
    folder.mkdir()
    good = {
        "jobs_overview": json.dumps(
            {
                "jobs": [
                    {
                        "jid": JOB,
                        "name": "orders",
                        "state": "RUNNING",
                        "start-time": 1,
                        "end-time": -1,
                        "duration": 1,
                        "last-modification": 1,
                        "tasks": {},
                    }
                ]
            }
        ).encode(),
        "job": json.dumps(
            {"jid": JOB, "name": "orders", "state": "RUNNING", "now": 1795254000000, "start-time": 1, "vertices": [], "plan": {"nodes": []}}
        ).encode(),
    }
    for name, content in {**good, **files}.items():
        (folder / f"{name}.json").write_bytes(content)
    return folder


@case
def rest_answer_that_is_deep(here: Path) -> Attack:
    return Attack(
        [
            "triage",
            "--flink-rest",
            str(answers(here, job_checkpoints=b"[" * 100_000, job_exceptions=b'{"a":' * 100_000 + b"1" + b"}" * 100_000)),
        ],
        {0, 3},
        "",
    )


@case
def rest_answer_that_expands(here: Path) -> Attack:
    wide = b'{"a":[' + b"{}," * (40 * MB // 3) + b"0]}"
    return Attack(["triage", "--flink-rest", str(answers(here, job_checkpoints=wide, job_exceptions=wide, job_config=wide))], {0, 3}, "")


@case
def rest_answer_that_is_huge(here: Path) -> Attack:
    folder = answers(here)
    with open(folder / "job_checkpoints.json", "wb") as file:
        file.truncate(3000 * MB)
    return Attack(["triage", "--flink-rest", str(folder)], {0, 3}, "")


@case
def rest_overview_that_is_huge(here: Path) -> Attack:
    folder = answers(here)
    for name in ("jobs_overview", "captured_at"):
        with open(folder / f"{name}.json", "wb") as file:
            file.truncate(3000 * MB)
    return Attack(["triage", "--flink-rest", str(folder)], NOT_READ, "")


@case
def rest_answers_beside_logs_that_are_deep(here: Path) -> Attack:
    attack = beside_an_ill_job(here, "c.log", LINE, "")
    shutil.move(answers(here, job=b"[" * 100_000, captured_at=b"[" * 100_000), here / "logs" / "rest")
    return attack


@case
def rest_directory_of_pipes(here: Path) -> Attack:
    folder = answers(here)
    (folder / "job.json").unlink()
    os.mkfifo(folder / "job.json")
    os.mkfifo(folder / "captured_at.json")
    return Attack(["triage", "--flink-rest", str(folder)], {0, 3})


@case
def rest_file_that_is_a_pipe(here: Path) -> Attack:
    os.mkfifo(here / "pipe")
    return Attack(["triage", "--flink-rest", str(here / "pipe")], {2, 3})


@case
def rest_address_that_is_half_an_address(here: Path) -> Attack:
    return Attack(["triage", "--flink-rest", "http://[::1"], REFUSED, "--flink-rest")


@case
def rest_address_with_a_surrogate(here: Path) -> Attack:
    return Attack([b"triage", b"--flink-rest", b"http://127.0.0.1:1/\xff"], {2, 3}, "")


@case
def rest_host_of_nonsense(here: Path) -> Attack:
    return Attack([b"triage", b"--flink-rest", b"http://a\xffb..c:8081"], {2, 3}, "")


# ---- files that options name ------------------------------------------------------------------------------------------

OPTIONS = {
    "command_config": ["broker-health", "-b", "127.0.0.1:1", "--command-config"],
    "flink_rest_auth": ["triage", "--flink-rest", "http://127.0.0.1:1", "--flink-rest-auth"],
    "redaction_key": ["triage", str(ILL), "--save", "SAVED", "--redaction-key"],
}


def _of_option(name: str, kind: str) -> None:
    def make(here: Path) -> Attack:
        file = here / "file"
        if kind == "pipe":
            os.mkfifo(file)
        elif kind == "endless":
            file = Path("/dev/zero")
        elif kind == "directory":
            file.mkdir()
        elif kind == "huge":
            with open(file, "wb") as out:
                out.truncate(3000 * MB)
        elif kind == "binary":
            file.write_bytes(b"\xff\xfe" * 500)
        elif kind == "slow":  # an expression that goes back and forth
            file.write_bytes((b"\\" * 100_000 + b"\n") * 3 + b"sasl.jaas.config=" + b"a" * 100_000 + b"\n")
        arguments = [word.replace("SAVED", str(here / "saved")) for word in OPTIONS[name]]
        codes = {0, 1, 2, 3} if kind == "slow" else {0, 2, 3} if name == "redaction_key" and kind in ("binary", "huge") else {2, 3}
        return Attack([*arguments, str(file)], codes, seconds=30)

    CASES[f"{name}_that_is_{kind}"] = make


for _name in OPTIONS:
    for _kind in ("pipe", "endless", "directory", "huge", "binary", "slow"):
        _of_option(_name, _kind)


@case
def certificate_that_is_a_pipe(here: Path) -> Attack:
    os.mkfifo(here / "pipe")
    (here / "client.properties").write_text(f"security.protocol=SSL\nssl.ca.location={here}/pipe\n")
    return Attack(["broker-health", "-b", "127.0.0.1:1", "--command-config", str(here / "client.properties")], {2, 3}, seconds=40)


@case
def certificate_that_is_endless(here: Path) -> Attack:
    (here / "client.properties").write_text("security.protocol=SSL\nssl.ca.location=/dev/zero\n")
    return Attack(["broker-health", "-b", "127.0.0.1:1", "--command-config", str(here / "client.properties")], {2, 3}, seconds=40)


@case
def rest_certificate_that_is_a_pipe(here: Path) -> Attack:
    os.mkfifo(here / "pipe")
    (here / "auth.properties").write_text(f"ssl.ca.location={here}/pipe\n")
    return Attack(["triage", "--flink-rest", "https://127.0.0.1:1", "--flink-rest-auth", str(here / "auth.properties")], {2, 3}, seconds=40)


@case
def log_that_is_a_pipe(here: Path) -> Attack:
    os.mkfifo(here / "pipe.log")
    return Attack(["triage", str(here / "pipe.log")], NOT_READ, "neither a file nor a directory")


@case
def log_that_is_endless(here: Path) -> Attack:
    return Attack(["triage", "/dev/zero"], NOT_READ, "neither a file nor a directory")


@case
def checkpoint_that_is_endless(here: Path) -> Attack:
    return Attack(["checkpoint-inspect", "/dev/zero"], NOT_READ)


@case
def dump_of_what_is_a_pipe(here: Path) -> Attack:
    os.mkfifo(here / "_metadata")
    return Attack(["checkpoint-inspect", "--dump", str(here / "_metadata")], NOT_READ, facts_only=False)


@case
def report_into_a_directory(here: Path) -> Attack:
    return Attack(["triage", str(ILL), "-o", f"json={here}"], {2, 3}, "cannot write", facts_only=True)


@case
def save_into_a_pipe(here: Path) -> Attack:
    os.mkfifo(here / "pipe.tar.gz")
    return Attack(["triage", str(ILL), "--save", str(here / "pipe.tar.gz")], {2, 3})


# ---- trees and names --------------------------------------------------------------------------------------------------


def _deep(folder: Path, levels: int) -> None:
    at = os.open(folder, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir("d", dir_fd=at)
        below = os.open("d", os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = below
    file = os.open("a.log", os.O_WRONLY | os.O_CREAT, dir_fd=at)
    os.write(file, LINE)
    os.close(file)
    os.close(at)


@case
def tree_1500_deep(here: Path) -> Attack:
    attack = beside_an_ill_job(here, "b.log", LINE, "")
    _deep(here / "logs", 1500)
    return attack


@case
def tree_3000_deep(here: Path) -> Attack:  # longer than a path may be
    attack = beside_an_ill_job(here, "b.log", LINE, "deep|too long")
    _deep(here / "logs", 3000)
    return attack


@case
def checkpoint_tree_1500_deep(here: Path) -> Attack:
    (here / "checkpoints").mkdir()
    _deep(here / "checkpoints", 1500)
    return Attack(["checkpoint-inspect", str(here / "checkpoints")], NOT_READ, "deep")


@case
def rest_tree_1500_deep(here: Path) -> Attack:
    folder = answers(here)
    _deep(folder, 1500)
    return Attack(["triage", "--flink-rest", str(folder)], {0, 3})


@case
def bundle_tree_1500_deep(here: Path) -> Attack:
    (here / "bundle" / "raw").mkdir(parents=True)
    for path in ILL.iterdir():
        shutil.copy(path, here / "bundle" / "raw")
    _deep(here / "bundle" / "raw", 1500)
    return Attack(["triage", "--bundle", str(here / "bundle")], JUDGED)


@case
def archive_member_that_is_deep(here: Path) -> Attack:
    made = here / "bundle.tar"
    with tarfile.open(made, "w", format=tarfile.PAX_FORMAT) as archive:
        info = tarfile.TarInfo("a/" * 3000 + "b")
        archive.addfile(info, io.BytesIO())
    return Attack(["triage", "--bundle", str(made)], {2, 3}, "bundle")


@case
def checkpoint_archive_member_that_is_deep(here: Path) -> Attack:
    made = here / "checkpoints.tar"
    with tarfile.open(made, "w", format=tarfile.PAX_FORMAT) as archive:
        for number in range(3):
            archive.addfile(tarfile.TarInfo(f"{number}/" + "a/" * 20_000 + "b"), io.BytesIO())
    return Attack(["checkpoint-inspect", str(made)], NOT_READ)


@case
def circle_of_links(here: Path) -> Attack:
    attack = beside_an_ill_job(here, "b.log", LINE, "")
    for number in range(30):
        os.symlink(here / "logs", here / "logs" / f"link{number}")
    os.symlink("itself", here / "logs" / "itself")
    return attack


@case
def names_that_are_no_utf8(here: Path) -> Attack:
    attack = beside_an_ill_job(here, "b.log", LINE, "")
    folder = os.fsencode(here / "logs")
    for number, path in enumerate(sorted(ILL.iterdir())):
        os.rename(os.path.join(folder, path.name.encode()), os.path.join(folder, b"tm-\xff\xfe-%d.log" % number))
    os.mkdir(os.path.join(folder, b"\xc3("))
    shutil.copy(next(ILL.iterdir()), os.path.join(folder, b"\xc3(", b"\xed\xa0\x80.log"))  # type: ignore[type-var]
    return attack


@case
def argument_that_is_no_utf8(here: Path) -> Attack:
    names_that_are_no_utf8(here)
    return Attack([b"triage", os.path.join(os.fsencode(here / "logs"), b"tm-\xff\xfe-0.log"), b"-o", b"json"], JUDGED)


@case
def saved_names_that_are_no_utf8(here: Path) -> Attack:
    attack = names_that_are_no_utf8(here)
    attack.arguments = [
        *attack.arguments,
        "--save",
        str(here / "saved"),
        "-o",
        "json=" + str(here / "a.json"),
        "-o",
        "html=" + str(here / "a.html"),
        "-o",
        "markdown=" + str(here / "a.md"),
    ]
    attack.codes = {0, 1, 3}  # the report is in files
    return attack


@case
def archive_names_that_are_no_utf8(here: Path) -> Attack:
    made = here / "a.tar"
    with tarfile.open(made, "w") as archive:
        for number, path in enumerate(sorted(ILL.iterdir())):
            info = tarfile.TarInfo(f"tm-\udcff-{number}.log")
            info.size = path.stat().st_size
            archive.addfile(info, io.BytesIO(path.read_bytes()))
    return Attack(["triage", str(made), "--save", str(here / "saved"), "-o", "json"], JUDGED)


@case
def checkpoint_names_that_are_no_utf8(here: Path) -> Attack:
    folder = os.path.join(os.fsencode(here), b"\xff", b"chk-1")
    os.makedirs(folder)
    with open(os.path.join(folder, b"_metadata"), "wb") as file:
        file.write(metadata_of_finished_subtasks(1)[:400])
    return Attack(
        [b"checkpoint-inspect", os.path.join(os.fsencode(here), b"\xff"), b"--save", os.fsencode(here / "saved"), b"-o", b"json"], {0, 1, 3}
    )


@case
def surrogates_in_json_lines(here: Path) -> Attack:
    content = b"".join(
        b'{"@timestamp":"2026-11-21T09:35:19.130Z","log.level":"ERROR","message":"\\ud800 Job orders \\udfff failed","logger":"\\ud800","pod":"\\udc80","flink-job-id":"\\ud800"}\n'
        for _ in range(200)
    )
    attack = beside_an_ill_job(here, "b.log", content, "")
    attack.arguments = [*attack.arguments, "--save", str(here / "saved"), "-o", "json"]
    return attack


@case
def surrogates_in_rest_answers(here: Path) -> Attack:
    vertices = [{"id": "\ud800", "name": "a\udfff", "status": "RUNNING", "parallelism": 1, "metrics": {}, "tasks": {}}]
    job = json.dumps(
        {
            "jid": JOB,
            "name": "\ud800",
            "state": "RUNNING",
            "now": 1795254000000,
            "start-time": 1,
            "vertices": vertices,
            "plan": {"nodes": []},
        }
    ).encode()
    fails = json.dumps({"root-exception": "java.lang.Error: \ud800", "timestamp": 1795254000000, "all-exceptions": []}).encode()
    overview = json.dumps({"jobs": [{"jid": JOB, "name": "\ud800", "state": "RUNNING", "start-time": 1, "tasks": {}}]}).encode()
    folder = answers(here, job=job, job_exceptions=fails, jobs_overview=overview)
    return Attack(
        ["triage", "--flink-rest", str(folder), "--save", str(here / "saved"), "-o", "json"], {0, 1, 3}, facts_only=False, quick=False
    )


@case
def surrogates_in_a_bundle(here: Path) -> Attack:
    row = b'{"scope":"","as_of":"2026-11-21T09:35:19.130Z","at":"2026-11-21T09:35:19.130Z","file":"\\ud800","line":1,"signature":"job-state","text":"\\udfff Job \\ud800","level":"ERROR"}\n'
    return Attack(
        ["triage", "--bundle", str(bundle(here, {"log_events": ("log_events.jsonl", row, 1)})), "-o", "json"],
        {0, 1, 3},
        facts_only=False,
        quick=False,
    )


@case
def surrogates_in_other_options(here: Path) -> Attack:
    return Attack([b"triage", os.fsencode(ILL), b"--log-timezone", b"\xff", b"--since", b"\xff"], REFUSED, "")


@case
def surrogates_in_a_group(here: Path) -> Attack:
    return Attack([b"lag-report", b"-b", b"127.0.0.1:1", b"--group", b"\xff", b"--timeout", b"1s"], {2, 3, 1}, "")


@case
def surrogates_in_a_bootstrap_server(here: Path) -> Attack:
    return Attack([b"broker-health", b"-b", b"a\xff:9092", b"--timeout", b"1s"], {1, 2, 3}, "")


@case
def nul_in_names_of_an_archive(here: Path) -> Attack:
    made = here / "a.tar"
    made.write_bytes(_member("a.log", LINE * 100).replace(b"a.log", b"a\nlog", 1) + bytes(1024))
    return Attack(["triage", str(made)], {0, 3})


# ---- options ----------------------------------------------------------------------------------------------------------


def _option(name: str, codes: set[int], *words: str, **more: object) -> None:
    def make(here: Path) -> Attack:
        arguments = [word.replace("HERE", str(here)).replace("ILL", str(ILL)) for word in words]
        return Attack(arguments, codes, **more)  # type: ignore[arg-type]

    CASES[name] = make


_option("since_beyond_time", REFUSED, "triage", "ILL", "--since", "99999999999d", says="--since|time")
_option("since_within_python_beyond_time", {1, 2, 3}, "triage", "ILL", "--since", "999999999d", facts_only=False, quick=False)
_option("until_beyond_time", REFUSED, "triage", "ILL", "--until", "99999999999999h", says="--until|time")
_option("since_of_a_million_digits", REFUSED, "triage", "ILL", "--since", "9" * 100_000 + "d")
_option("since_at_the_end_of_time", {1, 2, 3}, "triage", "ILL", "--since", "9999-12-31T23:59:59-12:00", facts_only=False, quick=False)
_option("until_at_the_beginning_of_time", {2, 3}, "triage", "ILL", "--until", "0001-01-01T00:00:00+12:00", facts_only=False, quick=False)
_option("timeout_beyond_time", {1, 2, 3}, "broker-health", "-b", "127.0.0.1:1", "--timeout", "9" * 400 + "s")
_option("timeout_of_years", {1, 2, 3}, "broker-health", "-b", "127.0.0.1:1", "--timeout", "99999999999999s")
_option("rest_timeout_of_years", {2, 3}, "triage", "--flink-rest", "http://127.0.0.1:1", "--timeout", "99999999999999s")
_option("zone_that_leads_out", REFUSED, "triage", "ILL", "--log-timezone", "../../../etc/passwd", says="--log-timezone")
_option("zone_of_many_parts", REFUSED, "triage", "ILL", "--log-timezone", "a/" * 700 + "a", says="--log-timezone")
_option("zone_of_a_thousand_hours", REFUSED, "triage", "ILL", "--log-timezone", "+99:99", says="--log-timezone")
_option("glob_without_a_match", REFUSED, "triage", "HERE/*.nothing", says="no file")
_option("glob_without_a_match_beside_logs", REFUSED, "triage", "ILL", "HERE/*.nothing", says="no file")
_option("glob_of_checkpoints_without_a_match", REFUSED, "checkpoint-inspect", "HERE/chk-*")
_option("glob_that_is_damaged", REFUSED, "triage", "HERE/[a")
_option("logs_glob_without_a_match", REFUSED, "checkpoint-inspect", str(ROOT / "fixtures"), "--logs", "HERE/*.nothing")
_option("name_longer_than_any", REFUSED, "triage", "HERE/" + "a" * 5000)
_option("local_0", REFUSED, "triage", "ILL", "--spark-master", "local[0]", says="--spark-master", facts_only=False)
_option("local_x", REFUSED, "triage", "ILL", "--spark-master", "local[x]", says="--spark-master", facts_only=False)
_option("local_open", REFUSED, "triage", "ILL", "--spark-master", "local[", says="--spark-master", facts_only=False)
_option("local_minus_1", REFUSED, "triage", "ILL", "--spark-master", "local[-1]", says="--spark-master", facts_only=False)
_option("local_empty", REFUSED, "triage", "ILL", "--spark-master", "", says="--spark-master", facts_only=False)
_option("local_cluster", {1, 2, 3}, "triage", "ILL", "--spark-master", "local-cluster[1,1,1024]", facts_only=False, quick=False)
_option("master_of_nonsense", {2, 3}, "triage", "ILL", "--spark-master", "nonsense://a", facts_only=False, quick=False)
_option("master_that_does_not_answer", {2, 3}, "triage", "ILL", "--spark-master", "spark://127.0.0.1:1", facts_only=False, quick=False)
_option("cores_without_number", {1, 2}, "triage", "ILL", "--cores", "99999999999", facts_only=False, quick=False)
_option("memory_of_no_host", {2, 3}, "triage", "ILL", "--memory", "99999999g", facts_only=False, quick=False)
_option("port_beyond_ports", {1, 2, 3}, "broker-health", "-b", "127.0.0.1:99999999", "--timeout", "1s")
_option("bootstrap_of_brackets", {1, 2, 3}, "broker-health", "-b", "[::1", "--timeout", "1s")
_option("bootstrap_of_a_long_name", {1, 2, 3}, "broker-health", "-b", "a" * 300 + ":9092", "--timeout", "1s")
_option("rest_port_beyond_ports", {2, 3}, "triage", "--flink-rest", "http://127.0.0.1:99999999")
_option("rest_host_of_a_long_name", {2, 3}, "triage", "--flink-rest", "http://" + "a" * 300)
_option("rest_host_of_dots", {2, 3}, "triage", "--flink-rest", "http://a..b:80/")
_option("group_of_a_bad_expression", {2, 3}, "lag-report", "-b", "127.0.0.1:1", "--group", "(((", "--timeout", "1s")
_option("rebase_of_nothing", REFUSED, "checkpoint-inspect", "HERE", "--rebase", "=")
_option("remote_path_of_nonsense", {2, 3}, "checkpoint-inspect", "s3://", "nonsense://a/b")
_option("only_a_pattern_of_brackets", {0, 1}, "triage", "ILL", "--only", "RST501=[", facts_only=False, quick=False)
_option("save_where_nothing_can_be", {2, 3}, "triage", "ILL", "--save", "/proc/nothing/saved")
_option("report_where_nothing_can_be", {2, 3}, "triage", "ILL", "-o", "json=/proc/self/nothing.json")


# ---- the host ---------------------------------------------------------------------------------------------------------

WHOLE = {"facts_only": False, "quick": False}


@case
def full_tmpdir(here: Path) -> Attack:
    (here / "tmp").mkdir()
    full = f"mount -t tmpfs -o size=64k,nr_inodes=64 none {here}/tmp && head -c 1000000 /dev/zero > {here}/tmp/full 2>/dev/null; "
    return Attack(["triage", str(ILL)], {1, 3}, "", "nothing wrong", before=full, environ={"TMPDIR": f"{here}/tmp"}, **WHOLE)  # type: ignore[arg-type]


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
    return Attack(["triage", str(ILL)], {1, 3}, "", "nothing wrong", limits=["-f 64"], **WHOLE)  # type: ignore[arg-type]


@case
def files_of_no_size_and_stdin(here: Path) -> Attack:
    return Attack(["triage", "-"], {1, 3}, "", "nothing wrong", limits=["-f 64"], stdin=lambda: LINE * 5000)


@case
def tmpdir_that_is_none(here: Path) -> Attack:
    return Attack(["triage", str(ILL)], {1, 3}, "", "nothing wrong", environ={"TMPDIR": f"{here}/none"}, **WHOLE)  # type: ignore[arg-type]


@case
def no_tmpdir_at_all(here: Path) -> Attack:
    closed = (
        "mount -t tmpfs -o ro none /tmp; mount -t tmpfs -o ro none /var/tmp; mount -t tmpfs -o ro none /usr/tmp 2>/dev/null; cd /proc; "
    )
    return Attack(["triage", "-"], {1, 3}, "", "nothing wrong", before=closed, stdin=lambda: LINE * 50, environ={"TMPDIR": None}, **WHOLE)  # type: ignore[arg-type]


@case
def deleted_working_directory(here: Path) -> Attack:
    (here / "gone").mkdir()
    return Attack(["triage", str(ILL)], JUDGED, before=f"cd {here}/gone && rmdir {here}/gone; ", **WHOLE)  # type: ignore[arg-type]


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


def _limit(name: str, limit: str, codes: set[int], **more: object) -> None:
    @case
    def make(here: Path) -> Attack:
        return Attack(["triage", str(ILL)], codes, "", "nothing wrong", limits=[limit], **{**WHOLE, **more})  # type: ignore[arg-type]

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
    return Attack(["broker-health", "-b", "127.0.0.1:1", "--timeout", "2s"], {1, 2, 3}, limits=["-n 24"], **WHOLE)  # type: ignore[arg-type]


@case
def ulimit_v_500_and_a_broker(here: Path) -> Attack:
    return Attack(["broker-health", "-b", "127.0.0.1:1", "--timeout", "2s"], {1, 2, 3}, limits=["-v 512000"])


@case
def ulimit_v_500_and_a_big_log(here: Path) -> Attack:
    (here / "a.log").write_bytes(LINE * (100 * MB // len(LINE)))
    return Attack(["triage", str(here / "a.log")], {0, 3}, limits=["-v 512000"])


@case
def no_home(here: Path) -> Attack:
    return Attack(["triage", str(ILL), "--save", str(here / "saved")], JUDGED, environ={"HOME": None, "XDG_CACHE_HOME": None}, **WHOLE)  # type: ignore[arg-type]


@case
def home_that_is_none(here: Path) -> Attack:
    return Attack(
        ["triage", str(ILL), "--save", str(here / "saved")], JUDGED, environ={"HOME": f"{here}/none", "XDG_CACHE_HOME": None}, **WHOLE
    )  # type: ignore[arg-type]


@case
def home_that_is_a_file(here: Path) -> Attack:
    (here / "home").write_text("")
    return Attack(
        ["triage", str(ILL), "--save", str(here / "saved")], JUDGED, environ={"HOME": f"{here}/home", "XDG_CACHE_HOME": None}, **WHOLE
    )  # type: ignore[arg-type]


@case
def home_that_is_read_only(here: Path) -> Attack:
    (here / "home").mkdir()
    closed = f"mount -t tmpfs -o ro none {here}/home; "
    return Attack(
        ["triage", str(ILL), "--save", str(here / "saved")],
        JUDGED,
        before=closed,
        environ={"HOME": f"{here}/home", "XDG_CACHE_HOME": None},
        **WHOLE,  # type: ignore[arg-type]
    )


@case
def home_that_is_not_utf8(here: Path) -> Attack:
    return Attack(
        ["triage", str(ILL), "--save", str(here / "saved")], JUDGED, environ={"HOME": f"{here}/\udcff", "XDG_CACHE_HOME": None}, **WHOLE
    )  # type: ignore[arg-type]


@case
def no_environment(here: Path) -> Attack:
    keep = {name: None for name in os.environ if name not in ("PATH", "PYTHONPATH", "JAVA_HOME")}
    return Attack(["triage", str(ILL)], JUDGED, environ=keep, **WHOLE)  # type: ignore[arg-type]


@case
def locale_that_is_none(here: Path) -> Attack:
    attack = names_that_are_no_utf8(here)
    attack.environ = {"LC_ALL": "xx_YY.nothing", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    attack.facts_only = attack.quick = False
    return attack


@case
def eight_at_once(here: Path) -> Attack:
    return Attack(["triage", str(ILL)], JUDGED, times=8, seconds=400, **WHOLE)  # type: ignore[arg-type]


@case
def java_that_is_none(here: Path) -> Attack:
    (here / "bin").mkdir()
    (here / "bin" / "java").write_text("#!/bin/sh\nexit 1\n")
    (here / "bin" / "java").chmod(0o755)
    return Attack(["triage", str(ILL)], {1, 3}, "", "nothing wrong", environ={"JAVA_HOME": str(here)}, **WHOLE)  # type: ignore[arg-type]


def judged_too(names: Iterable[str]) -> None:
    """The same with a JVM: what was left out must reach the report that judges."""
    for name in names:

        def make(here: Path, name: str = name) -> Attack:
            attack = CASES[name](here)
            attack.facts_only = attack.quick = False
            return attack

        CASES[f"{name}_judged"] = make


judged_too([
    "bz2_bomb", "zstd_frames_bomb", "tar_of_many_members", "metadata_that_expands_beside_an_ill_job", "deep_json_in_log_lines",
    "tree_1500_deep", "tree_3000_deep", "names_that_are_no_utf8", "saved_names_that_are_no_utf8", "archive_names_that_are_no_utf8", "surrogates_in_json_lines",
    "rest_answers_beside_logs_that_are_deep", "rest_answer_that_expands", "metadata_that_expands", "bundle_tree_1500_deep", "one_endless_line",
    "checkpoint_names_that_are_no_utf8",
])  # fmt: skip
