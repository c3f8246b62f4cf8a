"""What is packed or nested, and much larger than it looks."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import tarfile
import zipfile
from pathlib import Path

from tests.hostile.inputs.case import ILL, JUDGED, LINE, MB, Attack, beside_an_ill_job, case, repeated

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
