"""The logs that are measured, made once per directory: files and folders with the names below, complete or not there at all."""

from __future__ import annotations

import gzip
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from datetime import date, timedelta
from functools import partial
from pathlib import Path

from benchmarks import logs
from benchmarks.logs import Layout
from benchmarks.yardstick import chosen

MB = 1_000_000
# as a small cluster leaves them: TaskManagers, a JobManager, two brokers, a Spark driver
FILES: tuple[tuple[str, Layout], ...] = (
    ("taskmanager-1.log", "flink"),
    ("taskmanager-2.log", "flink"),
    ("taskmanager-3.log", "flink"),
    ("taskmanager-4.log", "flink"),
    ("jobmanager.log", "flink"),
    ("kafka-1-server.log", "kafka"),
    ("kafka-2-server.log", "kafka"),
    ("spark-driver.log", "spark"),
)


class Corpora:
    """Makes what is asked for in `home`, and keeps it for the next one who asks."""

    def __init__(self, home: Path, real: Path) -> None:
        self.home, self.real = home, real

    def cluster(self, megabytes: int, share: float) -> Path:
        """A folder of eight logs of three layouts."""
        return self._made(f"cluster-{megabytes}-{share}", partial(_cluster, size=megabytes * MB, share=share))

    def single(self, megabytes: int, share: float) -> Path:
        """One TaskManager's log."""
        return self._made(f"taskmanager-{megabytes}-{share}.log", lambda path: logs.write(path, megabytes * MB, share, "flink", chosen()))

    def small(self, megabytes: int, share: float, count: int) -> Path:
        """A folder of `count` TaskManagers' logs."""
        source = self.single(megabytes, share)
        return self._made(f"small-{megabytes}-{share}-{count}", partial(_small, source, count=count))

    def recorded(self, megabytes: int) -> Path:
        """Recorded incidents and healthy runs, each a directory, again and again with ids of their own."""
        return self._made(f"recorded-{megabytes}", partial(_recorded, size=megabytes * MB))

    def recorded_flat(self, megabytes: int) -> Path:
        """The same in one directory, as one cluster leaves them: each log goes on where its last repetition ends, days later."""
        source = self.recorded(megabytes)
        return self._made(f"flat-{megabytes}", partial(_flat, source))

    def recorded_thin(self, megabytes: int, share: float, literals: Sequence[str], rg: str) -> Path:
        """The same again, with so few lines of those that hold one of `literals` that they are `share` of all."""
        source = self.recorded_flat(megabytes)
        return self._made(f"thin-{megabytes}-{share}", partial(_thinned, source, share=share, literals=literals, rg=rg))

    def recorded_small(self, megabytes: int, count: int) -> Path:
        """The logs of `recorded`, cut into `count` files or more, at line ends."""
        source = self.recorded(megabytes)
        return self._made(f"recorded-{megabytes}-{count}", partial(_cut, source, count=count))

    def packed(self, megabytes: int, share: float) -> Path:
        """The logs of `cluster`, each as .gz."""
        source = self.cluster(megabytes, share)
        return self._made(f"gz-{megabytes}-{share}", partial(_packed, source))

    def repeated(self, megabytes: int) -> Path:
        """The .log files below the directory of real logs, repeated to the size. Raises ``SystemExit`` if it has none."""
        return self._made(f"real-{megabytes}.log", partial(_repeated, self.real, size=megabytes * MB))

    def drop(self, path: Path) -> None:
        """Gives the room back."""
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)

    def _made(self, name: str, make: Callable[[Path], None]) -> Path:
        path = self.home / name
        if not path.exists():
            half = self.home / f"making-{name}"
            if half.exists():
                self.drop(half)
            make(half)
            half.rename(path)
        return path


def _cluster(folder: Path, size: int, share: float) -> None:
    folder.mkdir()
    with ProcessPoolExecutor(min(os.cpu_count() or 1, len(FILES))) as pool:
        signatures = chosen()
        for made in [
            pool.submit(logs.write, folder / name, size // len(FILES), share, layout, signatures, seed)
            for seed, (name, layout) in enumerate(FILES)
        ]:
            made.result()


def _small(source: Path, folder: Path, count: int) -> None:
    folder.mkdir()
    lines = source.read_bytes().splitlines(keepends=True)
    each = -(-len(lines) // count)
    for number in range(count):
        (folder / f"taskmanager-{number}.log").write_bytes(b"".join(lines[number * each : (number + 1) * each]))


def _recorded(folder: Path, size: int) -> None:
    from tests.hostile.crowd import copied, recordings  # the bundles of the tests; other corpora need none

    cases = [case for case in recordings(1000) if case.recorded]
    written = turn = 0
    while written < size:
        for case in cases:
            made = copied(case, folder / f"{turn:03d}", turn)
            for path in sorted(made.rglob("*")):
                if path.is_file() and path.suffix in (".gz", ".zst", ".bz2", ".xz", ".zip", ".tar", ".tgz"):
                    path.unlink()  # what it is compared with reads lines
                elif path.is_file() and turn:
                    path.write_bytes(_DATE.sub(partial(_days_later, turn), path.read_bytes()))
            written += sum(path.stat().st_size for path in made.rglob("*") if path.is_file())
            if written >= size:
                return
        turn += 1


_DATE = re.compile(rb"(?m)(?<![\d-])(20\d\d)-(\d\d)-(\d\d)(?=[ T]\d\d:)|^(\d\d)/(\d\d)/(\d\d)(?= \d\d:)")


def _days_later(days: int, found: re.Match[bytes]) -> bytes:
    year, month, day = (int(part) for part in found.groups() if part is not None)
    short = found[4] is not None  # 26/11/01, as Spark writes
    try:
        moved = date(year + 2000 * short, month, day) + timedelta(days)
    except ValueError:  # it only looked like a date
        return found[0]
    return moved.strftime("%y/%m/%d" if short else "%Y-%m-%d").encode()


def _flat(source: Path, folder: Path) -> None:
    folder.mkdir()
    for path in sorted(source.rglob("*")):  # by turn
        if path.is_file():
            name = "_".join(path.relative_to(source).parts[1:])[-120:]
            with path.open("rb") as one, (folder / name).open("ab") as out:
                shutil.copyfileobj(one, out, 1 << 20)


def _thinned(source: Path, folder: Path, share: float, literals: Sequence[str], rg: str) -> None:
    folder.mkdir()
    wanted = "".join(literal + "\n" for literal in literals)
    for path in sorted(source.iterdir()):
        lines = path.read_bytes().splitlines(keepends=True)
        said = subprocess.run([rg, "-a", "-n", "-o", "-F", "-f", "-", str(path)], input=wanted, capture_output=True, text=True, check=False,
                              errors="replace").stdout  # fmt: skip
        hits = sorted({int(line.split(":", 1)[0]) for line in said.splitlines()})
        may_stay = int(share / (1 - share) * (len(lines) - len(hits)))
        each = -(-len(hits) // may_stay) if may_stay else len(hits) + 1
        for number in (number for at, number in enumerate(hits) if at % each):
            lines[number - 1] = b""
        (folder / path.name).write_bytes(b"".join(lines))


def _cut(source: Path, folder: Path, count: int) -> None:
    files = [path for path in sorted(source.rglob("*")) if path.is_file()]
    each = max(sum(path.stat().st_size for path in files) // count, 1)
    for path in files:
        own = folder / path.relative_to(source).parent
        own.mkdir(parents=True, exist_ok=True)
        lines, number, held, size = path.read_bytes().splitlines(keepends=True), 0, list[bytes](), 0
        for line in lines:
            held.append(line)
            size += len(line)
            if size >= each:
                (own / f"{path.stem}-{number:04d}.log").write_bytes(b"".join(held))
                number, held, size = number + 1, [], 0
        if held:
            (own / f"{path.stem}-{number:04d}.log").write_bytes(b"".join(held))


def _packed(source: Path, folder: Path) -> None:
    folder.mkdir()
    with ProcessPoolExecutor(min(os.cpu_count() or 1, len(FILES))) as pool:
        for made in [pool.submit(_gzip, path, folder / f"{path.name}.gz") for path in sorted(source.iterdir())]:
            made.result()


def _gzip(source: Path, target: Path) -> None:
    with source.open("rb") as plain, gzip.open(target, "wb", 6) as packed:
        shutil.copyfileobj(plain, packed, 1 << 20)


_COUNTED = re.compile(rb"(?<=[^\n]{24})(?<![\d.:-])\d{4,18}(?![\d.:-])")  # behind the time of a line


def _repeated(real: Path, path: Path, size: int) -> None:
    """With each repetition the longer numbers (ids, offsets, checkpoints) count on, as they would: the same text over and over would be
    easier than any real log."""
    files = sorted(real.rglob("*.log"))
    texts = [text if text.endswith(b"\n") else text + b"\n" for text in (file.read_bytes() for file in files) if text]
    if not texts:
        raise SystemExit(f"no .log file below {real}")
    turn = 0
    with path.open("wb") as out:
        while out.tell() < size:
            out.writelines(_COUNTED.sub(partial(_counted_on, turn), text) for text in texts)
            turn += 1


def _counted_on(turn: int, found: re.Match[bytes]) -> bytes:
    return b"%0*d" % (len(found[0]), (int(found[0]) + turn) % 10 ** len(found[0]))


def hit_share(paths: Path, rg: str, patterns: Sequence[str]) -> float:
    """Percent of the lines that ripgrep finds."""
    found = subprocess.run([rg, "-c", "--no-filename", *patterns, str(paths)], capture_output=True, text=True, check=False).stdout
    files = [path for path in paths.rglob("*") if path.is_file()] if paths.is_dir() else [paths]
    return 100 * sum(map(int, found.split())) / max(sum(_lines(file) for file in files), 1)


def _lines(path: Path) -> int:
    with path.open("rb") as stream:
        return sum(piece.count(b"\n") for piece in iter(lambda: stream.read(1 << 20), b""))
