"""Reading checkpoints: `diag checkpoint-inspect --dump` beside Flink's own reader in a JVM, on made `_metadata` of the newest format.

``python -m benchmarks.checkpoints [--sizes 1,10,100] [--checkpoints 10000] [--rounds 5] [--flink-dist flink-dist-2.3.0.jar]``

Prints wall and CPU seconds (user and system, of the whole process tree) and peak resident memory: the best of the rounds, taken in turns.
The comparison needs `java`, `javac` and a flink-dist jar (``make lab`` fetches one); the JVM gets C1 only and a class-data archive, the
fastest start it has. Without them diag is measured alone.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MB = 1_000_000
_TAIL = b"\xac\xed\x00\x05sr\x008org.apache.flink.runtime.checkpoint.CheckpointProperties"
_OPENS = [
    f"--add-opens=java.base/{name}=ALL-UNNAMED" for name in ("java.lang", "java.util", "java.net", "java.nio", "java.util.concurrent")
]


def _utf(text: str) -> bytes:
    data = text.encode()
    return struct.pack(">H", len(data)) + data


def metadata(checkpoint: int, operators: int, subtasks: int, files: int) -> bytes:
    """A V6 `_metadata` of incremental keyed state: `files` shared files per subtask, about 480 bytes each."""
    tail = (ROOT / "fixtures" / "checkpoints" / "written" / "v6" / "_metadata").read_bytes()
    out = [struct.pack(">iiqii", 0x4960672D, 6, checkpoint, 0, operators)]
    base = "s3://company-data-lake-production/flink/checkpoints/" + "3f2a91c07be64d55a8f1d2c3b4a59687/shared/"
    base += "job_3f2a91c07be64d55a8f1d2c3b4a59687/" + "orders-enrichment-by-customer-profile/" * 8
    for operator in range(operators):
        name = f"KeyedProcess-{operator}"
        out.append(_utf(name) + _utf(f"uid-{operator}") + struct.pack(">qq", operator, operator) + struct.pack(">ii", subtasks, 32768))
        out.append(b"\0" + struct.pack(">i", subtasks))
        for subtask in range(subtasks):
            out.append(struct.pack(">iii", subtask, 0, 0) + b"\x0b" + struct.pack(">q", checkpoint) + _utf("0b5c-backend"))
            out.append(struct.pack(">iiq", subtask, 1, 1000) + b"\6" + _utf("meta") + struct.pack(">q", 20) + struct.pack(">i", files))
            out += [
                _utf(f"{number:06d}.sst") + b"\2" + struct.pack(">q", 67_108_864) + _utf(f"{base}{operator:02d}-{subtask:05d}-{number:06d}")
                for number in range(files)
            ]
            out.append(struct.pack(">i", 0) + _utf("handle") + b"\0" + struct.pack(">ii", 0, 0))
    return b"".join(out) + tail[tail.index(_TAIL) :]


def make(directory: Path, sizes: Sequence[float], checkpoints: int) -> dict[str, Path]:
    """The inputs by what they are called."""
    made: dict[str, Path] = {}
    one = len(metadata(7, 1, 1, 1000)) / 1000
    for size in sizes:
        files = max(1, round(size * MB / one / 64))
        place = directory / f"{size:g}mb" / ("0" * 32) / "chk-7"
        place.mkdir(parents=True)
        (place / "_metadata").write_bytes(metadata(7, 4, 16, files))
        made[f"one _metadata of {size:g} MB"] = place
    if checkpoints:
        root = directory / "many"
        content = metadata(7, 3, 2, 1)
        for number in range(checkpoints):
            place = root / f"{number // 10:032x}" / f"chk-{number % 10}"
            place.mkdir(parents=True)
            (place / "_metadata").write_bytes(content)
        made[f"{checkpoints:,} checkpoints"] = root
    return made


@dataclass(frozen=True)
class Cost:
    """Seconds on the clock, seconds of CPU, peak resident megabytes of the largest process."""

    wall: float
    cpu: float
    peak_mb: float


def measure(command: Sequence[str]) -> Cost:
    """Run `command` with its output thrown away. Raises ``SystemExit`` when it fails."""
    begun = time.monotonic()
    with open(os.devnull, "wb") as sink:
        process = subprocess.Popen(command, stdout=sink, stderr=sink, cwd=ROOT)
        _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{' '.join(command[:4])} … failed")
    return Cost(time.monotonic() - begun, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1000)


def flink_command(jar: Path | None, directory: Path) -> list[str] | None:
    """Flink's reader, compiled and with a class-data archive of its own; ``None`` where there is no JDK or jar."""
    if jar is None or not jar.exists() or not shutil.which("javac"):
        return None
    subprocess.run(["javac", "-cp", str(jar), "-d", str(directory), str(ROOT / "benchmarks" / "LoadMetadata.java")], check=True)
    bundle = directory / "load.jar"
    subprocess.run(["jar", "cf", str(bundle), "-C", str(directory), "LoadMetadata.class"], check=True)
    path = f"{bundle}{os.pathsep}{jar}"
    archive = directory / "load.jsa"
    sample = directory / "sample"
    sample.mkdir()
    (sample / "_metadata").write_bytes(metadata(7, 2, 2, 10))
    base = ["java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto", *_OPENS]
    subprocess.run(
        [*base, f"-XX:ArchiveClassesAtExit={archive}", "-cp", path, "LoadMetadata", str(sample)], check=True, capture_output=True
    )
    return [*base, f"-XX:SharedArchiveFile={archive}", "-cp", path, "LoadMetadata"]


def newest_jar() -> Path | None:
    """The flink-dist that the lab fetched."""
    import platformdirs

    found = sorted(Path(platformdirs.user_cache_dir("diag")).glob("lab/flink-*/flink-dist-*.jar"))
    return found[-1] if found else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="1,10,100", help="MB of single _metadata files")
    parser.add_argument("--checkpoints", type=int, default=10_000, help="number of small ones below one root; 0 for none")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--flink-dist", type=Path, default=None)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="diag-bench-") as place:
        # in a process of its own: what a child is measured at begins with the memory of the one that starts it
        with multiprocessing.get_context("spawn").Pool(1) as maker:
            sizes = [float(size) for size in options.sizes.split(",") if size]
            inputs = maker.apply(make, (Path(place) / "inputs", sizes, options.checkpoints))
        (Path(place) / "java").mkdir()
        flink = flink_command(options.flink_dist or newest_jar(), Path(place) / "java")
        if flink is None:
            print("no JDK or no flink-dist jar: diag alone", file=sys.stderr)
        print("| input | diag wall s | CPU s | peak MB | Flink wall s | CPU s | peak MB | wall diag / Flink |")
        print("|---|---:|---:|---:|---:|---:|---:|---:|")
        for name, path in inputs.items():
            own = [sys.executable, "-m", "cli", "checkpoint-inspect", "--dump", str(path)]
            rounds = [(measure(own), measure([*flink, str(path)]) if flink else None) for _ in range(options.rounds)]
            print(_line(name, [diag for diag, _ in rounds], [other for _, other in rounds if other]), flush=True)


def _line(name: str, diag: Sequence[Cost], flink: Sequence[Cost]) -> str:
    cells = [name, *_best(diag), *(_best(flink) if flink else ("-", "-", "-"))]
    ratio = f"{min(c.wall for c in diag) / min(c.wall for c in flink):.2f}" if flink else "-"
    return "| " + " | ".join([*cells, ratio]) + " |"


def _best(costs: Sequence[Cost]) -> tuple[str, str, str]:
    return f"{min(c.wall for c in costs):.2f}", f"{min(c.cpu for c in costs):.2f}", f"{min(c.peak_mb for c in costs):.0f}"


if __name__ == "__main__":
    main()
