"""What repeats itself costs time in proportion to its size: each of these took the square of it, which is minutes of a processor."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CPU_SECONDS = 30
"""Of a process of its own, all that it loads included; two are needed."""
UNITS = ("\\n", " \\n", "\\n ", "\\t", "\\r", "\\r\\n", " ", "> ", "}\\n", "} ", "a", "a.", "a:", "{", "<", " at ")


def within(code: str, *arguments: str) -> str:
    """What `code` prints; it is ended where it takes more time of a processor."""
    bound = f"import resource, sys; resource.setrlimit(resource.RLIMIT_CPU, ({CPU_SECONDS}, {CPU_SECONDS}))\n"
    asked = [sys.executable, "-c", bound + code, *arguments]
    done = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, timeout=280, check=False)
    assert done.returncode == 0, f"exit code {done.returncode} (-9, -24: too much time of a processor): {done.stderr[-500:]}"
    return done.stdout


def test_a_look_at_what_repeats_itself() -> None:
    code = f"""if True:
        from analyzers.logs.wrappings.sniff import HEAD, sniff
        for unit in {[unit.encode().decode("unicode_escape").encode() for unit in UNITS]!r}:
            sniff("a.log", unit * (HEAD // 4 // len(unit)), whole=True)
        print("done")
    """
    assert within(code) == "done\n"


def test_a_few_bytes_of_gzip_with_only_line_feeds(tmp_path: Path) -> None:
    place = tmp_path / "a.log.gz"
    place.write_bytes(gzip.compress(b"\n" * 200_000))
    assert place.stat().st_size < 300
    code = """if True:
        from analyzers.readers.log_plan import LogOptions, plan
        from analyzers.readers.log_scan import scan
        print({name: len(rows) for name, rows in scan(plan([sys.argv[1]], LogOptions()), None).items()}["log_events"])
    """
    assert within(code, str(place)) == "0\n"


@pytest.mark.parametrize("unit", ["a", "a.", "a-", "1a"])
def test_the_redaction_of_a_long_name(unit: str) -> None:
    code = """if True:
        from analyzers.bundle.redact import Redactor
        from analyzers.tables import TABLES
        name = sys.argv[1] * (100_000 // len(sys.argv[1]))
        said = {"scope": "", "signature": "s", "text": f"TaskManager {name} lost", "resource": name, "file": "a.log"}
        row = TABLES["log_events"].row(said)
        redactor = Redactor(b"key")
        redactor.learn({"log_events": [row]})
        (made,) = redactor.tables({"log_events": [row]})["log_events"]
        print(name in made["resource"], name in made["text"], made["resource"][:5])
    """
    assert within(code, unit).split() == ["False", "False", "host-"]


@pytest.mark.parametrize("unit", [b"\n", b"a\n", b"}\n"])
@pytest.mark.parametrize("head", [b"", b"2026-11-21 09:00:00,000 ERROR a.b.C - x\n"])
def test_gigabytes_of_lines_that_say_nothing(unit: bytes, head: bytes, tmp_path: Path) -> None:
    """875 kB of gzip were 900 million lines: more than ten minutes, of which nothing came."""
    place = tmp_path / "a.log.gz"
    with gzip.open(place, "wb", compresslevel=1) as file:
        file.write(head)
        for _ in range(60):
            file.write(unit * (4 << 20 >> len(unit) // 2))
    code = """if True:
        from analyzers.readers.log_plan import LogOptions, plan
        from analyzers.readers.log_scan import scan
        print(*(row["why"] for row in scan(plan([sys.argv[1]], LogOptions()), None)["sources"]))
    """
    assert "as no log has; what follows was not read" in within(code, str(place))


def test_a_file_of_holes(tmp_path: Path) -> None:
    """50 GB of which 8 kB are there were read to their end, at 60 MB in a second."""
    place = tmp_path / "a.log"
    with place.open("wb") as file:
        file.write(b"2026-11-21 09:00:00,000 ERROR a.b.C - x\n" * 100)
        file.truncate(50 << 30)
    if not 0 < place.stat().st_blocks < 100_000:
        pytest.skip("this file system has no holes, or counts no blocks")
    code = """if True:
        from analyzers.readers.log_plan import LogOptions, plan
        from analyzers.readers.log_scan import scan
        found = scan(plan([sys.argv[1]], LogOptions()), None)
        print(found["log_files"][0]["lines"], *(row["why"] for row in found["sources"] if row["why"]))
    """
    said = within(code, str(place))
    assert int(said.split()[0]) >= 100
    assert "all else are holes" in said
