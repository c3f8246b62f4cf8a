"""``diag checkpoint-inspect --flink-rest``: who acknowledged which checkpoint, for eyes and as facts."""

from __future__ import annotations

import json
from pathlib import Path

from cli.collectors.flink_rest import collect_recorded
from cli.renderers.acknowledgements import acknowledgements
from tests.command_line import diag
from tests.rest_replay import RECORDINGS, STUCK, replaying


def inspected(*arguments: str) -> tuple[int, str, str]:
    return diag("checkpoint-inspect", *arguments)


def test_the_matrix_fits_80_columns_and_shows_who_lacks() -> None:
    from analyzers.derived import derive

    lines = acknowledgements(derive(collect_recorded(RECORDINGS / STUCK).tables))
    assert max(len(line) for line in lines) <= 80, max(lines, key=len)
    place = next(n for n, line in enumerate(lines) if "(2/4)" in line)
    assert lines[place].split()[-4:] == ["ms", "×", "×", "×"]
    assert "holds the barrier, stuck-call, busy 100%" in lines[place + 1]
    assert "lab.Job$Validate.processElement" in lines[place + 2]
    assert any(line.startswith("  76 s since the last that completed") for line in lines)


def test_without_a_jobmanager_there_is_nothing_to_show() -> None:
    assert acknowledgements({"checkpoint_files": []}) == []


def test_a_jobmanager_alone_is_enough_and_its_facts_are_the_tables() -> None:
    with replaying(STUCK) as server:
        code, out, _ = inspected("--flink-rest", server.address, "--facts-only", "-o", "json")
    report = json.loads(out)
    assert code == 0
    assert [f["role"] for f in report["facts"]["barrier_frontier"]] == ["culprit"]
    assert {s["kind"]: s["state"] for s in report["sources"]} == {"flink-rest": "ok"}


def test_a_jobmanager_that_does_not_answer_is_said_and_files_are_still_read(tmp_path: Path) -> None:
    code, _, err = inspected("--flink-rest", "http://127.0.0.1:1", "--facts-only")
    assert code == 3
    assert "refuses the connection" in err
    with replaying(STUCK) as server:
        code, out, err = inspected(str(tmp_path), "--flink-rest", server.address, "--facts-only", "-o", "json")
    assert {s["kind"] for s in json.loads(out)["sources"]} == {"checkpoint", "flink-rest"}


def test_usage() -> None:
    assert inspected("--flink-rest", "ftp://x")[0] == 2
    assert inspected("--job", "x", "--facts-only")[0] == 2
    assert inspected("--dump", "--flink-rest", str(RECORDINGS / STUCK))[0] == 2
