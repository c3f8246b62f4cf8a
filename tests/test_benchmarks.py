"""The benchmarks' own code: what is compared is the same work, every process is counted, and a missed goal is called missed."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from analyzers.logs.matching.matcher import Matcher  # noqa: E402  # the checkout is put on the path above
from benchmarks import corpora, logs, wrapped, yardstick  # noqa: E402
from benchmarks.goals import Row, compared  # noqa: E402
from benchmarks.measuring import Cost, wall  # noqa: E402

SIZE = 1_500_000


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("logs")


@pytest.fixture(scope="module")
def cluster(home: Path) -> Path:
    return corpora.Corpora(home, home).cluster(3, 0.06)


def hit_lines(path: Path) -> tuple[int, int]:
    """Lines with a literal of the yardstick's signatures, and all lines."""
    known = Matcher(sorted({literal.encode() for signature in yardstick.chosen() for literal in signature.literals}))
    lines = path.read_bytes().splitlines()
    return sum(1 for line in lines if len(known.scan(line)[0])), len(lines)


def found(program: str, *arguments: str | Path) -> dict[str, object]:
    command = [sys.executable, str(ROOT / "benchmarks" / program), *map(str, arguments)]
    said: dict[str, object] = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return said


@pytest.mark.parametrize("share", [0.01, 0.06, 0.24])
def test_a_made_log_has_the_wanted_share_of_hit_lines(tmp_path: Path, share: float) -> None:
    logs.write(tmp_path / "made.log", SIZE, share, "flink", yardstick.chosen())
    hits, lines = hit_lines(tmp_path / "made.log")
    assert 0.7 * share < hits / lines < 1.4 * share


def test_a_made_log_is_the_same_each_time_and_never_one_text_over_and_over(tmp_path: Path) -> None:
    for name in ("a", "b"):
        logs.write(tmp_path / name, SIZE, 0.06, "flink", yardstick.chosen(), seed=3)
    text = (tmp_path / "a").read_bytes()
    assert text == (tmp_path / "b").read_bytes()
    messages = [line[23:] for line in text.splitlines() if line.startswith(b"2026-")]
    assert len(set(messages)) > 0.95 * len(messages)


def test_times_of_a_made_log_run_forward(cluster: Path) -> None:
    stamps = re.findall(r"^(2026-11-\d\d \d\d:\d\d:\d\d,\d{3}) ", (cluster / "jobmanager.log").read_text(), re.MULTILINE)
    assert len(stamps) > 1000
    assert stamps == sorted(stamps)
    assert datetime.fromisoformat(stamps[0].replace(",", ".")) >= logs.FIRST


def test_real_logs_count_on_with_each_repetition(tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.mkdir()
    (real / "a.log").write_text("2026-11-01 00:00:00,000 INFO  a.B [] - Completed checkpoint 1999 for job x\n")
    path = corpora.Corpora(tmp_path, real).repeated(1)
    lines = path.read_text().splitlines()
    assert lines[0].endswith("checkpoint 1999 for job x")
    assert lines[1].endswith("checkpoint 2000 for job x")
    assert all(line.startswith("2026-11-01 00:00:00,000 ") for line in lines)


@pytest.fixture(scope="module")
def plain(home: Path) -> tuple[Path, dict[str, list[object]]]:
    """A log, and what is found in it."""
    path = home / "plain.log"
    logs.write(path, SIZE, 0.06, "flink", yardstick.chosen())
    return path, by_signature(path)


def by_signature(path: Path) -> dict[str, list[object]]:
    """Events and times; without the banner: its text begins with a blank, as a continuation does."""
    rows = found("scan.py", "--rows", path)["findings"]
    return {row[1]: row[2:] for row in rows if row[1] != "flink-banner"}  # type: ignore[attr-defined]  # JSON


@pytest.mark.parametrize("kind", [*wrapped.LINES, "gz", "zst", "bz2", "xz", "UTF-16"])
def test_every_wrapping_holds_the_same_events(plain: tuple[Path, dict[str, list[object]]], tmp_path: Path, kind: str) -> None:
    path, expected = plain
    inside = wrapped.write(path, tmp_path, kind)
    assert inside is not None
    assert by_signature(inside) == expected
    assert len(expected) > 60


def test_two_processes_find_what_one_finds(cluster: Path) -> None:
    one = found("scan.py", "--signatures", "150", "--rows", cluster)
    two = found("scan.py", "--signatures", "150", "--rows", "--processes", "2", "--split", "100000", cluster)
    assert (one["hits"], one["digest"], one["rows"]) == (two["hits"], two["digest"], two["rows"])
    assert one["hits"] != 0


@pytest.mark.parametrize("launch", ["threads", "processes"])
def test_duckdb_finds_what_the_kernel_finds(cluster: Path, launch: str) -> None:
    pytest.importorskip("duckdb")
    comparable = {signature.id for signature in yardstick.chosen(None) if yardstick.line_by_line(signature)}
    ours, theirs = (
        [row for row in found(*program, "--rows", cluster)["findings"] if row[1] in comparable]  # type: ignore[attr-defined]  # JSON
        for program in (("scan.py",), ("duckdb_triage.py", "--launch", launch))
    )
    assert ours == theirs
    assert len({row[1] for row in ours}) > 60
    assert {row[0] for row in ours} == {name for name, _ in corpora.FILES}


def test_ripgrep_takes_all_expressions_and_finds_the_samples(tmp_path: Path) -> None:
    try:
        rg = yardstick.ripgrep()
    except SystemExit:
        pytest.skip("ripgrep is not installed")
    signatures = yardstick.chosen()
    made = yardstick.expressions(signatures, rg)
    (tmp_path / "expressions").write_text("\n".join(made.lines) + "\n")
    for number, signature in enumerate(signatures):
        (tmp_path / f"{number}.log").write_text(signature.sample + "\n")
    command = [rg, "--files-without-match", "-f", str(tmp_path / "expressions"), "-g", "*.log", str(tmp_path)]
    without = subprocess.run(command, capture_output=True, text=True, check=False)
    assert without.stderr == ""
    assert without.stdout == ""
    assert made.replaced < 10
    (tmp_path / "other.log").write_text("2026-11-01 00:00:00,000 INFO  com.acme.Enrich [] - stored order 17\n")
    assert "other.log" in subprocess.run(command, capture_output=True, text=True, check=False).stdout


@pytest.mark.skipif(sys.platform != "linux", reason="orphans are adopted on Linux only")
def test_what_a_command_leaves_behind_is_counted_and_waited_for(tmp_path: Path) -> None:
    burn = "import time, pathlib\nwhile time.process_time() < 0.5: pass\npathlib.Path(r'{}').touch()".format(tmp_path / "done")
    parent = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {burn!r}], start_new_session=True)"
    # in a process of its own: this one has children that are not the command's
    measure = f"from benchmarks.measuring import run; print(run([sys.executable, '-c', {parent!r}]).cpu)"
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r}); {measure}"
    said = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=tmp_path)
    assert float(said.stdout) >= 0.5
    assert (tmp_path / "done").exists()


def test_a_command_that_fails_is_no_measurement() -> None:
    code = "import sys; sys.path.insert(0, {!r}); from benchmarks.measuring import run; run([sys.executable, '-c', 'raise SystemExit(7)'])"
    said = subprocess.run([sys.executable, "-c", code.format(str(ROOT))], capture_output=True, text=True, check=False)
    assert said.returncode != 0
    assert "ended with 7" in said.stderr


def cost(seconds: float) -> Cost:
    return Cost(seconds, seconds, 0.0, b"")


def test_the_figure_is_the_median_of_the_rounds_ratios() -> None:
    row = compared("what", 1.0, [cost(1), cost(9), cost(3)], [cost(2), cost(3), cost(4)], wall)
    assert row.figure == pytest.approx(0.75)  # of 0.5, 3 and 0.75; the ratio of the medians would be 1
    assert row.met()
    assert "rounds 0.50–3.00" in row.text()


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (Row("w", 1.0, 1.2), "| w | ≤ 1.00× | **1.20×** | missed by 20 % |"),
        (Row("w", 1.0, 1.004), "| w | ≤ 1.00× | **1.00×** | met |"),
        (Row("w", 1 / 3, 0.25, least=True), "| w | ≥ 0.33× | **0.25×** | missed by 25 % |"),
        (Row("w", 1 / 3, 0.5, least=True), "| w | ≥ 0.33× | **0.50×** | met |"),
        (Row("w", 1.0, None, "(no lz4)"), "| w | ≤ 1.00× | not measured (no lz4) |  |"),
        (Row("w", None, 2.0), "| w | – | **2.00×** |  |"),
    ],
)
def test_a_row_says_whether_its_goal_is_met(row: Row, said: str) -> None:
    assert row.text() == said
